"""The papers' own tables derived again, and docs/papers.md held to what comes out. Skipped where the tables are not at
hand; they are not part of the project."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from studies.analysis.measures.dependent import williams
from studies.analysis.measures.discrimination import mean_squares

ROOT = Path(__file__).resolve().parents[3]
TABLES = ROOT.parent / "shared" / "data" / "seed_tables.json"
DOCUMENT = " ".join((ROOT / "docs" / "papers.md").read_text(encoding="utf-8").split())
USERS, MODELS, MSR, F = 100, 20, 0.745, 112
STANDARD, USER_AWARE, STATE_AWARE = "standard", "user_aware", "user_internal_state_aware"
GUESSES = (0.6, 0.7, 0.8, 0.9)

pytestmark = pytest.mark.skipif(not TABLES.is_file(), reason="REAL DATA SKIPPED: seed_tables.json is not at hand")


@cache
def tables(seed: str) -> dict[str, Any]:
    return json.loads(TABLES.read_text(encoding="utf-8"))[seed]


def scores_of(table: str) -> dict[str, tuple[np.ndarray, float]]:
    """By model: the ten dimensions, and the average that is printed."""
    rows = tables("s001")[table]["rows"]
    return {row["model"]: (np.array(list(row["scores"].values())), row["avg_reported"]) for row in rows}


def with_ratio(ratio: float, users: int = USERS) -> np.ndarray:
    """Users × models of this model separation ratio exactly."""
    users_own = np.random.default_rng(1).normal(size=(users, MODELS))
    scores = (users_own - users_own.mean(axis=0)) / users_own.std(axis=0, ddof=1)
    means = np.linspace(-1, 1, MODELS)
    return scores + means * np.sqrt(ratio / means.var())


def correlations(strategy: str) -> np.ndarray:
    """Judges × dimensions."""
    rows = [row for row in tables("s001")["table1_correlations"]["rows"] if row["strategy"] == strategy]
    return np.array([list(row["r"].values()) for row in rows])


def better(strategy: str, *, rows: int, between: float) -> int:
    """Cells in which the state-aware strategy is significantly better than this one."""
    pairs = zip(correlations(STATE_AWARE).ravel(), correlations(strategy).ravel(), strict=True)
    return sum(one > other and williams(one, other, between, rows).p < 0.05 for one, other in pairs)


def test_mac_follows_from_msr_and_f_does_not() -> None:
    printed, squares = tables("s001")["table2_discrimination"], mean_squares(with_ratio(MSR))
    assert (printed["MSR"], printed["anova_F"]) == (MSR, F)
    assert round(squares.agreement(), 3) == printed["MAC"]
    assert (round(squares.f_eq13(), 2), round(squares.f_oneway(), 2)) == (77.64, 78.42)
    assert "77.64 by equation 13 as printed, 78.42 by the textbook" in DOCUMENT


def test_what_the_printed_f_would_need() -> None:
    assert round(mean_squares(with_ratio(1.064)).f_oneway()) == F
    assert round(mean_squares(with_ratio(1.064)).agreement(), 3) == 0.516
    assert round(mean_squares(with_ratio(MSR, users=143)).f_oneway()) == F
    assert round(mean_squares(with_ratio(MSR)).f_oneway() / F, 2) == 0.70
    assert "MSR 1.064 (then MAC .516), or 143 profiles" in DOCUMENT


def test_pairwise_discriminability_is_a_share_of_the_pairs() -> None:
    printed = tables("s001")["table2_discrimination"]["pairwise_discriminability"]
    pairs = MODELS * (MODELS - 1) // 2
    assert [count for count in range(pairs + 1) if round(count / pairs, 2) == printed] == [165, 166]


def test_averages_are_the_means_of_the_dimensions_but_for_one() -> None:
    chinese, english = scores_of("table3_zh_benchmark"), scores_of("table5_en_benchmark")
    assert (len(chinese), len(english)) == (20, 17)
    apart = {
        model: (average, round(float(scores.mean()), 2))
        for model, (scores, average) in (chinese | english).items()
        if abs(scores.mean() - average) > 0.005 + 1e-9
    }
    assert apart == {"Llama-3-8B-Instruct": (3.04, 3.03)}
    assert "Llama-3-8B-Instruct 3.04, its dimensions have the mean 3.03" in DOCUMENT


def test_spread_within_a_model_that_msr_implies() -> None:
    between = np.var([scores.mean() for scores, _ in scores_of("table3_zh_benchmark").values()])
    assert (round(float(between), 3), round(float(np.sqrt(between / MSR)), 2)) == (0.457, 0.78)
    assert "a variance of .457, so that scores within a model spread by .78 points" in DOCUMENT


def test_means_and_losses_of_the_strategies() -> None:
    means = [round(float(correlations(strategy).mean()), 2) for strategy in (STANDARD, USER_AWARE, STATE_AWARE)]
    assert means == [0.33, 0.38, 0.45]
    no_better = [int((correlations(STATE_AWARE) <= correlations(one)).sum()) for one in (STANDARD, USER_AWARE)]
    assert no_better == [3, 7]
    assert "in 3 of the 40 cells" in DOCUMENT
    assert "in 7 no better than the user-aware one" in DOCUMENT


@pytest.mark.parametrize(("rows", "why"), [(183, "were they independent"), (119, "ICC within a person .2")])
@pytest.mark.parametrize(("strategy", "name"), [(STANDARD, "standard"), (USER_AWARE, "user-aware")])
def test_gains_that_are_more_than_chance(rows: int, why: str, strategy: str, name: str) -> None:
    counts = [better(strategy, rows=rows, between=between) for between in GUESSES]
    assert f"| {rows}, {why} | {name} | {' | '.join(map(str, counts))} |" in DOCUMENT


def test_dialogues_of_the_human_study() -> None:
    study = tables("s001")["human_study"]
    dialogues, people = study["valid_dialogues"], study["participants_selected"]
    assert dialogues % study["models_per_participant"] != 0
    assert round(dialogues / people, 2) == 3.66
    assert round(dialogues / (1 + (dialogues / people - 1) * 0.2)) == 119


def test_experts_ratings_are_thirds() -> None:
    rows = tables("s000")["table3_expert_ratings_fragment"]["rows"]
    values = [value for row in rows for value in row["scores"].values() if value is not None]
    assert [value for value in values if abs(round(3 * value) / 3 - value) > 0.0051] == []
    assert f"every one of the {len(values)} values that can be read" in DOCUMENT
