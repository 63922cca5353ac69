from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253
import pytest
from statsmodels.stats.multitest import multipletests  # noqa: TID253

from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import load
from studies.analysis.tables.condition_effects import COLUMNS, condition_effects
from studies.analysis.tables.conditions import conditions
from tests.studies.analysis.benchmark import DROP, write_benchmark
from tests.studies.analysis.builders import frame_of
from tests.studies.analysis.published import CLUTTER, CLUTTER_ANOVA
from tests.studies.analysis.tables.test_conditions import scored, simulated

ExportOf = Callable[[Any], Path]
CONDITIONS = ("average", "worst_case")


def table_of(folder: Path) -> pd.DataFrame:
    rows = [row for _, found in condition_effects(load(folder), Bootstrap(5, 1)) for row in found]
    return frame_of(rows, COLUMNS)


def of_item(table: pd.DataFrame, item: str) -> pd.DataFrame:
    return table[table["item"] == item].set_index(["statistic", "arm"])


def of_table(scores: np.ndarray) -> list[dict[str, Any]]:
    """`scores`: arms × profiles × conditions, nan where a profile met none."""
    return [
        scored(CONDITIONS[condition], f"S{profile}", score, arm=f"arm{arm}")
        for (arm, profile, condition), score in np.ndenumerate(scores)
        if not np.isnan(score)
    ]


def test_figures_are_those_of_montgomerys_analysis_of_variance(export_of: ExportOf) -> None:
    """Clutters play the arms, filters the conditions, operators the profiles."""
    table = of_item(table_of(simulated(export_of, of_table(CLUTTER))), "care")
    error = CLUTTER_ANOVA["error"][0] / 15
    average, interaction = table.loc[("condition_average", "")], table.loc[("interaction", "")]
    assert average["estimate"] == pytest.approx(-40 / 3)
    assert (round(average["df"], 2), round(interaction["df"], 2), interaction["numerator_df"]) == (15, 15, 2)
    assert round(interaction["estimate"], 2) == CLUTTER_ANOVA["clutter × filter"][2]
    assert round(interaction["p"], 3) == 0.058
    operators = (CLUTTER_ANOVA["operator"][0] / 3 - error) / 6
    assert table.loc[("profile_variance", ""), "estimate"] == pytest.approx(operators, rel=1e-4)
    assert table.loc[("residual_variance", ""), "estimate"] == pytest.approx(error, rel=1e-4)
    assert (table["n"] == 24).all()
    assert (table["clusters"] == 4).all()


def test_differences_of_arms_met_by_all_are_the_paired_ones(tmp_path: Path) -> None:
    folder = write_benchmark(tmp_path / "export", profiles=24, seed=5)
    table = table_of(folder).set_index(["statistic", "item", "arm"])
    within = 0
    paired = [row for _, found in conditions(load(folder), Bootstrap(5, 1)) for row in found]
    for row in paired:
        one = table.loc[("condition", row["item"], row["arm"])]
        assert one["estimate"] == pytest.approx(row["difference"])
        within += one["low"] < DROP[row["arm"]] < one["high"]
    assert within >= 8  # of nine intervals of 95 %
    for item in ("care", "safety", "*"):
        average, by_profile = (table.loc[(name, item, "")] for name in ("condition_average", "condition_by_profile"))
        assert average["low"] < np.mean(list(DROP.values())) < average["high"]
        assert by_profile["estimate"] == pytest.approx(average["estimate"])
        assert table.loc[("interaction", item, ""), "p"] < 1e-6
        assert (
            table.loc[("profile_variance", item, ""), "low"] < 0.25 < table.loc[("profile_variance", item, ""), "high"]
        )


def test_profiles_that_react_unlike_make_the_interval_by_profile_the_wider(export_of: ExportOf) -> None:
    random = np.random.default_rng(3)
    reaction = random.normal(0, 1, 30)
    scores = random.normal(0, 0.3, (6, 30, 2))
    scores[..., 1] += reaction - 1
    table = of_item(table_of(simulated(export_of, of_table(scores))), "care")
    model, own = table.loc[("condition_average", "")], table.loc[("condition_by_profile", "")]
    assert own["low"] < -1 < own["high"]
    assert own["high"] - own["low"] > 2 * (model["high"] - model["low"])
    assert own["df"] == 29


def test_profiles_met_in_part_count_with_what_there_is(export_of: ExportOf) -> None:
    random = np.random.default_rng(8)
    scores = random.normal(0, 1, (1, 40, 1)) + random.normal(0, 0.2, (2, 40, 2))
    scores[..., 1] -= 0.5
    scores[random.random(scores.shape) < 0.4] = np.nan
    table = of_item(table_of(simulated(export_of, of_table(scores))), "care")
    average = table.loc[("condition_average", "")]
    assert average["low"] < -0.5 < average["high"] < 0
    assert average["n"] == np.isfinite(scores).sum()
    complete = int(np.isfinite(scores).all(axis=(0, 2)).sum())
    own = table.loc[("condition_by_profile", "")]
    assert (own["clusters"], own["n"]) == (complete, 4 * complete)


def test_conditions_met_by_others_are_compared_between_profiles(export_of: ExportOf) -> None:
    random = np.random.default_rng(5)
    scores = np.full((3, 20, 2), np.nan)
    level = random.normal(0, 1, 20)
    for profile in range(20):
        scores[:, profile, profile % 2] = level[profile] + random.normal(0, 0.2, 3)
    table = of_item(table_of(simulated(export_of, of_table(scores))), "care")
    assert table.loc[("condition_average", ""), "df"] == pytest.approx(18, rel=0.01)
    own = table.loc[("condition_by_profile", "")]
    assert own[["estimate", "low", "high", "p"]].isna().all()
    assert "estimate: no profile met every arm in both conditions" in own["note"]


def test_one_arm_has_no_interaction_and_students_paired_t(export_of: ExportOf) -> None:
    scores = np.random.default_rng(6).normal(0, 1, (1, 9, 2)) + np.arange(9)[:, np.newaxis]
    table = of_item(table_of(simulated(export_of, of_table(scores))), "care")
    model, own = table.loc[("condition", "arm0")], table.loc[("condition_by_profile", "")]
    assert (model["low"], model["high"], model["p"]) == pytest.approx((own["low"], own["high"], own["p"]), rel=1e-3)
    assert "estimate, df, p: one arm only" in table.loc[("interaction", ""), "note"]


def test_arms_met_in_one_condition_only_are_left_out_and_told(export_of: ExportOf) -> None:
    scores = np.random.default_rng(7).normal(0, 1, (3, 6, 2))
    scores[2, :, 1] = np.nan
    table = table_of(simulated(export_of, of_table(scores)))
    assert set(table["arm"]) == {"", "arm0", "arm1"}
    assert table["note"].str.contains("arms met in one condition only are left out: arm2").all()
    scores[:2, :, 0] = np.nan
    assert table_of(simulated(export_of, of_table(scores))).empty


def test_without_profiles_it_is_least_squares(export_of: ExportOf) -> None:
    scores = np.random.default_rng(9).normal(0, 1, (2, 6, 2))
    rows = [row | {"profile": row["conversation"]} for row in of_table(scores)]
    table = table_of(simulated(export_of, rows))
    assert "profile_variance" not in set(table["statistic"])
    modelled = table[table["statistic"] != "condition_by_profile"]
    assert modelled["note"].str.contains("no profile in the model: every rating has its own profile").all()
    assert table.loc[table["statistic"] == "condition_average", "df"].iloc[0] == pytest.approx(20, rel=1e-3)


def test_scores_that_do_not_vary_have_one_row_with_the_reason(export_of: ExportOf) -> None:
    table = of_item(table_of(simulated(export_of, of_table(np.full((2, 5, 2), 3.0)))), "care")
    assert [name for name, _ in table.index] == ["condition_average", "condition_by_profile"]
    notes = table["note"].tolist()
    assert notes[0] == "estimate, low, high, df, p: the scores do not vary"
    assert notes[1] == "low, high, df, p: the differences do not vary"


def test_holm_is_over_the_items_and_of_their_means_over_the_arms(tmp_path: Path) -> None:
    table = table_of(write_benchmark(tmp_path / "export", profiles=8, seed=5))
    mean, single = table["item"] == "*", table["item"] != "*"
    families = [mean & (table["statistic"] == "condition")]
    families += [single & (table["statistic"] == "condition") & (table["arm"] == arm) for arm in DROP]
    families += [single & (table["statistic"] == name) for name in ("condition_average", "interaction")]
    for family in families:
        expected = multipletests(table.loc[family, "p"], method="holm")[1]
        assert table.loc[family, "p_holm"].tolist() == pytest.approx(expected.tolist())
    assert [family.sum() for family in families] == [3, 2, 2, 2, 2, 2]
