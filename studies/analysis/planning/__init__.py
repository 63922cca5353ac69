"""How many people a study needs, and what more of them would tell. Importing this costs neither pandas nor scipy."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from studies.analysis import AnalysisError, Progress

OF = ("judge", "strategy", "human", "instrument", "moment", "item")  # what tells one agreement from another
QUESTIONS = ("correlation", "width", "icc", "paired")
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
}
PEOPLE = ("seeker", "expert", "reviewer", "crowd", "simulated_seeker")
LEAST_EFFECT = 0.01  # of r and d, where they are to be found: below, no study is large enough

# Notes of a precision plan, as the page that shows them knows them.
ONE_RATER = "The reliability of a single rating is assumed: no conversation has several raters of this kind."
NO_RELIABILITY = "The reliability of a single rating is assumed: the ICC of the ratings there are is not above 0."
COUNSELLORS = "Counsellors rated their own conversations: here counsellors alone are drawn, in the report arms too."


@dataclass(frozen=True)
class Wish:
    """What is asked: `correlation` to find r, `width` an interval of r at most ± `half_width`, `icc` one of an ICC of
    `raters` raters at most ± `half_width`, `paired` to find a difference d_z. Intervals have level 1 - `alpha`.

    A person has `per_person` units: conversations, or (`paired`) pairs of them. `within`: the intraclass correlation
    of a person's units. `dropout`: the share of people who do not complete.
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


@dataclass(frozen=True)
class Nearby:
    """What another value of the one that is guessed would ask for."""

    value: float
    needed: int
    people: int
    conversations: int


@dataclass(frozen=True)
class Need:
    """`needed`: independent units. `exact`: the same by the exact distribution of r, where that is what is asked.
    `people` complete, `invited` with those who drop out. `ratings`: of people, `raters` for a conversation in `icc`."""

    needed: int
    exact: int | None
    design_effect: float
    people: int
    invited: int
    conversations: int
    ratings: int
    nearby: list[Nearby]


def rank(of: Mapping[str, Any]) -> tuple[bool, int]:
    """The primary agreements come first: of final ratings, and of the participants themselves."""
    return of["moment"] != "final", PEOPLE.index(of["human"])


def plan_precision(
    folder: Path,
    wanted: Mapping[str, str],
    *,
    bootstrap: int = 2000,
    seed: int = 1,
    on_progress: Progress = lambda *_: None,
) -> dict[str, Any]:
    """What more participants or second ratings would make of an interval, from the export in `folder`.

    `wanted`: any of OF; the first agreement of a judge and people that is so. Raises `AnalysisError`.
    """
    from studies.analysis.bootstrap import Bootstrap
    from studies.analysis.frames import load
    from studies.analysis.planning.precision import precision

    if bootstrap < 1 or seed < 0:
        raise AnalysisError(f"bootstrap must be at least 1 and seed at least 0, not {bootstrap} and {seed}")
    return precision(load(folder), wanted, Bootstrap(bootstrap, seed), on_progress)
