"""The role cards of a counsellor who has no row of a block plan: used evenly, and evenly with each arm. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations
from random import Random

CardUses = Mapping[tuple[str, str], int]  # arm and card → how many people who count met them together
FEW = 6  # arms, whose 720 ways to be dealt cards are all looked at


def choose_cards(keys: Sequence[str], order: Sequence[str], uses: CardUses, *, seed: int, number: int) -> list[str]:
    """Return a card for each arm: the cards used least, none twice before all have come, and each with the arm with
    which it was used least. The seed decides among equals. Empty where there are no cards."""
    if not keys:
        return []
    draw = Random(f"cards/{seed}/{number}")
    drawn: Counter[str] = Counter()
    for (_arm, card), people in uses.items():
        drawn[card] += people
    queue = sorted(draw.sample(sorted(keys), k=len(keys)), key=lambda key: drawn[key])
    cards: list[str] = []
    for start in range(0, len(order), len(queue)):
        arms = order[start : start + len(queue)]
        cards += deal(arms, draw.sample(queue[: len(arms)], k=len(arms)), uses)
    return cards


def deal(arms: Sequence[str], cards: list[str], uses: CardUses) -> list[str]:
    """Return the cards in the order of the arms that are to have them."""
    if len(arms) <= FEW:
        return list(min(permutations(cards), key=lambda dealt: used_together(arms, dealt, uses)))
    dealt: list[str] = []
    for arm in arms:
        dealt.append(min(cards, key=lambda card, arm=arm: uses.get((arm, card), 0)))  # type: ignore[misc]
        cards.remove(dealt[-1])
    return dealt


def used_together(arms: Iterable[str], cards: Iterable[str], uses: CardUses) -> int:
    return sum(uses.get(pair, 0) for pair in zip(arms, cards, strict=True))
