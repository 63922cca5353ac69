"""The orders in which people may meet a set of arms. Pure."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from itertools import count
from random import Random

Order = tuple[str, ...]  # keys of arms
Uses = Mapping[Order, int]  # how many people who count have each order


def williams(n: int) -> list[tuple[int, ...]]:
    """Return sequences of 0 … n-1 balanced for first-order carry-over: `n` of them, or `2n` where `n` is odd.

    Each number stands equally often in each place, and each ordered pair stands side by side once (odd `n`: twice).
    E. J. Williams (1949), Australian Journal of Scientific Research A 2, 149-168.
    """
    zigzag = [place // 2 if place % 2 == 0 else n - 1 - place // 2 for place in range(n)]
    rows = [tuple((number + shift) % n for number in zigzag) for shift in range(n)]
    return rows if n % 2 == 0 else rows + [row[::-1] for row in rows]


def orders_of(
    design: str, arms: Order, uses: Uses, *, seed: int, number: int, freely: bool = False
) -> Collection[Order]:
    """Return the orders of these arms among which the next draw chooses, each once.

    `williams`: the Williams sequences. `blocks`: the free rows of the first of a sequence of cyclic Latin squares that
    has some; `freely`, all rows of as many squares as there are arms, or more if more are in use. `random`: one order,
    drawn for the person who is drawn as number `number`.
    """
    if design == "williams":
        return dict.fromkeys(tuple(arms[place] for place in row) for row in williams(len(arms)))
    if design == "random":
        return [tuple(Random(f"random/{seed}/{number}").sample(arms, k=len(arms)))]
    if freely:
        used = sum(people for order, people in uses.items() if set(order) == set(arms))
        squares = max(used // len(arms) + 1, len(arms))
        return dict.fromkeys(row for square in range(squares) for row in latin_square(arms, seed, square))
    return next(free_rows(arms, uses, seed))


def free_rows(arms: Order, uses: Uses, seed: int) -> Iterator[list[Order]]:
    """Yield the rows of each square that no one has, for squares with such rows. Whoever has a row has it in the first
    square that contains it, and only one person has it there."""
    left = Counter(uses)
    for square in count():
        rows = list(latin_square(arms, seed, square))
        if free := [row for row in rows if not left[row]]:
            yield free
        left.subtract(row for row in rows if left[row])


def latin_square(arms: Order, seed: int, square: int) -> Iterator[Order]:
    names = Random(f"blocks/{seed}/{square}").sample(arms, k=len(arms))
    return (tuple(names[first:] + names[:first]) for first in range(len(names)))
