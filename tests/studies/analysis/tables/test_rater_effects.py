"""Rater effects, and the mixed models behind them."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253
import pytest
import statsmodels.api as sm  # noqa: TID253
from scipy.stats import t  # noqa: TID253

from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import load
from studies.analysis.measures import mixed
from studies.analysis.rows import Undefined
from studies.analysis.tables.rater_effects import OWN, TABLE, rater_effects
from tests.studies.analysis.builders import experts, frame_of
from tests.studies.analysis.published import PENICILLIN, PENICILLIN_FIT, SHROUT_FLEISS

ExportOf = Callable[[Any], Path]


def fit_table(matrix: np.ndarray, rows: str, columns: str) -> mixed.Fit:
    of_row, of_column = np.nonzero(~np.isnan(matrix))
    ones = np.ones((len(of_row), 1))
    return mixed.fit(matrix[of_row, of_column], ones, {rows: of_row, columns: of_column})


# The model


def test_fit_is_that_of_lme4_for_penicillin() -> None:
    found = fit_table(PENICILLIN, "plate", "sample")
    deviations = {name: round(value**0.5, 4) for name, value in found.variances.items()}
    printed = {
        "criterion": round(found.criterion, 4),
        "mean": round(found.fixed_effects()[0].estimate, 4),
        **deviations,
    }
    assert printed == PENICILLIN_FIT


def test_satterthwaite_is_that_of_the_mean_squares_of_a_balanced_table() -> None:
    # Var(mean) = (MS plates + MS samples - MS residual) / 144, so Satterthwaite 1946, doi 10.2307/3002019, applies.
    plates, samples = 6 * PENICILLIN.mean(axis=1).var(ddof=1), 24 * PENICILLIN.mean(axis=0).var(ddof=1)
    left = PENICILLIN - PENICILLIN.mean(axis=1, keepdims=True) - PENICILLIN.mean(axis=0) + PENICILLIN.mean()
    residual = (left**2).sum() / 115
    squares = plates + samples - residual
    df = squares**2 / (plates**2 / 23 + samples**2 / 5 + residual**2 / 115)
    mean = fit_table(PENICILLIN, "plate", "sample").fixed_effects()[0]
    assert mean.df == pytest.approx(df, rel=1e-3)
    assert round(df, 1) == 5.5
    half = (mean.high - mean.low) / 2
    assert half == pytest.approx(t.ppf(0.975, df) * (squares / 144) ** 0.5, rel=1e-4)


def test_fit_gives_the_variances_of_shrout_and_fleiss() -> None:
    # Their table 3: mean squares 11.24 between targets, 32.49 between judges, 1.02 residual.
    found = fit_table(SHROUT_FLEISS, "target", "judge").variances
    assert found["target"] == pytest.approx((11.24 - 1.02) / 4, abs=0.01)
    assert found["judge"] == pytest.approx((32.49 - 1.02) / 6, abs=0.01)
    assert found["residual"] == pytest.approx(1.02, abs=0.005)


def test_fit_equals_statsmodels_on_an_unbalanced_table() -> None:
    random = np.random.default_rng(6)
    scores = random.normal(0, 1, (14, 1)) + random.normal(0, 0.7, (1, 9)) + random.normal(0, 0.5, (14, 9))
    scores[random.random(scores.shape) < 0.4] = np.nan
    ours = fit_table(scores, "one", "other")
    of_row, of_column = np.nonzero(~np.isnan(scores))
    data = pd.DataFrame({"score": scores[of_row, of_column], "one": of_row, "other": of_column, "all": 1})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = sm.MixedLM.from_formula(
            "score ~ 1", data, groups="all", re_formula="0", vc_formula={"a": "0 + C(one)", "b": "0 + C(other)"}
        ).fit(reml=True)
    assert [ours.variances["one"], ours.variances["other"]] == pytest.approx(list(theirs.vcomp), rel=2e-3)
    assert ours.variances["residual"] == pytest.approx(theirs.scale, rel=2e-3)
    assert ours.criterion == pytest.approx(-2 * theirs.llf, abs=1e-3)
    assert ours.fixed_effects()[0].estimate == pytest.approx(theirs.params["Intercept"], abs=1e-3)


def test_effects_are_shrunken_towards_nothing() -> None:
    # In a balanced table the prediction is the deviation of the mean times its reliability.
    found = fit_table(SHROUT_FLEISS, "target", "judge")
    judge, residual = found.variances["judge"], found.variances["residual"]
    deviations = SHROUT_FLEISS.mean(axis=0) - SHROUT_FLEISS.mean()
    shrunken = deviations * judge / (judge + residual / 6)
    assert [effect.estimate for effect in found.effects("judge")] == pytest.approx(shrunken, rel=1e-5)


def test_a_term_without_variance_is_left_out() -> None:
    scores = np.array([[1.0, 5.0], [5.0, 1.0], [1.0, 5.0], [5.0, 2.0], [2.0, 5.0]])
    found = fit_table(scores, "target", "judge")
    assert "target" in found.absent
    assert found.variances["target"] == 0
    assert np.isnan(found.components()["target"].low)


def test_a_variance_with_less_than_a_degree_of_freedom_has_no_interval() -> None:
    # Of two judges who hardly differ, what lies between them could be anything.
    scores = np.array([[3.1, 3.4], [1.6, 2.8], [2.1, 3.0], [1.3, 1.1], [1.4, 1.8], [3.3, 2.9]])
    component = fit_table(scores, "target", "judge").components()["judge"]
    assert component.estimate > 0
    assert 0 < component.df < 1
    assert np.isnan([component.low, component.high]).all()
    assert str(component.without_interval()) == "too uncertain for an interval"


@pytest.mark.parametrize(
    ("scores", "reason"),
    [
        (np.full((3, 3), 2.0), "the scores do not vary"),
        (np.array([[1.0, 2.0], [3.0, 1e300]]), "the scores are too large for a mixed model"),
        (np.array([[1.0, 2.0], [3.0, np.nan]]), "too few ratings for a mixed model"),
        (np.add.outer([1.0, 2.0, 3.0], [0.0, 1.0, 5.0]), "no residual error is left to estimate"),
    ],
)
def test_fit_is_undefined_where_nothing_is_left(scores: np.ndarray, reason: str) -> None:
    with pytest.raises(Undefined, match=reason):
        fit_table(scores, "target", "judge")


def test_telling_names_terms_that_cannot_be_told_apart() -> None:
    counsellor, alone = np.array([0, 0, 1, 1, 2, 2]), np.arange(6)
    terms = {
        "counsellor": counsellor,
        "card": counsellor[::-1].copy(),
        "conversation": alone,
        "profile": np.zeros(6, dtype=int),
    }
    assert {name: str(reason) for name, reason in mixed.unidentified_terms(terms).items()} == {
        "card": "card and counsellor go together",
        "conversation": "every rating has its own conversation",
        "profile": "one profile only",
    }


# The table


def table_of(folder: Path) -> pd.DataFrame:
    rows = [row for _, found in rater_effects(load(folder), Bootstrap(5, 1)) for row in found]
    return frame_of(rows, TABLE.all_columns())


def level(table: pd.DataFrame, term: str) -> pd.DataFrame:
    return table[table["term"] == term].set_index("level")


def within(table: pd.DataFrame, truth: dict[str, float]) -> int:
    return sum(table.at[name, "low"] <= value <= table.at[name, "high"] for name, value in truth.items())


def test_planted_arms_raters_and_error_come_back_within_their_intervals(export_of: ExportOf) -> None:
    ratings, truth, bias = experts(counsellors=24, arms=16, each=9, seed=21)
    table = table_of(export_of(ratings))
    arms, raters, variances = (level(table, term) for term in ("arm", "counsellor", "variance"))
    assert (set(arms.index), set(raters.index)) == (set(truth), set(bias))
    assert within(arms, truth) >= 15
    assert within(raters, bias) >= 22
    assert within(variances, {"counsellor": 0.36, "residual": 0.16}) == 2
    # The plain means of nine strict or lenient counsellors are further from the truth than the model's.
    plain = pd.DataFrame(ratings).groupby("arm")["score"].mean()
    planted = pd.Series(truth)
    assert (arms["estimate"] - planted).var() < 0.7 * (plain - planted).var()


def test_rater_effects_of_few_counsellors_warn_and_have_few_degrees_of_freedom(export_of: ExportOf) -> None:
    table = table_of(export_of(experts(counsellors=8, arms=8, each=3, seed=3)[0]))
    assert set(table["raters"]) == {OWN}
    assert (table["clusters"] == 8).all()
    assert table["note"].str.contains("only 8 counsellors, the interval may be too narrow").all()
    arms = level(table, "arm")
    assert arms["low"].notna().all()
    assert (arms["n"] == 3).all()
    assert set(arms["method"]) == {"REML; t interval (Satterthwaite)"}


def test_rater_effects_take_the_card_from_conversations(export_of: ExportOf) -> None:
    ratings = experts(counsellors=8, arms=8, each=4, seed=3)[0]
    folder = export_of(ratings)
    cards = {row["conversation"]: f"K{number % 5}" for number, row in enumerate(ratings)}
    lines = "".join(f"{code},counsellor,{card}\n" for code, card in cards.items())
    (folder / "conversations.csv").write_text(f"conversation,seeker_kind,card\n{lines}")
    variances = level(table_of(folder), "variance")
    assert list(variances.index) == ["counsellor", "card", "residual"]
    (folder / "conversations.csv").write_text(
        "conversation,seeker_kind,card\n"
        + "".join(f"{row['conversation']},counsellor,{row['rater']}\n" for row in ratings)
    )
    table = table_of(folder)
    assert list(level(table, "variance").index) == ["counsellor", "residual"]
    assert table["note"].str.contains("no card in the model: card and counsellor go together").all()


def test_rater_effects_of_second_raters_are_of_conversations_and_reviewers(export_of: ExportOf) -> None:
    random = np.random.default_rng(9)
    strict = {"R0": -0.5, "R1": 0.0, "R2": 0.5}
    ratings = []
    for number, own in enumerate(random.normal(3, 0.7, 60)):
        about = {"conversation": f"C{number}", "participant": f"P{number // 2}", "arm": "ab"[number % 2]}
        for rater in random.choice(sorted(strict), 2, replace=False):
            score = own + strict[rater] + random.normal(0, 0.3)
            ratings.append(about | {"rater": rater, "rater_kind": "reviewer", "score": score, "replicate": 1})
    again = [row | {"replicate": 2, "score": 1} for row in ratings[:9]]
    table = table_of(export_of(ratings + again))
    assert set(table["raters"]) == {"reviewer"}
    assert list(level(table, "variance").index) == ["reviewer", "conversation", "residual"]
    reviewers = level(table, "reviewer")
    assert reviewers["n"].sum() == 120  # what came again is no more ratings
    assert within(reviewers, strict) == 3
    assert within(level(table, "variance"), {"conversation": 0.49, "residual": 0.09}) == 2


def test_rater_effects_of_one_score_say_why_there_is_none(export_of: ExportOf) -> None:
    ratings = [row | {"score": 3} for row in experts(counsellors=4, arms=4, each=3, seed=1)[0]]
    [row] = table_of(export_of(ratings)).to_dict("records")
    assert (row["term"], row["n"]) == ("variance", 12)
    assert row["note"] == "estimate, low, high: the scores do not vary"
