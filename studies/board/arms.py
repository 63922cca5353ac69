"""The arms of a study while it runs: whether each answers, and how evenly people have met them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Max, Min, Q
from django.utils import timezone

from dialogue.models import Call, Turn
from dialogue.models.conversation import Status as ConversationStatus
from dialogue.models.conversation import TurnState
from studies.care.stopping_rules import get_stops
from studies.models import Arm, BoardAct, Protocol, StoppedArm, Study
from studies.participation import counts
from studies.participation.board_acts import get_pauses
from studies.participation.counts import ArmCount
from studies.setup.model_keys import unset_keys

LONGEST_REASON = 300


@dataclass(frozen=True)
class Failure:
    """Messages without a reply since the arm last answered anyone. `reason`: what its server said last."""

    since: datetime
    messages: int
    reason: str


@dataclass(frozen=True)
class Cell:
    """One arm at one position: conversations that were completed, and those that people under way have or will have."""

    completed: int
    under_way: int


@dataclass(frozen=True)
class ArmRow:
    """One arm of the board. `row`: its row of the present version; None if only earlier versions have it."""

    count: ArmCount
    row: Arm | None
    cells: Sequence[Cell]
    failure: Failure | None
    unset_key: str
    pause: BoardAct | None  # by one of the team
    stop: StoppedArm | None  # by a stopping rule, and no one has decided since

    @property
    def key(self) -> str:
        return self.count.arm


@dataclass(frozen=True)
class Arms:
    """`positions`: the numbers of the columns; `most`: the highest number in a cell."""

    rows: Sequence[ArmRow]
    positions: Sequence[int]

    def failing(self) -> list[ArmRow]:
        return [row for row in self.rows if row.failure or row.unset_key]


def get_arms(study: Study, protocol: Protocol, *, test: str) -> Arms:
    """Return the arms of `protocol`, the present version, and those that only earlier ones have."""
    arm_counts = counts.count_by_arm(study, test=test)
    arms = {arm.key: arm for arm in protocol.arms.all()}
    keys = {each.key: each.variable for each in unset_keys(protocol.spec()) if each.role == "arm"}
    failures, pauses, stops = get_failures(study, test), get_pauses(study), get_stops(study)
    completed, under_way = count_completed(study, test), count_under_way(study, test)
    positions = range(1, max((position for _arm, position in (*completed, *under_way)), default=0) + 1)
    rows = [
        ArmRow(
            count=each,
            row=arms.get(each.arm),
            cells=[Cell(completed[each.arm, at], under_way[each.arm, at]) for at in positions],
            failure=failures.get(each.arm),
            unset_key=keys.get(each.arm, ""),
            pause=pauses.get(each.arm),
            stop=stops.get(each.arm),
        )
        for each in arm_counts
    ]
    return Arms(rows, positions)


# Balance


def count_completed(study: Study, test: str) -> Counter[tuple[str, int]]:
    """Count closed conversations of people that results keep, by arm and position."""
    runs = counts.filter_by_test(study.runs.filter(participation__excluded=False, valid=True), test)
    closed = runs.filter(conversation__status=ConversationStatus.CLOSED)
    rows = closed.order_by().values_list("arm", "position").annotate(Count("pk"))
    return Counter({(arm, position): number for arm, position, number in rows})


def count_under_way(study: Study, test: str) -> Counter[tuple[str, int]]:
    """Count the places that people who are under way hold and have not completed, by arm and position."""
    people = counts.filter_by_test(study.participations.under_way(), test).exclude(order=[])
    closed = set(
        study.runs.filter(participation__in=people, conversation__status=ConversationStatus.CLOSED).values_list(
            "participation", "position"
        )
    )
    return Counter(
        (arm, position)
        for pk, order in people.values_list("pk", "order")
        for position, arm in enumerate(order, 1)
        if (pk, position) not in closed
    )


# Failures


def get_failures(study: Study, test: str) -> Mapping[str, Failure]:
    """Return the arms that have answered no one since a message stayed without a reply."""
    runs = counts.filter_by_test(study.runs.all(), test)
    turns = Turn.objects.filter(conversation__run__in=runs).order_by()
    arm = "conversation__run__arm"
    answered = dict(turns.filter(state=TurnState.ANSWERED).values_list(arm).annotate(Max("replied_at")))
    late = Q(state=TurnState.WAITING, created_at__lt=timezone.now() - counts.OVERDUE)
    waiting = turns.filter(Q(state=TurnState.FAILED) | late).exclude(conversation__status=ConversationStatus.CLOSED)
    rows = waiting.values_list(arm, "conversation").annotate(since=Min("created_at"), messages=Count("pk"))
    by_arm: dict[str, list[tuple[int, datetime, int]]] = {}
    for key, conversation, since, messages in rows:
        if since and not (answered.get(key) and answered[key] > since):
            by_arm.setdefault(key, []).append((conversation, since, messages))
    return {key: failure_of(conversations) for key, conversations in by_arm.items()}


def failure_of(conversations: Sequence[tuple[int, datetime, int]]) -> Failure:
    return Failure(
        since=min(since for _conversation, since, _messages in conversations),
        messages=sum(messages for _conversation, _since, messages in conversations),
        reason=get_reason(conversation for conversation, _since, _messages in conversations),
    )


def get_reason(conversations: Iterable[int]) -> str:
    """Return status and error of the latest call that failed; empty if none was made."""
    calls = Call.objects.filter(conversation__in=list(conversations), purpose=Call.Purpose.REPLY)
    call = calls.exclude(status__in=("ok", "started")).only("status", "error").order_by("-pk").first()
    return f"{call.status}: {call.error}".rstrip(": ")[:LONGEST_REASON] if call else ""
