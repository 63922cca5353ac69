"""Who took part, with small numbers left out."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pandas as pd  # noqa: TID253
import pytest

from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import load
from studies.analysis.tables.people import TABLE, people
from studies.analysis.tables.person_answers import FOLLOWS, SMALL, hidden_levels
from tests.studies.analysis.benchmark import write_table
from tests.studies.analysis.builders import frame_of

ExportOf = Callable[[Any], Path]
NOTE = "count, share: "


def answer(person: int, instrument: str, item: str, **given: Any) -> dict[str, Any]:
    usual = {"conversation": "", "value": "", "text": ""}
    return usual | {"participant": f"P{person}", "instrument": instrument, "item": item} | given


def twelve(export_of: ExportOf, genders: Iterable[str], **columns: list[str]) -> Path:
    """Twelve people aged 20, 21, …, who rated a conversation each, and one who rated none."""
    folder = export_of(
        [
            {"conversation": f"C{n}", "participant": f"P{n}", "rater": f"P{n}", "arm": "a", "score": n % 5}
            for n in range(12)
        ]
    )
    listed = [{"participant": f"P{n}", "track": "participant", "language": "en"} for n in range(13)]
    write_table(folder, "participants", [row | {k: v[n] for k, v in columns.items()} for n, row in enumerate(listed)])
    said = [answer(n, "screening", "age", value=20 + n) for n in range(13)]
    said += [answer(n, "profile", "gender", text=gender) for n, gender in enumerate(genders)]
    said.append(answer(0, "emotion_checkin", "valence", conversation="C0", value=1))
    write_table(folder, "answers", said)
    scales = [
        {"participant": f"P{n}", "conversation": conversation, "instrument": "mini_ipip", "scale": "E", "score": score}
        for n in range(4)
        for conversation, score in (("", n + 1), (f"C{n}", 5))
    ]
    write_table(folder, "scales", scales)
    return folder


def table_of(folder: Path) -> pd.DataFrame:
    rows = [row for _, found in people(load(folder), Bootstrap(5, 1)) for row in found]
    return frame_of(rows, TABLE.all_columns())


def test_ages_genders_and_languages_of_those_in_the_results(export_of: ExportOf) -> None:
    table = table_of(twelve(export_of, ["woman"] * 6 + ["man"] * 6)).set_index(["item", "level"])
    age = table.loc[("age", "")]
    assert (age["n"], age["mean"], age["sd"]) == (12, 25.5, pytest.approx(13**0.5))
    genders = table.loc["gender"]
    assert genders["count"].to_dict() == {"man": 6, "woman": 6}
    assert genders["share"].tolist() == [0.5, 0.5]
    assert table.loc[("language", "en"), "count"] == 12
    extraversion = table.loc[("E", "")]
    assert extraversion["n"] == 4
    assert pd.isna(extraversion["mean"])
    assert extraversion["note"] == f"mean, sd: {SMALL}"


def test_a_number_below_five_goes_with_the_smallest_of_the_others(export_of: ExportOf) -> None:
    """Twelve less seven would tell that four and one were hidden, and which is which is not said."""
    genders = ["woman"] * 6 + ["man"] * 5 + ["non_binary"]
    table = table_of(twelve(export_of, genders)).set_index(["item", "level"]).loc["gender"]
    assert table["count"].dropna().to_dict() == {"woman": 6}
    assert table["note"].to_dict() == {"man": f"{NOTE}{FOLLOWS}", "non_binary": f"{NOTE}{FOLLOWS}", "woman": ""}


@pytest.mark.parametrize(
    ("counts", "hidden"),
    [
        ({"a": 6, "b": 6}, {}),
        ({"a": 12}, {}),
        ({"a": 8, "b": 4, "c": 3}, {"b": SMALL, "c": SMALL}),  # 7 together
        ({"a": 8, "b": 2, "c": 2}, {"a": FOLLOWS, "b": FOLLOWS, "c": FOLLOWS}),  # 4 together: 1 to 3 each, no more
        ({"a": 8, "b": 5, "c": 1}, {"b": FOLLOWS, "c": FOLLOWS}),
        ({"a": 9, "b": 4, "c": 4}, {"a": FOLLOWS, "b": FOLLOWS, "c": FOLLOWS}),  # 8 together: 4 each, no less
        ({"a": 9, **dict.fromkeys("bcdef", 1)}, dict.fromkeys("abcdef", FOLLOWS)),  # 5 together: 1 each, no more
        ({"a": 3}, {"a": SMALL}),
    ],
)
def test_what_is_not_told(counts: dict[str, int], hidden: dict[str, str]) -> None:
    assert hidden_levels(counts) == hidden


def test_tracks_stand_apart_and_nobody_is_told_of_without_the_file(export_of: ExportOf) -> None:
    track = ["counsellor"] * 5 + ["participant"] * 8
    folder = twelve(export_of, ["woman"] * 12, track=track)
    table = table_of(folder)
    assert table[table["item"] == "language"].set_index("track")["n"].to_dict() == {"counsellor": 5, "participant": 7}
    (folder / "participants.csv").unlink()
    assert table_of(folder).empty
