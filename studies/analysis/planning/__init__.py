"""Planning of sample size, power and precision. Importing this module loads neither pandas nor scipy."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from studies.analysis import AnalysisError, Progress

OF = ("judge", "strategy", "human", "instrument", "moment", "item")  # what tells one agreement from another
QUESTIONS = ("correlation", "width", "icc", "paired")
SIMULATED = ("dependent", "discrimination")  # the questions that simulated studies answer
BOUNDS: dict[str, tuple[float, float]] = {  # of a wish: least and most
    "r": (-0.99, 0.99),
    "half_width": (0.005, 0.5),
    "icc": (0.0, 0.99),
    "raters": (2, 100),
    "d": (-5.0, 5.0),
    "power": (0.5, 0.999),
    "alpha": (0.0001, 0.2),
    "per_person": (1, 1000),
    "within": (0.0, 1.0),
    "dropout": (0.0, 0.95),
    "r2": (-0.99, 0.99),
    "between": (-0.99, 0.99),
    "models": (2, 12),
    "separation": (0.0, 10.0),
    "people": (4, 1000),
    "studies": (100, 100_000),
    "seed": (0, 999_999),
}
PEOPLE = ("seeker", "expert", "reviewer", "crowd", "simulated_seeker")
LEAST_EFFECT = 0.01  # of r and d, where they are to be found: below, no study is large enough


@dataclass(frozen=True)
class Wish:
    """A question of planning.

    `question` is one of: `correlation` to find r, `width` an interval of r at most ± `half_width`, `icc` one of an ICC
    of `raters` raters at most ± `half_width`, `paired` to find a difference d_z. Intervals have level 1 - `alpha`. Of a
    study with so many `people`: `dependent`, how likely it tells two judges apart that correlate with people by r and
    r2 and with one another by `between`; `discrimination`, how many pairs of `models` it tells apart whose means vary
    by `separation` times the variance of a model's conversations. These are simulated: `studies`, from `seed`.

    A person has `per_person` units: conversations, or (`paired`) pairs of them. `within`: the intraclass correlation of
    a person's units. `dropout`: the share of people who do not complete.
    """

    question: str
    r: float = 0.3
    half_width: float = 0.1
    icc: float = 0.7
    raters: int = 2
    d: float = 0.5
    power: float = 0.8
    alpha: float = 0.05
    per_person: int = 1
    within: float = 0.0
    dropout: float = 0.0
    r2: float = 0.2
    between: float = 0.7
    models: int = 5
    separation: float = 0.1
    people: int = 100
    studies: int = 2000
    seed: int = 1


@dataclass(frozen=True)
class Nearby:
    """The people needed for another value of the parameter that is guessed."""

    value: float
    needed: int
    people: int
    conversations: int


@dataclass(frozen=True)
class Need:
    """The answer to a question of sample size.

    `needed`: independent units. `exact`: the same by the exact distribution of r, for `correlation`. `people` complete;
    `invited` includes those who drop out. `ratings`: of people, `raters` for a conversation in `icc`.
    """

    needed: int
    exact: int | None
    design_effect: float
    people: int
    invited: int
    conversations: int
    ratings: int
    nearby: list[Nearby]


@dataclass(frozen=True)
class Size:
    """A study of some size and its power.

    `people` complete. `independent`: conversations that inform as much, or (`discrimination`) the people. `power`: the
    share of simulated studies that find the effect, or (`discrimination`) the mean share of pairs that a study
    distinguishes; `low` and `high` are its 95 % Monte Carlo interval.
    """

    people: int
    conversations: int
    independent: int
    power: float
    low: float
    high: float


@dataclass(frozen=True)
class PairPower:
    """The power for pairs of models that are so many steps apart in the order of their means."""

    steps: int
    d: float  # d_z
    power: float
    low: float
    high: float


@dataclass(frozen=True)
class Chance:
    """The answer to a question of power.

    `asked`: with the people of the wish; `sizes`: with fewer and more. `least`: the smallest significant difference
    between two observed correlations around these (`dependent`); `pairs` is of `discrimination`.
    """

    asked: Size
    invited: int
    design_effect: float | None
    least: float | None
    pairs: list[PairPower]
    sizes: list[Size]
    studies: int
    seed: int


def is_possible(r: float, r2: float, between: float) -> bool:
    """Return whether three variables can correlate so: their matrix has a positive determinant."""
    return 1 - r * r - r2 * r2 - between * between + 2 * r * r2 * between > 0


def agreement_rank(labels: Mapping[str, Any]) -> tuple[bool, int]:
    """Return a sort key that puts the primary agreements first: of final ratings, and of the participants
    themselves."""
    return labels["moment"] != "final", PEOPLE.index(labels["human"])


def plan_precision(
    folder: Path,
    filters: Mapping[str, str],
    *,
    bootstrap: int = 2000,
    seed: int = 1,
    on_progress: Progress = lambda *_: None,
) -> dict[str, Any]:
    """Return how far more participants or second ratings would narrow an interval, from the export in `folder`.

    `filters`: values for any of OF, which choose the first matching agreement of a judge and people. Raises
    `AnalysisError`.
    """
    from studies.analysis.bootstrap import Bootstrap
    from studies.analysis.frames import load
    from studies.analysis.planning.precision import compute_precision

    if bootstrap < 1 or seed < 0:
        raise AnalysisError(f"bootstrap must be at least 1 and seed at least 0, not {bootstrap} and {seed}")
    return compute_precision(load(folder), filters, Bootstrap(bootstrap, seed), on_progress)
