"""The codebook is made from what everything else uses; the guide beside it names every file."""

import csv
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command

from studies.data.exports.codebook import build_codebook
from studies.data.exports.tables import TABLES
from studies.instruments.loading import instrument_ids, load
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
    "score,missing_reason,rated_at,role,prompt",
    "calls": "call,purpose,model,conversation,turn,status,attempts,first_token_ms,total_ms,input_tokens,output_tokens,"
    "cost",
}

OF_CODEBOOK = [
    "file",
    "column",
    "type",
    "unit",
    "values",
    "minimum",
    "maximum",
    "instructed",
    "label_en",
    "label_zh",
    "meaning",
    "third_person",
    "third_person_values",
]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_columns_begin_with_those_of_the_contract(table):
    promised = CONTRACT.get(table.name, "").split(",") if table.name in CONTRACT else []

    assert [column.name for column in table.columns][: len(promised)] == promised


def test_codebook_says_something_of_every_column():
    rows = list(build_codebook(TABLES, []))

    assert [(row.file, row.column) for row in rows] == [
        *((f"{table.name}.csv", column.name) for table in TABLES for column in table.columns),
        *(("codebook.csv", name) for name in OF_CODEBOOK),
    ]
    assert all(row.type in ("text", "number", "integer", "truth", "time") and row.meaning for row in rows)


def test_codebook_lists_items_and_scales_under_their_instrument():
    rows = {entry.column: entry for entry in build_codebook([], [load("mini_ipip")])}

    assert rows["mini_06"].row() == (
        "mini_ipip.json",
        "mini_06",
        "scale",
        "points",
        "1 = Very Inaccurate; 2 = Moderately Inaccurate; 3 = Neither Accurate Nor Inaccurate; "
        "4 = Moderately Accurate; 5 = Very Accurate",
        1,
        5,
        "",
        "Don't talk a lot.",
        load("mini_ipip").item("mini_06").text["zh"],
        "Don't talk a lot. (reversed in its scale)",
        "",
        "",
    )
    scale, meaning = rows["E"], "Extraversion: mean of mini_01, mini_06, mini_11, mini_16"
    assert (scale.type, scale.unit, scale.labels["en"], scale.meaning) == (
        "scale score",
        "points",
        "Extraversion",
        meaning,
    )


def test_codebook_calls_an_item_by_its_short_name_in_both_languages():
    item = load("emoharbor_10").items[0]
    rows = {entry.column: entry for entry in build_codebook([], [load("emoharbor_10")])}

    assert rows[item.key].labels == item.label
    assert rows[item.key].meaning == item.text["en"]


def test_codebook_has_the_wording_for_raters_who_are_not_the_seeker():
    rows = {entry.column: entry for entry in build_codebook([], [load("emoharbor_10")])}
    named = dict(zip(OF_CODEBOOK, rows["mood_improvement"].row(), strict=True))

    assert named["meaning"] == "Did your mood change for the better because of this chat?"
    assert named["third_person"] == "Did the seeker's mood change for the better in the course of the conversation?"
    assert named["values"].startswith("1 = I feel clearly worse.; 2 = ")
    assert named["third_person_values"].startswith("1 = The seeker's mood got clearly worse: put off, ")
    assert rows["consistency"].third_person == "Did the supporter stay the same throughout: tone, attitude and facts?"
    assert rows["consistency"].third_person_values == ""
    assert rows["overall"].third_person == ""


@pytest.mark.parametrize("instrument", instrument_ids())
def test_codebook_explains_every_item_of_every_instrument(instrument: str):
    questionnaire = load(instrument)
    own = (entry for entry in build_codebook([], [questionnaire]) if entry.file == f"{instrument}.json")
    explained = {entry.column: entry.meaning for entry in own}

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
    assert list(rows[0]) == OF_CODEBOOK
    for path in (tmp_path / "out").glob("*.csv"):
        header = path.read_text(encoding="utf-8").splitlines()[0].split(",")
        assert [row["column"] for row in rows if row["file"] == path.name] == header
    assert {row["file"] for row in rows if row["file"].endswith(".json")} == {"emoharbor_10.json"}
    assert not {row["file"] for row in rows} & {"states.csv", "calls.csv"}


def test_guide_names_every_file():
    guide = (settings.BASE_DIR / "docs" / "codebook.md").read_text(encoding="utf-8")

    files = [*(table.file for table in TABLES), "pairs.csv", "codebook.csv", "manifest.json"]
    assert [file for file in files if f"`{file}`" not in guide] == []
