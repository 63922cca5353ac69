"""The choice of a person's row in the counsellors' block plan (design/blocks.py).

A row is the person's `order_index`: rows of the first block count from 0, those of a further block go on from there.
The arms of a row follow from the protocol's arms, paused ones included, so that pausing one shifts no one's row: the
arm is then left out of the rows that are taken from then on. Cards may be added and retired, which changes the rows to
come; what a person has taken is kept with them (`order`, `cards`).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from studies.allocation.leases import LEFT, others_beside
from studies.allocation.rule import VERSION
from studies.design.blocks import Row, block_plan
from studies.design.spec import COUNSELLOR
from studies.models import Draw, Participation, Protocol
from studies.setup import cards

DESIGN = "rows"  # what the draws of a block plan are called
Places = tuple[tuple[str, str], ...]  # arm, card


def take_row(participation: Participation) -> Draw:
    """Take the lowest row of the first block that no one holds. Where all are held, the lowest whose holder has
    withdrawn, stopped, timed out or been excluded: it passes to the new person, and the one before keeps order and
    cards, but no row. (Who was erased holds none either.) Where there is no such row, the same in the next block.

    The draw is not saved; its order is empty where all arms of the row are paused.
    """
    assert participation.protocol is not None  # noqa: S101 - begun before
    protocol = participation.protocol
    order = participation.design().order
    held, left = held_rows(participation)
    draw = Draw(participation=participation, version=VERSION)
    draw.rule = {
        "design": DESIGN,
        "arms": list(protocol.arms.values_list("key", flat=True)),
        "counsellors": order.counsellors or 1,
        "raters_per_arm": order.raters_per_arm or 1,
        "seed": order.seed,
    }
    draw.seen = {
        "held": held,
        "left": left,
        "paused": list(protocol.arms.filter(paused=True).values_list("key", flat=True)),
        "keys": cards.keys_in(study=protocol.study, language=participation.language),
    }
    draw.number, places = choose_row(draw.rule, draw.seen)
    draw.order, draw.cards = [place.arm for place in places], [place.card for place in places if place.card]
    if draw.order:
        others_beside(participation).filter(LEFT, order_index=draw.number).update(order_index=None)
    return draw


def held_rows(participation: Participation) -> tuple[list[int], list[int]]:
    """Return the rows that someone holds, and those of them whose holder is gone."""
    rows = others_beside(participation).filter(order_index__isnull=False).order_by("order_index")
    held, left = (people.values_list("order_index", flat=True) for people in (rows, rows.filter(LEFT)))
    return list(held), list(left)


def choose_row(rule: Mapping[str, Any], seen: Mapping[str, Any]) -> tuple[int, Row]:
    """Return the row to take and its places without paused arms. Pure: the same input, the same row."""
    index = free_index(rule["counsellors"], seen["held"], seen["left"])
    block, number = divmod(index, rule["counsellors"])
    plan = block_plan(
        rule["arms"],
        counsellors=rule["counsellors"],
        raters_per_arm=rule["raters_per_arm"],
        cards=seen["keys"],
        seed=rule["seed"],
        block=block,
    )
    return index, tuple(place for place in plan[number] if place.arm not in seen["paused"])


def free_index(size: int, held: Collection[int], left: Collection[int]) -> int:
    start = 0
    while True:
        rows = range(start, start + size)
        free = [index for index in rows if index not in held] or [index for index in rows if index in left]
        if free:
            return free[0]
        start += size


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
    card_keys = holder.cards or [""] * len(holder.order)
    return ShownRow(index + 1, holder, holder.pk in left, tuple(zip(holder.order, card_keys, strict=True)))
