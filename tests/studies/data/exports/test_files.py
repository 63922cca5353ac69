"""The export folder: formats, the manifest and its counts, what is refused, and that nothing half-done is left."""

import csv
import hashlib
import json
import re
import tomllib
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st

from dialogue.models import Conversation, Turn
from studies.data.exports import files
from studies.data.exports.files import AT_ONCE, snapshot, write_rows
from studies.data.exports.tables import TABLES
from studies.design.safety_rules import OnCall, SafetyRules
from studies.models import Rater
from studies.participation.unblinding import unblind, unblinding_of
from studies.workbench.csv_cells import format_cell, guard_formula, remove_guard
from tests import factories


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def run_export(out: Path, *arguments: str, study: str = "demo") -> dict[str, Any]:
    stdout = StringIO()
    call_command("export", study, "--out", str(out), "--json", *arguments, verbosity=0, stdout=stdout)
    return json.loads(stdout.getvalue().splitlines()[-1])


def manifest_in(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "manifest.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("=1+1", "'=1+1"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t=1"),
        ("\r=1", "'\r=1"),
        ("'=1", "''=1"),
        ("'tis", "'tis"),
        ("a=1", "a=1"),
        ("", ""),
    ],
)
def test_guarded_makes_formulas_plain_and_nothing_else(text: str, written: str):
    assert guard_formula(text) == written
    assert remove_guard(written) == text


@given(st.text(alphabet="'=+-@\t\ra1", max_size=6))
def test_unguarded_takes_off_what_guarded_put_on(text: str):
    assert remove_guard(guard_formula(text)) == text


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, ""),
        (True, "true"),
        (False, "false"),
        (4.0, "4"),
        (-2.0, "-2"),
        (-0.5, "-0.5"),
        (2.3333333333333335, "2.3333333333333335"),
        (1e300, "1e+300"),
        (7, "7"),
        (Decimal("0.000120"), "0.000120"),
        (Decimal("0E-6"), "0.000000"),
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "2026-01-02T03:04:05Z"),
        (datetime(2026, 1, 2, 3, 4, 5, 6000, tzinfo=timezone(timedelta(hours=8))), "2026-01-01T19:04:05.006000Z"),
    ],
)
def test_cell_writes_values_as_the_contract_says(value: Any, written: str):
    assert format_cell(value) == written


def test_write_rows_writes_each_value_as_cell_does(tmp_path: Path):
    rows = [
        (number % 7, "=1" if number % 3 else "a,b", None if number % 5 else number / 2)
        for number in range(2 * AT_ONCE + 1)
    ]
    assert write_rows(tmp_path / "rows.csv", ("a", "b", "c"), iter(rows)) == len(rows)
    with (tmp_path / "rows.csv").open(newline="", encoding="utf-8") as file:
        header, *written = csv.reader(file)
    assert header == ["a", "b", "c"]
    assert written == [[format_cell(value) for value in row] for row in rows]


def test_write_rows_refuses_rows_of_different_lengths(tmp_path: Path):
    with pytest.raises(ValueError, match="shorter"):
        write_rows(tmp_path / "rows.csv", ("a", "b"), [(1, 2), (3,)])


def test_write_rows_of_none_writes_the_header(tmp_path: Path):
    assert write_rows(tmp_path / "rows.csv", ("a", "b"), []) == 0
    assert (tmp_path / "rows.csv").read_bytes() == b"a,b\r\n"


@pytest.mark.django_db
def test_export_writes_what_has_rows_and_the_four_that_are_always_there(tmp_path: Path):
    factories.study()

    summary = run_export(tmp_path / "out")

    always = {"participants.csv", "conversations.csv", "turns.csv", "ratings.csv", "codebook.csv"}
    assert {path.name for path in (tmp_path / "out").iterdir()} == always | {"manifest.json", "study.json"}
    assert {name: summary["rows"][name] for name in always - {"codebook.csv"}} == dict.fromkeys(
        always - {"codebook.csv"}, 0
    )
    assert (tmp_path / "out" / "participants.csv").read_bytes().startswith(b"participant,track,language,")


@pytest.mark.django_db
def test_export_keeps_every_character_of_a_text(tmp_path: Path):
    study = factories.study()
    said = 'She said "no",\nthen\u2028我哭了 😢\r\n'
    factories.run_with_turns(study, factories.person(study), turns=[(said, "=2+3")])

    run_export(tmp_path / "out")

    rows = read(tmp_path / "out" / "turns.csv")
    assert [row["text"] for row in rows] == [said, "'=2+3"]
    assert (tmp_path / "out" / "turns.csv").read_bytes().count(
        b'"'
    ) == 6  # around the text, and two for each of its own


@pytest.mark.django_db
def test_manifest_names_the_study_and_counts_each_file(tmp_path: Path):
    study = factories.study()
    person = factories.person(study)
    factories.rating(person, factories.run_with_turns(study, person))

    run_export(tmp_path / "out")

    manifest = manifest_in(tmp_path / "out")
    version = tomllib.loads((settings.BASE_DIR / "pyproject.toml").read_text())["project"]["version"]
    told = {name: manifest[name] for name in ("study", "languages", "emostudy", "filters", "protocols")}
    assert told == {
        "study": "demo",
        "languages": ["en", "zh"],
        "emostudy": version,
        "filters": {"include_tests": False},
        "protocols": [
            {
                "version": 1,
                "hash": study.current().hash(),
                "order_seed": 20260104,
                "opened_at": None,
                "amendment": None,
            }
        ],
    }
    assert datetime.fromisoformat(manifest["exported_at"]).tzinfo == UTC
    counted = {name: (file["rows"], file["database_rows"]) for name, file in manifest["files"].items()}
    assert {name: counts for name, counts in counted.items() if name not in ("codebook.csv", "study.json")} == {
        "participants.csv": (1, 1),
        "conversations.csv": (1, 1),
        "turns.csv": (4, 4),
        "ratings.csv": (10, 10),
        "scales.csv": (6, 6),
    }
    for name, file in manifest["files"].items():
        content = (tmp_path / "out" / name).read_bytes()
        assert file["sha256"] == hashlib.sha256(content).hexdigest()
        held = json.loads(content) if name == "study.json" else read(tmp_path / "out" / name)
        assert file["rows"] == len(held)


@pytest.mark.django_db
def test_the_study_of_each_version_lies_beside_the_manifest_without_a_secret(tmp_path: Path):
    spec = factories.demo_spec()
    served = {"kind": "openai_compatible", "base_url": "https://me:hush@x.example/v1?api-key=hush", "model": "m"}
    extra = {"max_completion_tokens": 300, "headers": {"X-Api-Key": "hush"}}
    arm = replace(spec.arms[0], **served, extra=extra, prompt="kind.md", prompt_text={"en": "Be kind."})
    safety = SafetyRules(oncall=(OnCall(name="Ada Okafor", email="ada2@x.example"),), officer_email="bob@x.example")
    study = factories.study(arms=(arm, *spec.arms[1:]), oncall_email="ada@x.example", safety=safety)

    run_export(tmp_path / "out")

    text = (tmp_path / "out" / "study.json").read_text(encoding="utf-8")
    (told,) = json.loads(text)
    assert (told["version"], told["hash"]) == (1, study.current().hash())
    first = told["study"]["arms"][0]
    assert (first["base_url"], first["prompt_text"]) == ("https://x.example/v1", {"en": "Be kind."})
    assert first["extra"] == {"max_completion_tokens": 300, "headers": {"X-Api-Key": "(left out)"}}
    assert told["study"]["order"].items() <= json.loads(json.dumps(asdict(spec.order))).items()
    assert "hush" not in text
    assert not re.search("ada|bob@", text, re.IGNORECASE)


@pytest.mark.django_db
def test_manifest_says_when_nothing_was_measured(tmp_path: Path):
    served = replace(factories.demo_spec().arms[0], kind="openai_compatible", base_url="http://x/v1", model="m")
    judged = replace(factories.demo_spec().judges[0], kind="openai_compatible", base_url="http://x/v1", model="m")
    study = factories.study("real", arms=(served,), judges=(judged,))
    factories.study("scripted")

    run_export(tmp_path / "none", study="real")
    factories.person(study, is_test=True)
    run_export(tmp_path / "test", "--include-tests", study="real")
    factories.person(study)
    run_export(tmp_path / "real", "--include-tests", study="real")
    run_export(tmp_path / "scripted", study="scripted")

    told = {name: manifest_in(tmp_path / name)["demonstration"] for name in ("none", "test", "real", "scripted")}
    assert told == {"none": False, "test": True, "real": False, "scripted": True}


@pytest.mark.django_db
def test_ratings_of_others_in_a_study_of_scripts_are_no_demonstration(tmp_path: Path):
    study = factories.study()
    arm = study.current().arms.first().key
    run = factories.run_with_turns(study, arm=arm)
    Conversation.objects.filter(pk=run.conversation_id).update(seeker_kind="imported")
    factories.rating(Rater.objects.create(study=study, kind="expert", code="E1"), run)
    run_export(tmp_path / "imported")
    factories.rating(factories.judge(study), run)
    run_export(tmp_path / "judged")

    assert [manifest_in(tmp_path / name)["demonstration"] for name in ("imported", "judged")] == [False, True]


@pytest.mark.django_db
def test_manifest_tells_of_closing_and_unblinding_and_names_nobody(tmp_path: Path):
    study, ada = factories.study(), User.objects.create(username="ada")

    run_export(tmp_path / "before")
    factories.close(study)
    unblind(study, ada, when="earlier", reason="A sign of harm.")
    run_export(tmp_path / "after")

    before, after = manifest_in(tmp_path / "before"), manifest_in(tmp_path / "after")
    assert (before["closed_at"], before["unblinded"]) == (None, None)
    assert datetime.fromisoformat(after["closed_at"]) == study.closed_at
    assert datetime.fromisoformat(after["unblinded"].pop("at")) == unblinding_of(study).at
    assert after["unblinded"] == {"when": "earlier", "reason": "A sign of harm."}


@pytest.mark.django_db
def test_export_that_does_not_hold_what_the_database_counts_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    factories.study()
    short = [replace(table, count=lambda _study, _only: 5) if table.name == "turns" else table for table in TABLES]
    monkeypatch.setattr(files, "TABLES", short)

    with pytest.raises(CommandError, match=r"^turns\.csv: 0 rows, but the database has 5$") as failed:
        run_export(tmp_path / "out")

    assert failed.value.returncode == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.django_db
def test_export_again_replaces_its_files_and_keeps_those_of_others(tmp_path: Path):
    study = factories.study()
    factories.person(study)
    out = tmp_path / "out"
    run_export(out)
    (out / "results").mkdir()
    (out / "results" / "report.html").write_text("mine")
    (out / "participants.csv").write_text("spoiled")

    run_export(out)

    assert len(read(out / "participants.csv")) == 1
    assert (out / "results" / "report.html").read_text() == "mine"
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.django_db
def test_export_refuses_a_folder_that_is_somebody_elses(tmp_path: Path):
    factories.study()
    factories.study("other")
    out = tmp_path / "out"
    out.mkdir()
    (out / "thesis.txt").write_text("mine")

    with pytest.raises(CommandError, match="is not empty and no earlier export") as refused:
        run_export(out)
    run_export(tmp_path / "other", study="other")
    with pytest.raises(CommandError, match="holds an export of the study 'other'"):
        run_export(tmp_path / "other")
    with pytest.raises(CommandError, match="is a file, not a folder"):
        run_export(out / "thesis.txt")

    assert refused.value.returncode == 2
    assert [path.name for path in out.iterdir()] == ["thesis.txt"]


@pytest.mark.django_db
def test_export_of_an_unknown_study_is_bad_input(tmp_path: Path):
    with pytest.raises(CommandError, match="There is no study 'nobody'") as refused:
        run_export(tmp_path / "out", study="nobody")

    assert refused.value.returncode == 2


@pytest.mark.django_db
def test_export_takes_as_many_queries_for_three_people_as_for_one(tmp_path: Path, django_assert_num_queries: Any):
    study = factories.study()
    counts = []
    for people in (1, 2):
        for _ in range(people):
            person = factories.person(study)
            factories.rating(person, factories.run_with_turns(study, person))
        with connection.execute_wrapper(lambda execute, *query: counts.append(query[0]) or execute(*query)):
            run_export(tmp_path / f"out{people}")
        counts.append("|")

    first, second, _end = "\n".join(counts).split("|")
    assert first.strip().count("SELECT") == second.strip().count("SELECT")


@pytest.mark.django_db(transaction=True)
def test_snapshot_sees_one_moment_and_stops_nobody_who_writes():
    """A second connection writes while the first one reads."""
    study = factories.study()
    run = factories.run_with_turns(study)
    other = connection.copy()
    try:
        with snapshot():
            before = Turn.objects.count()
            with other.cursor() as cursor:
                cursor.execute(
                    "DELETE FROM dialogue_turn WHERE conversation_id = %s AND number = 2", [run.conversation_id]
                )
            during = Turn.objects.count()
        after = Turn.objects.count()
    finally:
        other.close()

    assert (before, during, after) == (2, 2, 1)


@pytest.mark.django_db(transaction=True)
def test_export_in_a_snapshot_of_its_own_writes_everything(tmp_path: Path):
    """The other tests run inside a transaction, which is a snapshot already."""
    study = factories.study()
    person = factories.person(study)
    factories.rating(person, factories.run_with_turns(study, person), comment="Good.")

    rows = run_export(tmp_path / "out")["rows"]

    assert not connection.in_atomic_block
    assert (rows["ratings.csv"], rows["answers.csv"], rows["scales.csv"], rows["turns.csv"]) == (10, 1, 6, 4)
    factories.person(study)
    assert run_export(tmp_path / "out")["rows"]["participants.csv"] == 2
