import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats  # noqa: TID253
from statsmodels.stats.multitest import multipletests  # noqa: TID253

from studies.analysis.measures import alt_test
from studies.analysis.measures.alt_test import Comparison, Score, accuracy, compare, negative_rmse
from studies.analysis.rows import Undefined

MT_BENCH = Path(__file__).resolve().parents[5] / "shared" / "data" / "alttest_mtbench.json"
NAN = np.nan
SCORES: dict[Score, Callable[[float, list[float]], float]] = {
    accuracy: lambda answer, others: sum(other == answer for other in others) / len(others),
    negative_rmse: lambda answer, others: -((sum((other - answer) ** 2 for other in others) / len(others)) ** 0.5),
}
YES_OR_NO = st.sampled_from([0.0, 1.0])
SOME_GAPS = arrays(float, (8, 4), elements=st.sampled_from([1.0, 2.0, 3.0, 4.0, 5.0, NAN]))
JUDGED = arrays(float, 8, elements=st.integers(1, 5).map(float))


def array(*values: float) -> np.ndarray:
    return np.array(values, dtype=float)


def comparison(*advantages: int) -> Comparison:
    found = np.array(advantages)
    return Comparison(np.arange(len(found)), judge_wins=found <= 0, rater_wins=found >= 0)


def advantage(comparisons: list[Comparison]) -> float:
    sums = [len(found.items) for found in comparisons], [found.judge_wins.sum() for found in comparisons]
    return float(alt_test.advantage(np.concatenate(sums).astype(float)))


@pytest.mark.skipif(not MT_BENCH.is_file(), reason="REAL DATA SKIPPED: alttest_mtbench.json is not at hand")
@pytest.mark.parametrize(
    ("judge", "rho"),
    [
        ("gemini_flash", 0.72),
        ("gemini_pro", 0.76),
        ("gpt-4o", 0.77),
        ("llama-31", 0.69),
        ("gpt-4o-mini", 0.74),
        ("mistral-v03", 0.68),
    ],
)
def test_mt_bench_has_the_published_rates(judge: str, rho: float) -> None:
    """As printed in the authors' notebook (github.com/nitaytech/AltTest, alt_test_example.ipynb): accuracy, epsilon .2,
    and no judge wins against any of the three experts."""
    data = json.loads(MT_BENCH.read_text(encoding="utf-8"))
    numbers = {"model_a": 0.0, "model_b": 1.0, "tie": 2.0}
    given_by, answers = data["human"].values(), data["llm"][judge]
    items = [item for item in answers if sum(item in votes for votes in given_by) > 1]
    annotations = np.array([[numbers.get(votes.get(item, ""), NAN) for votes in given_by] for item in items])
    found = compare(annotations, np.array([numbers[answers[item]] for item in items]), accuracy)
    assert min(len(one.items) for one in found) >= 30
    assert round(advantage(found), 2) == rho
    assert alt_test.winning_rate(alt_test.adjust_p_values(array(*(one.p_value(0.2) for one in found)))) == 0


@settings(max_examples=60, deadline=None)
@given(SOME_GAPS, JUDGED, st.sampled_from(list(SCORES)))
def test_compare_is_what_a_plain_loop_finds(annotations: np.ndarray, judge: np.ndarray, score: Score) -> None:
    for rater, found in enumerate(compare(annotations, judge, score)):
        expected = []
        for item, answers in enumerate(annotations):
            others = [other for place, other in enumerate(answers) if place != rater and not np.isnan(other)]
            if others and not np.isnan(answers[rater]):
                of_judge, of_rater = SCORES[score](judge[item], others), SCORES[score](answers[rater], others)
                expected.append((item, of_judge >= of_rater - 1e-12, of_rater >= of_judge - 1e-12))
        assert list(zip(found.items, found.judge_wins, found.rater_wins, strict=True)) == expected


@settings(max_examples=30, deadline=None)
@given(arrays(float, (10, 3), elements=YES_OR_NO | st.just(NAN)), arrays(float, 10, elements=YES_OR_NO))
def test_both_scores_say_the_same_of_two_values(annotations: np.ndarray, judge: np.ndarray) -> None:
    for one, other in zip(*(compare(annotations, judge, score) for score in SCORES), strict=True):
        assert one.advantages().tolist() == other.advantages().tolist()


def test_a_tie_counts_for_both() -> None:
    # Of the first rater: the judge says the same, the judge is as far on the other side, the judge is farther.
    annotations = np.array([[2, 3], [2, 3], [3, 3]], dtype=float)
    first = compare(annotations, array(2, 4, 1), negative_rmse)[0]
    assert first.judge_wins.tolist() == [True, True, False]
    assert first.rater_wins.tolist() == [True, True, True]
    assert first.advantages().tolist() == [0, 0, 1]


def test_distances_that_differ_by_rounding_alone_are_a_tie() -> None:
    first = compare(np.array([[0.1, 0.2, 0.4]]), array(0.5), negative_rmse)[0]  # .1 and .5 lie as far from .2 and .4
    assert first.advantages().tolist() == [0]


def test_p_value_is_the_one_sided_t() -> None:
    advantages = [-1, 0, 1, 0, -1, -1, 1, 0]
    t = (np.mean(advantages) - 0.2) / (np.std(advantages, ddof=1) / 8**0.5)
    assert comparison(*advantages).p_value(0.2) == pytest.approx(stats.t.cdf(t, 7))


@pytest.mark.parametrize(("always", "p"), [(-1, 0), (0, 0), (1, 1)])
def test_comparisons_that_do_not_vary_decide_by_themselves(always: int, p: float) -> None:
    assert comparison(always, always, always).p_value(0.2) == p


def test_one_item_has_no_p_value() -> None:
    with pytest.raises(Undefined, match="fewer than two conversations"):
        comparison(-1).p_value(0.2)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_adjusted_is_benjamini_and_yekutielis_of_statsmodels(p_values: list[float]) -> None:
    expected = multipletests(p_values, method="fdr_by")[1]
    assert alt_test.adjust_p_values(np.array(p_values)) == pytest.approx(expected)


def test_winning_rate_counts_who_is_rejected_at_5_percent() -> None:
    assert alt_test.winning_rate(array(0.01, 0.05, 0.051, 1)) == 0.5


def test_advantage_is_a_mean_over_raters_not_over_items() -> None:
    # Nine of ten items against the first rater, one of two against the second; the third has none.
    assert alt_test.advantage(array(10, 2, 0, 9, 1, 0)) == pytest.approx((0.9 + 0.5) / 2)
    assert alt_test.advantage(np.array([[10, 2, 9, 1], [4, 4, 4, 0]], dtype=float)) == pytest.approx([0.7, 0.5])
