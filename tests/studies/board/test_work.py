"""Export, judges and analysis: started from a page, done in a process of their own, watched and handed out."""

import io
import json
import os
import sys
import zipfile
from base64 import b64encode
from datetime import timedelta
from hashlib import sha256
from types import SimpleNamespace

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from dialogue.models import Job
from studies.models import Task
from studies.models.task import STALE_AFTER
from studies.workbench import heatmap, tasks
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def var(settings, tmp_path):
    settings.VAR = tmp_path
    return tmp_path


@pytest.fixture
def study():
    return factories.study()


@pytest.fixture
def desk():
    client = Client()
    client.force_login(User.objects.create(username="ada", is_staff=True, is_superuser=True))
    return client


@pytest.fixture
def spawned(monkeypatch):
    """The tasks for which a process would have been started."""
    started = []
    monkeypatch.setattr(tasks, "spawn", started.append)
    return started


def address(name, *args):
    return reverse(f"research-{name}", args=["demo", *args])


def task_of(study, command, *arguments, **fields):
    task = Task.objects.create(study=study, command=command, arguments=list(arguments), **fields)
    task.folder = f"tasks/{study.key}/{task.pk}"
    task.save()
    return task


# Starting


@pytest.mark.parametrize(
    ("command", "sent", "arguments", "page"),
    [
        ("export", {}, [], "export"),
        ("export", {"include_tests": "on"}, ["--include-tests"], "export"),
        ("analyse", {"include_tests": "on"}, ["--include-tests"], "analysis"),
    ],
)
def test_start_keeps_what_was_asked_for(
    command, sent, arguments, page, desk, study, spawned, django_capture_on_commit_callbacks
):
    with django_capture_on_commit_callbacks(execute=True):
        response = desk.post(address("start", command), sent)

    [task] = Task.objects.all()
    assert response["Location"] == address(page)
    assert (task.command, task.arguments, task.started_by.username) == (command, arguments, "ada")
    assert task.folder == f"tasks/demo/{task.pk}"
    assert spawned == [task]


@pytest.mark.parametrize("sent", [{"judge": "nobody", "strategies": ["standard"]}, {"judge": "demo"}, {}])
def test_start_refuses_a_judge_that_there_is_not(sent, desk, study, spawned):
    assert desk.post(address("start", "judge"), sent).status_code == 400
    assert not Task.objects.exists()


def test_start_knows_no_other_command(desk, study, spawned):
    assert desk.post(address("start", "flush")).status_code == 404


def test_start_twice_is_one_task(desk, study, spawned, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        desk.post(address("start", "export"))
        desk.post(address("start", "export"))

    assert len(spawned) == 1


def test_start_does_not_wait_for_the_dead(desk, study, spawned):
    dead = task_of(study, "export", heard_at=timezone.now() - STALE_AFTER - timedelta(seconds=1))

    desk.post(address("start", "export"))

    assert Task.objects.exclude(pk=dead.pk).count() == 1


# Watching


def test_tasks_tell_how_far_they_are(desk, study):
    running = task_of(study, "judge", done=3, total=10, message="judge demo (standard)")

    [told] = desk.get(address("tasks")).json()["tasks"]

    assert told == {"pk": running.pk, "state": "running", "done": 3, "total": 10, "message": "3 of 10"}


def test_tasks_tell_of_a_process_that_died(desk, study):
    task_of(study, "judge", heard_at=timezone.now() - STALE_AFTER - timedelta(seconds=1))

    [told] = desk.get(address("tasks")).json()["tasks"]

    assert told["state"] == "failed"
    assert told["message"] == "Its process has stopped. Start it again: finished parts are not repeated."


@pytest.mark.parametrize("count", [1, 3])
def test_tasks_ask_the_database_as_often_for_many_as_for_one(count, desk, study, django_assert_num_queries):
    for _ in range(count):
        task_of(study, "export", state="done")

    with django_assert_num_queries(4):
        desk.get(address("tasks"))


# Doing


def export_of(study):
    factories.rating(person := factories.person(study), factories.run_with_turns(study, person))
    task = task_of(study, "export")
    call_command("run_task", task.pk)
    task.refresh_from_db()
    return task


def test_export_task_makes_an_archive_that_the_page_hands_out(desk, study):
    task = export_of(study)

    assert (task.state, task.message) == ("done", "")
    link = address("file", task.pk, "demo-export.zip")
    assert link in desk.get(address("export")).content.decode()
    response = desk.get(link)
    assert response["Content-Disposition"] == 'attachment; filename="demo-export.zip"'
    with zipfile.ZipFile(io.BytesIO(response.content)) as archive:
        assert {"ratings.csv", "codebook.csv", "manifest.json"} <= set(archive.namelist())


@pytest.mark.parametrize("name", ["../../../secret_key", "/etc/passwd", "nothing.csv", "export"])
def test_files_are_those_of_the_task_alone(name, desk, study, var):
    (var / "secret_key").write_text("secret")
    task = export_of(study)

    assert desk.get(f"/research/demo/tasks/{task.pk}/files/{name}").status_code == 404


def test_files_of_another_study_are_not_found(desk, study):
    task = export_of(factories.study("another"))

    assert desk.get(address("file", task.pk, "export/ratings.csv")).status_code == 404
    assert desk.get(address("report", task.pk)).status_code == 404


def test_files_do_not_follow_links_out_of_the_folder(study, var):
    (var / "secret_key").write_text("secret")
    task = task_of(study, "export")
    tasks.folder_of(task).mkdir(parents=True)
    (tasks.folder_of(task) / "link").symlink_to(var / "secret_key")

    assert tasks.files_of(task) == {}


def test_judge_task_tries_every_strategy_and_says_which_failed(monkeypatch, study):
    from studies.management.commands import run_task

    asked = []

    def judge(command, *arguments, **_streams):
        asked.append((command, *arguments))
        if "user_aware" in arguments:
            raise SystemExit(1)

    monkeypatch.setattr(run_task, "call_command", judge)
    task = task_of(study, "judge", "demo", "standard", "user_aware", "state_aware")

    with pytest.raises(CommandError):
        run_task.Command().handle(task=task.pk)

    task.refresh_from_db()
    assert [arguments[5] for arguments in asked] == ["standard", "user_aware", "state_aware"]
    assert asked[0] == ("judge", "demo", "--judge", "demo", "--strategy", "standard", "--json")
    assert task.state == "failed"
    told = "It was stopped, or a part failed: user_aware. Start it again: what is done is not done twice."
    assert task.message == told


@pytest.mark.django_db(transaction=True)
def test_judge_task_keeps_what_came_of_it(study):
    factories.run_with_turns(study)
    task = task_of(study, "judge", "demo", "standard")

    call_command("run_task", task.pk)

    task.refresh_from_db()
    assert task.state == "done"
    assert (task.outcome["done"], task.outcome["failed"], task.outcome["reasons"]) == (1, 0, {})
    assert task.outcome["cost"] == "0.0"


def test_task_that_failed_tells_how_its_items_did(monkeypatch, study):
    from studies.management.commands import run_task

    def judge(*_arguments, **_streams):
        job = Job.objects.create(kind="judge", scope=study.key, title="demo (standard)", plan={})
        told = {"state": "failed", "failure": "client_error", "detail": "Asked to answer 404."}
        job.items.create(subject="run 1", role="judge", configuration="x", **told)
        raise SystemExit(1)

    monkeypatch.setattr(run_task, "call_command", judge)
    task = task_of(study, "judge", "demo", "standard")
    with pytest.raises(CommandError):
        run_task.Command().handle(task=task.pk)
    task.refresh_from_db()
    assert task.message.splitlines()[1:] == ["1 failed: client_error. Asked to answer 404."]


def test_analyse_task_exports_what_it_was_asked_for(monkeypatch, study):
    from studies.management.commands import run_task

    exported, analysed = [], []
    monkeypatch.setattr(run_task, "call_command", lambda *arguments: exported.append(arguments))
    monkeypatch.setattr(run_task.analysis, "analyse", lambda *folders, **_how: analysed.append(folders))
    task = task_of(study, "analyse", "--include-tests")

    run_task.Command().handle(task=task.pk)

    assert exported == [("export", "demo", "--out", str(tasks.folder_of(task) / "export"), "--include-tests")]
    assert analysed == [(tasks.folder_of(task) / "export", tasks.folder_of(task) / "report")]


def test_analysis_offers_test_data_as_it_was_asked_for_before(desk, study):
    task = results(study, [agreement()])
    task.arguments = ["--include-tests"]
    task.save()
    page = desk.get(address("analysis"))
    assert page.context["analyse_form"].initial == {"include_tests": True}


def test_a_task_that_breaks_says_why_in_a_line(monkeypatch, study):
    from studies.management.commands import run_task

    def broken(task):
        raise OSError("No space left on device")

    monkeypatch.setitem(run_task.WORK, "export", broken)
    task = task_of(study, "export")

    with pytest.raises(OSError, match="No space"):
        call_command("run_task", task.pk)

    task.refresh_from_db()
    assert (task.state, task.message) == ("failed", "OSError: No space left on device")
    assert task.ended_at is not None


def test_run_task_refuses_a_number_that_there_is_not():
    with pytest.raises(CommandError, match="There is no task 77"):
        call_command("run_task", 77)


def test_finish_counts_the_first_word_alone(study):
    task = task_of(study, "export")

    assert tasks.finish(task.pk, Task.State.DONE) is True
    assert tasks.finish(task.pk, Task.State.FAILED, "killed") is False
    task.refresh_from_db()
    assert (task.state, task.message) == ("done", "")


def test_last_lines_are_a_few_and_not_empty_ones(tmp_path):
    (tmp_path / "log.txt").write_text("".join(f"line {number}\n\n" for number in range(9)))

    assert tasks.last_lines(tmp_path / "log.txt").splitlines() == [f"line {number}" for number in range(4, 9)]
    assert tasks.last_lines(tmp_path / "none.txt") == ""


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif("connection.vendor != 'sqlite'", reason="the child finds the tests' database by its SQLite file")
def test_a_task_is_done_by_a_process_of_its_own(monkeypatch, study, var):
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{connection.settings_dict['NAME']}")
    monkeypatch.setenv("VAR_DIR", str(var))
    watched = []
    monkeypatch.setattr(tasks.threading, "Thread", lambda **how: watched.append(how) or NotStarted())
    task = task_of(study, "export", "--no-such-option")

    tasks.spawn(task)
    _task_id, process, log = watched[0]["args"]
    assert process.wait() != 0
    assert process.args == [sys.executable, str(process.args[1]), "run_task", str(task.pk)]

    task.refresh_from_db()
    assert task.state == "failed"
    assert "--no-such-option" in task.message
    assert "--no-such-option" in log.read_text()
    assert "EMOSTUDY_TASK" not in os.environ


@pytest.mark.parametrize(
    ("before", "code", "after", "message"),
    [
        ("running", 1, "failed", "No module named x"),
        ("running", -9, "failed", "Its process has stopped. Start it again: finished parts are not repeated."),
        ("done", -9, "done", ""),
    ],
)
def test_watch_tells_of_a_process_that_ended_without_a_word(
    before, code, after, message, monkeypatch, desk, study, tmp_path
):
    monkeypatch.setattr(tasks, "connection", SimpleNamespace(close=lambda: None))
    task = task_of(study, "export", state=before)
    (tmp_path / "log.txt").write_text("No module named x\n")

    tasks.watch(task.pk, SimpleNamespace(wait=lambda: code), tmp_path / "log.txt")

    [told] = desk.get(address("tasks")).json()["tasks"]
    assert (told["state"], told["message"]) == (after, message)


class NotStarted:
    def start(self):
        pass


# Results

RESULTS = {
    "demonstration": True,
    "counts": {"ratings": 40},
    "limits": ["There are only 4 independent clusters, so the intervals may be too narrow."],
    "tables": {"agreement": []},
}


def agreement(item="empathetic", r=0.5, **fields):
    usual = {"judge": "demo", "strategy": "standard", "human": "seeker", "moment": "final", "n": 12, "note": ""}
    usual["instrument"] = "emoharbor_10"
    return {**usual, "item": item, "pearson": r, "pearson_low": 0.1, "pearson_high": 0.8, **fields}


def results(study, rows, state="done"):
    task = task_of(study, "analyse", state=state, ended_at=timezone.now())
    folder = tasks.folder_of(task) / "report"
    folder.mkdir(parents=True)
    (folder / "results.json").write_text(json.dumps({**RESULTS, "tables": {"agreement": rows}}))
    (folder / "report.html").write_text("<!doctype html><title>Report</title>")
    return task


def test_analysis_shows_the_newest_results_that_are_there(desk, study):
    results(study, [agreement(r=0.1)])
    newest = results(study, [agreement(r=0.62)])
    results(study, [agreement(r=0.3)], state="failed")

    page = desk.get(address("analysis"))

    assert page.context["newest"] == newest
    text = " ".join(page.content.decode().split())
    assert '<td class="heat--3"> 0.62 <small>0.10 … 0.80</small> <small>n = 12</small> </td>' in text
    assert address("report", newest.pk) in text
    assert address("file", newest.pk, "report/results.json") in text


def test_analysis_says_what_to_do_first(desk, study):
    assert "No results yet" in desk.get(address("analysis")).content.decode()


def test_report_comes_with_a_policy_of_its_own(desk, study, settings):
    task = results(study, [])

    response = desk.get(address("report", task.pk))

    assert response.content == b"<!doctype html><title>Report</title>"
    assert response["Content-Type"] == "text/html; charset=utf-8"
    script = (settings.BASE_DIR / "studies/analysis/reporting/report.js").read_bytes()
    digest = b64encode(sha256(script).digest()).decode()
    assert response["Content-Security-Policy"] == (
        f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
    )
    assert response["X-Frame-Options"] == "SAMEORIGIN"
    assert desk.post(address("report", task.pk)).status_code == 405
    assert Client().get(address("report", task.pk)).status_code == 302


def test_heat_maps_part_kinds_of_people_and_moments_and_leave_single_raters_out():
    rows = [agreement(), agreement("safety"), agreement(strategy="user_aware"), agreement(human="expert:P1")]
    rows += [agreement(human="expert"), agreement(moment="checkpoint")]

    maps = heatmap.heat_maps(rows)

    assert [(each.human, each.moment) for each in maps] == [
        ("seeker", "final"),
        ("expert", "final"),
        ("seeker", "checkpoint"),
    ]
    assert list(maps[0].items) == [("empathetic", "Empathy"), ("safety", "Safety")]
    assert [(judge, strategy) for judge, strategy, _cells in maps[0].rows] == [
        ("demo", "standard"),
        ("demo", "user-aware"),
    ]
    assert maps[0].rows[1][2][1] is None


@pytest.mark.parametrize(
    ("r", "shade"),
    [(None, "heat--none"), (-0.01, "heat--below"), (-0.004, "heat--0"), (0.0, "heat--0"), (0.2, "heat--1"),
     (0.79, "heat--3"), (0.8, "heat--4"), (1.0, "heat--4")],
)  # fmt: skip
def test_a_cell_is_shaded_by_its_r(r, shade):
    assert heatmap.cell_of(agreement(r=r)).shade() == shade


def test_study_whose_conversations_were_rated_is_asked_for_the_analysis_alone(desk, study):
    assert "Let a judge rate the conversations" in desk.get(address("analysis")).content.decode()
    factories.rating(factories.judge(study), factories.run_with_turns(study, factories.person(study)))
    page = desk.get(address("analysis")).content.decode()
    assert "Judges have rated conversations. Start the analysis." in page
    assert "Let a judge rate the conversations" not in page
