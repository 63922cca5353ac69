"""The progress of a study: people by status and by step, conversations by arm."""

from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from dialogue.models import RiskEvent, Turn
from dialogue.models.conversation import SeekerKind, TurnState
from dialogue.models.conversation import Status as ConversationStatus
from studies.design.plan import Step
from studies.models import Alarm, Arm, ArmRun, Participation, Study
from studies.models.participation import Status
from studies.participation.step_kinds import describe

OVERDUE = timedelta(minutes=5)  # longer than any reply with its retries
Rows = TypeVar("Rows", QuerySet[Participation], QuerySet[ArmRun])


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
    """Counts of one arm. `turns` have a reply; `failed` still lack one."""

    arm: str
    runs: int
    closed: int
    turns: int
    failed: int


def filter_by_test(rows: Rows, test: str) -> Rows:
    """Filter rows by `test`: "no" for people and their conversations, "yes" for test data, anything else for
    everything.

    Everything includes reviewers and simulated and imported conversations (see `people` of both query sets).
    """
    match test:
        case "no":
            return rows.people()
        case "yes":
            return rows.test_data()
        case _:
            return rows


def default_data(study: Study) -> str:
    """Return the filter that a page starts with: people, if the study has any. The demonstration shows everything."""
    return "no" if not study.is_demo() and study.participations.people().exists() else ""


@dataclass(frozen=True)
class OtherCounts:
    """Counts of everything in a study but its people and their conversations."""

    reviewers: int
    test_people: int
    simulated: int
    imported: int

    def __bool__(self) -> bool:
        return any(vars(self).values())


def count_others(study: Study) -> OtherCounts:
    real = study.participations.real()
    kinds = dict(study.runs.real().values_list("conversation__seeker_kind").annotate(Count("pk")))
    return OtherCounts(
        reviewers=real.count() - study.participations.people().count(),
        test_people=study.participations.test_data().count(),
        simulated=kinds.get(SeekerKind.SIMULATED, 0),
        imported=kinds.get(SeekerKind.IMPORTED, 0),
    )


def count_by_status(study: Study, *, test: str = "") -> list[StatusCount]:
    people = filter_by_test(study.participations.all(), test)
    numbers = dict(people.values_list("status").annotate(Count("pk")))
    return [StatusCount(status.value, status_label(status), numbers.get(status, 0)) for status in Status]


def count_by_step(study: Study, *, test: str = "") -> list[StepCount]:
    """Count the people at each step who are under way, in the order of the steps."""
    people = filter_by_test(study.participations.under_way(), test).exclude(plan=[])
    here: Counter[str] = Counter()
    first: dict[str, tuple[int, Step]] = {}
    for plan, position in people.values_list("plan", "position"):
        step = Step.from_json(plan[min(position, len(plan) - 1)])
        here[step.key] += 1
        first.setdefault(step.key, (position, step))
    ordered = sorted(first.values(), key=lambda placed: (placed[0], placed[1].key))
    return [StepCount(step.key, describe(step), here[step.key]) for _position, step in ordered]


def count_by_arm(study: Study, *, test: str = "") -> list[ArmCount]:
    """Return a row for each arm of the present version, and for each earlier one that has conversations."""
    by_arm = {
        row["arm"]: ArmCount(**row) for row in runs_by_arm(filter_by_test(ArmRun.objects.filter(study=study), test))
    }
    keys = [*study.current().arms.values_list("key", flat=True), *sorted(by_arm)]
    return [by_arm.get(key) or ArmCount(key, 0, 0, 0, 0) for key in dict.fromkeys(keys)]


def runs_by_arm(runs: QuerySet) -> QuerySet:
    turn = "conversation__turns"
    closed = Q(conversation__status=ConversationStatus.CLOSED)
    return (
        runs.values("arm")
        .annotate(
            runs=Count("pk", distinct=True),
            closed=Count("pk", distinct=True, filter=closed),
            turns=Count(turn, filter=Q(conversation__turns__state=TurnState.ANSWERED)),
            failed=Count(turn, filter=Q(conversation__turns__state=TurnState.FAILED) & ~closed),
        )
        .order_by("arm")
    )


@dataclass(frozen=True)
class WaitingCounts:
    """Counts of what waits for a researcher or for a model."""

    held: int
    in_review: int
    failed_turns: int
    overdue_turns: int
    open_risks: int
    unsent_alarms: int
    without_arms: int  # people who cannot go on, since too few arms are in use

    def __bool__(self) -> bool:
        return any(vars(self).values())


def count_waiting(study: Study, *, test: str = "") -> WaitingCounts:
    """Count what waits. Alarms that could not be sent count for everyone: the next one may be a person\'s."""
    people, runs = filter_by_test(study.participations.all(), test), filter_by_test(study.runs.all(), test)
    turns = Turn.objects.filter(conversation__run__in=runs).exclude(conversation__status=ConversationStatus.CLOSED)
    long_ago = timezone.now() - OVERDUE
    return WaitingCounts(
        held=people.filter(status=Status.HELD).count(),
        in_review=people.filter(status=Status.IN_REVIEW).count(),
        failed_turns=turns.filter(state=TurnState.FAILED).count(),
        overdue_turns=turns.filter(state=TurnState.WAITING, created_at__lt=long_ago).count(),
        open_risks=open_risks(study, test=test).count(),
        unsent_alarms=study.alarms.filter(event__isnull=False, sent_at=None, acknowledged_at=None)
        .exclude(fault={})
        .count(),
        without_arms=count_without_arms(study),
    )


def count_without_arms(study: Study) -> int:
    """Count the people, also test people, who wait because there are no arms for them or their next arm is gone."""
    arms = {
        (protocol, arm) for protocol, arm in Arm.objects.filter(protocol__study=study).values_list("protocol", "key")
    }
    number = 0
    under_way = study.participations.under_way().exclude(plan=[])
    for pk, protocol, plan, position, order in under_way.values_list("pk", "protocol", "plan", "position", "order"):
        step = Step.from_json(plan[min(position, len(plan) - 1)])
        gone = step.kind == "chat" and (protocol, order[step.run - 1]) not in arms
        opened = gone and study.runs.filter(participation=pk, position=step.run, conversation__isnull=False).exists()
        number += step.kind == "chats" or (gone and not opened)
    return number


def risks_of(study: Study, *, test: str = "") -> QuerySet[RiskEvent]:
    """Return the events in conversations of the study and in its people's questionnaires."""
    people, runs = filter_by_test(study.participations.all(), test), filter_by_test(study.runs.all(), test)
    return RiskEvent.objects.filter(Q(conversation__run__in=runs) | Q(subject__in=people.values("code")))


def open_risks(study: Study, *, test: str = "") -> QuerySet[RiskEvent]:
    """Return the events that wait for the person on call: the grave ones, and those about which they were alarmed, as
    where someone asked to be written to."""
    alarmed = Exists(Alarm.objects.filter(event=OuterRef("pk")))
    return risks_of(study, test=test).filter(Q(level__gte=3) | alarmed, released_at=None)


def open_risks_of_people(study: Study) -> QuerySet[RiskEvent]:
    """Return the open events about real people: no rehearsal, and no simulated seeker."""
    return open_risks(study).filter(is_test=False)


def open_risks_of(person: Participation) -> QuerySet[RiskEvent]:
    """Return the open events about this person; they stay when the person has their data deleted."""
    return open_risks_of_people(person.study).filter(subject=person.code)


def status_label(status: str) -> str:
    return {
        Status.INVITED: _("Invited"),
        Status.APPLIED: _("Before consent"),
        Status.IN_REVIEW: _("Waiting for review"),
        Status.ACTIVE: _("Active"),
        Status.HELD: _("Held for safety"),
        Status.COMPLETED: _("Completed"),
        Status.SCREENED_OUT: _("Screened out"),
        Status.STOPPED: _("Stopped for safety"),
        Status.WITHDRAWN: _("Withdrawn"),
        Status.TIMED_OUT: _("Timed out"),
        Status.ENDED: _("Ended by the team"),
    }[Status(status)]
