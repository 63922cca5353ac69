"""A short version of `make coverage`: few studies of each cell, so only an interval that is plainly wrong shows."""

import numpy as np
import pytest
from scipy.stats import binom, norm  # noqa: TID253

from studies.analysis.bootstrap import Bootstrap
from studies.analysis.rows import Undefined
from tests.amounts import choose
from tests.coverage import simulated
from tests.coverage.cells import (
    CELLS,
    FAMILIES,
    PLANTED_CROSSED_R,
    PLANTED_WINS,
    RAISED,
    USUAL,
    WANTED,
    Cell,
    Family,
    from_draws,
)
from tests.coverage.run import Counted, as_markdown, cell_of, count_all, count_span, merged, sum_of

STUDIES, OF_MIXED_MODELS, REPLICATES = choose(usual=(30, 4, 200), full=(60, 10, 500))
FOR_A_FAULT = 60  # studies that are enough to tell
CHANCE = 1e-4  # that a cell which is as it should be would fail here; it never changes, as its seed is fixed
JUDGED = [cell.key for cell in CELLS if cell.is_judged()]


def least(studies: int) -> float:
    return float(binom.ppf(CHANCE, studies, WANTED[0]))


@pytest.mark.parametrize("key", JUDGED)
def test_intervals_hold_what_was_planted_as_often_as_chance_allows(key: str) -> None:
    studies = STUDIES if cell_of(key).family.studies >= USUAL else OF_MIXED_MODELS
    counted = count_span(key, 0, studies, REPLICATES)
    assert counted.without == 0
    assert counted.held >= least(studies)


def test_too_narrow_intervals_are_found_out() -> None:
    def narrow(random: np.random.Generator, count: int, bootstrap: Bootstrap) -> tuple[float, float]:
        half = 0.5 * norm.ppf(0.975) / np.sqrt(count)
        centre = random.normal(size=count).mean()
        return centre - half, centre + half

    cell = Cell(Family("narrow", "a mean", (50,), 1, 0.0, narrow), 50)
    held = sum(bool(cell.holds(study, REPLICATES)) for study in range(FOR_A_FAULT))
    assert held < least(FOR_A_FAULT)


def test_planted_values_without_a_formula_are_those_of_many_draws() -> None:
    truths = {family.key: family.truth for family in FAMILIES}
    for key, found in from_draws(200_000).items():
        assert truths[key] == pytest.approx(found, rel=0.02)  # of so few the standard error of a small kappa


def test_cells_have_names_and_seeds_of_their_own() -> None:
    assert len({cell.key for cell in CELLS}) == len(CELLS)
    assert len({family.seed for family in FAMILIES}) == len(FAMILIES)


def test_a_study_without_an_interval_is_counted_apart() -> None:
    def none(random: np.random.Generator, count: int, bootstrap: Bootstrap) -> tuple[float, float]:
        raise Undefined("no_resample_varies")

    assert Cell(Family("none", "nothing", (50,), 1, 0.0, none), 50).holds(0, 10) is None


@pytest.mark.parametrize(
    ("held", "missed", "verdict"),
    [(1900, 100, "met"), (1881, 119, "met"), (1855, 145, "NOT MET"), (1930, 70, "NOT MET")],
)
def test_a_verdict_asks_whether_the_coverage_itself_is_what_it_should_be(held: int, missed: int, verdict: str) -> None:
    """Of r from .94 to .96; .950, .9405, .9275 and .965 here."""
    assert Counted("r-50", held, missed, 0).verdict() == verdict
    assert Counted("r-20", held, missed, 0).verdict() == "few clusters"


def test_crossed_cells_are_judged_by_the_fewer_of_both_kinds() -> None:
    assert Counted("r-crossed-50x20", 1900, 100, 0).verdict() == "few clusters"
    assert Counted("r-crossed-50x50", 1900, 100, 0).verdict() == "met"
    assert Counted("r-crossed-50x50", 1930, 70, 0).verdict() == "met"
    assert Counted("r-crossed-50x50", 1950, 50, 0).verdict() == "outside"
    assert Counted("r-crossed-50x50", 1840, 160, 0).verdict() == "outside"


def test_cells_that_were_run_take_their_place_among_those_that_were_not() -> None:
    table = as_markdown([Counted("r-20", 1, 1, 0), Counted("d-12", 1, 1, 0)])
    again = merged(table, [Counted("win-4x50", 3, 1, 0), Counted("d-12", 9, 1, 0)])
    assert again == as_markdown([Counted("r-20", 1, 1, 0), Counted("d-12", 9, 1, 0), Counted("win-4x50", 3, 1, 0)])


def test_crossed_studies_have_the_planted_values() -> None:
    random = np.random.default_rng(1)
    own = [simulated.own_conversations(random, 60, 60, (0.0, RAISED)).values for _study in range(60)]
    r = np.corrcoef(np.concatenate(own).T)
    assert (r[0, 1], r[0, 2]) == pytest.approx((PLANTED_CROSSED_R, PLANTED_CROSSED_R + RAISED), abs=0.02)
    given = np.concatenate([simulated.verdicts(random, 60, 60).values for _study in range(60)])
    assert (given == 1).mean() == pytest.approx(PLANTED_WINS, abs=0.02)


def test_processes_count_what_one_would() -> None:
    told: list[int] = []
    (together,) = count_all([cell_of("d-12")], 70, 2, told.append)
    assert together == sum_of([count_span("d-12", 0, 70)])
    assert sum(told) == together.studies == 70
    assert as_markdown([together]).count("\n") == 3


def test_mixed_models_are_the_only_ones_with_fewer_studies() -> None:
    fewer = {family.key for family in FAMILIES if family.studies < USUAL}
    of_gaps = {"icc-gaps", "icc-clustered-gaps-c1", "icc-clustered-gaps-a1"}
    assert fewer == {"mean-mixed", "slope", *of_gaps}
