"""How far a study is: people by status and by step, arms by what became of their conversations."""

from collections import Counter
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Count, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from dialogue.models import RiskEvent, Turn
from dialogue.models.conversation import Status as ConversationStatus
from dialogue.models.conversation import TurnState
from studies.design.plan import Step
from studies.models import ArmRun, Participation, Study
from studies.models.participation import Status

OVERDUE = timedelta(minutes=5)  # no reply takes this long, its repeats included


@dataclass(frozen=True)
class StatusCount:
    status: str
    label: str
    people: int


@dataclass(frozen=True)
class StepCount:
    step: str
    label: str
    people: int


@dataclass(frozen=True)
class ArmCount:
    """`turns` have a reply, `failed` are waiting for one that could not be had."""

    arm: str
    runs: int
    closed: int
    turns: int
    failed: int


def only(rows: QuerySet, test: str) -> QuerySet:
    """`test` is "yes" for test data, "no" for real people, anything else for both."""
    return rows.filter(is_test=test == "yes") if test in ("yes", "no") else rows


def by_status(study: Study, *, test: str = "") -> list[StatusCount]:
    people = only(study.participations.all(), test)
    found = dict(people.values_list("status").annotate(Count("pk")))
    return [StatusCount(status.value, status_label(status), found.get(status, 0)) for status in Status]


def by_step(study: Study, *, test: str = "") -> list[StepCount]:
    """Only those who are under way, in the order of the steps."""
    people = only(study.participations.under_way(), test).exclude(plan=[])
    here: Counter[str] = Counter()
    first: dict[str, tuple[int, Step]] = {}
    for plan, position in people.values_list("plan", "position"):
        step = Step.from_json(plan[min(position, len(plan) - 1)])
        here[step.key] += 1
        first.setdefault(step.key, (position, step))
    ordered = sorted(first.values(), key=lambda placed: (placed[0], placed[1].key))
    return [StepCount(step.key, step_label(step), here[step.key]) for _position, step in ordered]


def by_arm(study: Study, *, test: str = "") -> list[ArmCount]:
    """One row for each arm of the present version, and for each earlier one that has conversations."""
    found = {row["arm"]: ArmCount(**row) for row in runs_by_arm(only(ArmRun.objects.filter(study=study), test))}
    known = [*study.current().arms.values_list("key", flat=True), *sorted(found)]
    return [found.get(key) or ArmCount(key, 0, 0, 0, 0) for key in dict.fromkeys(known)]


def runs_by_arm(runs: QuerySet) -> QuerySet:
    turn = "conversation__turns"
    return (
        runs.values("arm")
        .annotate(
            runs=Count("pk", distinct=True),
            closed=Count("pk", distinct=True, filter=Q(conversation__status=ConversationStatus.CLOSED)),
            turns=Count(turn, filter=Q(conversation__turns__state=TurnState.ANSWERED)),
            failed=Count(turn, filter=Q(conversation__turns__state=TurnState.FAILED)),
        )
        .order_by("arm")
    )


@dataclass(frozen=True)
class Stuck:
    """What waits for a researcher or for a model."""

    held: int
    in_review: int
    failed_turns: int
    overdue_turns: int
    open_risks: int
    mail_errors: int

    def __bool__(self) -> bool:
        return any(vars(self).values())


def stuck(study: Study) -> Stuck:
    turns = Turn.objects.filter(conversation__run__study=study).exclude(conversation__status=ConversationStatus.CLOSED)
    long_ago = timezone.now() - OVERDUE
    risks = risks_of(study)
    return Stuck(
        held=study.participations.filter(status=Status.HELD).count(),
        in_review=study.participations.filter(status=Status.IN_REVIEW).count(),
        failed_turns=turns.filter(state=TurnState.FAILED).count(),
        overdue_turns=turns.filter(state=TurnState.WAITING, created_at__lt=long_ago).count(),
        open_risks=risks.filter(level__gte=3, released_at=None).count(),
        mail_errors=risks.exclude(mail_error="").count(),
    )


def risks_of(study: Study) -> QuerySet[RiskEvent]:
    """Said in a conversation of the study, or by one of its people in a questionnaire."""
    codes = Participation.objects.filter(study=study).values("code")
    return RiskEvent.objects.filter(Q(conversation__run__study=study) | Q(subject__in=codes))


def status_label(status: str) -> str:
    return {
        Status.INVITED: _("Invited"),
        Status.APPLIED: _("Before consent"),
        Status.IN_REVIEW: _("Waits for review"),
        Status.ACTIVE: _("Active"),
        Status.HELD: _("Held for safety"),
        Status.COMPLETED: _("Completed"),
        Status.SCREENED_OUT: _("Screened out"),
        Status.STOPPED: _("Stopped for safety"),
        Status.WITHDRAWN: _("Withdrawn"),
        Status.TIMED_OUT: _("Timed out"),
    }[Status(status)]


def step_label(step: Step) -> str:
    what = {
        "language": _("Language"),
        "screening": _("Screening"),
        "selection": _("Selection"),
        "consent": _("Consent"),
        "training": _("Training"),
        "chats": _("Before the first conversation"),
        "chat": _("chat"),
        "rating": _("rating %(instrument)s") % {"instrument": step.instrument},
        "questionnaire": step.instrument,
        "between": _("in between"),
        "blinding": _("Blinding question"),
        "interview": _("Interview"),
        "reviews": _("Rating conversations of others"),
        "debrief": _("Debrief"),
    }.get(step.kind, step.kind)
    when = {"pre": _("before"), "post": _("after")}.get(step.phase, "")
    text = f"{what} ({when})" if when else what
    return _("Conversation %(run)s: %(what)s") % {"run": step.run, "what": text} if step.run else text
