"""The rule by which the next person gets their arms and the order of them. Pure: the same input, the same choice.

People who count hold a place: those who completed the study and those who are under way. Without strata, the next
person gets, in this order of importance, what those people use least:

1. the set of arms (where a person meets only some of them), then arms and pairs of arms,
2. the order, first among all of them, then among those who completed,
3. the arms at each position.

With strata, the sum of the arms at each position comes first, counted among people of the person's level of each factor
and among all: minimisation, with equal weights and always the best choice (S. J. Pocock and R. Simon 1975, Biometrics
31, 103-115; without their biased coin, because no one who enrols people can foresee a choice). The seed decides among
what is left.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from random import Random
from typing import NamedTuple

from studies.allocation.incomplete_blocks import incomplete_blocks
from studies.allocation.orders import Order, Uses, orders_of

VERSION = 2  # of this rule; 1 gave the place after the last one taken

Parts = Callable[[Order], Iterable[Hashable]]


@dataclass(frozen=True)
class Rule:
    """The settings of a draw: those of the study's version, with the arms that are in use."""

    design: str
    arms: Order
    per_person: int
    seed: int

    def __post_init__(self) -> None:
        if not 1 <= self.per_person <= len(self.arms):
            raise ValueError(f"{self.per_person} arms a person out of {len(self.arms)}")

    def sets(self) -> Counter[Order]:
        """Return the sets of arms of a full round, each with how often it comes."""
        blocks = incomplete_blocks(len(self.arms), self.per_person, self.seed)
        return Counter(tuple(self.arms[number] for number in one) for one in blocks)


@dataclass(frozen=True)
class SeenOrders:
    """The orders of the people who count when a person is drawn. `completed`: of those who completed; `strata`: of
    those of the person's level of each factor."""

    orders: Uses
    completed: Uses = field(default_factory=dict)
    strata: Mapping[str, Uses] = field(default_factory=dict)


class Choice(NamedTuple):
    order: Order
    candidates: tuple[Order, ...]  # the orders that the rule holds equally good


def choose(rule: Rule, seen: SeenOrders, number: int) -> Choice:
    """Return the order of the person who is drawn as number `number` of their track."""
    tallies = Tallies(rule, seen)
    ranked: dict[tuple[int, ...], list[Order]] = {}
    for arms in rule.sets():
        orders = orders_of(rule.design, arms, seen.orders, seed=rule.seed, number=number, freely=bool(seen.strata))
        for order in orders:
            ranked.setdefault(tallies.rank(order), []).append(order)
    candidates = tuple(sorted(ranked[min(ranked)]))
    return Choice(Random(f"draw/{rule.seed}/{number}").choice(candidates), candidates)


class Tallies:
    """Counts of the sets, arms, pairs, orders and positions in use."""

    def __init__(self, rule: Rule, seen: SeenOrders) -> None:
        self.orders, self.completed = seen.orders, seen.completed
        self.in_a_round = {frozenset(arms): times for arms, times in rule.sets().items()}
        self.sets = _tally(seen.orders, lambda order: [frozenset(order)])
        self.arms = _tally(seen.orders, lambda order: order)
        self.pairs = _tally(seen.orders, lambda order: map(frozenset, combinations(order, 2)))
        self.positions = _tally(seen.orders, enumerate)
        self.levels = [_tally(uses, enumerate) for uses in seen.strata.values()]

    def rank(self, order: Order) -> tuple[int, ...]:
        """Return how much an order is used already, the most important first; the least is the best.

        To add one to the least used of some counts makes the sum of their squares, and with it their variance, grow
        least.
        """
        arms = frozenset(order)
        at_positions = self._used_at(self.positions, order)
        usual = (
            self.sets[arms] // self.in_a_round[arms],
            sum(self.arms[arm] for arm in order),
            sum(self.pairs[frozenset(pair)] for pair in combinations(order, 2)),
            self.orders.get(order, 0),
            self.completed.get(order, 0),
            at_positions,
        )
        if not self.levels:
            return usual
        return (at_positions + sum(self._used_at(level, order) for level in self.levels), *usual)

    @staticmethod
    def _used_at(positions: Counter, order: Order) -> int:
        return sum(positions[place] for place in enumerate(order))


def _tally(uses: Uses, parts: Parts) -> Counter:
    tally: Counter = Counter()
    for order, people in uses.items():
        for part in parts(order):
            tally[part] += people
    return tally
