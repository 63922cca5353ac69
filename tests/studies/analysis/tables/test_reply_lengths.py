"""The replies' rows of costs.csv against pandas and scipy on a small made-up study."""

import csv
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253
import pytest
from scipy.stats import bootstrap  # noqa: TID253

from studies.analysis import AnalysisError, analyse
from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import load
from studies.analysis.tables.costs import REPLY_MEASURES, TABLE, reply_lengths
from tests.studies.analysis.builders import frame_of
from tests.studies.analysis.test_run import Page

ExportOf = Callable[[Any], Path]
TURNS = "conversation,turn,role,text,first_token_ms,total_ms,masked,names_itself"


def write(path: Path, header: str, rows: Iterable[Mapping[str, Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, header.split(","), restval="")
        writer.writeheader()
        writer.writerows(rows)


def reply(conversation: str, text: str, **fields: Any) -> dict[str, Any]:
    return {"conversation": conversation, "turn": 1, "role": "supporter", "text": text, **fields}


@pytest.fixture
def folder(export_of: ExportOf) -> Path:
    """Twelve people, each twice with both arms, three replies a conversation; every third person in Chinese."""
    random = np.random.default_rng(5)
    conversations, turns = [], []
    for number in range(48):
        person, arm = number // 4, "ab"[number % 2]
        language = "zh" if person % 3 == 2 else "en"
        about = {"conversation": f"C{number}", "participant": f"P{person}", "arm": arm, "language": language}
        conversations.append(about)
        for turn in (1, 2, 3):
            text = ("好" if language == "zh" else "a ") * int(random.integers(5, 60))
            turns.append(about | {"turn": turn, "role": "seeker", "text": "A message of the seeker's."})
            measured = {"first_token_ms": int(random.integers(200, 900)), "total_ms": int(random.integers(900, 9000))}
            flags = {"masked": str(random.random() < 0.2).lower(), "names_itself": str(random.random() < 0.3).lower()}
            turns.append(about | measured | flags | {"turn": turn, "role": "supporter", "text": text})
    folder = export_of([{"conversation": f"C{number}", "score": 3} for number in range(4)])
    write(folder / "conversations.csv", "conversation,participant,arm,language", conversations)
    names = TURNS.split(",")
    write(folder / "turns.csv", TURNS, [{name: turn[name] for name in names if name in turn} for turn in turns])
    return folder


def table_of(folder: Path, replicates: int = 200) -> pd.DataFrame:
    rows = [row for _, found in reply_lengths(load(folder), Bootstrap(replicates, 1)) for row in found]
    return frame_of(rows, TABLE.all_columns())


def by_pandas(folder: Path) -> pd.DataFrame:
    """The replies, as anyone would read them."""
    turns, conversations = (pd.read_csv(folder / f"{name}.csv") for name in ("turns", "conversations"))
    replies = turns[turns["role"] == "supporter"].merge(conversations, on="conversation", validate="many_to_one")
    return replies.assign(
        characters=replies["text"].str.len(),
        first_token_seconds=replies["first_token_ms"] / 1000,
        total_seconds=replies["total_ms"] / 1000,
        masked_share=replies["masked"].astype(float),
        names_itself_share=replies["names_itself"].astype(float),
    )


def test_lengths_are_what_pandas_computes_for_each_arm_language_and_measure(folder: Path) -> None:
    table = table_of(folder).set_index(["arm", "language", "measure"])
    grouped = by_pandas(folder).groupby(["arm", "language"])
    assert table.index.tolist() == [(*of, measure) for of in grouped.groups for measure in REPLY_MEASURES]
    for measure in REPLY_MEASURES:
        expected = grouped[measure].agg(estimate="mean", n="count")
        found = table.xs(measure, level="measure")
        pd.testing.assert_frame_equal(found[list(expected)], expected, check_names=False)
    assert table["clusters"].groupby("language").unique().map(list).to_dict() == {"en": [8], "zh": [4]}


def test_interval_is_that_of_scipy_over_people(folder: Path) -> None:
    """Where everyone has as many replies as the others, a mean over replies is one over people's means."""
    row = (
        table_of(folder, replicates=20_000).query("arm == 'a' and language == 'en' and measure == 'characters'").iloc[0]
    )
    replies = by_pandas(folder).query("arm == 'a' and language == 'en'")
    means = replies.groupby("participant")["characters"].mean().to_numpy()
    expected = bootstrap((means,), np.mean, n_resamples=20_000, method="BCa", rng=np.random.default_rng(2))
    assert row["method"] == "BCa cluster bootstrap"
    assert [row["low"], row["high"]] == pytest.approx(list(expected.confidence_interval), abs=0.5)


def test_characters_are_code_points_of_the_shown_text(export_of: ExportOf) -> None:
    texts = ["好😢", "a\r\nb", "'=1+1", "''=", "'tis", "", "é\u2028."]
    folder = export_of([{"conversation": "C", "participant": "P", "arm": "a", "score": 3}])
    write(folder / "turns.csv", TURNS, [reply("C", text) for text in texts])
    replies = load(folder).replies
    assert replies is not None
    assert replies["characters"].tolist() == [2, 4, 4, 2, 4, 0, 3]
    assert table_of(folder)["estimate"].iloc[0] == pytest.approx(19 / 7)


def test_text_may_be_longer_than_the_csv_module_takes_by_itself(export_of: ExportOf) -> None:
    folder = export_of([{"conversation": "C", "arm": "a", "score": 3}])
    write(folder / "turns.csv", TURNS, [reply("C", "a" * 200_000)])
    assert table_of(folder)["estimate"].iloc[0] == 200_000


def test_shares_tell_how_many_replies_they_are_of(folder: Path) -> None:
    replies = by_pandas(folder).query("arm == 'b' and language == 'zh'")
    row = table_of(folder).query("arm == 'b' and language == 'zh' and measure == 'names_itself_share'").iloc[0]
    assert 0 < replies["names_itself"].sum() < 24
    assert row["note"].endswith(f"; {replies['names_itself'].sum()} of 24 replies")


def test_what_was_not_measured_is_left_out_and_not_zero(export_of: ExportOf) -> None:
    folder = export_of([{"conversation": f"C{n}", "participant": f"P{n}", "arm": "a", "score": 3} for n in range(2)])
    rows = [reply("C0", "Yes.", total_ms=1500, masked="TRUE"), reply("C1", "No, no.", masked="false")]
    write(folder / "turns.csv", TURNS, rows)
    table = table_of(folder).set_index("measure")
    assert table["n"].to_dict() == dict(zip(REPLY_MEASURES, [2, 0, 1, 2, 0], strict=True))
    assert table.loc["total_seconds", "estimate"] == 1.5
    assert table.loc["masked_share", "estimate"] == 0.5
    nothing = "estimate, low, high: turns.csv does not give it for any reply"
    unknown = "the language is not known, there may be several"
    assert table.loc["first_token_seconds", "note"] == f"{nothing}; {unknown}"
    assert table.loc["total_seconds", "note"] == f"low, high: fewer than two clusters; {unknown}"
    assert table.loc["names_itself_share", ["estimate", "low", "high"]].isna().all()


def test_equal_values_and_one_cluster_have_no_interval(export_of: ExportOf) -> None:
    folder = export_of([{"conversation": "C", "participant": "P", "arm": "a", "score": 3}])
    write(folder / "conversations.csv", "conversation,participant,arm,language", [
        {"conversation": "C", "participant": "P", "arm": "a", "language": "en"}
    ])  # fmt: skip
    write(folder / "turns.csv", TURNS, [reply("C", "ab", masked="false"), reply("C", "abcd", masked="false")])
    table = table_of(folder).set_index("measure")
    assert table.loc["characters", "note"] == "low, high: fewer than two clusters"
    assert table.loc["masked_share", "note"] == "low, high: the values do not vary; 0 of 2 replies"
    assert table.loc["masked_share", "estimate"] == 0


def test_conversations_that_nobody_rated_count_and_those_without_arm_do_not(export_of: ExportOf) -> None:
    folder = export_of([{"conversation": "C0", "participant": "P0", "arm": "a", "score": 3}])
    about = [("C0", "P0", "a"), ("C1", "P1", "a"), ("C2", "P2", "")]
    rows = [dict(zip(("conversation", "participant", "arm"), row, strict=True)) for row in about]
    write(folder / "conversations.csv", "conversation,participant,arm,language", rows)
    write(folder / "turns.csv", TURNS, [reply(name, "Yes.") for name in ("C0", "C1", "C2", "elsewhere")])
    row = table_of(folder).iloc[0]
    assert row[["arm", "n", "clusters"]].tolist() == ["a", 2, 2]


def test_without_turns_every_arm_says_why_nothing_could_be_computed(export_of: ExportOf, tmp_path: Path) -> None:
    folder = export_of([{"conversation": f"C{arm}", "arm": arm, "score": 3} for arm in "ba"])
    table = table_of(folder)
    assert table[["arm", "measure"]].to_numpy().tolist() == [
        [arm, measure] for arm in "ab" for measure in REPLY_MEASURES
    ]
    assert table[["estimate", "low", "high"]].isna().all(axis=None)
    assert set(table["note"]) == {"estimate, low, high: there is no turns.csv"}
    files = analyse(folder, tmp_path / "out", bootstrap=20).files
    assert not [name for name in files if "lengths" in name]
    page = Page((tmp_path / "out" / "report.html").read_text(encoding="utf-8"))
    assert "There is no turns.csv, so nothing is known about the replies." in page.text


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ({"role": "system"}, "turns.csv:2:role: 'system' is not one of seeker, supporter"),
        ({"total_ms": "slow"}, "turns.csv:2:total_ms: 'slow' is not a number"),
        ({"masked": "yes"}, "turns.csv:2:masked: 'yes' is neither true nor false"),
        ({"conversation": ""}, "turns.csv:2:conversation: is empty"),
    ],
)
def test_fault_in_turns_is_named_with_line_and_column(export_of: ExportOf, row: dict[str, str], fault: str) -> None:
    folder = export_of([{"conversation": "C", "arm": "a", "score": 3}])
    write(folder / "turns.csv", TURNS, [reply("C", "Yes.") | row])
    with pytest.raises(AnalysisError) as raised:
        load(folder)
    assert str(raised.value) == fault


def test_turns_are_among_the_files_that_were_read(folder: Path, tmp_path: Path) -> None:
    analyse(folder, tmp_path / "out", bootstrap=20)
    results = json.loads((tmp_path / "out" / "results.json").read_text(encoding="utf-8"))
    assert results["files"]["turns.csv"]["rows"] == 288
    assert "turns.csv" not in results["absent"]
    assert len([row for row in results["tables"]["costs"] if row["purpose"] == "reply_shown"]) == 20


def test_report_tells_length_speed_and_how_often_a_model_named_itself(folder: Path, tmp_path: Path) -> None:
    files = analyse(folder, tmp_path / "out", bootstrap=20).files
    text = Page((tmp_path / "out" / "report.html").read_text(encoding="utf-8")).text
    for (arm, language), replies in by_pandas(folder).groupby(["arm", "language"]):
        means = [f"{replies[measure].mean():.3f}" for measure in REPLY_MEASURES[:3]]
        counts = [f"{replies[flag].sum()} of {len(replies)}" for flag in ("names_itself", "masked")]
        assert "".join([arm, language, str(len(replies)), *means, *counts]) in text
    assert "Longer replies are often rated better" in text
    assert "People who read one may have known the arm." in text
    assert {f"figures/lengths-{name.replace('_', '-')}.svg" for name in REPLY_MEASURES[:3]} <= set(files)


def test_names_that_were_all_hidden_are_no_limit(export_of: ExportOf, tmp_path: Path) -> None:
    folder = export_of([{"conversation": "C", "arm": "a", "score": 3}])
    write(folder / "turns.csv", TURNS, [reply("C", "I am …", names_itself="true", masked="true")])
    hidden = analyse(folder, tmp_path / "out", bootstrap=20).warnings
    write(folder / "turns.csv", TURNS, [reply("C", "I am Bot.", names_itself="true", masked="false")])
    shown = analyse(folder, tmp_path / "out", bootstrap=20).warnings
    assert [limit for limit in shown if limit not in hidden] == [
        "Some replies in which a model named itself or its maker were shown unchanged. "
        "People who read one may have known the arm."
    ]
