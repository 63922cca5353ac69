from collections.abc import Mapping
from itertools import combinations

import numpy as np
import pandas as pd  # noqa: TID253
import pytest
import statsmodels.formula.api as smf  # noqa: TID253
from hypothesis import given, settings
from hypothesis import strategies as st

from studies.analysis.measures import generalizability, mixed
from studies.analysis.measures.generalizability import (
    FACETS,
    OF_ARMS,
    Components,
    components_by_totals,
    components_of_complete,
    components_of_incomplete,
    effect_name,
)
from studies.analysis.measures.variance import two_way
from studies.analysis.rows import Undefined
from studies.analysis.tables.reliability import cronbach_alpha
from tests.studies.analysis.published import SHROUT_FLEISS

# Brennan 2001, Generalizability Theory, table 3.2, synthetic data set 4: ten persons (columns) by twelve raters (rows),
# four to each of three tasks, as the R package gtheory has it (`Brennan.3.2`).
BRENNAN = """
5 9 3 7 9 3 7 5 9 4
6 3 4 5 2 4 3 8 9 4
5 7 3 5 9 3 7 5 8 4
5 7 3 3 7 5 7 7 8 3
5 7 5 3 7 3 7 7 6 3
3 5 3 1 7 3 5 5 6 5
4 5 3 4 3 6 5 5 6 6
5 5 5 3 7 3 7 4 5 5
6 7 6 5 2 4 5 3 5 5
7 7 5 3 7 5 5 2 8 7
3 5 1 3 5 1 5 1 1 1
3 2 6 5 3 2 4 1 1 1
"""
# Its p × (r:t) components, as printed there and by gtheory: person, task, rater within task, person × task, the rest.
PRINTED = [0.4731, 0.3252, 0.6475, 0.5596, 2.3803]
PERSONS_RATERS_TASKS = (
    np.array([row.split() for row in BRENNAN.split("\n")[1:-1]], dtype=float).reshape(3, 4, 10).transpose(2, 1, 0)
)

# Its table 3.1, synthetic data set 3: ten persons (columns) by four items (rows), on each of two occasions.
SYNTHETIC_3 = """
2 4 5 5 4 4 2 3 0 6
6 5 5 9 3 4 6 4 5 8
7 6 4 8 5 4 6 4 4 7
5 7 6 6 6 7 5 5 5 6
2 6 5 5 4 6 2 6 5 6
5 7 4 7 5 4 7 6 5 8
5 5 5 7 6 7 7 6 5 8
5 7 5 6 4 8 5 4 3 6
"""
PERSONS_OCCASIONS_ITEMS = (
    np.array([row.split() for row in SYNTHETIC_3.split("\n")[1:-1]], dtype=float).reshape(2, 4, 10).transpose(2, 0, 1)
)

# Its table 2.2, synthetic data set 1: ten persons by twelve items.
SYNTHETIC_1 = """
101000000000 111001000000 111110000000 110110010000 111110100000
111011100000 111111100000 111101111100 111111111110 111111111111
"""
TWELVE_ITEMS = np.array([[float(digit) for digit in person] for person in SYNTHETIC_1.split()])


def facets_of(scores: np.ndarray) -> dict[str, np.ndarray]:
    levels = np.indices(scores.shape).reshape(scores.ndim, -1)
    return dict(zip(FACETS if scores.ndim < 4 else OF_ARMS, levels, strict=False))


def drawn(random: np.random.Generator, shape: tuple[int, ...], planted: Mapping[tuple[str, ...], float]) -> np.ndarray:
    """Scores of facets called as in OF_ARMS, with these variances."""
    names = OF_ARMS[: len(shape)]
    scores = np.zeros(shape)
    for effect, variance in planted.items():
        sizes = [size if name in effect else 1 for name, size in zip(names, shape, strict=True)]
        scores = scores + random.normal(0, variance**0.5, sizes)
    return scores


def planted_in(facets: int) -> dict[tuple[str, ...], float]:
    """A variance of its own for each effect."""
    names = OF_ARMS[:facets]
    effects = [effect for size in range(1, facets + 1) for effect in combinations(names, size)]
    return {effect: 0.1 + 0.05 * place for place, effect in enumerate(reversed(effects))}


def by_pairs_of_scores(scores: np.ndarray) -> list[float]:
    """The components from the mean product of two scores that share some levels and no others: it is expected to be the
    squared mean and the variances of all effects within these."""
    levels, values = np.indices(scores.shape).reshape(scores.ndim, -1), scores.ravel() - scores.mean()
    shared = levels[:, :, np.newaxis] == levels[:, np.newaxis, :]
    products = np.outer(values, values)
    axes = range(scores.ndim)
    effects = [effect for size in range(scores.ndim + 1) for effect in combinations(axes, size)]
    found: dict[tuple[int, ...], float] = {}
    for effect in effects:
        these = np.all([shared[axis] == (axis in effect) for axis in axes], axis=0)
        within = sum(value for other, value in found.items() if set(other) < set(effect))
        found[effect] = products[these].mean() - within
    return [found[effect] for effect in effects[1:]]


def test_of_complete_gives_brennans_printed_components() -> None:
    """Raters taken for crossed with tasks. What is theirs alone is then split in two: the components of raters within
    tasks follow from those of the crossed design by identities between the expected mean squares."""
    person, rater, task, person_rater, person_task, rater_task, rest = components_of_complete(
        PERSONS_RATERS_TASKS
    ).variances.values()
    nested = [
        person + person_rater / 4,
        task - rater / 4,
        rater + rater_task,
        person_task - person_rater / 4,
        person_rater + rest,
    ]
    assert nested == pytest.approx(PRINTED, abs=1e-4)


def test_components_of_three_crossed_facets_are_those_that_brennan_prints() -> None:
    """Persons, occasions, items, then their crossings; E rho² and Phi of two occasions and four items."""
    found = components_of_complete(PERSONS_OCCASIONS_ITEMS)
    printed = [0.5528, 0.0074, 0.4417, 0.1009, 0.5750, 0.1565, 0.9352]
    assert [round(value, 4) for value in found.variances.values()] == printed
    numbers = {"rater": 2, "item": 4}
    coefficients = [found.coefficient(numbers, absolute=absolute).estimate for absolute in (False, True)]
    assert [round(coefficient, 2) for coefficient in coefficients] == [0.64, 0.55]


def test_components_of_three_facets_follow_from_statsmodels_sums_of_squares() -> None:
    """Solved by the equations of Brennan 2001, section 3.3, for arms × users × raters."""
    shape = (4, 6, 3)
    scores = drawn(np.random.default_rng(3), shape, planted_in(3))
    levels = dict(zip("aur", np.indices(shape).reshape(3, -1).astype(str), strict=True))
    frame = pd.DataFrame(levels | {"score": scores.ravel()})
    terms = ["a", "u", "r", "a:u", "a:r", "u:r"]
    models = ["score ~ 1", *(f"score ~ {' + '.join(terms[: place + 1])}" for place in range(len(terms)))]
    left = [smf.ols(model, frame).fit().ssr for model in models]
    freedom = np.array([3, 5, 2, 15, 6, 10, 30])
    arm, user, rater, arm_user, arm_rater, user_rater, rest = -np.diff([*left, 0]) / freedom
    assert list(components_of_complete(scores, OF_ARMS).variances.values()) == pytest.approx(
        [
            (arm - arm_user - arm_rater + rest) / (6 * 3),
            (user - arm_user - user_rater + rest) / (4 * 3),
            (rater - arm_rater - user_rater + rest) / (4 * 6),
            (arm_user - rest) / 3,
            (arm_rater - rest) / 6,
            (user_rater - rest) / 4,
            rest,
        ]
    )


@pytest.mark.parametrize("shape", [(5, 4), (4, 3, 5), (3, 5, 4, 2)])
def test_components_are_those_of_pairs_of_scores(shape: tuple[int, ...]) -> None:
    scores = drawn(np.random.default_rng(4), shape, planted_in(len(shape)))
    found = components_of_complete(scores, OF_ARMS)
    assert list(found.variances.values()) == pytest.approx(by_pairs_of_scores(scores), abs=1e-9)


def test_likelihood_gives_brennans_printed_components() -> None:
    person, rater, task = np.indices(PERSONS_RATERS_TASKS.shape).reshape(3, -1)
    terms = {"person": person, "task": task, "rater": 4 * task + rater, "person:task": 3 * person + task}
    found = mixed.fit(PERSONS_RATERS_TASKS.ravel(), np.ones((120, 1)), terms)
    assert list(found.variances.values()) == pytest.approx(PRINTED, abs=1e-4)


def test_coefficients_of_brennans_components_are_those_of_their_formulas() -> None:
    """Brennan 2001, equations 4.25 to 4.28, for persons × tasks × raters crossed."""
    found = components_of_complete(PERSONS_RATERS_TASKS)
    person, rater, task, person_rater, person_task, rater_task, rest = found.positive.values()
    relative = person_rater / 2 + person_task / 5 + rest / 10
    absolute = relative + rater / 2 + task / 5 + rater_task / 10
    numbers = {"rater": 2, "item": 5}
    assert found.coefficient(numbers, absolute=False).estimate == pytest.approx(person / (person + relative))
    assert found.coefficient(numbers, absolute=True).estimate == pytest.approx(person / (person + absolute))
    assert (rater, person_rater) == (0, 0)  # below 0 in these data


@pytest.mark.parametrize("absolute", [False, True])
def test_coefficients_of_one_item_are_shrout_and_fleiss_intraclass_correlations(absolute: bool) -> None:
    found, icc = components_of_complete(SHROUT_FLEISS), two_way(SHROUT_FLEISS)
    form = "a" if absolute else "c"
    printed = {"a": (0.29, 0.62), "c": (0.71, 0.91)}[form]
    estimates = [found.coefficient({"rater": k}, absolute=absolute).estimate for k in (1, 4)]
    assert [round(estimate, 2) for estimate in estimates] == list(printed)
    assert estimates == pytest.approx([icc[f"icc_{form}_1"].estimate, icc[f"icc_{form}_k"].estimate])


def test_components_of_a_test_of_twelve_items_are_brennans() -> None:
    """As printed there; items stand as raters here."""
    found = components_of_complete(TWELVE_ITEMS)
    assert [round(value, 4) for value in found.variances.values()] == [0.0574, 0.0754, 0.1269]
    estimates = [found.coefficient({"rater": 12}, absolute=absolute).estimate for absolute in (False, True)]
    assert [round(estimate, 3) for estimate in estimates] == [0.844, 0.773]


def test_coefficient_of_all_items_is_cronbachs_alpha() -> None:
    found = components_of_complete(SHROUT_FLEISS)
    assert found.coefficient({"rater": 4}, absolute=False).estimate == pytest.approx(cronbach_alpha(SHROUT_FLEISS))


def test_likelihood_of_complete_data_is_the_analysis_of_variance() -> None:
    squares, likelihood = (
        components_of_complete(SHROUT_FLEISS),
        components_of_incomplete(SHROUT_FLEISS.ravel(), facets_of(SHROUT_FLEISS)),
    )
    assert likelihood.variances == pytest.approx(squares.variances, rel=1e-4)
    assert (squares.method, likelihood.method) == ("ANOVA", "REML")
    one, other = (found.coefficient({"rater": 3}, absolute=True) for found in (squares, likelihood))
    assert (other.estimate, other.low, other.high) == pytest.approx((one.estimate, one.low, one.high), rel=0.01)


def test_totals_of_complete_data_give_the_expected_mean_squares() -> None:
    of_four = drawn(np.random.default_rng(6), (4, 7, 3, 5), planted_in(4))
    for scores in (PERSONS_RATERS_TASKS, SHROUT_FLEISS, of_four):
        found = components_by_totals(scores.ravel(), facets_of(scores))
        complete = components_of_complete(scores, list(facets_of(scores)))
        assert found.variances == pytest.approx(complete.variances, abs=1e-9)


@pytest.mark.parametrize("share", [0, 0.3])
@pytest.mark.parametrize("shape", [(6, 20, 6), (5, 12, 5, 5)])
def test_components_are_on_average_those_that_were_planted(shape: tuple[int, ...], share: float) -> None:
    """With and without gaps, within four standard errors of the mean over the seeds."""
    planted = planted_in(len(shape))
    found = []
    for seed in range(150):
        random = np.random.default_rng(seed)
        scores = drawn(random, shape, planted)
        kept = random.random(scores.size) >= share
        levels = dict(zip(OF_ARMS, np.indices(shape).reshape(len(shape), -1)[:, kept], strict=False))
        components = (
            components_by_totals(scores.ravel()[kept], levels) if share else components_of_complete(scores, OF_ARMS)
        )
        found.append([components.variances[effect] for effect in planted])
    errors = np.std(found, axis=0, ddof=1) / len(found) ** 0.5
    assert (np.abs(np.mean(found, axis=0) - list(planted.values())) < 4 * errors).all()


def test_totals_of_gaps_keep_to_those_of_the_whole() -> None:
    """Over all ways to lose one score of a complete table the method's estimates keep to those of the whole."""
    whole = components_of_complete(SHROUT_FLEISS).variances
    facets = facets_of(SHROUT_FLEISS)
    left = [np.arange(SHROUT_FLEISS.size) != lost for lost in range(SHROUT_FLEISS.size)]
    found = [
        components_by_totals(
            SHROUT_FLEISS.ravel()[kept], {name: levels[kept] for name, levels in facets.items()}
        ).variances
        for kept in left
    ]
    for effect, value in whole.items():
        assert np.mean([variances[effect] for variances in found]) == pytest.approx(value, rel=0.05)


def test_of_incomplete_with_three_facets_finds_what_was_planted() -> None:
    random = np.random.default_rng(5)
    shape = (150, 6, 8)
    planted = {(0,): 1.0, (1,): 0.5, (2,): 0.4, (0, 1): 0.3, (0, 2): 0.4, (1, 2): 0.2, (0, 1, 2): 0.5}
    scores = np.zeros(shape)
    for axes, spread in planted.items():
        drawn = random.normal(0, 1, [size if axis in axes else 1 for axis, size in enumerate(shape)])
        scores += spread * drawn
    complete = components_of_complete(scores).variances
    kept = random.random(scores.size) > 0.4
    gaps = components_of_incomplete(
        scores.ravel()[kept], {name: levels[kept] for name, levels in facets_of(scores).items()}
    )
    assert gaps.method == "Henderson's method 1"
    assert gaps.variances == pytest.approx(complete, abs=0.06)
    assert np.isnan(gaps.coefficient({"rater": 3, "item": 8}, absolute=True).low)


@settings(deadline=None, max_examples=20)
@given(st.permutations(range(10)), st.permutations(range(4)), st.permutations(range(3)), st.floats(-5, 5))
def test_of_complete_ignores_names_order_and_a_constant(
    persons: list[int], raters: list[int], tasks: list[int], constant: float
) -> None:
    shuffled = PERSONS_RATERS_TASKS[persons][:, raters][:, :, tasks] + constant
    assert components_of_complete(shuffled).variances == pytest.approx(
        components_of_complete(PERSONS_RATERS_TASKS).variances, abs=1e-9
    )


@settings(deadline=None, max_examples=20)
@given(st.data(), st.floats(-5, 5))
def test_components_of_four_facets_ignore_names_order_and_a_constant(data: st.DataObject, constant: float) -> None:
    shape = (3, 5, 2, 4)
    random = np.random.default_rng(8)
    scores = drawn(random, shape, planted_in(4))
    kept = random.random(shape) > 0.2
    order = np.ix_(*(data.draw(st.permutations(range(size))) for size in shape))
    moved = scores[order] + constant
    assert components_of_complete(moved, OF_ARMS).variances == pytest.approx(
        components_of_complete(scores, OF_ARMS).variances, abs=1e-9
    )
    first, again = (
        components_by_totals(of[there], dict(zip(OF_ARMS, np.nonzero(there), strict=True)))
        for of, there in ((scores, kept), (moved, kept[order]))
    )
    assert again.variances == pytest.approx(first.variances, abs=1e-8)


def test_coefficients_of_arms_count_users_raters_and_items() -> None:
    """Brennan 2001, equations 4.25 to 4.28, with a facet more."""
    found = components_of_complete(drawn(np.random.default_rng(9), (6, 30, 8, 6), planted_in(4)), OF_ARMS)
    of = found.variances
    assert min(of.values()) > 0
    users, raters, items = 20, 3, 10
    relative = of["arm", "user"] / users + of["arm", "rater"] / raters + of["arm", "item"] / items
    relative += of["arm", "user", "rater"] / (users * raters) + of["arm", "user", "item"] / (users * items)
    relative += of["arm", "rater", "item"] / (raters * items) + of[OF_ARMS] / (users * raters * items)
    absolute = relative + of["user",] / users + of["rater",] / raters + of["item",] / items
    absolute += of["user", "rater"] / (users * raters) + of["user", "item"] / (users * items)
    absolute += of["rater", "item"] / (raters * items) + of["user", "rater", "item"] / (users * raters * items)
    numbers = {"user": users, "rater": raters, "item": items}
    for error, is_absolute in ((relative, False), (absolute, True)):
        estimate = found.coefficient(numbers, absolute=is_absolute)
        assert estimate.estimate == pytest.approx(of["arm",] / (of["arm",] + error))
        assert 0 < estimate.low < estimate.estimate < estimate.high < 1


@settings(deadline=None, max_examples=20)
@given(st.lists(st.integers(1, 5), min_size=3, max_size=12).filter(lambda scores: len(set(scores)) > 1))
def test_coefficient_of_duplicate_raters_is_one_without_interval(scores: list[int]) -> None:
    same = components_of_complete(np.repeat(np.array(scores, float)[:, np.newaxis], 3, axis=1))
    for absolute in (False, True):
        estimate = same.coefficient({"rater": 1}, absolute=absolute)
        assert estimate.estimate == pytest.approx(1)


def test_variances_below_zero_are_told_and_count_as_nothing() -> None:
    # The two raters are of opposite minds, so that conversations do not differ beyond chance.
    found = components_of_complete(np.array([[1.0, 5.0], [2.0, 4.2], [5.0, 1.0], [4.0, 2.0]]))
    assert found.variances[("conversation",)] < 0
    assert found.coefficient({"rater": 1}, absolute=False).estimate == 0
    assert np.isnan(found.intervals()[("conversation",)].low)


def test_intervals_of_the_residual_are_chi_square() -> None:
    """The residual mean square of 6 × 4 has 15 degrees of freedom: 15 s² / 27.488 and 15 s² / 6.262 (tables of χ²)."""
    interval = components_of_complete(SHROUT_FLEISS).intervals()[("conversation", "rater")]
    assert interval.estimate == pytest.approx(1.02, abs=0.005)  # as Shrout and Fleiss print it
    assert (interval.low, interval.high) == pytest.approx(
        (15 * interval.estimate / 27.488, 15 * interval.estimate / 6.262), rel=1e-3
    )


def test_delta_interval_covers_what_was_planted() -> None:
    random = np.random.default_rng(2)
    truth = 1 / (1 + 0.5 / 3 + 0.2 / 3)
    inside = 0
    for _ in range(200):
        scores = random.normal(0, 1, (40, 1)) + random.normal(0, 0.2**0.5, (1, 8)) + random.normal(0, 0.5**0.5, (40, 8))
        interval = components_of_complete(scores).coefficient({"rater": 3}, absolute=True)
        inside += interval.low < truth < interval.high
    assert inside > 180


@pytest.mark.parametrize(
    ("scores", "reason"),
    [(np.full((3, 2), 4.0), "do not vary"), (np.array([[1.0, 2.0]]), "one conversation only")],
)
def test_of_complete_is_undefined_without_differences(scores: np.ndarray, reason: str) -> None:
    with pytest.raises(Undefined, match=reason):
        components_of_complete(scores)


@pytest.mark.parametrize(("most", "method"), [(3, "REML"), (2, "Henderson's method 1")])
def test_of_incomplete_of_many_conversations_and_raters_takes_the_quick_way(
    most: int, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = np.random.default_rng(1).normal(size=(1000, 1)) + np.random.default_rng(2).normal(size=(1000, 3))
    facets = {name: levels[1:] for name, levels in facets_of(scores).items()}
    monkeypatch.setattr(generalizability, "MOST_LEVELS", most)
    assert components_of_incomplete(scores.ravel()[1:], facets).method == method


def test_by_totals_is_undefined_without_differences() -> None:
    alike = np.full((3, 4, 2), 4.0)
    with pytest.raises(Undefined, match="do not vary"):
        components_by_totals(alike.ravel()[1:], {name: levels[1:] for name, levels in facets_of(alike).items()})


def test_by_totals_is_undefined_where_facets_go_together() -> None:
    same = np.array([0, 0, 1, 1, 2, 2])
    with pytest.raises(Undefined, match="cannot be told from each other"):
        components_by_totals(np.array([1.0, 2.0, 4.0, 5.0, 3.0, 3.0]), {"conversation": same, "rater": same})


def test_coefficient_is_undefined_where_nothing_varies() -> None:
    nothing = Components({("conversation",): -0.1, ("rater",): 0.0, ("conversation", "rater"): 0.0}, None, "ANOVA")
    with pytest.raises(Undefined, match="no variance comes out above 0"):
        nothing.coefficient({"rater": 1}, absolute=True)


def test_named_tells_the_last_interaction_from_the_others() -> None:
    assert effect_name(("conversation", "rater"), 2) == "residual"
    assert effect_name(("conversation", "rater"), 3) == "conversation:rater"
