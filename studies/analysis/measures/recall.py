"""The recall of a screen whose held and passed cases were read in samples (verification by design: Begg & Greenes 1983,
doi 10.2307/2530820)."""

from typing import NamedTuple

import numpy as np

DRAWS = 20_000
SEED = 1983


class Recall(NamedTuple):
    """A share, and its 95 % interval."""

    estimate: float
    low: float
    high: float


def estimate_recall(held: tuple[int, int, int], passed: tuple[int, int, int]) -> Recall | None:
    """Return which share of all true cases was held; None where one of the two samples is empty.

    Each sample: (true cases among those read, cases read, all cases). The share of true cases in each part is weighted
    by the size of the part. The interval takes both shares from their posteriors under Jeffreys' prior; where no true
    case was found at all the estimate is undefined, and so is None.
    """
    if not held[1] or not passed[1] or held[0] + passed[0] == 0:
        return None
    generator = np.random.default_rng(SEED)
    parts = [_true_cases(part, generator) for part in (held, passed)]
    caught, missed = ((part[0] / part[1]) * part[2] for part in (held, passed))
    shares = parts[0] / (parts[0] + parts[1])
    low, high = np.quantile(shares, [0.025, 0.975])
    return Recall(caught / (caught + missed), float(low), float(high))


def _true_cases(part: tuple[int, int, int], generator: np.random.Generator) -> np.ndarray:
    hits, read, size = part
    return size * generator.beta(hits + 0.5, read - hits + 0.5, DRAWS)
