"""Who the seekers were: simulated ones by their profiles, people by their answers with rare ones merged."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd  # noqa: TID253
import pytest

from studies.analysis import AnalysisError, analyse
from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import load
from studies.analysis.tables.people import TABLE
from studies.analysis.tables.person_answers import SMALL
from studies.analysis.tables.seeker_profiles import OTHERS, seeker_profiles
from tests.studies.analysis.benchmark import write_table
from tests.studies.analysis.builders import frame_of

ExportOf = Callable[[Any], Path]
MERGED = "values of fewer than five people, merged with one more so that no such number can be worked out"


def table_of(folder: Path) -> pd.DataFrame:
    rows = [row for _, found in seeker_profiles(load(folder), Bootstrap(5, 1)) for row in found]
    return frame_of(rows, TABLE.all_columns())


def with_profiles(export_of: ExportOf, profiles: Iterable[Mapping[str, Any]]) -> Path:
    """Conversations of these profiles, and one more profile like the first that no one met."""
    profiles = [{"profile": f"S{n}"} | dict(profile) for n, profile in enumerate(profiles)]
    folder = export_of([{"conversation": f"C{n}", "arm": "a", "score": 3} for n in range(len(profiles))])
    chats = [{"conversation": f"C{n}", "arm": "a", "profile": f"S{n}"} for n in range(len(profiles))]
    write_table(folder, "conversations", [chat | {"seeker_kind": "simulated"} for chat in chats])
    write_table(folder, "profiles", [*profiles, profiles[0] | {"profile": "unmet"}])
    return folder


def with_people(export_of: ExportOf, answers: Mapping[str, Iterable[str]], instrument: str = "profile") -> Path:
    """Participants, one for each answer to an item; and a counsellor who gave the first of each."""
    listed = {item: [next(iter(given)), *given] for item, given in answers.items()}
    several = max(map(len, listed.values()))
    folder = export_of(
        [{"conversation": f"C{n}", "participant": f"P{n}", "rater": f"P{n}", "score": 3} for n in range(several)]
    )
    tracks = ["counsellor"] + ["participant"] * (several - 1)
    write_table(folder, "participants", [{"participant": f"P{n}", "track": track} for n, track in enumerate(tracks)])
    said = [
        {"participant": f"P{n}", "instrument": instrument, "item": item}
        | ({"value": answer, "text": ""} if item == "age" else {"value": "", "text": answer})
        for item, given in listed.items()
        for n, answer in enumerate(given)
    ]
    write_table(folder, "answers", [row | {"conversation": ""} for row in said])
    return folder


def shown(table: pd.DataFrame, characteristic: str, **of: str) -> dict[str, Any]:
    rows = table[(table["item"] == characteristic) & (table["level"] != "")]
    for name, value in of.items():
        rows = rows[rows[name] == value]
    return rows.set_index("level")["count"].to_dict()


def test_profiles_are_counted_with_ages_in_bands_of_ten_years(export_of: ExportOf) -> None:
    told = [("woman", 19), ("woman", 20), ("man", 41), ("", "")]
    table = table_of(with_profiles(export_of, [{"gender": gender, "age": age} for gender, age in told]))
    assert shown(table, "gender") == {"man": 1, "woman": 2}
    assert shown(table, "age") == {"10–19": 1, "20–29": 1, "30–39": 0, "40–49": 1}
    mean = table[(table["item"] == "age") & (table["level"] == "")].iloc[0]
    assert (mean["n"], mean["mean"]) == (3, pytest.approx(80 / 3))
    assert table["n"].tolist() == [3] * len(table)
    assert set(table["track"]) == {"simulated"}


def test_big_five_are_means_and_a_single_profile_has_no_spread(export_of: ExportOf) -> None:
    profiles = [{"openness": 2, "neuroticism": 1}, {"openness": 4, "neuroticism": ""}]
    table = table_of(with_profiles(export_of, profiles)).set_index("item")
    assert table.loc["openness", ["n", "mean"]].tolist() == [2, 3]
    assert table.loc["openness", "sd"] == pytest.approx(2**0.5)
    assert table.loc["neuroticism", "note"] == "sd: one profile"


def test_languages_of_profiles_have_rows_of_their_own(export_of: ExportOf) -> None:
    told = [("en", "INFP"), ("en", "INTJ"), ("zh", "INFP")]
    table = table_of(with_profiles(export_of, [{"language": language, "mbti": kind} for language, kind in told]))
    assert shown(table, "mbti", language="*") == {"INFP": 2, "INTJ": 1}
    assert shown(table, "mbti", language="zh") == {"INFP": 1}


def test_profiles_made_of_answers_count_as_people(export_of: ExportOf) -> None:
    """And have no rows by language, of which the difference would tell what is merged."""
    told = ["nurse"] * 6 + ["teacher"] * 5 + ["judge"]
    profiles = [{"occupation": job, "origin": "answers", "language": "zh" if n else "en"} for n, job in enumerate(told)]
    table = table_of(with_profiles(export_of, profiles))
    assert shown(table, "occupation") == {"nurse": 6, OTHERS: 6}
    assert set(table["language"]) == {"*"}
    files = with_profiles(export_of, [profile | {"origin": "mine.json"} for profile in profiles])
    assert shown(table_of(files), "occupation", language="*") == {"nurse": 6, "teacher": 5, "judge": 1}


def test_rare_answers_of_people_are_merged_with_a_note(export_of: ExportOf) -> None:
    table = table_of(with_people(export_of, {"topic": ["work"] * 8 + ["loss"] * 3 + ["family"] * 2}))
    assert shown(table, "topic") == {"work": 8, OTHERS: 5}
    merged = table.set_index("level").loc[OTHERS]
    assert (merged["n"], merged["share"], merged["note"]) == (13, pytest.approx(5 / 13), MERGED)


def test_fewer_than_five_people_are_not_counted(export_of: ExportOf) -> None:
    [row] = table_of(with_people(export_of, {"topic": ["work"] * 2 + ["loss"] * 2})).to_dict("records")
    assert (row["item"], row["level"], row["n"]) == ("topic", OTHERS, 4)
    assert pd.isna(row["count"])
    assert row["note"] == f"count, share: {SMALL}"


def test_an_older_export_has_no_rows_of_what_it_lacks(export_of: ExportOf) -> None:
    folder = with_profiles(export_of, [{"gender": "man"}])
    assert set(table_of(folder)["item"]) == {"gender"}
    (folder / "profiles.csv").unlink()
    assert table_of(folder).empty


def test_a_profile_that_is_there_twice_is_refused(export_of: ExportOf, tmp_path: Path) -> None:
    folder = with_profiles(export_of, [{"gender": "man"}])
    (folder / "profiles.csv").write_text("profile,age\nS0,20\nS0,21\n")
    with pytest.raises(AnalysisError, match=r"^profiles\.csv:3:profile: 'S0' is in line 2 already$"):
        analyse(folder, tmp_path / "out", bootstrap=5)
