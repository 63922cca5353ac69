from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd  # noqa: TID253
import pytest

from studies.analysis import AnalysisError, analyse
from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import load
from studies.analysis.reporting.drawing import style
from studies.analysis.reporting.parts import Excerpt
from studies.analysis.reporting.sections.costs import costs as costs_section
from studies.analysis.run import compute
from studies.analysis.tables.costs import MEASURES, TABLE, costs, of_calls
from tests.studies.analysis.benchmark import write_benchmark, write_table
from tests.studies.analysis.builders import frame_of
from tests.studies.analysis.test_run import Page

ExportOf = Callable[[Any], Path]
OK = {"status": "ok", "total_ms": 1500, "input_tokens": 100, "output_tokens": 20, "cost": "0.5"}
FAILED = {"status": "timeout", "total_ms": 3000, "input_tokens": "", "output_tokens": "", "cost": ""}


def table_of(folder: Path) -> pd.DataFrame:
    """Return the rows of calls; those of replies are in test_reply_lengths.py."""
    rows = [row for _, found in costs(load(folder), Bootstrap(200, 1)) for row in found]
    return of_calls(frame_of(rows, TABLE.all_columns()))


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
    assert set(table.loc[table["arm"] != "*", "n"]) == {20, 0}
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
    assert "1 conversations are left out: their tokens are not known" in table.loc[("reply", "input_tokens"), "note"]
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
    assert "ArmSecondsInput tokens (thousands)Output tokens (thousands)" in text
    assert "ArmPurposeSecondsInput tokensOutput tokensCostCallsFailed calls" in text
    thinker = by_measure(table_of(folder).query("arm == 'kind'"), "thinker")
    numbers = (f"{thinker[name]:.3f}" for name in ("seconds", "input_tokens", "output_tokens"))
    assert "kindThinker" + "".join(numbers) in text


def test_all_arms_together_are_the_mean_over_their_conversations(tmp_path: Path) -> None:
    table = table_of(write_benchmark(tmp_path / "export", profiles=4, seed=5))
    calls = table[(table["purpose"] == "*") & (table["measure"] == "calls")].set_index("arm")
    of_arms = calls.drop(index="*")
    assert calls.loc["*", "n"] == of_arms["n"].sum()
    assert calls.loc["*", "estimate"] == pytest.approx((of_arms["estimate"] * of_arms["n"]).sum() / of_arms["n"].sum())


def spoken(folder: Path, languages: Sequence[str]) -> Path:
    """The conversations of `called` in these languages."""
    chats = [{"conversation": f"C{n}", "arm": "a", "language": language} for n, language in enumerate(languages)]
    write_table(folder, "conversations", chats)
    return folder


def test_languages_have_rows_of_their_own_where_there_are_two(export_of: ExportOf) -> None:
    calls = [{}, {"conversation": "C1", "total_ms": 4500}]
    table = table_of(spoken(called(export_of, calls), ["en", "zh"]))
    seconds = table[(table["purpose"] == "*") & (table["measure"] == "seconds")].set_index("language")["estimate"]
    assert seconds.to_dict() == {"*": 3, "en": 1.5, "zh": 4.5}
    assert set(table_of(spoken(called(export_of, calls), ["en", "en"]))["language"]) == {"*"}


def test_report_has_a_line_for_each_arm_and_language_and_the_mean_over_all_arms(tmp_path: Path) -> None:
    folder = write_benchmark(tmp_path / "export", profiles=4, seed=5)
    chats = pd.read_csv(folder / "conversations.csv", dtype=str, keep_default_na=False)
    chats["language"] = chats["profile"].map(lambda profile: "en" if profile < "S002" else "zh")
    chats.to_csv(folder / "conversations.csv", index=False)
    results = compute(load(folder), Bootstrap(20, 1), lambda *_: None, ["costs"])
    with style():
        section = costs_section(results)
    assert section is not None
    frame = next(part.frame for part in section.parts if isinstance(part, Excerpt) and part.name == "costs-by-arm")
    lines = ["kind", "mild", "stern", "all arms"]
    assert frame[["language", "arm"]].to_numpy().tolist() == [
        [of, arm] for of in ("English", "Chinese") for arm in lines
    ]
    table = results.table("costs").set_index(["arm", "language", "purpose", "measure"])["estimate"]
    assert frame.iloc[0]["seconds"] == f"{table['kind', 'en', '*', 'seconds']:.1f}"
    assert frame.iloc[-1]["thousand_input_tokens"] == f"{table['*', 'zh', '*', 'input_tokens'] / 1000:.2f}"
    assert set(frame["cost"]) == {"–"}
