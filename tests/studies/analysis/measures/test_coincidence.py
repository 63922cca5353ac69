import krippendorff  # noqa: TID253
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import fleiss_kappa  # noqa: TID253

from studies.analysis.bootstrap import Bootstrap, weights
from studies.analysis.measures.coincidence import Counts, Level, alpha_from_sums, counts
from studies.analysis.rows import Undefined
from studies.analysis.tables.reliability import _fleiss

# Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", section C: four observers, twelve units.
FOUR_OBSERVERS = """
1 2 3 3 2 1 4 1 2 . . .
1 2 3 3 2 2 4 1 2 5 . 3
. 3 3 3 2 3 4 2 2 5 1 .
1 2 3 3 2 4 4 1 2 5 1 .
"""
# "Krippendorff's alpha", Wikipedia: three coders, fifteen units.
THREE_CODERS = """
. . . . . 3 4 1 2 1 1 3 3 . 3
1 . 2 1 3 3 4 3 . . . . . . .
. . 2 1 3 4 4 . 2 1 1 3 3 . 4
"""
# "Fleiss' kappa", Wikipedia: ten subjects, five categories, fourteen raters.
WIKIPEDIA_KAPPA = """
0 0 0 0 14
0 2 6 4 2
0 0 3 5 6
0 3 9 2 0
2 2 8 1 1
7 7 0 0 0
3 2 6 3 0
2 5 3 2 2
6 5 2 1 0
0 2 2 3 7
"""
# Fleiss 1971, Psychological Bulletin 76:378: six diagnoses of each of thirty patients, as in R's irr and statsmodels.
FLEISS_DIAGNOSES = """
444444 222555 233335 555555 222444 113333 333355 113334 114444 555555
144444 124444 222333 144444 224445 333335 111455 111112 224444 133555
555555 244444 224555 114444 144445 222224 111155 224444 133333 555555
"""


def table(text: str) -> np.ndarray:
    """Coders × units → units × coders, nan where a coder did not code."""
    return np.array(
        [[np.nan if cell == "." else float(cell) for cell in row.split()] for row in text.split("\n")[1:-1]]
    ).T


def counted(ratings: np.ndarray) -> Counts:
    ratings = ratings[(~np.isnan(ratings)).sum(axis=1) > 1]
    units, coders = np.nonzero(~np.isnan(ratings))
    return counts(ratings[units, coders], units)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        (FOUR_OBSERVERS, {"nominal": 0.743, "ordinal": 0.815, "interval": 0.849, "ratio": 0.797}),
        (THREE_CODERS, {"nominal": 0.691, "interval": 0.811}),
    ],
)
def test_alpha_is_the_printed_one(text: str, printed: dict[Level, float]) -> None:
    data = counted(table(text))
    assert {level: round(data.alpha(level), 3) for level in printed} == printed


def test_scores_below_0_have_no_alpha_of_ratios() -> None:
    data = counted(np.array([[-1.0, 1.0], [2.0, 2.0], [3.0, 1.0]]))
    with pytest.raises(Undefined, match="scores below 0"):
        data.alpha("ratio")
    with pytest.raises(Undefined, match="scores below 0"):
        data.resample_alpha("ratio", np.arange(3), Bootstrap(25, 1))


def test_error_of_fleiss_is_how_kappa_moves_with_each_patients_weight() -> None:
    """The infinitesimal jackknife (Efron 1982, chapter 6): kappa's derivatives, by the package, at a weight of one."""
    diagnoses = counted(np.array([[float(digit) for digit in patient] for patient in FLEISS_DIAGNOSES.split()]))
    clusters, step = np.arange(30) // 2, 1e-5

    def kappa_of(weighed: np.ndarray) -> float:
        return float(fleiss_kappa(diagnoses.counts * weighed[:, np.newaxis]))

    def at(patients: np.ndarray, move: float) -> float:
        shares, agreed = diagnoses.counts / 6, ((diagnoses.counts**2).sum(axis=1) - 6) / 30
        weighed = 1 + move * patients
        chance = ((weighed @ shares / weighed.sum()) ** 2).sum()
        return float((weighed @ agreed / weighed.sum() - chance) / (1 - chance))

    assert at(np.zeros(30), 0) == pytest.approx(kappa_of(np.ones(30)))
    moves = [(at(clusters == one, step) - at(clusters == one, -step)) / 2 / step for one in range(15)]
    assert diagnoses.error_of_fleiss(clusters) == pytest.approx(float(np.sum(np.square(moves)) ** 0.5), rel=1e-6)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
def test_alpha_of_equals_the_package_replicate_by_replicate(level: Level) -> None:
    data = counted(table(FOUR_OBSERVERS))
    drawn = weights(len(data.counts), 25, 3)
    fast = alpha_from_sums(drawn @ data.coincidences().reshape(len(data.counts), -1), data.levels, level)
    for replicate, times in zip(fast, drawn.astype(int), strict=True):
        again = np.repeat(data.counts, times, axis=0)
        slow = krippendorff.alpha(value_counts=again, value_domain=data.levels, level_of_measurement=level)
        assert replicate == pytest.approx(slow, abs=1e-12)


@settings(deadline=None, max_examples=50)
@given(st.permutations(range(4)), st.permutations(range(12)))
def test_alpha_ignores_the_order_of_raters_and_units(raters: list[int], units: list[int]) -> None:
    shuffled = counted(table(FOUR_OBSERVERS)[units][:, raters])
    assert shuffled.alpha("ordinal") == pytest.approx(counted(table(FOUR_OBSERVERS)).alpha("ordinal"), abs=1e-12)


@pytest.mark.parametrize(
    ("ratings", "reason"),
    [(np.full((4, 2), 3.0), "the scores do not vary"), (np.array([[1.0, 2.0]]), "fewer than two conversations")],
)
def test_chance_corrected_coefficients_are_undefined_without_differences(ratings: np.ndarray, reason: str) -> None:
    data = counted(ratings)
    for coefficient in (lambda: data.alpha("interval"), lambda: _fleiss(data)):
        with pytest.raises(Undefined, match=reason):
            coefficient()


def test_resampled_draws_clusters_not_units() -> None:
    data = counted(table(THREE_CODERS))
    clusters = np.arange(len(data.counts)) // 2
    resampled = data.resample_alpha("interval", clusters, Bootstrap(100, 1))
    assert len(resampled.jackknife) == clusters.max() + 1
    assert resampled.estimate == pytest.approx(data.alpha("interval"), abs=1e-12)
    first = data.counts[np.isin(clusters, clusters[2:])]
    without = krippendorff.alpha(value_counts=first, value_domain=data.levels, level_of_measurement="interval")
    assert resampled.jackknife[0] == pytest.approx(without, abs=1e-12)


def test_percent_agreement_is_the_share_of_agreeing_pairs() -> None:
    # Pairs: 1 of 1, 1 of 3, 0 of 1; the unit of three ratings weighs 3 of 7.
    data = counted(np.array([[1, 1, np.nan], [2, 2, 3], [1, 3, np.nan]]))
    assert data.percent_agreement() == pytest.approx((2 * 1 + 3 / 3 + 2 * 0) / 7)


def test_fleiss_is_the_printed_kappa_of_wikipedia_and_of_fleiss_1971() -> None:
    wikipedia = np.array([row.split() for row in WIKIPEDIA_KAPPA.split("\n")[1:-1]], dtype=int)
    assert round(_fleiss(Counts(wikipedia.astype(float), np.arange(1.0, 6.0))), 3) == 0.210
    diagnoses = np.array([[float(digit) for digit in patient] for patient in FLEISS_DIAGNOSES.split()])
    assert round(_fleiss(counted(diagnoses)), 3) == 0.430


def test_fleiss_needs_one_number_of_ratings() -> None:
    with pytest.raises(Undefined, match="the number of ratings differs between conversations"):
        _fleiss(counted(table(FOUR_OBSERVERS)))
