from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253
import pytest
from scipy.stats import binomtest, norm  # noqa: TID253
from scipy.stats import t as student_t  # noqa: TID253
from statsmodels.duration.survfunc import SurvfuncRight, survdiff  # noqa: TID253
from statsmodels.stats.proportion import proportion_confint  # noqa: TID253

from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import load
from studies.analysis.tables.survival import (
    ACTUAL_MEAN,
    INCIDENCE,
    MEAN,
    MEDIAN,
    METHODS,
    ONGOING,
    OPEN,
    TABLE,
    survival,
)
from tests.studies.analysis.benchmark import LEAVING, write_benchmark, write_table
from tests.studies.analysis.builders import frame_of

ExportOf = Callable[[Any], Path]


def table_of(folder: Path, replicates: int = 200) -> pd.DataFrame:
    rows = [row for _, found in survival(load(folder), Bootstrap(replicates, 1)) for row in found]
    return frame_of(rows, TABLE.all_columns())


def chats(export_of: ExportOf, ends: list[tuple[int, str]], **more: Any) -> Path:
    """One conversation per profile: its turns and end."""
    folder = export_of([{"conversation": "elsewhere", "score": 3}])
    usual = {"arm": "a", "condition": "average", "seeker_kind": "simulated"}
    about = [
        usual | {"conversation": f"C{number}", "profile": f"S{number}", "turns": turns, "end_reason": end} | more
        for number, (turns, end) in enumerate(ends)
    ]
    write_table(folder, "conversations", about)
    return folder


def estimates(table: pd.DataFrame, statistic: str, end: str = "") -> list[float]:
    return table.query("statistic == @statistic and end == @end")["estimate"].tolist()


ENDS = [(1, "walked_out"), (2, "technical"), (2, "satisfied"), (3, "walked_out"), (4, "cap"), (4, "safety"), (4, "cap")]


def test_ends_compete_and_what_is_no_end_is_censored(export_of: ExportOf) -> None:
    """By hand: 7, 6, 4 and 3 at risk; the technical failure at turn 2 and the cap are censored."""
    table = table_of(chats(export_of, ENDS))
    open_after = [6 / 7, 6 / 7 * 5 / 6, 6 / 7 * 5 / 6 * 3 / 4, 6 / 7 * 5 / 6 * 3 / 4 * 2 / 3]
    assert estimates(table, OPEN) == pytest.approx(open_after)
    assert estimates(table, INCIDENCE, "walked_out") == pytest.approx([1 / 7, 1 / 7, 2 / 7, 2 / 7])
    assert estimates(table, INCIDENCE, "satisfied") == pytest.approx([0, *[1 / 7] * 3])
    assert estimates(table, INCIDENCE, "technical") == pytest.approx([0, *[1 / 7] * 3])
    assert estimates(table, INCIDENCE, "safety") == pytest.approx([0, 0, 0, 1 / 7])
    assert estimates(table, INCIDENCE, "cap") == pytest.approx([0, 0, 0, 2 / 7])
    assert estimates(table, ONGOING) == pytest.approx([6 / 7, 4 / 7, 3 / 7, 0])
    assert set(table["end"]) == {"", "walked_out", "satisfied", "safety", "technical", "cap"}
    assert table.query("statistic == 'open'")["at_risk"].tolist() == [7, 6, 4, 3]
    assert set(table["n"]) == {7}


def test_what_is_still_open_or_withdrawn_is_censored_in_every_curve(export_of: ExportOf) -> None:
    """By hand, of 5: after turn 2 one of the 4 that are left walks out, after turn 3 one of 3 is finished."""
    ends = [(1, "withdrawn"), (2, "walked_out"), (2, ""), (3, "finished"), (3, "")]
    table = table_of(chats(export_of, ends))
    assert estimates(table, INCIDENCE, "walked_out") == pytest.approx([0, 1 / 4, 1 / 4])
    assert estimates(table, INCIDENCE, "finished") == pytest.approx([0, 0, 3 / 4 / 2])
    assert estimates(table, ONGOING) == pytest.approx([1, 3 / 4, 3 / 8])
    assert estimates(table, OPEN) == pytest.approx([1, 3 / 4, 3 / 4])


def test_ends_and_what_goes_on_add_up_to_one(tmp_path: Path) -> None:
    table = table_of(write_benchmark(tmp_path / "export", profiles=9, seed=2), replicates=20)
    shares = table[table["statistic"].isin([ONGOING, INCIDENCE])]
    totals = shares.groupby(["arm", "condition", "turn"])["estimate"].sum()
    assert totals.tolist() == pytest.approx([1] * len(totals))


def test_medians_and_mean_turns_are_told_with_their_horizon(export_of: ExportOf) -> None:
    table = table_of(chats(export_of, ENDS)).set_index("statistic")
    assert table.loc[MEDIAN, "estimate"] == 4
    assert table.loc[MEAN, "turn"] == 4
    assert table.loc[MEAN, "estimate"] == pytest.approx(1 + 6 / 7 + 5 / 7 + 15 / 28)


def test_a_persons_early_end_is_a_leaving_and_their_regular_end_is_none(export_of: ExportOf) -> None:
    ends = [(3, "early"), (12, "finished"), (14, "finished"), (15, "withdrawn")]
    table = table_of(chats(export_of, ends, seeker_kind="person", condition=""))
    assert set(table["end"]) == {"", "early", "finished"}
    assert estimates(table, OPEN)[-1] == pytest.approx(0.75)
    assert estimates(table, ACTUAL_MEAN) == [11]
    noted = table[table["statistic"].isin([MEDIAN, MEAN])]["note"]
    assert noted.str.contains("2 conversations with a regular end count as if they had gone on like the others").all()
    assert set(table["seekers"]) == {"person"}


def test_resampled_curve_equals_statsmodels_on_a_plain_loop(tmp_path: Path) -> None:
    """The lowest and the highest of 39 medians: the same draws of profiles, their conversations written out."""
    folder = write_benchmark(tmp_path / "export", profiles=9, seed=4)
    table = table_of(folder, replicates=39).query("arm == 'stern' and condition == 'worst_case'")
    rows = pd.read_csv(folder / "conversations.csv", keep_default_na=False)
    rows = rows.query("arm == 'stern' and condition == 'worst_case' and setup == ''").sort_values("profile")
    medians = []
    for drawn in np.random.default_rng(1).integers(9, size=(39, 9)):
        sample = rows.iloc[drawn]
        curve = SurvfuncRight(sample["turns"], sample["end_reason"] != "cap")
        medians.append(curve.surv_times[curve.surv_prob <= 0.5 + 1e-9][0])
    row = table.set_index("statistic").loc[MEDIAN]
    assert [row["low"], row["high"]] == [min(medians), max(medians)]


def test_planted_chances_of_leaving_come_back_within_the_bands(tmp_path: Path) -> None:
    table = table_of(write_benchmark(tmp_path / "export", profiles=40, seed=6), replicates=500)
    rows = table.query("condition == 'worst_case' and statistic == 'open' and turn < 15")
    expected = [(1 - LEAVING[arm]) ** turn for arm, turn in zip(rows["arm"], rows["turn"], strict=True)]
    within = (rows["low"] <= expected) & (expected <= rows["high"])
    assert within.mean() > 0.8  # pointwise bands of curves whose points go together
    means = table.query("condition == 'worst_case' and statistic == @MEAN").set_index("arm")["estimate"]
    assert means["kind"] > means["mild"] > means["stern"]


def test_shares_of_nothing_and_everything_have_wilsons_interval(export_of: ExportOf) -> None:
    table = table_of(chats(export_of, [(2, "walked_out"), (2, "walked_out"), (2, "walked_out")]))
    rows = table.query("statistic == 'open'").set_index("turn")
    all_open = binomtest(3, 3).proportion_ci(method="wilson")
    assert rows.loc[1, ["estimate", "low", "high"]].tolist() == [1, pytest.approx(all_open.low), 1]
    assert rows.loc[2, ["estimate", "low"]].tolist() == [0, 0]
    assert set(rows["method"]) == {"Wilson, n = clusters"}


def test_a_share_between_has_wilsons_interval_of_what_is_independent(export_of: ExportOf) -> None:
    """Without censoring, of 3 who left out of 8: by hand the jackknife's variance is 3/8 · 5/8 / 7."""
    row = table_of(chats(export_of, [(1, "walked_out")] * 3 + [(2, "cap")] * 5)).query("end == 'walked_out'").iloc[0]
    n = 7 * (norm.ppf(0.975) / student_t.ppf(0.975, 7)) ** 2
    low, high = proportion_confint(3 / 8 * n, n, method="wilson")
    assert row[["estimate", "low", "high"]].tolist() == pytest.approx([3 / 8, low, high])
    assert (row["method"], row["note"]) == (
        "Wilson, effective n",
        "interval: only 8 clusters, the interval may be too narrow",
    )


def test_what_only_one_cluster_tells_of_has_no_interval(export_of: ExportOf) -> None:
    table = table_of(chats(export_of, [(1, "walked_out"), (1, "cap"), (1, "cap"), (2, "cap")]))
    row = table.query("statistic == 'open'").set_index("turn").loc[2]
    assert row["estimate"] == pytest.approx(0.75)
    assert row[["low", "high"]].isna().all()
    assert row["note"] == "low, high: without one of the clusters nothing is known of that turn"


def test_all_censored_say_why_there_is_no_median(export_of: ExportOf) -> None:
    table = table_of(chats(export_of, [(5, "cap"), (5, "cap"), (3, "technical"), (0, ""), (0, "technical")])).set_index(
        "statistic"
    )
    assert table.loc[OPEN, "estimate"].tolist() == [1] * 5
    assert set(table["n"]) == {3}  # what never began tells nothing
    assert np.isnan(table.loc[MEAN, "estimate"])
    assert table.loc[MEAN, "note"] == "estimate, low, high: no conversation ended in a way that counts"
    assert table.loc[ACTUAL_MEAN, "estimate"] == pytest.approx(13 / 3)
    assert table.loc[MEDIAN, ["estimate", "low", "high"]].isna().all()
    assert "more than half are still open after the last known turn" in table.loc[MEDIAN, "note"]


def test_one_profile_has_estimates_without_intervals(export_of: ExportOf) -> None:
    table = table_of(chats(export_of, [(2, "walked_out")]))
    assert table["estimate"].notna().all()
    assert table[["low", "high"]].isna().all(axis=None)
    assert set(table["note"]) == {"low, high: fewer than two clusters"}


def test_the_horizon_is_what_all_curves_tell(export_of: ExportOf) -> None:
    folder = chats(
        export_of, [(9, "cap"), (2, "walked_out"), (6, "cap"), (7, "cap"), (3, "walked_out"), (3, "walked_out")]
    )
    rows = pd.read_csv(folder / "conversations.csv").assign(arm=list("aabbcc"))
    rows.to_csv(folder / "conversations.csv", index=False)
    means = table_of(folder).query("statistic == @MEAN").set_index("arm")
    assert means.loc["b", "note"].startswith("low, high: no conversation ended in a way that counts")
    assert means["turn"].tolist() == [7, 7, 7]  # c has ended, so 0 is known of it for ever
    assert means["estimate"].tolist() == pytest.approx([(7 + 2) / 2, 7, 3])


def test_order_of_rows_and_names_of_arms_change_nothing(tmp_path: Path) -> None:
    folder = write_benchmark(tmp_path / "export", profiles=6, seed=8)
    before = table_of(folder)
    rows = pd.read_csv(folder / "conversations.csv", dtype=str, keep_default_na=False).sample(frac=1, random_state=1)
    rows.assign(arm="x " + rows["arm"]).to_csv(folder / "conversations.csv", index=False)
    ratings = pd.read_csv(folder / "ratings.csv", dtype=str, keep_default_na=False)
    ratings.assign(arm="x " + ratings["arm"]).to_csv(folder / "ratings.csv", index=False)
    pd.testing.assert_frame_equal(table_of(folder).drop(columns="arm"), before.drop(columns="arm"))


def of_arms(folder: Path, arms: str, clusters: list[str]) -> pd.DataFrame:
    """The tests of these conversations, each with an arm and a profile."""
    rows = pd.read_csv(folder / "conversations.csv").assign(arm=list(arms), profile=clusters)
    rows.to_csv(folder / "conversations.csv", index=False)
    table = table_of(folder)
    return table[table["arm"] == "*"].set_index("statistic")


TWO_ARMS = [(1, "walked_out"), (2, "cap"), (3, "walked_out"), (2, "walked_out"), (4, "satisfied"), (4, "cap")]


def test_log_rank_of_independent_conversations_is_that_of_statsmodels(export_of: ExportOf) -> None:
    folder = chats(export_of, TWO_ARMS)
    found = of_arms(folder, "aaabbb", [f"S{number}" for number in range(6)])
    expected = survdiff([1, 2, 3, 2, 4, 4], [1, 0, 1, 1, 1, 0], [0, 0, 0, 1, 1, 1])
    assert found.index.tolist() == ["log_rank"]
    row = found.loc["log_rank"]
    assert (row["estimate"], row["p"]) == pytest.approx(expected)
    assert (row["n"], row["clusters"]) == (6, 6)
    assert (row["method"], row["note"]) == (
        "log-rank, hypergeometric variance; degrees of freedom: 1",
        "low, high: it is a chi-square",
    )


def test_log_rank_of_profiles_that_met_both_arms_is_clustered_and_stratified(export_of: ExportOf) -> None:
    found = of_arms(chats(export_of, TWO_ARMS), "aaabbb", ["S0", "S1", "S2", "S0", "S1", "S2"])
    plain, stratified = found.loc["log_rank"], found.loc["log_rank_stratified"]
    assert plain["method"] == "log-rank, variance of clusters; degrees of freedom: 1"
    assert plain["note"].endswith("only 3 clusters, p is approximate")
    expected = survdiff([1, 2, 3, 2, 4, 4], [1, 0, 1, 1, 1, 0], [0, 0, 0, 1, 1, 1], strata=[0, 1, 2, 0, 1, 2])
    assert (stratified["estimate"], stratified["p"]) == pytest.approx(expected)
    assert stratified["method"] == "log-rank, hypergeometric variance; degrees of freedom: 1"


def test_log_rank_counts_in_strata_only_who_met_several_arms(export_of: ExportOf) -> None:
    found = of_arms(chats(export_of, TWO_ARMS), "aaabbb", ["S0", "S1", "S2", "S0", "S1", "S5"])
    assert found["n"].to_dict() == {"log_rank": 6, "log_rank_stratified": 4}
    assert found["clusters"].to_dict() == {"log_rank": 4, "log_rank_stratified": 2}


def test_log_rank_of_what_nobody_left_says_so(export_of: ExportOf) -> None:
    found = of_arms(chats(export_of, [(3, "cap"), (4, "finished")]), "ab", ["S0", "S1"]).loc["log_rank"]
    assert np.isnan(found["p"])
    assert found["note"].endswith("estimate, p: no conversation ended in a way that counts")


def test_every_statistic_is_explained(tmp_path: Path) -> None:
    table = table_of(write_benchmark(tmp_path / "export", profiles=6, seed=8), replicates=20)
    assert set(table["statistic"]) == set(METHODS)


def test_without_turns_there_is_nothing(export_of: ExportOf) -> None:
    folder = export_of([{"conversation": "C", "arm": "a", "score": 3}])
    assert table_of(folder).empty
    write_table(folder, "conversations", [{"conversation": "C", "arm": "a", "end_reason": "cap"}])
    assert table_of(folder).empty
