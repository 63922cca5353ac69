"""Sample sizes against published figures, other software and simulations."""

import io
import json
from dataclasses import asdict

import numpy as np
import pingouin  # noqa: TID253
import pytest

from studies.analysis.measures.variance import one_way
from studies.analysis.planning import BOUNDS, QUESTIONS, Wish
from studies.analysis.planning import sample_size as planner
from studies.analysis.planning.__main__ import BAD_INPUT, answer, main


def test_fisher_finds_a_medium_correlation_with_85():
    # Cohen 1992, "A power primer", Psychological Bulletin 112:155, table 2: r = .30, power .80, alpha .05.
    assert planner.n_for_correlation(0.3, power=0.8, alpha=0.05) == 85


@pytest.mark.parametrize(("r", "n"), [(0.1, 782), (0.3, 84), (0.5, 29)])
def test_exact_n_is_that_of_the_exact_distribution(r, n):
    # Faul, Erdfelder, Buchner & Lang 2009, doi 10.3758/BRM.41.4.1149: G*Power's "bivariate normal model" gives these.
    assert planner.exact_n_for_correlation(r, power=0.8, alpha=0.05) == n


@pytest.mark.parametrize("r", [0.2, -0.3, 0.45, 0.7])
@pytest.mark.parametrize("n", [20, 84, 183])
def test_power_of_a_correlation_is_pingouins_but_for_its_approximation(r, n):
    assert planner.power_of_correlation(r, n, 0.05) == pytest.approx(pingouin.power_corr(r=r, n=n), abs=0.006)


def test_power_of_a_correlation_is_how_often_it_is_found():
    random = np.random.default_rng(1)
    x = random.normal(size=(20_000, 30))
    y = 0.4 * x + np.sqrt(1 - 0.4**2) * random.normal(size=x.shape)
    r = [np.corrcoef(*pair)[0, 1] for pair in zip(x, y, strict=True)]
    critical = 0.36101  # of |r| at 28 degrees of freedom: 2.04841 / sqrt(28 + 2.04841²)
    assert planner.power_of_correlation(0.4, 30, 0.05) == pytest.approx(np.mean(np.abs(r) > critical), abs=0.01)


def test_half_width_of_r_45_in_183_rows_is_about_12():
    # The correlations of EmoHarbor's table 1 lie around .45, from 183 dialogues.
    assert planner.half_width_of_correlation(0.45, 183) == pytest.approx(0.12, abs=0.005)


@pytest.mark.parametrize("r", [0.0, 0.45, -0.9])
def test_half_width_of_r_is_that_of_scipy_and_n_is_the_first_that_is_narrow_enough(r):
    low, high = pingouin.compute_esci(r, nx=100, ny=100, eftype="r", decimals=6)
    assert planner.half_width_of_correlation(r, 100) == pytest.approx((high - low) / 2, abs=1e-6)
    n = planner.n_for_half_width(r, 0.08, alpha=0.05)
    assert planner.half_width_of_correlation(r, n) <= 0.08 < planner.half_width_of_correlation(r, n - 1)


@pytest.mark.parametrize(
    ("icc", "raters", "width", "n"),
    [
        (0.85, 4, 0.2, 20),  # Bonett 2002, his example: 19.2 before rounding
        (0.8, 3, 0.2, 36),  # Shoukri, Asyali & Donner 2004, doi 10.1191/0962280204sm365ra, table 3
    ],
)
def test_n_for_an_icc_is_as_published(icc, raters, width, n):
    assert planner.n_for_icc(icc, raters, width / 2, alpha=0.05) == n


@pytest.mark.parametrize(("icc", "raters"), [(0.5, 2), (0.8, 2), (0.7, 4)])
def test_n_for_an_icc_brings_an_interval_of_that_width(icc, raters):
    n, random = planner.n_for_icc(icc, raters, 0.1, alpha=0.05), np.random.default_rng(1)
    widths = []
    for _study in range(300):
        worth = random.normal(0, np.sqrt(icc), (n, 1))
        scores = worth + random.normal(0, np.sqrt(1 - icc), (n, raters))
        found = one_way(scores.ravel(), np.repeat(np.arange(n), raters)).single
        widths.append(found.high - found.low)
    assert np.mean(widths) == pytest.approx(0.2, abs=0.012)


def test_a_paired_difference_of_half_a_deviation_takes_34():
    # As G*Power 3 has it (Faul, Erdfelder, Lang & Buchner 2007, doi 10.3758/BF03193146): d_z .5, power .80, two-sided.
    assert planner.n_for_paired(0.5, power=0.8, alpha=0.05) == 34


@pytest.mark.parametrize("d", [0.2, -0.5, 1.2])
def test_power_of_a_paired_difference_is_pingouins(d):
    for n in (5, 34, 200):
        expected = pingouin.power_ttest(d=abs(d), n=n, contrast="paired")
        assert planner.power_of_paired(d, n, 0.05) == pytest.approx(expected, abs=1e-9)


def test_people_who_are_clones_count_once():
    # Five equal rows a person: the variance is five times that of independent rows.
    assert planner.design_effect(5, 1.0) == 5
    assert planner.need(Wish("correlation", per_person=5, within=1.0)).people == 85


@pytest.mark.parametrize(
    ("wish", "people", "invited", "conversations", "ratings"),
    [
        (Wish("correlation"), 85, 85, 85, 85),
        (Wish("correlation", per_person=5), 17, 17, 85, 85),
        (Wish("correlation", per_person=5, within=0.2, dropout=0.15), 31, 37, 155, 155),  # 85 × 1.8 / 5 = 30.6
        (Wish("icc", icc=0.85, raters=4, per_person=2), 10, 10, 20, 80),
        (Wish("paired"), 34, 34, 68, 68),
        (Wish("paired", per_person=2), 17, 17, 68, 68),
    ],
)
def test_need_counts_people_conversations_and_ratings(wish, people, invited, conversations, ratings):
    need = planner.need(wish)
    assert (need.people, need.invited, need.conversations, need.ratings) == (people, invited, conversations, ratings)


@pytest.mark.parametrize("question", QUESTIONS)
def test_need_is_told_for_values_nearby(question):
    need = planner.need(Wish(question))
    assert [each.value for each in need.nearby if each.needed == need.needed] == [
        getattr(Wish(question), value_of(question))
    ]
    assert len(need.nearby) == 5


def value_of(question):
    return planner.PLANNED[question]


def test_values_nearby_that_cannot_be_are_left_out():
    assert [each.value for each in planner.need(Wish("icc", icc=0.95)).nearby] == [0.85, 0.9, 0.95]
    assert [each.value for each in planner.need(Wish("correlation", r=0.05)).nearby] == [-0.05, 0.05, 0.1, 0.15]


@pytest.mark.parametrize("name", BOUNDS)
def test_need_refuses_what_lies_outside_its_bounds(name):
    least, most = BOUNDS[name]
    for beyond in (least - 1, most + 1):
        with pytest.raises(ValueError, match=rf"^{name}: .* does not lie between {least:g} and {most:g}$"):
            planner.need(Wish("correlation", **{name: beyond}))


@pytest.mark.parametrize(
    ("wish", "fault"),
    [
        (Wish("correlation", r=0.0), "r: must be at least 0.01 away from 0"),
        (Wish("paired", d=-0.001), "d: must be at least 0.01 away from 0"),
        (Wish("median"), "question: 'median' is not one of correlation, width, icc, paired"),
    ],
)
def test_need_refuses_what_no_study_answers(wish, fault):
    with pytest.raises(ValueError, match=fault):
        planner.need(wish)


@pytest.mark.parametrize("wish", [Wish(question, **edge) for question in QUESTIONS for edge in (
    {"r": 0.01, "d": 0.01, "icc": 0.0, "half_width": 0.005, "power": 0.999, "alpha": 0.0001},
    {"r": -0.99, "d": 5.0, "icc": 0.99, "half_width": 0.5, "power": 0.5, "alpha": 0.2, "raters": 100},
)])  # fmt: skip
def test_need_exists_at_the_edges(wish):
    assert planner.need(wish).people >= 1


@pytest.mark.parametrize("wish", [Wish("paired"), Wish("dependent", studies=100)])
def test_as_a_program_it_answers_in_json(wish):
    told = io.StringIO()
    assert main(io.StringIO(json.dumps(asdict(wish))), told) == 0
    assert json.loads(told.getvalue()) == asdict(answer(wish))


@pytest.mark.parametrize(
    "asked", ['{"question": "paired", "d": 0}', '{"question": "dependent", "r2": 1}', '{"questions": 1}', "no JSON"]
)
def test_as_a_program_it_refuses_what_is_no_wish(asked):
    told = io.StringIO()
    assert main(io.StringIO(asked), told) == BAD_INPUT
    assert told.getvalue()
