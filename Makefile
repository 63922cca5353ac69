# Every command of the README. A stamp file in .venv remembers what is installed, so nothing is done twice.
B := .venv/bin
DEV := .venv/.dev

.PHONY: run check test test-all lint format screenshots demo-data messages browser bench bench-peers faults coverage docs fuzz lock audit sbom

run: .venv/.run
	@$(B)/python manage.py start

# The daily loop: lint, types, and what is fast; of tests with a database those that commit, and one in eight others.
check: lint
	@$(B)/python -m pytest -n auto --dist loadfile \
	    -m "not browser and not servers and not slow and (not django_db or both_databases)"

# All tests, the long ones with fewer examples; or a part of them: make test TESTS=tests/studies/participation
test: $(DEV) browser
	@$(B)/python -m tests $(TESTS)

# Before a release: every example.
test-all: $(DEV) browser
	@$(B)/python -m tests --all

# Schedules of faults on real servers: all of them, or COUNT=30 for the first ones, or SEEDS="17 203".
COUNT ?= 300
faults: $(DEV)
	@$(B)/python -m tests.faults $(if $(SEEDS),--seeds $(SEEDS),--count $(COUNT))

# Hostile inputs of every kind, half of them on SQLite and half on PostgreSQL.
fuzz: COUNT = 10000
fuzz: $(DEV)
	@$(B)/python -m tests.fuzz --count $(COUNT)

# How often the intervals of the analysis hold what was planted; CELLS="r alpha" chooses.
coverage: $(DEV)
	@$(B)/python -m tests.coverage $(if $(CELLS),--cells $(CELLS))

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

.venv/.run: .venv/.base requirements.txt constraints.txt deploy/uv.txt
	@sh deploy/install.sh .venv requirements.txt
	@touch $@

$(DEV): .venv/.base requirements.txt requirements-prod.txt requirements-dev.txt constraints.txt deploy/uv.txt
	@sh deploy/install.sh .venv requirements-dev.txt
	@touch $(DEV) .venv/.run

browser:
	@sh deploy/browser.sh

# Fills the running demonstration with people, judgements and a report. `make run` must be going in another terminal.
PEOPLE ?= 20
BASE_URL ?= http://$(or $(HOST),127.0.0.1):$(or $(PORT),8000)
demo-data: .venv/.run
	$(B)/python manage.py run_bots demo --count $(PEOPLE) --concurrency 10 --pace 0 --base-url $(BASE_URL)
	for strategy in standard user_aware state_aware; do \
	    $(B)/python manage.py judge demo --judge demo --strategy $$strategy || exit 1; done
	$(B)/python manage.py analyse_study demo --include-tests

# Every page in a real browser, to be looked at.
screenshots: $(DEV) browser
	$(B)/python -m tests.browser.screenshots var/screenshots

# Takes new texts into the catalogues of all languages and compiles them; needs gettext.
messages: .venv/.run
	$(B)/python manage.py makemessages --all --no-location --no-obsolete \
	    -i ".venv/*" -i "var/*" -i "tests/*" -i "bench/*"
	$(B)/python manage.py compilemessages -i .venv

# The pages of docs/ that are made from the code.
docs: $(DEV)
	@$(B)/python manage.py write_docs
	@$(B)/python -m tests.licences

# Exact versions and hashes of all packages anew, after a change of requirements; UPGRADE=--upgrade takes the newest.
UV := $(B)/python -m uv
lock: $(DEV)
	@$(UV) pip compile --quiet --generate-hashes --no-annotate --python-version 3.11 $(UPGRADE) \
	    --custom-compile-command "make lock" requirements-dev.txt --output-file constraints.txt
	@$(B)/python -m tests.licences

# Known faults of the packages; needs the network and says so where it is missing.
audit: $(DEV)
	@$(B)/python deploy/audit.py

# What is installed, with versions and licences, as a CycloneDX bill of materials.
sbom: .venv/.run
	@mkdir -p var
	$(UV) tool run --quiet --from cyclonedx-bom==7.5.0 cyclonedx-py environment --output-reproducible \
	    --output-format JSON --output-file var/sbom.cdx.json .venv/bin/python

# How fast, how lean and how safe from loss: chats beside the bare Channels and Daphne consumer, then judges and
# simulated seekers beside other ways to ask a model as often.
BENCH := var/bench/venv/bin/python -m bench.run_chat
bench: .venv/.run var/bench/.tools
	@sh bench/peers.sh inspect
	$(BENCH) --only bare emostudy
	var/bench/venv/bin/python -m bench.run_batch
	$(B)/python -m bench.run_analysis
	$(B)/python -m bench.run_export

# The chat once more, with the near-limit relay and the other chat systems, which it installs under var/bench.
bench-peers: .venv/.run var/bench/.tools
	@sh bench/peers.sh chainlit gradio otree
	$(BENCH) --only bare emostudy relay chainlit gradio otree

var/bench/.tools: bench/requirements.txt
	@mkdir -p var/bench
	@sh deploy/venv.sh var/bench/venv
	@var/bench/venv/bin/python -m pip install --quiet --disable-pip-version-check -r bench/requirements.txt
	@touch $@
