"""The level of a score among others: low, middle or high third. Pure."""

from collections.abc import Sequence
from typing import NamedTuple

LEVELS = ("low", "middle", "high")
ENOUGH = 9  # scores, the person's own too, before thirds are those of people


class Cuts(NamedTuple):
    """Up to `lower`, a score is low; above `upper`, it is high."""

    lower: float
    upper: float


def cuts_between(scores: Sequence[float], *, minimum: float, maximum: float) -> Cuts:
    """Return the terciles of these scores; of the range from `minimum` to `maximum` where there are too few scores."""
    if len(scores) < ENOUGH:
        third = (maximum - minimum) / 3
        return Cuts(round(minimum + third, 6), round(maximum - third, 6))
    ordered = sorted(scores)
    return Cuts(ordered[(len(ordered) - 1) // 3], ordered[2 * len(ordered) // 3 - (len(ordered) % 3 == 0)])


def level_of(score: float, cuts: Cuts) -> str:
    return LEVELS[(score > cuts.lower) + (score > cuts.upper)]
