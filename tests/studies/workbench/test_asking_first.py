"""Before work that is paid for, a page asks: what it would take, within which budget."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from dialogue.models import Call, Job
from studies.models import Rater, Study, Task
from studies.workbench import tasks
from studies.workbench.paid_work import Quote, outcome_of
from studies.workbench.task_words import describe_outcome
from tests import factories

pytestmark = pytest.mark.django_db

REMOTE = {
    "kind": "openai_compatible",
    "base_url": "http://127.0.0.1:9/v1",
    "model": "big",
    "provider": "Lab",
    "api_key_env": "BIG_KEY",
}
PRICES = """
version = "1"
currency = "EUR"
[[models]]
model = "big"
since = 2026-01-01
input = 1000
output = 2000
"""


@pytest.fixture(autouse=True)
def var(settings: Any, tmp_path: Path) -> None:
    settings.VAR = tmp_path


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> Study:
    """With one conversation to judge, a scripted judge and one behind a server."""
    monkeypatch.setenv("BIG_KEY", "secret")
    spec = factories.demo_spec()
    far = replace(spec.judges[0], key="far", **REMOTE)
    here = factories.study(judges=(*spec.judges, far))
    factories.run_with_turns(here)
    return here


@pytest.fixture
def desk() -> Client:
    client = Client()
    client.force_login(User.objects.create(username="ada", is_staff=True, is_superuser=True))
    return client


@pytest.fixture
def spawned(monkeypatch: pytest.MonkeyPatch) -> list[Task]:
    started: list[Task] = []
    monkeypatch.setattr(tasks, "spawn", started.append)
    return started


@pytest.fixture
def prices(settings: Any, tmp_path: Path) -> None:
    settings.PRICES = tmp_path / "prices.toml"
    settings.PRICES.write_text(PRICES, encoding="utf-8")


def address(name: str, *args: str) -> str:
    return reverse(f"research-{name}", args=["demo", *args])


def ask(desk: Client, judge: str = "far", strategies: tuple[str, ...] = ("standard",)) -> Any:
    """The question, as one comes to it from the form."""
    sent = {"judge": judge, "strategies": list(strategies)}
    return desk.post(address("start", "judge"), sent, follow=True)


def test_question_shows_counts_and_cost_and_starts_nothing(
    desk: Client, study: Study, prices: None, spawned: list[Task]
) -> None:
    page = ask(desk, strategies=("standard", "user_aware", "state_aware"))
    assert page.redirect_chain[0][0].startswith(address("confirm"))
    quote = page.context["quote"]
    assert (quote.items["judgements"], quote.calls) == (1, 1)  # of the standard one: nothing is known of the seeker
    assert quote.input_tokens > 100
    assert quote.cost == Decimal(quote.input_tokens + 2 * quote.output_tokens) / 1000
    html = page.content.decode()
    assert "Start this?" in html
    assert "far: standard, user-aware, state-aware" in html
    assert "EUR" in html
    assert not Task.objects.exists()
    assert not Job.objects.exists()
    assert not Call.objects.exists()
    assert not Rater.objects.filter(kind="judge").exists()


def test_strategies_are_added_up() -> None:
    found = Quote()
    one = {
        "conversations": 0, "judgements": 2, "profiles": None, "calls": 3, "input_tokens": 10, "output_tokens": 5,
        "cost": 0.1, "currency": "EUR", "unpriced": [], "unset_keys": ["A"],
    }  # fmt: skip
    found.add(one)
    found.add({**one, "cost": 0.2})
    assert (found.items["judgements"], found.calls, found.cost, found.unset_keys) == (4, 6, Decimal("0.3"), ["A"])
    found.add({**one, "cost": None, "unpriced": ["big"]})
    assert (found.cost, found.unpriced) == (None, ["big"])


def test_answer_starts_what_was_asked_for_once(
    desk: Client, study: Study, spawned: list[Task], django_capture_on_commit_callbacks: Any
) -> None:
    work = ask(desk).context["work"]
    with django_capture_on_commit_callbacks(execute=True):
        for told in ("Started.", "This task is already in progress. Nothing new was started."):
            page = desk.post(address("confirm"), {"work": work}, follow=True)
            assert [str(message) for message in page.context["messages"]] == [told]
    assert page.redirect_chain == [(address("analysis"), 302)]
    [task] = spawned
    assert (task.command, task.arguments, task.started_by.username) == ("judge", ["far", "standard"], "ada")


def test_other_work_than_what_runs_is_not_started(
    desk: Client, study: Study, spawned: list[Task], django_capture_on_commit_callbacks: Any
) -> None:
    Task.objects.create(study=study, command="judge", arguments=["demo", "standard"])
    page = desk.post(address("confirm"), {"work": ask(desk).context["work"]}, follow=True)
    assert "Another task of this kind is in progress" in page.content.decode()
    assert Task.objects.count() == 1


@pytest.mark.parametrize("work", ["", "x", "WyJqdWRnZSJd:1:x"])
@pytest.mark.parametrize("method", ["get", "post"])
def test_what_was_not_asked_here_is_not_started(method: str, work: str, desk: Client, study: Study) -> None:
    page = getattr(desk, method)(address("confirm"), {"work": work}, follow=True)
    assert "This page is too old or incomplete." in page.content.decode()
    assert not Task.objects.exists()


def test_question_of_one_study_is_none_of_another(desk: Client, study: Study) -> None:
    work = ask(desk).context["work"]
    factories.study("other")
    desk.post(reverse("research-confirm", args=["other"]), {"work": work})
    assert not Task.objects.exists()


def test_price_that_is_not_known_is_said(desk: Client, study: Study) -> None:
    page = ask(desk)
    html = page.content.decode()
    assert "no price known" in html
    assert "The price table has no price for: big." in html
    assert page.context["may_start"]


def test_budget_of_a_day_is_shown_and_kept(desk: Client, study: Study, prices: None, settings: Any) -> None:
    settings.DAILY_BUDGET = Decimal("0.25")
    page = ask(desk)
    assert page.context["budgets"] == [("Daily budget", "0.25")]
    assert "This is more than the budget" in page.content.decode()
    assert page.context["may_start"]


def test_budget_that_cannot_be_kept_stands_in_the_way(desk: Client, study: Study, settings: Any) -> None:
    settings.DAILY_BUDGET = Decimal(5)
    page = ask(desk)
    assert "This cannot start, because the budget cannot be kept" in page.content.decode()
    assert not page.context["may_start"]


def test_key_that_is_not_set_is_named(desk: Client, study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BIG_KEY")
    page = ask(desk)
    assert "The variable BIG_KEY, which holds a key, is not set" in page.content.decode()
    assert page.context["quote"].calls == 1
    assert not page.context["may_start"]


def test_refusal_of_the_command_is_told(desk: Client, study: Study) -> None:
    sent = {"judge": "far", "strategy": "standard", "probe": "order_swap"}
    page = desk.post(address("probe"), sent, follow=True)
    assert "has no plan of pairs" in page.content.decode()
    assert "Estimated cost" not in page.content.decode()
    assert not page.context["may_start"]


def test_nothing_left_to_ask_is_said(desk: Client, study: Study) -> None:
    study.runs.all().delete()
    page = ask(desk)
    assert page.context["quote"].calls == 0
    assert "No model needs to be called" in page.content.decode()


# What came of it


def test_finished_work_tells_counts_and_cost_and_no_arguments(desk: Client, study: Study) -> None:
    outcome = {
        "done": 12, "before": 3, "failed": 2, "set_aside": 1, "not_sent": 1, "left": 0,
        "reasons": {"timeout": 2}, "cost": "0.125", "currency": "EUR",
    }  # fmt: skip
    arguments = ["far", "standard", "--variant=padding", "--replicates=3"]
    Task.objects.create(study=study, command="judge", arguments=arguments, state="done", outcome=outcome)
    html = desk.get(address("analysis")).content.decode()
    assert "far: standard; Padded replies; 3 answers to each question" in html
    assert "12 done · 3 already done · 2 failed (" in html
    assert "1 of them set aside: too long, or failed in the same way three times · 1 not sent" in html
    assert "cost: 0.12 EUR" in html
    assert "--variant" not in html


def test_outcomes_of_the_parts_are_added_up(prices: None) -> None:
    part = {
        "done": 2, "failed": 1, "quarantined": 0, "left": 0, "failed_reasons": {"timeout": 1}, "cost": 0.1,
        "unpriced": False, "skipped_existing": 1,
    }  # fmt: skip
    told = outcome_of([{"parts": [part, {**part, "not_sent": 1}]}, {}])
    assert (told["done"], told["before"], told["not_sent"], told["reasons"]) == (4, 2, 1, {"timeout": 2})
    assert (told["cost"], told["currency"]) == ("0.2", "EUR")
    assert outcome_of([part, {**part, "unpriced": True}])["cost"] is None
    refused = outcome_of([{**part, "refused_profiles": [{"id": "a"}, {"id": "b"}]}])
    assert describe_outcome(refused)[:3] == ["2 done", "1 already done", "2 of them refused and not stored"]


@pytest.mark.parametrize(
    ("command", "arguments", "about"),
    [
        ("judge", ["far", "standard", "--without=big_five"], "far: standard; without: Big Five"),
        ("judge", ["far", "pairs"], "far: Pairs in both orders"),
        (
            "benchmark",
            ["--arms", "a,b", "--conditions", "average", "worst_case", "--replicates", "1", "--max-turns", "15",
             "--concurrency", "8", "--judge", "x", "--strategy", "standard", "--budget", "5"],
            "arms: a, b; average, worst case; judges: x (standard); budget: 5.00",
        ),
        ("build_profiles", ["--include-tests"], "from answers; with test data"),
        (
            "build_profiles",
            ["--expand", "all", "--count", "9", "--seed", "2", "--language", "zh"],
            "after the approved profiles; 9 in all; seed 2; zh",
        ),
        ("analyse", [], "without test data"),
        ("plan", ["--judge", "x"], ""),
    ],
)  # fmt: skip
def test_task_is_told_in_words(command: str, arguments: list[str], about: str) -> None:
    from studies.workbench.task_words import describe_work

    assert describe_work(command, arguments) == about
