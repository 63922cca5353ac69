"""Balanced incomplete blocks: which k of n arms a person meets. Pure.

In a balanced incomplete block design all arms are used equally often, and so is each pair of arms within a person
(F. Yates 1936, Annals of Eugenics 7, 121-140). The sizes that allow one follow from counting. Where no design is found,
sets are as even as the search gets them.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations
from math import comb, gcd
from random import Random

from studies.design.blocks import even_sets

MOST_SETS = 120  # of a plan; a larger design would be full after more people than most studies have
MOST_CELLS = 1200  # arms × sets of a plan, so that the search takes seconds at most, once for each process
MOST_STEPS = 20_000  # of the search for a cyclic design

Set = tuple[int, ...]


@lru_cache(maxsize=64)
def incomplete_blocks(arms: int, per_person: int, seed: int) -> tuple[Set, ...]:
    """Return sets of numbers 0 … arms-1, each sorted: one set for each person of a full round.

    All numbers are in equally many sets. All pairs are too, where a design of a usual size was found.
    """
    if per_person == arms:
        return (tuple(range(arms)),)
    size = full_round(arms, per_person)
    sets = cyclic_design(arms, per_person, size)
    if sets is None:
        sets = even_sets(arms, people=size, per_person=per_person, draw=Random(f"sets/{seed}"))
    names = Random(f"names/{seed}").sample(range(arms), k=arms)
    return tuple(sorted(tuple(sorted(names[number] for number in one)) for one in sets))


def full_round(arms: int, per_person: int) -> int:
    """Return the smallest number of people for whom all arms and all pairs of arms can be used equally often; where
    that is too large, the largest for whom all arms can."""
    most = min(MOST_SETS, MOST_CELLS // arms)
    step = arms // gcd(arms, per_person)
    pairs = comb(arms, 2) // gcd(comb(arms, 2), comb(per_person, 2)) if per_person > 1 else 1
    size = step * pairs // gcd(step, pairs)
    while size < arms:  # Fisher's inequality
        size += step * pairs // gcd(step, pairs)
    return size if size <= most else max(most // step, 1) * step


def cyclic_design(arms: int, per_person: int, size: int) -> list[Set] | None:
    """Return a balanced design that is developed from base sets modulo `arms`, or None if the search finds none.

    The differences within the base sets must contain each number but 0 equally often (R. C. Bose 1939, Annals of
    Eugenics 9, 353-399). Of large sets, the complements are searched.
    """
    if size % arms:
        return None
    if per_person * 2 > arms:
        others = cyclic_design(arms, arms - per_person, size)
        whole = frozenset(range(arms))
        return None if others is None else [tuple(sorted(whole - set(one))) for one in others]
    often, rest = divmod(size // arms * per_person * (per_person - 1), arms - 1)
    bases = None if rest else next(base_sets(arms, per_person, size // arms, often), None)
    return bases and [develop(one, shift, arms) for one in bases for shift in range(arms)]


def develop(base: Set, shift: int, arms: int) -> Set:
    return tuple(sorted((number + shift) % arms for number in base))


def base_sets(arms: int, per_person: int, count: int, often: int) -> Iterator[list[Set]]:
    """Yield base sets in which each difference comes `often`; give up after MOST_STEPS sets."""
    candidates = [(0, *rest) for rest in combinations(range(1, arms), per_person - 1)]
    if len(candidates) > MOST_STEPS:
        return
    steps = iter(range(MOST_STEPS))

    def extend(sets: list[Set], seen: Sequence[int], start: int) -> Iterator[list[Set]]:
        if len(sets) == count:
            yield sets
            return
        for number in range(start, len(candidates)):
            if next(steps, None) is None:
                return
            one = candidates[number]
            now = list(seen)
            for a, b in combinations(one, 2):
                now[(b - a) % arms] += 1
                now[(a - b) % arms] += 1
            if max(now) <= often:
                yield from extend([*sets, one], now, number)

    yield from extend([], [0] * arms, 0)
