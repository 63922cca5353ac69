"""Replay stored draws: does the rule, told the same, choose the same again?"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from studies.allocation import card_blocks
from studies.allocation.drawing import ARROW, cards_of, seen_from
from studies.allocation.levels import Cuts, level_of
from studies.allocation.rule import VERSION, Rule, choose
from studies.models import Draw, Study


class ReplayedDraw(NamedTuple):
    """A draw, and what is different when it is replayed; empty if nothing is."""

    draw: Draw
    differences: tuple[str, ...]


def replay_draws(study: Study) -> Iterator[ReplayedDraw]:
    """Yield all draws of a study, the first one first."""
    draws = Draw.objects.filter(participation__study=study).select_related("participation__protocol").order_by("pk")
    for draw in draws.iterator():
        yield ReplayedDraw(draw, tuple(find_differences(draw)))


def find_differences(draw: Draw) -> Iterator[str]:
    """Yield what does not follow from what the draw was told, or is not what the person has."""
    if draw.version != VERSION:
        yield f"drawn by version {draw.version} of the rule, which this program no longer has"
        return
    person = draw.participation
    yield from compare("the seed", draw.rule["seed"], person.design().order.seed)
    yield from compare("the person's arms", person.order, draw.order)
    yield from compare("the person's cards", person.cards, draw.cards)
    yield from (replay_row if draw.rule["design"] == card_blocks.DESIGN else replay_order)(draw)
    for factor, own in draw.strata.items():
        if own["level"] is not None and "score" in own:
            yield from compare(factor, own["level"], level_of(own["score"], Cuts(*own["cuts"])))


def compare(what: str, stored: Any, again: Any) -> Iterator[str]:
    if stored != again:
        yield f"{what}: {show(stored)} is stored, {show(again)} was expected"


def show(value: Any) -> str:
    return ARROW.join(value) if isinstance(value, list) else str(value)


def replay_order(draw: Draw) -> Iterator[str]:
    rule = Rule(draw.rule["design"], tuple(draw.rule["arms"]), draw.rule["per_person"], draw.rule["seed"])
    choice = choose(rule, seen_from(draw.seen), draw.number)
    yield from compare("arms", draw.order, list(choice.order))
    yield from compare("candidates", draw.candidates, [ARROW.join(order) for order in choice.candidates])
    yield from compare("cards", draw.cards, cards_of(draw))


def replay_row(draw: Draw) -> Iterator[str]:
    number, places = card_blocks.choose_row(draw.rule, draw.seen)
    yield from compare("the row", draw.number, number)
    yield from compare("arms", draw.order, [place.arm for place in places])
    yield from compare("cards", draw.cards, [place.card for place in places if place.card])
