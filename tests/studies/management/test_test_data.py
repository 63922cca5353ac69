"""A result that is empty as test data were left out: each command says so, and how to include them."""

from functools import partial
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from studies import analysis
from studies.management.commands import run_task
from studies.models import Task
from tests import factories

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("figures_are_left_out")]

HINT = "Add --include-tests to include it."
PLANS = [
    ("plan_reviews", "--source", "all", "--instruments", "emoharbor_10"),
    ("plan_pairs", "--between", "arms", "--instrument", "pairwise_support"),
]
WRITE = [
    ("export", "--out", "out"),
    ("export_judgements", "--out", "out.jsonl"),
    ("export_training", "--format", "sft", "--out", "out.jsonl"),
]


@pytest.fixture
def tried(tmp_path, monkeypatch):
    """Two conversations of a bot, each judged."""
    monkeypatch.chdir(tmp_path)
    study = factories.study()
    bot, judge = factories.person(study, is_test=True), factories.judge(study)
    for arm in ("amber", "birch"):
        run = factories.run_with_turns(study, bot, arm=arm, is_test=True)
        factories.rating(bot, run)
        factories.rating(judge, run)
    return study


def run(command, *arguments):
    told = StringIO()
    call_command(command, *arguments, stdout=told)
    return told.getvalue()


def refusal(command, *arguments):
    with pytest.raises(CommandError) as refused:
        run(command, *arguments)
    assert refused.value.returncode == 2
    return str(refused.value)


@pytest.mark.parametrize(("command", *("option", "value")), [(each[0], each[-2], each[-1]) for each in WRITE])
def test_an_export_is_refused_with_the_hint_and_made_with_the_option(command, option, value, tried, tmp_path):
    more = [word for each in WRITE if each[0] == command for word in each[1:]]

    assert refusal(command, "demo", *more).endswith(f" test data. {HINT}")
    assert list(tmp_path.iterdir()) == []
    run(command, "demo", *more, "--include-tests")
    assert (tmp_path / value).exists()


@pytest.mark.parametrize("command", ["export", "export_judgements"])
def test_an_earlier_export_is_emptied_all_the_same(command, tried, tmp_path):
    """As after an erasure: what it held must not stay."""
    more = next(each[1:] for each in WRITE if each[0] == command)
    run(command, "demo", *more, "--include-tests")

    assert HINT in run(command, "demo", *more)
    left = tmp_path / more[-1]
    assert not left.exists() or (left / "conversations.csv").read_text(encoding="utf-8").count("\n") == 1


def test_precision_says_it_too(tried):
    assert refusal("plan", "precision", "demo") == f"The study demo has only test data. {HINT}"


@pytest.mark.parametrize("plan", PLANS)
def test_a_plan_says_that_there_is_test_data(plan, tried):
    command, *more = plan

    assert refusal(command, "demo", "--name", "p", *more).endswith(
        "There is test data: --include-tests plans for bots."
    )
    run(command, "demo", "--name", "p", *more, "--include-tests")


@pytest.mark.parametrize("plan", PLANS)
def test_a_plan_of_nothing_has_no_hint(plan):
    factories.study()
    assert "--include-tests" not in refusal(plan[0], "demo", "--name", "p", *plan[1:])


def test_real_data_beside_test_data_is_exported_without_a_word(tried, tmp_path):
    person = factories.person(tried)
    factories.run_with_turns(tried, person)

    assert HINT not in run("export", "demo", "--out", "out")


LEFT_OUT = "2 conversations of test data were left out: --include-tests includes them."


@pytest.fixture
def begun(tried):
    """Beside the bot's: a real person who has not finished anything."""
    factories.person(tried)
    return tried


def test_an_empty_export_beside_a_real_person_names_the_option(begun):
    assert LEFT_OUT in run("export", "demo", "--out", "out")
    assert LEFT_OUT not in run("export", "demo", "--out", "out", "--include-tests")


def test_an_analysis_of_nothing_beside_a_real_person_names_the_option(begun, tmp_path, settings, monkeypatch):
    settings.VAR = tmp_path
    monkeypatch.setattr(run_task, "HEARTBEAT", 3600.0)
    with pytest.raises(analysis.AnalysisError, match=LEFT_OUT):
        run("analyse_study", "demo")
    assert LEFT_OUT in Task.objects.get().message


def test_precision_beside_a_real_person_names_the_option(begun):
    assert refusal("plan", "precision", "demo").endswith(LEFT_OUT)
    assert LEFT_OUT not in refusal("plan", "precision", "demo", "--include-tests")


@pytest.mark.parametrize("plan", PLANS)
def test_a_plan_of_nothing_beside_a_real_conversation_names_the_option(plan, begun):
    if plan[0] == "plan_pairs":  # one alone cannot be compared
        factories.run_with_turns(begun, factories.person(begun))
    hint = "There is test data: --include-tests plans for bots."
    assert refusal(plan[0], "demo", "--name", "p", *plan[1:]).endswith(hint)


def test_what_is_analysed_by_command_is_on_the_page(tried, tmp_path, settings, monkeypatch, admin_client):
    """`make demo-data` ends with it."""
    settings.VAR = tmp_path
    monkeypatch.setattr(analysis, "analyse", partial(analysis.analyse, bootstrap=20))
    monkeypatch.setattr(run_task, "HEARTBEAT", 3600.0)  # its thread could not write beside the test's transaction
    told = run("analyse_study", "demo", "--include-tests", "--json")

    page = admin_client.get("/research/demo/analysis/")
    assert (page.context["newest"], page.context["results"].demonstration) == (Task.objects.get(), True)
    assert "No results yet" not in page.content.decode()
    assert str(tmp_path / "tasks" / "demo") in told
    Task.objects.update(state=Task.State.RUNNING)
    assert refusal("analyse_study", "demo") == "An analysis of demo is already running."
