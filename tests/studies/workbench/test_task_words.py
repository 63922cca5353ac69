"""What a page says of paid work that goes on, or that ended before its end: why, what to do, and what it has cost."""

from decimal import Decimal

import pytest
from django.utils import timezone
from django.utils.translation import override

from dialogue.jobs.reasons import Reason
from dialogue.models import Call, Job, JobItem
from studies.models import Study, Task
from studies.workbench.job_words import describe_stop
from studies.workbench.recent_tasks import task_row
from tests import factories

pytestmark = pytest.mark.django_db

OUTCOME = {
    "done": 3, "before": 0, "failed": 0, "set_aside": 0, "not_sent": 0, "refused": 0, "left": 4, "unscored": 0,
    "reasons": {}, "details": {}, "cost": "0.5", "currency": "USD",
}  # fmt: skip


@pytest.fixture
def study() -> Study:
    return factories.study("demo")


def ended(study: Study, *, job: str = "", reason: Reason | None = None, **outcome: object) -> Task:
    """A judge's task that has ended before its end, and its job."""
    task = Task.objects.create(
        study=study, command="judge", arguments=["demo", "standard"], state="failed", message="as printed",
        outcome={**OUTCOME, **outcome},
    )  # fmt: skip
    if job:
        Job.objects.create(
            kind="judge", scope="demo", title="demo (standard)", plan={}, state=job,
            reason=reason.as_json() if reason else {},
        )  # fmt: skip
    Task.objects.filter(pk=task.pk).update(ended_at=timezone.now())
    task.refresh_from_db()
    return task


@pytest.mark.parametrize(
    ("state", "reason", "words"),
    [
        ("budget", Reason.of("job_budget"), "Budget reached: less is left than the next call may cost."),
        ("stopped", Reason.of("person", name="anna"), "Stopped by anna."),
        (
            "stopped",
            Reason.of("failures", model="judge far (gpt)", status="key_refused", detail="HTTP 401."),
            "Stopped after failures in a row: judge far (gpt): key refused. HTTP 401. Check the key in api_key_env: is "
            "it valid, and is it for this server?",
        ),
        (
            "stopped",
            Reason.of("failures", model="judge far (gpt)", status="key_unset", detail="The variable X is not set."),
            "Stopped after failures in a row: judge far (gpt): key not set. The variable X is not set.",
        ),
        (
            "stopped",
            Reason.of("failures", model="", status="broken", detail="ValueError in a.py, line 3: see the log."),
            "Stopped after failures in a row: an error in emostudy; see its log. ValueError in a.py, line 3: see the "
            "log.",
        ),
    ],
)
def test_why_work_ended_is_said(state: str, reason: Reason, words: str, study: Study) -> None:
    again = "Start it again for the rest. What is done is not asked or paid for again."
    assert task_row(ended(study, job=state, reason=reason))["message"] == f"{words}\n{again}"


@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize("code", Reason.VALUES)
def test_every_reason_is_said_with_all_its_values(code: str, language: str) -> None:
    known = {"status": "timeout"}
    reason = Reason.of(code, **{name: known.get(name, f"the {name}.") for name in Reason.VALUES[code]})
    with override(language):
        said = describe_stop(Job(reason=reason.as_json()))
    assert all(value in said for name, value in reason.values.items() if name != "status")
    assert "%" not in said


def test_reason_takes_its_own_values_alone() -> None:
    with pytest.raises(TypeError, match=r"person takes \('name',\), not \(\)"):
        Reason.of("person")


def test_failure_is_said_with_advice_and_without_codes(study: Study) -> None:
    task = ended(study, failed=2, reasons={"rate_limited": 2}, details={"rate_limited": "Rate limit reached"})
    assert task_row(task)["message"].splitlines()[0] == (
        "2 failed: too many calls. Rate limit reached. Wait and ask again. If it happens again, check the limits and "
        "the balance of your account."
    )


def test_chinese_page_has_nothing_of_what_the_command_printed(study: Study) -> None:
    task = ended(study, job="stopped", reason=Reason.of("person", name="anna"), failed=1, reasons={"timeout": 1})
    with override("zh-hans"):
        assert "as printed" not in task_row(task)["message"]
        assert "timeout:" not in task_row(task)["message"]


def test_outcome_of_an_older_version_keeps_its_words(study: Study) -> None:
    older = {name: value for name, value in OUTCOME.items() if name not in ("details", "unscored")}
    task = ended(study)
    task.outcome = older
    assert task_row(task)["message"] == "as printed"


def test_work_that_was_stopped_has_not_failed(study: Study) -> None:
    assert [task_row(ended(study, failed=failed))["ended_early"] for failed in (0, 1)] == [True, False]


def test_answers_without_a_score_are_told_beside_those_done(study: Study) -> None:
    outcome = task_row(ended(study, unscored=2))["outcome"]
    assert outcome[:2] == ["3 done", "2 of them without a readable score"]


def test_work_under_way_says_how_far_it_is_and_what_it_has_cost(study: Study) -> None:
    task = Task.objects.create(study=study, command="judge", arguments=["demo", "standard"], done=3, total=16)
    Task.objects.filter(pk=task.pk).update(message="judge demo (standard)")
    job = Job.objects.create(kind="judge", scope="demo", title="demo (standard)", plan={}, spent=Decimal("0.0078"))
    task.refresh_from_db()
    assert task_row(task)["message"] == "3 of 16 · cost so far: 0.0078 USD"

    item = JobItem.objects.create(job=job, role="judge", configuration="1-a", subject="a", payload={})
    Call.objects.create(purpose="judge", kind="openai_compatible", item=item, cost=Decimal("0.005"))
    told = "3 of 16 · cost so far: 0.0028 USD · set aside for calls in progress: 0.0050 USD at most"
    assert task_row(task)["message"] == told

    Call.objects.update(status="ok", cost=None)
    assert task_row(task)["message"] == "3 of 16 · cost unknown: the price table has no price"


def test_a_model_that_is_asked_again_is_told_until_it_answers(study: Study) -> None:
    task = Task.objects.create(study=study, command="judge", arguments=["demo", "standard"], done=3, total=16)
    job = Job.objects.create(kind="judge", scope="demo", title="demo (standard)", plan={})
    item = JobItem.objects.create(
        job=job, role="judge", configuration="1-a", subject="a", payload={}, state=JobItem.State.WORKING
    )

    def call(status: str) -> None:
        Call.objects.create(purpose="judge", kind="openai_compatible", model="gpt", item=item, status=status, cost=0)

    again = " · gpt does not answer and is asked again (no connection)"
    told = []
    for status in ("network", "started", "network", "ok"):
        call(status)
        told.append(task_row(task)["message"].removeprefix("3 of 16 · cost so far: 0.00 USD"))
    assert told == [again, again, again, ""]
