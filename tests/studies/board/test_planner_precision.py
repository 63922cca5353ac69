"""How wide an interval is: asked for on a page, computed by a task, shown as table and chart."""

import json

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from studies.board.planner_precision import value_of
from studies.models import Rater, Task
from studies.models.response import RaterKind
from studies.workbench import tasks
from tests import factories

pytestmark = pytest.mark.django_db
PAGE = "/research/demo/analysis/precision/"
ROW = {
    "judge": "demo", "strategy": "standard", "human": "seeker", "instrument": "emoharbor_10", "moment": "final",
    "item": "safety", "pearson_low": 0.1,
}  # fmt: skip


@pytest.fixture(autouse=True)
def var(settings, tmp_path):
    settings.VAR = tmp_path
    return tmp_path


@pytest.fixture
def spawned(monkeypatch):
    """The tasks for which a process would have been started."""
    started = []
    monkeypatch.setattr(tasks, "spawn", started.append)
    return started


def task_of(study, command, *arguments, state="done"):
    task = Task.objects.create(
        study=study, command=command, arguments=list(arguments), state=state, ended_at=timezone.now()
    )
    task.folder = f"tasks/{study.key}/{task.pk}"
    task.save()
    return task


def analysed(study, *rows):
    task = task_of(study, "analyse")
    (tasks.folder_of(task) / "report").mkdir(parents=True)
    file = tasks.folder_of(task) / "report" / "results.json"
    file.write_text(json.dumps({"tables": {"agreement": rows}}), encoding="utf-8")


def rated(study, people=10):
    judge = Rater.objects.create(study=study, kind=RaterKind.JUDGE, code="demo", strategy="standard")
    for number in range(people):
        person = factories.person(study)
        run = factories.run_with_turns(study, person)
        factories.rating(person, run, 1 + number % 5)
        factories.rating(judge, run, 1 + (number + number // 5) % 5)


def test_precision_offers_the_primary_intervals_first(desk, study):
    others = [{"human": "reviewer"}, {"moment": "checkpoint"}, {"human": "expert:E1"}, {"pearson_low": None}]
    analysed(study, *({**ROW, **other} for other in others), ROW)

    form = desk.get(PAGE).context["form"]

    offered = [value_of({**ROW, **other}) for other in ({}, {"human": "reviewer"}, {"moment": "checkpoint"})]
    assert [value for value, _words in form.fields["of"].choices] == offered
    words = [words for _value, words in form.fields["of"].choices]
    assert words[:2] == [
        "Safety · demo standard · participant · at the end",
        "Safety · demo standard · reviewer · at the end",
    ]


def test_precision_leaves_out_of_its_menu_what_all_lines_have(desk, study):
    analysed(study, ROW, {**ROW, "strategy": "user_aware"})
    choices = desk.get(PAGE).context["form"].fields["of"].choices
    assert [words for _value, words in choices] == ["Safety · demo standard", "Safety · demo user-aware"]


def test_precision_starts_a_task_that_knows_which(desk, study, spawned, django_capture_on_commit_callbacks):
    analysed(study, ROW)

    with django_capture_on_commit_callbacks(execute=True):
        response = desk.post(PAGE, {"of": value_of(ROW), "include_tests": "on"})

    assert response["Location"] == PAGE
    [task] = spawned
    assert (task.command, task.arguments) == (
        "plan",
        [
            "--judge=demo", "--strategy=standard", "--human=seeker", "--instrument=emoharbor_10", "--moment=final",
            "--item=safety", "--include-tests",
        ],
    )  # fmt: skip


def test_precision_refuses_an_interval_that_there_is_not(desk, study, spawned):
    analysed(study, ROW)
    assert desk.post(PAGE, {"of": "warmth"}).status_code == 422
    assert not Task.objects.filter(command="plan").exists()


def test_precision_says_what_to_do_first(desk, study):
    assert "Let a judge rate the conversations" in desk.get(PAGE).content.decode()
    analysed(study, {**ROW, "pearson_low": None})
    assert "The last analysis found no interval" in desk.get(PAGE).content.decode()


def test_a_task_computes_what_the_page_shows(desk, study):
    rated(study)
    analysed(study, ROW)
    task = task_of(study, "plan", "--item=safety", "--bootstrap=200", state="running")

    call_command("run_task", task.pk)

    task.refresh_from_db()
    assert (task.state, task.message) == ("done", "")
    page = desk.get(PAGE)
    plan = page.context["plan"]
    assert (plan["n"], plan["clusters"], plan["of"]["item"]) == (10, 10, "safety")
    text = " ".join(page.content.decode().split())
    assert f"± {plan['now']['half_width']:.3f}" in text
    for row in plan["participants"]:
        assert f"± {row['half_width']:.3f}" in text
    for cell in plan["plans"][0]["cells"]:
        assert f"± {cell['corrected_half_width']:.3f}" in text
    assert text.count("<svg") == 1 + len(plan["plans"])
    assert "The reliability of a single rating is assumed" in text
    assert page.context["form"].initial["of"] == value_of(ROW)


def test_notes_and_the_method_are_told_in_the_language_of_the_page(desk, study):
    rated(study)
    analysed(study, ROW)
    call_command("run_task", task_of(study, "plan", "--item=safety", "--bootstrap=200", state="running").pk)

    page = desk.get(PAGE, headers={"accept-language": "zh-hans"})

    plan, text = page.context["plan"], page.content.decode()
    assert any(note.startswith("the reliability of a single rating is assumed") for note in plan["notes"])
    assert "reliability of a single rating" not in text
    assert plan["now"]["method"] == "jackknife of clusters, Student's t, on Fisher's z"
    assert page.context["method"] == "聚类刀切法，t 分布，在 Fisher z 尺度上"


def test_a_task_that_cannot_plan_says_why(study):
    task = task_of(study, "plan", "--item=safety", state="running")
    factories.rating(person := factories.person(study), factories.run_with_turns(study, person))

    with pytest.raises(Exception, match="no judge and person scored the same conversation"):
        call_command("run_task", task.pk)

    task.refresh_from_db()
    assert (task.state, task.message) == (
        "failed",
        "no judge and person scored the same conversation, so there is no interval to plan",
    )


def test_precision_is_for_researchers(study):
    assert Client().get(PAGE).status_code == 302
    assert Client().post(PAGE).status_code == 403


@pytest.mark.parametrize("count", [1, 3])
def test_precision_asks_the_database_as_often_for_many_as_for_one(count, desk, study, django_assert_num_queries):
    analysed(study, *({**ROW, "item": f"item{number}"} for number in range(count)))
    for _task in range(count):
        task_of(study, "plan", state="failed")
    with django_assert_num_queries(9):
        desk.get(PAGE)


def test_precision_links_to_the_sample_size_planner(desk, study):
    assert reverse("research-sample-size") in desk.get(PAGE).content.decode()
