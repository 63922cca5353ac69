import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd  # noqa: TID253
import pytest

from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import load
from studies.analysis.measures.proportions import wilson
from studies.analysis.tables.flow import METHODS, TABLE, flow
from tests.studies.analysis.benchmark import write_table
from tests.studies.analysis.builders import frame_of

ExportOf = Callable[[Any], Path]
DAY = "2026-01-31T09:30:00Z"


def person(code: str, status: str, **also: Any) -> dict[str, Any]:
    """Who came, signed and was given two arms, unless it is said otherwise."""
    usual = {"track": "participant", "order": "a>b", "consented_at": DAY, "started_at": DAY, "excluded": "false"}
    return {"participant": code, "status": status} | usual | {"exclusion_reason": ""} | also


def chat(code: str, who: str, end: str, **also: Any) -> dict[str, Any]:
    usual = {"arm": "a", "seeker_kind": "person", "turns": 10, "valid": "true", "setup": ""}
    return {"conversation": code, "participant": who, "end_reason": end} | usual | also


UNSIGNED = {"consented_at": "", "order": ""}
PEOPLE = [
    person("P1", "completed"),
    person("P2", "completed", excluded="true", exclusion_reason="straight answers"),
    person("P3", "withdrawn"),
    person("P4", "withdrawn", **UNSIGNED),
    person("P5", "screened_out", **UNSIGNED),
    person("P6", "in_review", **UNSIGNED),
    person("P7", "invited", started_at="", **UNSIGNED),
    person("P8", "applied", **UNSIGNED),
    person("P9", "active"),
    person("R1", "active", track="reviewer", **UNSIGNED),
]
CHATS = [
    chat("C1", "P1", "finished"),
    chat("C2", "P1", "cap"),
    chat("C3", "P2", "finished"),
    chat("C4", "P2", "technical"),
    chat("C5", "P3", "early"),
    chat("C6", "P9", "", turns=3),
    chat("C7", "P9", "", turns=0),
    chat("S1", "", "walked_out", seeker_kind="simulated"),
    chat("S2", "", "walked_out", seeker_kind="simulated", setup="without resistance"),
]


@pytest.fixture
def folder(export_of: ExportOf) -> Path:
    rated = [
        {"conversation": f"C{n}", "participant": who, "rater": who, "score": 3} for n, who in ((1, "P1"), (3, "P2"))
    ]
    folder = export_of(rated)
    write_table(folder, "participants", PEOPLE)
    write_table(folder, "conversations", CHATS)
    return folder


def table_of(folder: Path) -> pd.DataFrame:
    rows = [row for _, found in flow(load(folder), Bootstrap(20, 1)) for row in found]
    return frame_of(rows, TABLE.all_columns())


def counts(table: pd.DataFrame, track: str, prefix: str = "") -> dict[str, float]:
    rows = table[(table["track"] == track) & (table["statistic"] == "count")]
    return dict(zip(rows["stage"], rows["estimate"], strict=True))


def test_flow_counts_people_in_the_order_of_the_study(folder: Path) -> None:
    table = table_of(folder)
    people = {stage: count for stage, count in counts(table, "participant").items() if "conversations" not in stage}
    assert list(people.items()) == [
        ("invited", 9),
        ("arrived", 8),
        ("screened_out", 1),
        ("in_review", 1),
        ("declined", 1),
        ("consented", 4),
        ("screened_in", 4),
        ("started_chatting", 4),
        ("finished_1", 2),
        ("finished_2", 1),
        ("completed", 2),
        ("active", 1),
        ("held", 0),
        ("stopped", 0),
        ("ended", 0),
        ("timed_out", 0),
        ("withdrawn", 1),
        ("excluded", 1),
        ("analysed", 1),
    ]
    assert list(dict.fromkeys(table["track"])) == ["participant", "reviewer", "simulated"]


def test_flow_accounts_for_everybody_who_arrived(folder: Path) -> None:
    people = counts(table_of(folder), "participant")
    before_consent = 1  # P8
    assert people["arrived"] == before_consent + sum(
        people[stage] for stage in ("screened_out", "in_review", "declined", "screened_in")
    )
    assert people["screened_in"] == sum(
        people[stage] for stage in ("completed", "active", "held", "stopped", "ended", "timed_out", "withdrawn")
    )


def test_flow_tells_shares_of_those_who_arrived_and_reasons(folder: Path) -> None:
    table = table_of(folder)
    [share] = table.query("stage == 'completed' and statistic == 'share' and track == 'participant'").to_dict("records")
    assert (share["estimate"], share["n"], share["clusters"]) == (2 / 8, 8, 8)
    assert (share["low"], share["high"]) == wilson(2 / 8, 8)
    [reason] = table[table["statistic"].str.startswith("reason")].to_dict("records")
    assert (reason["stage"], reason["statistic"], reason["estimate"]) == ("excluded", "reason: straight answers", 1)
    [count] = table.query("stage == 'completed' and statistic == 'count' and track == 'participant'").to_dict("records")
    assert count["note"] == "low, high: a count has no interval"


def test_flow_counts_conversations(folder: Path) -> None:
    table = table_of(folder)
    of_people = {stage: count for stage, count in counts(table, "participant").items() if "conversations" in stage}
    assert list(of_people.items()) == [
        ("conversations_planned", 8),
        ("conversations_begun", 6),
        ("conversations_finished", 3),
        ("conversations_early", 1),
        ("conversations_technical", 1),
        ("conversations_open", 1),
        ("conversations_left_out", 0),
        ("conversations_analysed", 1),
    ]
    [share] = table.query("stage == 'conversations_early' and statistic == 'share' and n == 6").to_dict("records")
    assert share["clusters"] == 4
    # One that was changed for an ablation is in sensitivity.csv alone.
    assert counts(table, "simulated")["conversations_begun"] == 1
    assert counts(table, "simulated")["conversations_walked_out"] == 1


def test_flow_tells_the_numbers_of_the_analysis_of_files_that_a_spreadsheet_saved(folder: Path) -> None:
    before = table_of(folder)
    for name, flag in (("participants", "excluded"), ("conversations", "valid")):
        with (folder / f"{name}.csv").open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        write_table(folder, name, [row | {flag: row[flag].upper()} for row in rows])
    assert len(load(folder).excluded) == 1
    pd.testing.assert_frame_equal(before, table_of(folder))


def test_flow_takes_profiles_for_the_clusters_of_simulated_seekers(folder: Path) -> None:
    ends = ["walked_out", "satisfied", "satisfied"]
    simulated = [
        chat(f"S{profile}{arm}", "", ends[arm], seeker_kind="simulated", profile=f"N{profile}")
        for profile in range(4)
        for arm in range(3)
    ]
    write_table(folder, "conversations", simulated)
    [share] = table_of(folder).query("stage == 'conversations_walked_out' and statistic == 'share'").to_dict("records")
    assert (share["estimate"], share["n"], share["clusters"]) == (4 / 12, 12, 4)
    assert (share["low"], share["high"]) == wilson(4 / 12, 4)


def test_flow_of_a_track_without_consent_has_nobody_who_declined(export_of: ExportOf) -> None:
    folder = export_of([{"conversation": "C1", "score": 3}])
    write_table(folder, "participants", [person("R1", "withdrawn", track="reviewer", **UNSIGNED)])
    people = counts(table_of(folder), "reviewer")
    assert (people["declined"], people["withdrawn"], people["screened_in"]) == (0, 1, 1)


def test_flow_leaves_empty_what_the_files_do_not_tell(export_of: ExportOf) -> None:
    folder = export_of([{"conversation": "C1", "participant": "P1", "score": 3}])
    write_table(folder, "participants", [{"participant": "P1"}, {"participant": "P2"}])
    table = table_of(folder).set_index(["stage", "statistic"])
    known = table[table["estimate"].notna()]
    assert known.loc[(slice(None), "count"), "estimate"].droplevel("statistic").to_dict() == {
        "invited": 2,
        "analysed": 1,
    }
    reasons = table["note"].xs("count", level="statistic")
    assert reasons["consented"] == "estimate, low, high: participants.csv has no consented_at for anyone"
    assert reasons["arrived"] == "estimate, low, high: participants.csv has no status or started_at for anyone"
    assert reasons["started_chatting"] == "estimate, low, high: conversations.csv has no turns"
    assert table.loc[("analysed", "share"), "note"] == reasons["arrived"]


def test_flow_without_signatures_tells_nothing_of_consent(folder: Path) -> None:
    write_table(folder, "participants", [row | {"consented_at": ""} for row in PEOPLE])
    people = counts(table_of(folder), "participant")
    assert pd.isna(people["consented"])
    assert (people["arrived"], people["declined"], people["excluded"]) == (8, 0, 1)


def test_flow_of_people_who_never_came_has_counts_without_shares(export_of: ExportOf) -> None:
    folder = export_of([{"conversation": "C1", "score": 3}])
    write_table(folder, "participants", [person("P1", "invited", started_at="", **UNSIGNED)])
    table = table_of(folder)
    assert counts(table, "participant")["arrived"] == 0
    assert table.query("statistic == 'share'")["note"].str.contains("nothing to take a share of").all()


def test_flow_without_its_files_is_empty(export_of: ExportOf) -> None:
    assert table_of(export_of([{"conversation": "C1", "score": 3}])).empty


def test_flow_ignores_the_order_of_rows(folder: Path) -> None:
    before = table_of(folder)
    write_table(folder, "participants", reversed(PEOPLE))
    write_table(folder, "conversations", reversed(CHATS))
    pd.testing.assert_frame_equal(before, table_of(folder))


def test_methods_name_stages_that_are_there(folder: Path) -> None:
    table = table_of(folder)
    assert set(METHODS) - {"reason: …"} <= {*table["stage"], *table["statistic"]}
