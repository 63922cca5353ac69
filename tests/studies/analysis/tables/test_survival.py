from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253
import pytest
from scipy.stats import binomtest  # noqa: TID253
from statsmodels.duration.survfunc import SurvfuncRight  # noqa: TID253

from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import load
from studies.analysis.tables.survival import COLUMNS, INCIDENCE, MEAN, MEDIAN, OPEN, survival
from tests.studies.analysis.benchmark import LEAVING, write_benchmark, write_table

ExportOf = Callable[[Any], Path]


def table_of(folder: Path, replicates: int = 200) -> pd.DataFrame:
    rows = [row for _, found in survival(load(folder), Bootstrap(replicates, 1)) for row in found]
    return pd.DataFrame(rows, columns=COLUMNS)


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
    walked_out = [1 / 7, 1 / 7, 1 / 7 + open_after[1] / 4, 1 / 7 + open_after[1] / 4]
    assert estimates(table, INCIDENCE, "walked_out") == pytest.approx(walked_out)
    assert estimates(table, INCIDENCE, "satisfied") == pytest.approx([0, *[6 / 7 / 6] * 3])
    assert estimates(table, INCIDENCE, "safety") == pytest.approx([0, 0, 0, open_after[2] / 3])
    assert set(table["end"]) == {"", "walked_out", "satisfied", "safety"}
    assert table.query("statistic == 'open'")["at_risk"].tolist() == [7, 6, 4, 3]
    assert set(table["n"]) == {7}


def test_medians_and_mean_turns_are_told_with_their_horizon(export_of: ExportOf) -> None:
    table = table_of(chats(export_of, ENDS)).set_index("statistic")
    assert table.loc[MEDIAN, "estimate"] == 4
    assert table.loc[MEAN, "turn"] == 4
    assert table.loc[MEAN, "estimate"] == pytest.approx(1 + 6 / 7 + 5 / 7 + 15 / 28)


def test_a_persons_early_end_is_a_leaving_and_their_regular_end_is_none(export_of: ExportOf) -> None:
    ends = [(3, "early"), (12, "finished"), (14, "finished"), (15, "withdrawn")]
    table = table_of(chats(export_of, ends, seeker_kind="person", condition=""))
    assert set(table["end"]) == {"", "early"}
    assert estimates(table, OPEN)[-1] == pytest.approx(0.75)
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


def test_all_censored_say_why_there_is_no_median(export_of: ExportOf) -> None:
    table = table_of(chats(export_of, [(5, "cap"), (5, "cap"), (3, "technical"), (0, ""), (0, "technical")])).set_index(
        "statistic"
    )
    assert table.loc[OPEN, "estimate"].tolist() == [1] * 5
    assert set(table["n"]) == {3}  # what never began tells nothing
    assert table.loc[MEAN, ["estimate", "turn"]].tolist() == [5, 5]
    assert table.loc[MEAN, "note"] == "low, high: all conversations are censored"
    assert table.loc[MEDIAN, ["estimate", "low", "high"]].isna().all()
    assert "more than half are open after the last turn that is known" in table.loc[MEDIAN, "note"]


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
    assert means["turn"].tolist() == [7, 7, 7]  # c has ended, so 0 is known of it for ever
    assert means["estimate"].tolist() == pytest.approx([(7 + 2) / 2, 7, 3])


def test_order_of_rows_and_names_of_arms_change_nothing(tmp_path: Path) -> None:
    folder = write_benchmark(tmp_path / "export", profiles=6, seed=8)
    before = table_of(folder)
    rows = pd.read_csv(folder / "conversations.csv", dtype=str, keep_default_na=False).sample(frac=1, random_state=1)
    rows["arm"] = "x " + rows["arm"]
    rows.to_csv(folder / "conversations.csv", index=False)
    pd.testing.assert_frame_equal(table_of(folder).drop(columns="arm"), before.drop(columns="arm"))


def test_without_turns_there_is_nothing(export_of: ExportOf) -> None:
    folder = export_of([{"conversation": "C", "arm": "a", "score": 3}])
    assert table_of(folder).empty
    write_table(folder, "conversations", [{"conversation": "C", "arm": "a", "end_reason": "cap"}])
    assert table_of(folder).empty
