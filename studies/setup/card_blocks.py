"""The choice of a person's row in the counsellors' block plan (design/blocks.py).

A row is the person's `order_index`: rows of the first block count from 0, those of a further block go on from there.
The arms of a row follow from the protocol's arms, paused ones included, so that pausing one shifts nobody's row: the
arm is then left out of the rows that are taken from then on. Cards may be added and retired, which changes the rows to
come; what a person has taken is kept with them (`order`, `cards`).
"""

from dataclasses import dataclass

from django.db.models import Q, QuerySet

from studies.design.blocks import Row, block_plan
from studies.design.spec import COUNSELLOR
from studies.models import Participation, Protocol
from studies.models.participation import OVER, Status
from studies.setup import cards

Places = tuple[tuple[str, str], ...]  # arm, card

LEFT = Q(status__in=[status for status in OVER if status != Status.COMPLETED]) | Q(excluded=True)


def take_row(participation: Participation) -> tuple[int, Row]:
    """Take the lowest row of the first block that nobody holds. Where all are held, the lowest whose holder has
    withdrawn, stopped, timed out or been excluded: it passes to the new person, and the one before keeps order and
    cards, but no row. (Who was erased holds none either.) Where there is no such row, the same in the next block.

    Two who come at once may find the same row; the database then refuses the second, who tries again.
    """
    assert participation.protocol is not None  # noqa: S101 - begun before
    index = free_index(participation)
    beside(participation).filter(LEFT, order_index=index).update(order_index=None)
    paused = set(participation.protocol.arms.filter(paused=True).values_list("key", flat=True))
    row = row_at(participation.protocol, index, language=participation.language)
    return index, tuple(place for place in row if place.arm not in paused)


def free_index(participation: Participation) -> int:
    size = participation.design().order.counsellors or 1
    held = dict(beside(participation).filter(order_index__isnull=False).values_list("order_index", "pk"))
    left = set(beside(participation).filter(LEFT).values_list("pk", flat=True))
    start = 0
    while True:
        rows = range(start, start + size)
        free = [index for index in rows if index not in held] or [index for index in rows if held[index] in left]
        if free:
            return free[0]
        start += size


def beside(participation: Participation) -> QuerySet[Participation]:
    """Return the others who share the plan."""
    same = Participation.objects.filter(
        protocol=participation.protocol, track=participation.track, is_test=participation.is_test
    )
    return same.exclude(pk=participation.pk)


def row_at(protocol: Protocol, index: int, *, language: str) -> Row:
    block, number = divmod(index, protocol.spec().order.counsellors or 1)
    return plan_of(protocol, block=block, language=language)[number]


def plan_of(protocol: Protocol, *, block: int, language: str) -> tuple[Row, ...]:
    order = protocol.spec().order
    return block_plan(
        list(protocol.arms.values_list("key", flat=True)),
        counsellors=order.counsellors or 1,
        raters_per_arm=order.raters_per_arm or 1,
        cards=cards.keys_in(study=protocol.study, language=language),
        seed=order.seed,
        block=block,
    )


@dataclass(frozen=True)
class ShownRow:
    """A row for the workbench, with what its holder was given, else what the plan has."""

    number: int
    holder: Participation | None
    left: bool  # the holder is gone: the row is given again when all others are held
    places: Places


def shown_rows(protocol: Protocol, *, is_test: bool) -> list[ShownRow]:
    """Return the rows of all blocks that have been begun, and of the first in any case."""
    people = protocol.participations.filter(track=COUNSELLOR, is_test=is_test, order_index__isnull=False)
    holders = {person.order_index: person for person in people}
    left = set(people.filter(LEFT).values_list("pk", flat=True))
    blocks = max(holders, default=0) // (protocol.spec().order.counsellors or 1) + 1
    places = [row for block in range(blocks) for row in planned_places(protocol, block)]
    return [shown_row(index, each, holders.get(index), left) for index, each in enumerate(places)]


def planned_places(protocol: Protocol, block: int) -> list[Places]:
    """Return the arms of each row, each with the card that it has in each language of the study."""
    plans = [plan_of(protocol, block=block, language=language) for language in protocol.spec().languages]
    return [
        tuple((same[0].arm, " / ".join(place.card for place in same if place.card)) for same in zip(*rows, strict=True))
        for rows in zip(*plans, strict=True)
    ]


def shown_row(index: int, planned: Places, holder: Participation | None, left: set[int]) -> ShownRow:
    if holder is None:
        return ShownRow(index + 1, None, False, planned)
    given = holder.cards or [""] * len(holder.order)
    return ShownRow(index + 1, holder, holder.pk in left, tuple(zip(holder.order, given, strict=True)))
