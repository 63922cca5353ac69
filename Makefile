# Every command of the README. A stamp file in .venv remembers what is installed, so nothing is done twice.
B := .venv/bin
DEV := .venv/.dev

.PHONY: run test lint format faults bench screenshots demo-data messages clean browser

run: .venv/.run
	@$(B)/python manage.py start

test: $(DEV) browser
	@sh deploy/test.sh

lint: $(DEV)
	$(B)/ruff check .
	$(B)/ruff format --check .
	$(B)/djlint --check --lint --quiet templates
	$(B)/mypy
	$(B)/python manage.py makemigrations --check --dry-run

format: $(DEV)
	$(B)/ruff check --fix .
	$(B)/ruff format .
	$(B)/djlint --reformat --quiet templates

.venv/.base:
	@sh deploy/venv.sh .venv
	@touch $@

.venv/.run: .venv/.base requirements.txt constraints.txt
	@sh deploy/install.sh .venv requirements.txt
	@touch $@

$(DEV): .venv/.base requirements.txt requirements-dev.txt constraints.txt
	@sh deploy/install.sh .venv requirements-dev.txt
	@touch $(DEV) .venv/.run

browser:
	@sh deploy/browser.sh
