"""The codebook is made from what everything else uses; the guide beside it names every file."""

import csv
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command

from studies.exports.codebook import codebook
from studies.exports.tables import TABLES
from studies.questionnaires.loading import instrument_ids, load
from tests import factories

CONTRACT = {
    "participants": "participant,track,language,status,order,arms_done,consent_version,consented_at,is_test,excluded,"
    "exclusion_reason",
    "answers": "participant,conversation,instrument,version,item,moment,value,text,missing_reason,answered_at,seconds",
    "scales": "participant,conversation,instrument,scale,moment,score,items_answered",
    "conversations": "conversation,participant,arm,model,condition,seeker_kind,profile,card,topic,language,position,"
    "turns,started_at,ended_at,end_reason,valence_before,valence_after,arousal_before,arousal_after,intensity_before,"
    "intensity_after,perceived_change,protocol_version,valid,is_test",
    "turns": "conversation,turn,role,text,created_at,first_token_ms,total_ms,input_tokens,output_tokens,attempts,seen,"
    "masked,error",
    "states": "conversation,turn,source,cognition,emotion,goal,emotion_score",
    "ratings": "conversation,participant,arm,condition,rater,rater_kind,strategy,replicate,instrument,item,moment,turn,"
    "score,missing_reason,rated_at",
    "calls": "call,purpose,model,conversation,turn,status,attempts,first_token_ms,total_ms,input_tokens,output_tokens,"
    "cost",
}


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_columns_begin_with_those_of_the_contract(table):
    promised = CONTRACT.get(table.name, "").split(",") if table.name in CONTRACT else []

    assert [column.name for column in table.columns][: len(promised)] == promised


def test_codebook_says_something_of_every_column():
    rows = list(codebook(TABLES, []))

    assert [(row[0], row[1]) for row in rows] == [
        (f"{table.name}.csv", column.name) for table in TABLES for column in table.columns
    ]
    assert all(row[2] in ("text", "number", "integer", "truth", "time") and row[5] for row in rows)


def test_codebook_lists_items_and_scales_under_their_instrument():
    rows = {row[1]: row for row in codebook([], [load("mini_ipip")])}

    assert rows["mini_06"] == (
        "mini_ipip.json",
        "mini_06",
        "scale",
        "points",
        "1 to 5: 1 = Very Inaccurate; 2 = Moderately Inaccurate; 3 = Neither Accurate Nor Inaccurate; "
        "4 = Moderately Accurate; 5 = Very Accurate",
        "Don't talk a lot. (reversed in its scale)",
    )
    assert rows["E"][2:] == ("scale score", "points", "", "Extraversion: mean of mini_01, mini_06, mini_11, mini_16")


@pytest.mark.parametrize("instrument", instrument_ids())
def test_codebook_explains_every_item_of_every_instrument(instrument: str):
    questionnaire = load(instrument)
    explained = {row[1]: row[5] for row in codebook([], [questionnaire])}

    assert {item.key for item in questionnaire.items} <= explained.keys()
    assert all(explained.values())


@pytest.mark.django_db
def test_codebook_file_covers_the_header_of_every_file_written(tmp_path: Path):
    study = factories.study()
    person = factories.person(study)
    factories.rating(person, factories.run_with_turns(study, person), comment="Good.")

    call_command("export", "demo", "--out", str(tmp_path / "out"), verbosity=0, stdout=StringIO())

    with (tmp_path / "out" / "codebook.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["file", "column", "type", "unit", "values", "meaning"]
    for path in (tmp_path / "out").glob("*.csv"):
        if path.name != "codebook.csv":
            header = path.read_text(encoding="utf-8").splitlines()[0].split(",")
            assert [row["column"] for row in rows if row["file"] == path.name] == header
    assert {row["file"] for row in rows if row["file"].endswith(".json")} == {"emoharbor_10.json"}
    assert not {row["file"] for row in rows} & {"states.csv", "calls.csv"}


def test_guide_names_every_file():
    guide = (settings.BASE_DIR / "docs" / "codebook.md").read_text(encoding="utf-8")

    files = [*(table.file for table in TABLES), "pairs.csv", "codebook.csv", "manifest.json"]
    assert [file for file in files if f"`{file}`" not in guide] == []
