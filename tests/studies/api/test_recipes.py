"""The recipes of docs/api.md, run as they stand there against a server over HTTP."""

import csv
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command

from studies.api import urls
from studies.connections.tokens import create_token
from studies.models import ApiToken, Delivery, Study, Task, Webhook
from studies.models.participation import digest
from studies.webhooks import deliveries
from studies.webhooks.events import PING, create_delivery
from studies.workbench import tasks
from tests import factories
from tests.studies.care.servers import Hook, webhook_server

pytestmark = pytest.mark.django_db(transaction=True)

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "api.md").read_text(encoding="utf-8")
FUNCTION, LOAD, LINKS, EXPORT, JUDGE, WEBHOOK, CHECK = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def run(live_server: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: Any) -> Any:
    """Run a recipe in a folder of its own; returns its names."""
    settings.VAR = tmp_path / "var"
    settings.VAR.mkdir()
    monkeypatch.chdir(tmp_path)
    ada = User.objects.create(username="ada", is_staff=True, is_superuser=True)
    monkeypatch.setenv("EMOSTUDY_URL", live_server.url)

    def run_recipe(text: str, *scopes: str, **changes: str) -> dict[str, Any]:
        monkeypatch.setenv("EMOSTUDY_TOKEN", create_token(ada, name="a recipe", scopes=scopes)[1])
        for old, new in changes.items():
            assert old in text
            text = text.replace(old, new)
        names: dict[str, Any] = {}
        exec(FUNCTION + text, names)
        return names

    return run_recipe


def rated_study() -> Study:
    study = factories.study("my_study")
    factories.rating(person := factories.person(study), factories.run_with_turns(study, person))
    return study


def test_recipe_loads_a_study_file(run, tmp_path, capsys):
    from django.conf import settings

    text = (settings.FIXTURES / "studies" / "demo.toml").read_text(encoding="utf-8")
    (tmp_path / "my_study.toml").write_text(text.replace('key = "demo"', 'key = "my_study"', 1), encoding="utf-8")

    run(LOAD, "read", "write")

    assert capsys.readouterr().out == "my_study created version 1\n"
    assert Study.objects.get().key == "my_study"


def test_recipe_prints_the_faults_of_a_study_file(run, tmp_path, capsys):
    (tmp_path / "my_study.toml").write_text("key = 'my_study'\n", encoding="utf-8")

    run(LOAD, "read", "write")

    assert "my_study.toml: title: is missing\n" in capsys.readouterr().out
    assert not Study.objects.exists()


def test_recipe_makes_links(run, tmp_path, live_server):
    study = factories.study("my_study")

    run(LINKS, "write")

    with (tmp_path / "links.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == study.participations.count() == 50
    token = rows[0]["url"].removeprefix(f"{live_server.url}/j/").removesuffix("/")
    assert study.participations.get(code=rows[0]["code"]).token_hash == digest(token)


def test_recipe_fetches_an_export(run, tmp_path):
    rated_study()

    run(EXPORT, "export")

    with zipfile.ZipFile(tmp_path / "my_study.zip") as archive:
        assert json.loads(archive.read("manifest.json"))["files"]["ratings.csv"]["rows"] == 10


def test_recipe_lets_a_judge_rate(run, capsys, monkeypatch):
    rated_study()
    monkeypatch.setattr(tasks, "spawn", lambda task: call_command("run_task", str(task.pk)))

    names = run(JUDGE, "read", "run")

    assert Task.objects.get().state == Task.State.DONE
    printed = capsys.readouterr().out.splitlines()[-1]
    assert printed.startswith("done {")
    assert "'done': 1," in printed
    assert names["estimate"]["calls"] == 1


def test_recipe_does_not_start_what_is_too_dear(run):
    rated_study()

    with pytest.raises(SystemExit, match="Not started"):
        run(JUDGE, "read", "run", **{"> 20": "> -1"})
    assert not Task.objects.exists()


def test_recipe_makes_a_webhook_and_checks_its_signature(run):
    factories.study("my_study")
    hook = Hook()
    with webhook_server(hook) as address:
        key = run(WEBHOOK, "write", **{"https://lab.example.org/hook": address})["key"]
        create_delivery(Webhook.objects.get(), PING, {})
        assert deliveries.send_due() == 1

    is_ours = run(CHECK)["is_ours"]
    headers, body = hook.requests[0]
    assert is_ours(headers, body, key)
    assert not is_ours(headers, body + b" ", key)
    assert not is_ours(headers, body, "whk_other")
    assert Delivery.objects.get().answer == "200"


@pytest.mark.parametrize("scope", ApiToken.Scope.values)
def test_page_explains_every_scope(scope):
    assert f"\n| `{scope}` |" in PAGE


@pytest.mark.parametrize("route", [str(one.pattern) for one in urls.urlpatterns if one.name not in (None, "api")])
def test_page_names_every_address(route):
    named = re.sub(r"<slug:key>", "KEY", route).replace("<slug:arm>", "ARM")
    named = re.sub(r"<\w+:name>", "NAME", re.sub(r"<int:number>", "N", named))
    short = named.replace("studies/KEY/", "…/", 1)
    assert any(f"`{one}" in PAGE or f"{one}`" in PAGE for one in (named, short, re.sub(r"^…/\w+/N/", "…/N/", short)))
