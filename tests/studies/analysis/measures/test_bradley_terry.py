"""The Bradley–Terry fit against published examples, and what must not change it."""

import numpy as np
import pytest

from studies.analysis.bootstrap import Array
from studies.analysis.measures.bradley_terry import has_strengths, is_connected, log_strengths

# Agresti (2002), Categorical Data Analysis, 2nd ed., Table 10.10: the American League (East) of 1987, 13 games for
# every two teams; the row's wins. Fitted by maximum likelihood, Baltimore 0, as also in Turner & Firth (2012), Journal
# of Statistical Software 48(9), and the R package BradleyTerry2 (data `baseball`).
BASEBALL = {
    "Milwaukee": ([0, 7, 9, 7, 7, 9, 11], 1.5814),
    "Detroit": ([6, 0, 7, 5, 11, 9, 9], 1.4364),
    "Toronto": ([4, 6, 0, 7, 7, 8, 12], 1.2945),
    "New York": ([6, 8, 6, 0, 6, 7, 10], 1.2476),
    "Boston": ([6, 2, 6, 7, 0, 7, 12], 1.1077),
    "Cleveland": ([4, 4, 5, 6, 6, 0, 6], 0.6839),
    "Baltimore": ([2, 4, 1, 3, 1, 7, 0], 0.0),
}
# Stigler (1994), Statistical Science 9, 94–108, as in Agresti (2002), p. 448: citations of the row by the column.
# Fitted with Biometrika 0 by Firth (2005), Journal of Statistical Software 12(1).
CITATIONS = {
    "Biometrika": ([714, 730, 498, 221], 0.0),
    "Comm Statist": ([33, 425, 68, 17], -2.94907),
    "JASA": ([320, 813, 1072, 142], -0.47957),
    "JRSS-B": ([284, 276, 325, 188], 0.26895),
}


def wins_of(published: dict) -> Array:
    return np.array([row for row, _ in published.values()], dtype=float)


def fitted(wins: Array) -> Array:
    return log_strengths(wins[np.newaxis])[0]


@pytest.mark.parametrize(
    ("published", "base", "digits"), [(BASEBALL, "Baltimore", 4), (CITATIONS, "Biometrika", 5)], ids=["teams", "papers"]
)
def test_strengths_are_the_published_ones(published, base, digits):
    found = fitted(wins_of(published))
    expected = [strength for _, strength in published.values()]
    assert (found - found[list(published).index(base)]).round(digits).tolist() == pytest.approx(expected, abs=1e-12)
    assert found.mean() == pytest.approx(0, abs=1e-12)


def test_expected_wins_equal_those_that_were_seen():
    """What the likelihood equations say of the maximum, ties and all."""
    wins = wins_of(BASEBALL)
    wins[0, 6] += 0.5
    wins[6, 0] += 0.5
    strengths = np.exp(fitted(wins))
    chances = strengths[:, None] / (strengths[:, None] + strengths)
    assert ((wins + wins.T) * chances).sum(axis=1) == pytest.approx(wins.sum(axis=1))


def test_many_tables_are_fitted_as_each_alone():
    rng = np.random.default_rng(3)
    tables = rng.integers(1, 9, size=(20, 4, 4)).astype(float)
    tables[5, 0] = 0
    together = log_strengths(tables)
    assert np.isnan(together[5]).all()
    for number, table in enumerate(tables):
        assert together[number] == pytest.approx(fitted(table), nan_ok=True)


def test_relabelling_relabels_and_turning_every_verdict_turns_the_scale():
    wins = wins_of(BASEBALL)
    order = np.random.default_rng(1).permutation(len(wins))
    assert fitted(wins[np.ix_(order, order)]) == pytest.approx(fitted(wins)[order])
    assert fitted(wins.T) == pytest.approx(-fitted(wins))


def test_two_contestants_have_the_log_odds_between_them():
    found = fitted(np.array([[0, 30.0], [10, 0]]))
    assert found.tolist() == pytest.approx([np.log(3) / 2, -np.log(3) / 2])


@pytest.mark.parametrize(
    ("wins", "connected", "finite"),
    [
        ([[0, 1, 0], [1, 0, 0], [0, 0, 0]], False, False),
        ([[0, 1, 0], [1, 0, 2], [0, 0, 0]], True, False),
        ([[0, 1, 1], [0, 0, 1], [0, 0, 0]], True, False),
        ([[0, 1, 0], [0, 0, 1], [1, 0, 0]], True, True),
        ([[0, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0]], True, True),
    ],
)
def test_strengths_need_a_way_of_wins_from_each_to_each(wins, connected, finite):
    table = np.array([wins], dtype=float)
    assert (is_connected(table)[0], has_strengths(table)[0]) == (connected, finite)
    assert np.isfinite(log_strengths(table)).all() == finite


def test_planted_strengths_are_found_again():
    planted = np.array([1.2, 0.3, -0.4, -1.1])
    rng = np.random.default_rng(8)
    chances = 1 / (1 + np.exp(planted[None, :] - planted[:, None]))
    wins = np.triu(rng.binomial(4000, chances), 1).astype(float)
    wins += np.tril(4000 - wins.T, -1)
    assert fitted(wins) == pytest.approx(planted, abs=0.06)
