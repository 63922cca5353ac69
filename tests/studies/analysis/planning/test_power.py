"""Simulated studies against Williams' test of rows, the tests of the analysis and closed forms."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy import stats  # noqa: TID253

from studies.analysis.measures import paired
from studies.analysis.measures.dependent import williams
from studies.analysis.measures.multiple import holm
from studies.analysis.planning import Wish, power

JUDGES = Wish("dependent", r=0.5, r2=0.4, between=0.7, people=183)
MODELS = Wish("discrimination", models=4, separation=0.1, people=30, studies=400)


# Two judges


@pytest.mark.parametrize(("between", "printed"), [(0.6, 0.11), (0.7, 0.10), (0.8, 0.08), (0.9, 0.06)])
def test_least_difference_around_45_in_183_rows(between: float, printed: float) -> None:
    # EmoHarbor's table 1 (arXiv:2601.01530) has judges around r = .45, from 183 dialogues.
    wish = Wish("dependent", r=0.5, r2=0.4, between=between, people=183)
    least = power.least_difference(wish)
    assert round(least, 2) == printed
    assert williams(0.45 + least / 2, 0.45 - least / 2, between, 183).p == pytest.approx(0.05, abs=1e-9)
    found = power.chance(replace(wish, r=0.45 + least / 2, r2=0.45 - least / 2, studies=20_000)).asked
    assert found.power == pytest.approx(0.5, abs=0.02)


def test_power_is_that_of_studies_drawn_row_by_row() -> None:
    random, root = np.random.default_rng(5), np.linalg.cholesky([[1, 0.5, 0.2], [0.5, 1, 0.6], [0.2, 0.6, 1]])
    drawn = [np.corrcoef(root @ random.normal(size=(3, 60))) for _study in range(2000)]
    found = np.mean([williams(r[0, 1], r[0, 2], r[1, 2], 60).p < 0.05 for r in drawn])
    asked = power.chance(Wish("dependent", r=0.5, r2=0.2, between=0.6, people=60, studies=20_000)).asked
    assert asked.power == pytest.approx(found, abs=0.04)


def test_drawn_correlations_vary_as_fishers_z_says() -> None:
    wanted = np.array([[1, 0.5, 0.3], [0.5, 1, -0.2], [0.3, -0.2, 1]])
    drawn = power.draw_correlations(wanted, 40, 20_000, np.random.default_rng(1))
    for r, truth in zip(drawn, (0.5, 0.3, -0.2), strict=True):
        z = np.arctanh(r)
        assert z.mean() == pytest.approx(np.arctanh(truth) + truth / (2 * 39), abs=0.005)
        assert z.std() == pytest.approx(1 / np.sqrt(37), rel=0.03)


def test_judges_that_agree_alike_are_told_apart_as_often_as_the_level_says() -> None:
    asked = power.chance(replace(JUDGES, r2=0.5, studies=20_000)).asked
    assert asked.power == pytest.approx(0.05, abs=0.006)
    assert asked.low < asked.power < asked.high < asked.low + 0.01


def test_conversations_of_one_person_count_by_the_design_effect() -> None:
    found = power.chance(replace(JUDGES, people=61, per_person=5, within=0.5, dropout=0.2))
    assert (found.design_effect, found.asked.conversations, found.asked.independent) == (3, 305, 101)
    assert found.invited == 77
    assert [size.people for size in found.sizes] == [31, 46, 61, 92, 122]
    clones = power.chance(replace(JUDGES, per_person=5, within=1.0))
    assert clones.asked.power == power.chance(JUDGES).asked.power


def test_more_people_find_more_and_small_studies_that_no_test_takes_are_left_out() -> None:
    found = [size.power for size in power.chance(JUDGES).sizes]
    assert found == sorted(found)
    assert found[0] < found[-1] - 0.3
    assert [size.people for size in power.chance(replace(JUDGES, people=4)).sizes] == [4, 6, 8]


# Pairs of models


@pytest.mark.parametrize("people", [12, 50, 60])
def test_wilcoxon_p_is_that_of_the_analysis(people: int) -> None:
    differences = np.random.default_rng(people).normal(0.2, 1, (3, 4, people))
    expected = [[paired.wilcoxon(pair).p for pair in study] for study in differences]
    assert power.wilcoxon_p(differences) == pytest.approx(np.array(expected), abs=1e-12)


def test_told_apart_is_holm_over_the_pairs() -> None:
    scores = np.random.default_rng(2).normal([0, 0.3, 0.6, 1.2], 1, (50, 20, 4))
    found = power.significant_pairs(scores, 0.05)
    for study, pairs in zip(scores, found, strict=True):
        p = [paired.wilcoxon(study[:, one] - study[:, other]).p for one, other in combinations(range(4), 2)]
        assert pairs.tolist() == [adjusted < 0.05 for adjusted in holm(p)]
    assert 0.1 < found.mean() < 0.9


def test_share_of_pairs_is_near_the_power_of_a_t_test_of_two_models() -> None:
    # Wilcoxon's test has .955 of the t test's efficiency where differences are normal.
    found = power.chance(Wish("discrimination", models=2, separation=0.0625, people=40, within=0.2, studies=4000))
    [pair] = found.pairs
    assert pair.d == pytest.approx(0.5 / np.sqrt(2 * 0.8))
    assert found.asked.power == pair.power
    t = stats.nct.sf(stats.t.ppf(0.975, 39), 39, pair.d * np.sqrt(40 * 0.955))
    assert found.asked.power == pytest.approx(t, abs=0.02)


def test_the_models_means_have_the_ratio_that_is_asked_for() -> None:
    means = power.means_of(5, 0.745)
    assert means.var() == pytest.approx(0.745)
    assert np.diff(means) == pytest.approx(np.full(4, means[1] - means[0]))


def test_models_that_are_alike_are_rarely_told_apart() -> None:
    found = power.chance(replace(MODELS, separation=0.0, studies=2000))
    assert found.asked.power < 0.05 / 4  # Holm keeps one study in twenty from any such pair


def test_pairs_further_apart_and_larger_studies_are_told_apart_more_often() -> None:
    found = power.chance(MODELS)
    for powers in ([pair.power for pair in found.pairs], [size.power for size in found.sizes]):
        assert powers == sorted(powers)
        assert powers[0] < powers[-1] - 0.2
    mean = sum((4 - pair.steps) * pair.power for pair in found.pairs) / 6
    assert found.asked.power == pytest.approx(mean)
    assert (found.asked.conversations, found.asked.independent) == (120, 30)


def test_what_is_the_persons_own_does_no_harm_and_more_conversations_help() -> None:
    alone = power.chance(MODELS).asked.power
    assert power.chance(replace(MODELS, within=0.5)).asked.power > alone + 0.1
    assert power.chance(replace(MODELS, per_person=3)).asked.power > alone + 0.1


def test_monte_carlo_interval_is_as_wide_as_studies_differ() -> None:
    asked = [power.chance(replace(MODELS, seed=seed, studies=200)).asked for seed in range(30)]
    spread = np.std([one.power for one in asked], ddof=1)
    assert np.mean([one.high - one.low for one in asked]) == pytest.approx(2 * 1.96 * spread, rel=0.4)


# Both


@pytest.mark.parametrize("wish", [JUDGES, MODELS])
def test_the_seed_says_what_is_drawn_and_how_far_it_is_told(wish: Wish) -> None:
    told: list[tuple[int, int]] = []
    found = power.chance(wish, lambda done, total, _what: told.append((done, total)))
    assert found == power.chance(wish)
    assert found.sizes != power.chance(replace(wish, seed=2)).sizes
    assert told[0][0] == 0
    assert told[-1][0] == told[-1][1]


def test_batches_of_studies_draw_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(power, "_AT_ONCE", 60 * 6 * 70)
    drawn: list[int] = []
    found = power.chance(MODELS, lambda done, _total, _what: drawn.append(done))
    assert drawn == [0, 70, 140, 210, 280, 350, 400]
    assert found.asked.power == pytest.approx(power.chance(replace(MODELS, seed=3)).asked.power, abs=0.05)


@pytest.mark.parametrize(
    ("wish", "fault"),
    [
        (replace(JUDGES, r=0.9, r2=-0.9), "r, r2, between: there are no three variables with such correlations"),
        (replace(MODELS, within=1.0), "within: at 1 every difference of two models is the same for all people"),
        (replace(MODELS, models=1, people=2), "models: 1 does not lie between 2 and 12\npeople: 2 does not lie"),
    ],
)
def test_chance_refuses_what_cannot_be(wish: Wish, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        power.chance(wish)
