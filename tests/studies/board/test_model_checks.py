"""The Design page asks each model one question in a process of its own, and shows the last outcome."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from dialogue.models import Call
from studies.board.model_checks import COMMAND
from studies.models import Study, Task
from studies.workbench import tasks
from tests import factories

# Transactions are real: calls are stored in another thread, with a connection of its own.
pytestmark = pytest.mark.django_db(transaction=True)

DESIGN = reverse("research-design", args=["demo"])
CHECK = reverse("research-check-models", args=["demo"])


@pytest.fixture(autouse=True)
def var(settings: Any, tmp_path: Any) -> None:
    settings.VAR = tmp_path


@pytest.fixture
def study() -> Study:
    return factories.study()


@pytest.fixture
def desk() -> Client:
    client = Client()
    client.force_login(User.objects.create(username="ada", is_staff=True, is_superuser=True))
    return client


@pytest.fixture
def spawned(monkeypatch: pytest.MonkeyPatch) -> list[Task]:
    """The tasks for which a process would have been started."""
    started: list[Task] = []
    monkeypatch.setattr(tasks, "spawn", started.append)
    return started


def words(page: Any) -> str:
    return " ".join(page.content.decode().split())


def task_of(study: Study, **fields: Any) -> Task:
    return Task.objects.create(study=study, command=COMMAND, folder="tasks/demo/1", **fields)


def test_button_starts_one_task_and_a_second_press_starts_none(desk: Client, study: Study, spawned: list[Task]) -> None:
    page = desk.post(CHECK, follow=True)
    assert page.redirect_chain == [(DESIGN, 302)]
    task = Task.objects.get()
    assert (task.command, task.arguments, task.state) == ("check_models", [], "running")
    assert f'action="{CHECK}"' not in words(page)
    desk.post(CHECK)
    assert (list(Task.objects.all()), spawned) == ([task], [task])
    assert not Call.objects.exists()


@pytest.mark.parametrize("method", ["get", "put", "delete"])
def test_other_methods_are_refused(method: str, desk: Client, study: Study) -> None:
    assert getattr(desk, method)(CHECK).status_code == 405


def test_strangers_start_nothing(study: Study) -> None:
    assert Client().post(CHECK).status_code == 403
    other = Client()
    other.force_login(User.objects.create(username="bob"))
    assert other.post(CHECK).status_code == 403
    assert not Task.objects.exists()


def test_form_without_its_token_is_refused(study: Study) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.create(username="ada", is_staff=True, is_superuser=True))
    assert client.post(CHECK).status_code == 403
    assert not Task.objects.exists()


def test_study_that_is_not_there_is_not_found(desk: Client, study: Study) -> None:
    assert desk.post(reverse("research-check-models", args=["other"])).status_code == 404


def test_page_of_all_tasks_does_not_start_it(desk: Client, study: Study) -> None:
    assert desk.post(reverse("research-start", args=["demo", COMMAND])).status_code == 404


def test_task_keeps_what_each_model_answered_and_the_page_shows_it(desk: Client, study: Study) -> None:
    study.current().judges.update(
        kind="openai_compatible", base_url="https://models.example.org/v1", model="m", api_key_env="NOT_THERE"
    )
    task = task_of(study)
    call_command("run_task", task.pk)
    task.refresh_from_db()
    assert (task.state, task.outcome["version"], len(task.outcome["models"])) == ("done", 1, 7)
    page = desk.get(DESIGN)
    last = page.context["last_check"]
    assert (last["answers"], last["version"], last["ended_at"]) == ("6 of 7 models answer", 1, task.ended_at)
    judge = last["rows"][5]
    assert (judge.name, judge.answers, judge.state) == ("judge demo", False, "key not set")
    assert judge.advice == ("Set the variable NOT_THERE for the server and for commands, and start the server again.")
    assert [row.name for row in last["rows"] if row.answers] == [
        "arm amber", "arm birch", "arm cedar", "arm delta", "arm ember", "simulated seekers"
    ]  # fmt: skip
    assert '<span class="status status--attention">key not set</span>' in words(page)
    assert page.context["tasks"][0]["outcome"] == ["6 of 7 models answer"]


def test_last_outcome_stays_while_another_check_is_running(desk: Client, study: Study, spawned: list[Task]) -> None:
    call_command("run_task", task_of(study).pk)
    desk.post(CHECK)
    page = desk.get(DESIGN)
    assert page.context["last_check"]["answers"] == "7 of 7 models answer"
    assert [task["state"] for task in page.context["tasks"]] == ["running"]


def test_failed_task_says_why(desk: Client, study: Study) -> None:
    task = task_of(study, state="failed", message="PRICES: prices.toml cannot be read", ended_at=timezone.now())
    page = desk.get(DESIGN)
    assert (page.context["tasks"][0]["pk"], page.context["last_check"]) == (task.pk, None)
    assert "PRICES: prices.toml cannot be read" in words(page)


def test_page_says_what_a_question_takes(desk: Client, study: Study) -> None:
    page = desk.get(DESIGN)
    assert (page.context["models_to_ask"], page.context["check_cost"]) == (7, "0.00 USD")
    assert f'action="{CHECK}"' in words(page)
    assert "Expected: 110 input and 150 output tokens, 0.00 USD." in words(page)
    assert not Call.objects.exists()


def test_words_of_models_are_text_on_the_page(desk: Client, study: Study) -> None:
    task = task_of(study)
    call_command("run_task", task.pk)
    task.refresh_from_db()
    task.outcome["models"][0] |= {"text": "<b>bold</b>", "detail": "<i>fault</i>"}
    task.save()
    assert "<b>bold" not in words(page := desk.get(DESIGN))
    assert "&lt;i&gt;fault" in words(page)
