"""The draw of a person's arms, with everything that the rule is told stored beside the choice."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.db.models import Max

from studies.allocation import card_blocks
from studies.allocation.card_choice import choose_cards
from studies.allocation.leases import LEFT, holders_beside, others_beside
from studies.allocation.orders import Order
from studies.allocation.rule import VERSION, Rule, SeenOrders, choose
from studies.allocation.strata import strata_of
from studies.design.spec import COUNSELLOR, StudySpec
from studies.models import Draw, Participation, Protocol
from studies.models.participation import Status
from studies.setup.cards import keys_in

ARROW = ">"  # between the arms of an order, as in exported files


def warm_up(spec: StudySpec, track: str) -> None:
    """Search for the sets of arms before anyone waits for the draw. It may take seconds, once for each process."""
    if not spec.has_block_plan(track):
        rule_of(spec).sets()


def draw_arms(participation: Participation) -> Draw:
    """Draw the person's arms and cards; the draw is not saved. The caller holds `lock`, and there are enough arms."""
    if participation.design().has_block_plan(participation.track):
        return card_blocks.take_row(participation)
    spec = participation.design()
    rule = rule_of(spec)
    strata = strata_of(participation)
    seen = seen_by(participation, strata)
    number = next_number(participation)
    choice = choose(rule, seen_from(seen), number)
    keys = keys_in(study=participation.study, language=participation.language)
    if participation.track == COUNSELLOR and keys:
        seen |= {"cards": card_uses(participation), "keys": keys}
    draw = Draw(
        participation=participation,
        version=VERSION,
        number=number,
        rule={"design": rule.design, "arms": rule.arms, "per_person": rule.per_person, "seed": rule.seed},
        seen=seen,
        strata=strata,
        candidates=[ARROW.join(order) for order in choice.candidates],
        order=list(choice.order),
    )
    draw.cards = cards_of(draw)
    return draw


def lock(protocol: Protocol) -> None:
    """Let one person of this version draw at a time, until the end of the transaction. No one else waits: rows that
    refer to the version can be stored meanwhile."""
    Protocol.objects.select_for_update(no_key=True).get(pk=protocol.pk)


def rule_of(spec: StudySpec) -> Rule:
    arms = tuple(arm.key for arm in spec.arms)
    return Rule(spec.order.design, arms, spec.order.arms_per_person or len(arms), spec.order.seed)


def next_number(participation: Participation) -> int:
    """Return the number after the highest that was drawn; it is never given twice while its person is there."""
    highest = others_beside(participation).aggregate(highest=Max("order_index"))["highest"]
    return 0 if highest is None else highest + 1


def seen_by(participation: Participation, strata: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the orders of the people who hold a place, those of the completed, and those of the person's strata."""
    holders = list(holders_beside(participation).values_list("order", "status", "draw__strata"))
    seen: dict[str, Any] = {
        "orders": count_orders(order for order, _status, _strata in holders),
        "completed": count_orders(order for order, status, _strata in holders if status == Status.COMPLETED),
    }
    levels = {factor: own["level"] for factor, own in strata.items() if own["level"] is not None}
    if strata:
        seen["strata"] = {
            factor: count_orders(order for order, _status, theirs in holders if level_in(theirs, factor) == level)
            for factor, level in levels.items()
        }
    return seen


def level_in(strata: Mapping[str, Mapping[str, Any]] | None, factor: str) -> str | None:
    level: str | None = (strata or {}).get(factor, {}).get("level")
    return level


def count_orders(orders: Iterable[list[str]]) -> dict[str, int]:
    return dict(sorted(Counter(ARROW.join(order) for order in orders).items()))


def seen_from(stored: Mapping[str, Any]) -> SeenOrders:
    strata = {factor: dict(read_orders(uses)) for factor, uses in stored.get("strata", {}).items()}
    return SeenOrders(dict(read_orders(stored["orders"])), dict(read_orders(stored["completed"])), strata)


def read_orders(stored: Mapping[str, int]) -> Iterator[tuple[Order, int]]:
    for order, people in stored.items():
        yield tuple(order.split(ARROW)), people


def card_uses(participation: Participation) -> list[list[Any]]:
    """Return how many people who are not gone met an arm with a card, in all versions of the study."""
    others = participation.study.participations.filter(is_test=participation.is_test).exclude(pk=participation.pk)
    met = others.exclude(LEFT).exclude(cards=[]).values_list("order", "cards")
    uses = Counter(pair for order, cards in met for pair in zip(order, cards, strict=False))
    return [[*pair, people] for pair, people in sorted(uses.items())]


def cards_of(draw: Draw) -> list[str]:
    """Return the cards that follow from what the draw has seen."""
    if "keys" not in draw.seen:
        return []
    uses = {(arm, card): people for arm, card, people in draw.seen["cards"]}
    return choose_cards(draw.seen["keys"], draw.order, uses, seed=draw.rule["seed"], number=draw.number)
