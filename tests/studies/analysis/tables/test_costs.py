from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd  # noqa: TID253
import pytest

from studies.analysis import AnalysisError, analyse
from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import load
from studies.analysis.tables.costs import COLUMNS, MEASURES, costs
from tests.studies.analysis.benchmark import write_benchmark, write_table
from tests.studies.analysis.builders import frame_of
from tests.studies.analysis.test_run import Page

ExportOf = Callable[[Any], Path]
OK = {"status": "ok", "total_ms": 1500, "input_tokens": 100, "output_tokens": 20, "cost": "0.5"}
FAILED = {"status": "timeout", "total_ms": 3000, "input_tokens": "", "output_tokens": "", "cost": ""}


def table_of(folder: Path) -> pd.DataFrame:
    rows = [row for _, found in costs(load(folder), Bootstrap(200, 1)) for row in found]
    return frame_of(rows, COLUMNS)


def called(export_of: ExportOf, calls: list[dict[str, Any]]) -> Path:
    """C0 and C1 are conversations of arm a."""
    folder = export_of([{"conversation": f"C{n}", "participant": f"P{n}", "arm": "a", "score": 3} for n in range(2)])
    write_table(folder, "calls", [{"conversation": "C0", "purpose": "reply"} | OK | call for call in calls])
    return folder


def by_measure(table: pd.DataFrame, purpose: str) -> dict[str, float]:
    return table[table["purpose"] == purpose].set_index("measure")["estimate"].to_dict()


def test_planted_costs_come_back_for_each_arm_and_purpose(tmp_path: Path) -> None:
    folder = write_benchmark(tmp_path / "export", profiles=10, seed=5)
    table = table_of(folder)
    turns = (
        pd.read_csv(folder / "conversations.csv", keep_default_na=False)
        .query("setup == ''")
        .groupby("arm")["turns"]
        .mean()
    )
    for arm, mean in turns.items():
        of_arm = table[table["arm"] == arm]
        expected = {"seconds": 2 * mean, "input_tokens": 100 * mean, "output_tokens": 10 * mean, "calls": mean}
        thinker = by_measure(of_arm, "thinker")
        assert {name: thinker[name] for name in expected} == pytest.approx(expected)
        assert by_measure(of_arm, "reply")["calls"] == pytest.approx(mean + 1)
        assert by_measure(of_arm, "reply")["failed_calls"] == 1
        assert by_measure(of_arm, "*")["seconds"] == pytest.approx(4 * mean)
    assert set(table["n"]) == {20, 0}
    row = table.query("arm == 'mild' and purpose == 'reply' and measure == 'seconds'").iloc[0]
    assert row["low"] < row["estimate"] < row["high"]
    assert row["clusters"] == 10


def test_unknown_prices_stay_empty_with_their_reason(tmp_path: Path) -> None:
    table = table_of(write_benchmark(tmp_path / "export", profiles=3, seed=5)).query("measure == 'cost'")
    unknown = table[table["purpose"] != "reply"]
    assert unknown[["estimate", "low", "high"]].isna().all(axis=None)
    assert set(unknown["note"]) == {"estimate, low, high: no price is known"}
    assert table.loc[table["purpose"] == "reply", "estimate"].notna().all()


def test_failed_attempts_count_with_what_is_told_of_them(export_of: ExportOf) -> None:
    table = table_of(called(export_of, [{}, FAILED, {"conversation": "C1"}]))
    assert by_measure(table, "reply") == {
        "seconds": (1.5 + 3 + 1.5) / 2,
        "input_tokens": 100,
        "output_tokens": 20,
        "cost": 0.5,
        "calls": 1.5,
        "failed_calls": 0.5,
    }
    assert by_measure(table, "*") == by_measure(table, "reply")


def test_an_answer_that_tells_no_tokens_leaves_its_conversation_out(export_of: ExportOf) -> None:
    table = table_of(called(export_of, [{}, {"conversation": "C1", "input_tokens": ""}])).set_index(
        ["purpose", "measure"]
    )
    assert table.loc[("reply", "input_tokens"), ["estimate", "n"]].tolist() == [100, 1]
    assert (
        "the tokens are not told of 1 conversations, which are left out" in table.loc[("reply", "input_tokens"), "note"]
    )
    assert table.loc[("reply", "output_tokens"), "n"] == 2


def test_a_purpose_is_averaged_over_the_conversations_that_had_it(export_of: ExportOf) -> None:
    table = table_of(called(export_of, [{}, {"conversation": "C1"}, {"purpose": "judge", "total_ms": 9000}]))
    assert by_measure(table, "judge")["seconds"] == 9
    assert by_measure(table, "*")["seconds"] == (1.5 + 9 + 1.5) / 2


def test_calls_of_no_conversation_or_no_arm_are_left_out(export_of: ExportOf) -> None:
    table = table_of(called(export_of, [{"conversation": ""}, {"conversation": "elsewhere"}, {}]))
    assert by_measure(table, "*")["calls"] == 1
    assert set(table["measure"]) == set(MEASURES)
    assert table_of(called(export_of, [{"conversation": "elsewhere"}])).empty


def test_faults_of_calls_are_named(export_of: ExportOf) -> None:
    with pytest.raises(AnalysisError, match=r"^calls\.csv:2:cost: 'cheap' is not a number$"):
        table_of(called(export_of, [{"cost": "cheap"}]))


def test_report_has_a_line_for_each_purpose_as_the_papers_table(tmp_path: Path) -> None:
    folder = write_benchmark(tmp_path / "export", profiles=3, seed=5)
    analyse(folder, tmp_path / "out", bootstrap=20)
    text = Page((tmp_path / "out" / "report.html").read_text(encoding="utf-8")).text
    assert "ArmSeekersPurposeSecondsInput tokensOutput tokensCostCallsFailed callsConversations" in text
    thinker = by_measure(table_of(folder).query("arm == 'kind'"), "thinker")
    numbers = (f"{thinker[name]:.3f}" for name in ("seconds", "input_tokens", "output_tokens"))
    assert "kindsimulated seekersThinker" + "".join(numbers) in text
