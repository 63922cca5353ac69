"""The benchmark page: what a run would take before it is begun, how far it is by its rows, stopping and going on, and
what came of it from the newest results."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from dialogue.jobs.reasons import Reason
from dialogue.models import Call, Conversation, Job, JobItem
from dialogue.seekers.profiles import load_profiles
from studies.analysis.notes import INTERVAL, Note
from studies.design.spec import ArmSpec
from studies.models import Study, Task
from studies.models.task import STALE_AFTER
from studies.seeker_profiles.selection import DEMO_PROFILES, keep
from studies.simulation.pages import matrix
from studies.simulation.progress import end_stopped_jobs
from studies.simulation.setup import Setup
from studies.workbench import tasks
from tests import factories
from tests.studies.simulation.test_outcomes import STAY, share, standing

BY_ADA = Reason.of("person", name="ada").as_json()
pytestmark = pytest.mark.django_db

LONGER = "Is the server running? If it only needs longer, raise gap_timeout or total_timeout in extra."
FEW = Note("under_six_pairs")

ASKED = {
    "arms": ["amber", "ember"],
    "conditions": ["average"],
    "replicates": "1",
    "max_turns": "2",
    "judges": ["demo"],
    "strategies": ["standard"],
    "concurrency": "4",
    "budget": "",
}
ARGUMENTS = ["--arms", "amber,ember", "--conditions", "average", "--replicates", "1", "--max-turns", "2",
             "--concurrency", "4", "--judge", "demo", "--strategy", "standard"]  # fmt: skip


@pytest.fixture(autouse=True)
def var(settings, tmp_path):
    settings.VAR = tmp_path
    return tmp_path


@pytest.fixture
def spawned(monkeypatch: pytest.MonkeyPatch) -> list[Task]:
    """The tasks for which a process would have been started."""
    started: list[Task] = []
    monkeypatch.setattr(tasks, "spawn", started.append)
    return started


def address(name: str = "") -> str:
    return reverse(f"research-benchmark{name}", args=["demo"])


def simulation(study: Study, condition: str = "average", **fields: Any) -> Job:
    setup = Setup(seeker=study.current().spec().seeker, condition=condition, one_agent=fields.pop("one_agent", False))
    plan = {**setup.as_plan(), "protocol": study.current().pk}
    return Job.objects.create(kind="simulation", scope="demo", title=f"{condition} seekers", plan=plan, **fields)


def items(job: Job, arm: str, **counts: int) -> None:
    """So many in each state; those that are done have a fault each."""
    for state, number in counts.items():
        for _ in range(number):
            place = JobItem.objects.count()
            JobItem.objects.create(
                job=job, subject=str(place), role=job.kind, configuration="x", payload={"arm": arm}, state=state,
                failure="timeout" if state in ("failed", "quarantined") else "",
                result={"faults": 1} if state == "done" else {},
                lease_until=timezone.now() + timedelta(minutes=1) if state == "working" else None,
            )  # fmt: skip


def ran(study: Study, **fields: Any) -> Task:
    task = Task.objects.create(study=study, command="benchmark", **{"arguments": ARGUMENTS, **fields})
    task.folder = f"tasks/demo/{task.pk}"
    task.save()
    return task


def results(task: Task, **tables: list[dict[str, Any]]) -> None:
    folder = tasks.folder_of(task) / "report"
    folder.mkdir(parents=True)
    (folder / "results.json").write_text(json.dumps({"demonstration": True, "tables": tables}), encoding="utf-8")


# Who sees it


@pytest.mark.parametrize("name", ["", "-new", "-stop", "-go-on"])
def test_strangers_are_sent_to_sign_in_and_others_refused(name: str, client: Client, study: Study) -> None:
    call, refused = (client.get, 302) if name in ("", "-new") else (client.post, 403)
    assert call(address(name)).status_code == refused
    client.force_login(User.objects.create(username="bob"))
    assert call(address(name)).status_code == 403


@pytest.mark.parametrize("name", ["-stop", "-go-on"])
def test_what_changes_something_is_no_link(name: str, desk: Client, study: Study) -> None:
    assert desk.get(address(name)).status_code == 405


# Asking for a run


def test_form_shows_what_a_run_would_take_and_starts_nothing(desk: Client, study: Study, spawned: list[Task]) -> None:
    page = desk.post(address("-new"), ASKED)

    estimate = page.context["estimate"]
    assert (estimate.conversations, estimate.judgements) == (24, 24)
    assert estimate.calls == 24 * (2 + 2 + 2 + 1) + 24  # Talker, supporter, Thinker and Evaluator; the judge
    assert f"<dd> {estimate.input_tokens:,} </dd>" in " ".join(page.content.decode().split())
    assert not spawned
    assert not Conversation.objects.exists()
    assert not Call.objects.exists()


def test_profile_left_out_as_too_mild_is_named_before_anything_is_paid(desk: Client, study: Study) -> None:
    mild, hard, *_ = load_profiles(DEMO_PROFILES)
    keep(study, [replace(mild, worst_case_default={"resistance": 2}), hard], origin="mine.json")
    page = desk.post(address("-new"), ASKED | {"conditions": ["worst_case"]})
    assert page.context["estimate"].conversations == 2
    assert f"Left out because they are too mild for the worst case: {mild.id}." in page.content.decode()


def test_run_that_was_shown_is_started_with_its_second_button(
    desk: Client, study: Study, spawned: list[Task], django_capture_on_commit_callbacks: Any
) -> None:
    shown = desk.post(address("-new"), ASKED)
    with django_capture_on_commit_callbacks(execute=True):
        response = desk.post(address("-new"), ASKED | {"confirm": shown.context["confirm"]})

    [task] = spawned
    assert response["Location"] == address()
    assert (task.command, task.arguments, task.started_by.username) == ("benchmark", ARGUMENTS, "ada")


def test_run_that_was_changed_since_it_was_shown_is_shown_again(
    desk: Client, study: Study, spawned: list[Task]
) -> None:
    confirm = desk.post(address("-new"), ASKED).context["confirm"]
    page = desk.post(address("-new"), ASKED | {"replicates": "20", "confirm": confirm})
    assert page.context["estimate"].conversations == 24 * 20
    assert not Task.objects.exists()


def test_second_run_waits_for_the_first(desk: Client, study: Study, spawned: list[Task]) -> None:
    running = ran(study, arguments=["--arms", "birch"])
    confirm = desk.post(address("-new"), ASKED).context["confirm"]
    page = desk.post(address("-new"), ASKED | {"confirm": confirm}, follow=True)
    assert "Another run is in progress" in page.content.decode()
    assert list(Task.objects.all()) == [running]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"arms": []}, "arms"),
        ({"arms": ["nobody"]}, "arms"),
        ({"conditions": []}, "conditions"),
        ({"strategies": []}, "strategies"),
        ({"replicates": "0"}, "replicates"),
        ({"budget": "-1"}, "budget"),
    ],
)
def test_odd_wish_is_refused_where_it_stands(
    changes: dict[str, Any], field: str, desk: Client, study: Study, spawned: list[Task]
) -> None:
    page = desk.post(address("-new"), ASKED | changes)
    assert page.status_code == 422
    assert field in page.context["form"].errors
    assert not Task.objects.exists()


def remote(**fields: Any) -> ArmSpec:
    return ArmSpec("openai_compatible", "far", "http://127.0.0.1:9/v1", key="far", title={"en": "far"}, **fields)


def test_model_that_cannot_be_reached_is_told_before_anything_is_started(desk: Client) -> None:
    factories.study(arms=(remote(api_key_env="NOT_SET"),))
    page = desk.post(address("-new"), ASKED | {"arms": ["far"]})
    assert page.status_code == 422
    assert "NOT_SET" in page.content.decode()


def test_budget_for_a_model_without_a_price_is_refused(desk: Client) -> None:
    factories.study(arms=(remote(),))
    without = desk.post(address("-new"), ASKED | {"arms": ["far"]})
    assert without.context["cost"].unpriced == ("far",)
    assert desk.post(address("-new"), ASKED | {"arms": ["far"], "budget": "5"}).status_code == 422


def test_budget_of_a_day_is_shown_beside_what_a_run_would_take(desk: Client, study: Study, settings: Any) -> None:
    settings.DAILY_BUDGET = Decimal(5)
    assert "5.00" in desk.post(address("-new"), ASKED).content.decode()
    factories.study("other", arms=(remote(),))
    page = desk.post(reverse("research-benchmark-new", args=["other"]), ASKED | {"arms": ["far"]})
    assert page.status_code == 422


def test_study_without_a_seeker_says_what_to_add(desk: Client) -> None:
    factories.study(seeker=None)
    page = desk.get(address()).content.decode()
    assert "Add a table [seeker] with kind, base_url and model to the study file" in page
    assert address("-new") not in page
    assert desk.get(address("-new"))["Location"] == address()


def test_other_page_starts_no_benchmark(desk: Client, study: Study) -> None:
    """Which would be one that no one has seen the cost of."""
    assert desk.post(reverse("research-start", args=["demo", "benchmark"])).status_code == 404


# How far it is


def cells(study: Study) -> dict[tuple[str, int], dict[str, Any]]:
    """By arm and column, those that there are."""
    found = {(line.arm, n): cell for line in matrix(study) for n, cell in enumerate(line.cells) if cell}
    return {place: asdict(cell.tally) | {"failed": cell.failed} for place, cell in found.items()}


def test_matrix_counts_rows_by_arm_and_condition(study: Study) -> None:
    average, worst = simulation(study), simulation(study, "worst_case")
    items(average, "amber", done=2, waiting=1, working=1, failed=1, quarantined=1)
    items(average, "ember", done=1)
    items(worst, "ember", waiting=3)

    assert cells(study) == {
        ("amber", 0): {"done": 2, "all": 6, "working": 1, "faults": 2, "failed": [("took too long", 2, LONGER)]},
        ("ember", 0): {"done": 1, "all": 1, "working": 0, "faults": 1, "failed": []},
        ("ember", 1): {"done": 0, "all": 3, "working": 0, "faults": 0, "failed": []},
    }


def test_page_tells_of_failures_with_their_commonest_detail(desk: Client, study: Study) -> None:
    items(simulation(study), "amber", failed=3)
    judged = Job.objects.create(kind="judge", scope="demo", title="demo (standard)", plan={})
    items(judged, "", failed=1)
    JobItem.objects.filter(role="simulation").update(failure="client_error", detail="Asked to answer 404.")
    JobItem.objects.filter(role="judge").update(detail="Slow <today>.")
    JobItem.objects.filter(pk=JobItem.objects.first().pk).update(detail="Seldom.")
    page = " ".join(desk.get(address()).content.decode().split())
    assert '3 failed: request refused</span> <span class="small">– Asked to answer 404. Check model and' in page
    assert '1 failed: took too long</span> <span class="small">– Slow &lt;today&gt;. Is the server running?' in page
    assert "Seldom." not in page


def test_matrix_adds_up_the_jobs_of_a_condition(study: Study) -> None:
    for number in (1, 2):
        items(simulation(study), "amber", done=number)
    assert cells(study)["amber", 0]["all"] == 3


def test_matrix_is_of_whole_seekers_of_this_study(study: Study) -> None:
    items(simulation(study, one_agent=True), "amber", done=1)
    Job.objects.update(scope="demo")
    other = simulation(study)
    items(other, "amber", done=1)
    Job.objects.filter(pk=other.pk).update(scope="other")
    assert cells(study) == {}


def test_cell_leads_to_its_conversations(desk: Client, study: Study) -> None:
    items(simulation(study), "amber", done=1)
    mine = factories.run_with_turns(study, condition="average")
    factories.run_with_turns(study, condition="worst_case")
    factories.run_with_turns(study, condition="average", arm="ember")

    [line, *_] = matrix(study)
    page = desk.get(line.cells[0].url)

    assert [row.run for row in page.context["page"].object_list] == [mine]


@pytest.mark.parametrize("number", [1, 5])
def test_page_asks_the_database_as_often_for_many_items_as_for_few(
    number: int, desk: Client, study: Study, django_assert_max_num_queries: Any
) -> None:
    for condition in ("average", "worst_case"):
        items(simulation(study, condition), "amber", done=number, failed=number)
    with django_assert_max_num_queries(22):
        desk.get(address())


# Stopping, and going on


def test_stop_ends_open_jobs_of_the_study_and_no_others(desk: Client, study: Study) -> None:
    mine, done, others = simulation(study), simulation(study, state="done"), simulation(study)
    Job.objects.filter(pk=others.pk).update(scope="other")
    for job in (mine, others):
        items(job, "amber", waiting=1)

    page = desk.post(address("-stop"), follow=True)

    states = dict(Job.objects.values_list("pk", "state"))
    assert states == {mine.pk: "stopped", done.pk: "done", others.pk: "open"}
    assert Job.objects.get(pk=mine.pk).reason == BY_ADA
    assert address("-go-on") in page.content.decode()


def test_stop_ends_the_whole_series_and_go_on_takes_that_back(desk: Client, study: Study) -> None:
    judging = Task.objects.create(study=study, command="judge", arguments=["first,standard", "first,user_aware"])
    benchmark = ran(study)
    running = simulation(study)
    items(running, "amber", working=1)
    desk.post(address("-stop"))
    assert [row.stop_asked_by for row in Task.objects.order_by("pk")] == ["ada", "ada"]
    planned_meanwhile = simulation(study)
    benchmark.refresh_from_db()
    assert end_stopped_jobs(benchmark) == 1
    assert Job.objects.get(pk=planned_meanwhile.pk).state == "stopped"

    items(planned_meanwhile, "amber", waiting=1)
    desk.post(address("-go-on"))
    judging.refresh_from_db()
    benchmark.refresh_from_db()
    assert (judging.stop_asked_by, benchmark.stop_asked_by) == ("", "")
    assert Job.objects.get(pk=planned_meanwhile.pk).state == "open"


def answered(desk: Client, asked: Any) -> None:
    """Start what the question is about."""
    desk.post(asked.request["PATH_INFO"], {"work": asked.context["work"]})


def test_go_on_starts_the_same_run_again(
    desk: Client, study: Study, spawned: list[Task], django_capture_on_commit_callbacks: Any
) -> None:
    ran(study, state="failed")
    items(simulation(study, state="stopped"), "amber", waiting=1)
    with django_capture_on_commit_callbacks(execute=True):
        answered(desk, desk.post(address("-go-on"), follow=True))
    assert [task.arguments for task in spawned] == [ARGUMENTS]


def test_go_on_has_no_more_to_spend_than_was_left(
    desk: Client, study: Study, spawned: list[Task], django_capture_on_commit_callbacks: Any
) -> None:
    ran(study, state="failed", arguments=[*ARGUMENTS, "--budget", "5"])
    items(simulation(study, state="stopped", spent="1.25"), "amber", waiting=1)
    with django_capture_on_commit_callbacks(execute=True):
        asked = desk.post(address("-go-on"), follow=True)
        assert [amount for _name, amount in asked.context["budgets"]] == ["3.75"]
        answered(desk, asked)
    [[name, left]] = [task.arguments[-2:] for task in spawned]
    assert (name, Decimal(left)) == ("--budget", Decimal("3.75"))


def test_go_on_starts_a_series_of_judges_again_with_all_its_strategies(
    desk: Client, study: Study, spawned: list[Task], django_capture_on_commit_callbacks: Any
) -> None:
    ran(study, state="done", ended_at=timezone.now())
    strategies = ["first,standard", "first,user_aware"]
    Task.objects.create(study=study, command="judge", arguments=strategies, state="done")
    judging = Job.objects.create(kind="judge", scope="demo", title="first standard", plan={}, state="stopped")
    items(judging, "amber", waiting=1)
    with django_capture_on_commit_callbacks(execute=True):
        answered(desk, desk.post(address("-go-on"), follow=True))
    assert [(task.command, task.arguments) for task in spawned] == [("judge", strategies)]


def test_go_on_opens_what_its_run_is_still_ending(desk: Client, study: Study, spawned: list[Task]) -> None:
    ran(study)
    job = simulation(study, state="stopped", reason=BY_ADA)
    items(job, "amber", working=1)
    desk.post(address("-go-on"))
    job.refresh_from_db()
    assert (job.state, job.reason, job.ended_at) == ("open", {}, None)
    assert Task.objects.count() == 1


def test_go_on_opens_what_a_command_had_begun(desk: Client, study: Study, spawned: list[Task]) -> None:
    """The runner beside the server takes it up. An earlier run of this page is not begun again for it."""
    ran(study, state="done")
    Task.objects.update(started_at=timezone.now() + timedelta(seconds=9))
    job = simulation(study, state="stopped")
    items(job, "amber", waiting=1)
    desk.post(address("-go-on"))
    job.refresh_from_db()
    assert job.state == "open"
    assert Task.objects.count() == 1


def test_go_on_tries_again_what_failed(desk: Client, study: Study) -> None:
    """A server that was away stops a run after three failures, which may be all that there was to do."""
    job = simulation(
        study, state="stopped", reason=Reason.of("failures", model="", status="network", detail="").as_json()
    )
    items(job, "amber", failed=3, quarantined=1)
    assert address("-go-on") in desk.get(address()).content.decode()
    desk.post(address("-go-on"))
    assert Counter(job.items.values_list("state", "failure")) == {("waiting", ""): 3, ("quarantined", "timeout"): 1}


def test_what_a_later_run_has_planned_in_another_way_is_not_left(desk: Client, study: Study) -> None:
    """After a change of the study file the rest of an earlier run is nothing that anyone waits for."""
    for configuration, run, states in (
        ("earlier", simulation(study, state="stopped", reason=BY_ADA), ("done", "failed", "waiting")),
        ("later", simulation(study, state="done"), ("done", "done", "done")),
    ):
        for subject, state in enumerate(states):
            JobItem.objects.create(
                job=run,
                subject=subject,
                role=run.kind,
                configuration=configuration,
                payload={"arm": "amber"},
                state=state,
            )
    [line, *_] = matrix(study)
    assert (line.cells[0].tally.done, line.cells[0].tally.all, line.cells[0].failed) == (4, 4, [])
    assert address("-go-on") not in desk.get(address()).content.decode()


def test_what_a_dead_process_held_is_not_in_progress(study: Study) -> None:
    items(simulation(study), "amber", working=2)
    JobItem.objects.filter(subject="1").update(lease_until=timezone.now() - timedelta(seconds=1))
    [line, *_] = matrix(study)
    assert (line.cells[0].tally.working, line.cells[0].tally.all) == (1, 2)


def test_go_on_after_the_end_does_nothing(desk: Client, study: Study, spawned: list[Task]) -> None:
    ran(study, state="done")
    items(simulation(study, state="done"), "amber", done=1)
    desk.post(address("-go-on"))
    assert Task.objects.count() == 1


def test_spent_budget_is_told_and_not_gone_on_with_by_one_click(desk: Client, study: Study) -> None:
    items(simulation(study, state="budget"), "amber", waiting=1)
    page = desk.get(address()).content.decode()
    assert "The budget ran out before the end: average seekers." in page
    assert address("-go-on") not in page


def test_page_looks_again_while_a_run_is_under_way(desk: Client, study: Study) -> None:
    task = ran(study)
    items(simulation(study, state="done"), "amber", done=1)
    assert 'data-live="on"' in desk.get(address()).content.decode()
    Task.objects.filter(pk=task.pk).update(heard_at=timezone.now() - STALE_AFTER - timedelta(seconds=1))
    assert 'data-live="off"' in desk.get(address()).content.decode()


# What came of it


def test_page_shows_the_newest_results(desk: Client, study: Study) -> None:
    codes = [note.as_json() for note in (FEW, FEW.on(INTERVAL), FEW.on("wilcoxon_p", "d_z"))]
    results(
        ran(study, state="done", ended_at=timezone.now()),
        conditions=[standing("amber", 2.0, 1.5), standing("ember", 4.0, 3.5, note_codes=codes)],
        survival=[share("amber", "average", 1, 0.75), *[row | {"arm": "amber"} for row in STAY]],
        costs=[
            {"arm": "amber", "seekers": "simulated", "purpose": "*", "measure": "seconds", "estimate": 188.8,
             "low": 180.0, "high": 190.0, "n": 2}
        ],
    )  # fmt: skip

    page = desk.get(address())
    text = " ".join(page.content.decode().split())

    assert [row[0].arm for row in page.context["boards"][0]["rows"]] == ["ember", "amber"]
    assert page.context["boards"][0]["notes"] == ["fewer than six pairs", "interval: fewer than six pairs"]
    assert '<td class="number"> 189 <small>180 … 190</small> </td>' in text
    assert '<td class="number"> 7.5 </td> <td class="number">15</td> <td class="number"> – </td>' in text


def test_results_are_shown_also_where_a_part_failed(desk: Client, study: Study) -> None:
    results(ran(study, state="failed", ended_at=timezone.now()), conditions=[standing("amber", 2.0, 1.5)])
    assert desk.get(address()).context["outcomes"].leaderboards


def test_run_that_failed_for_want_of_money_says_so(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    task = ran(study)
    monkeypatch.setattr("studies.management.commands.run_task.call_command", leaving_with(3))
    with pytest.raises(CommandError):
        call_command("run_task", task.pk)
    task.refresh_from_db()
    assert (task.state, task.message) == ("failed", "The budget is spent. What has been done is kept.")


def leaving_with(code: int) -> Any:
    def leave(*_arguments: Any, **_options: Any) -> Iterator[None]:
        raise SystemExit(code)

    return leave
