"""What an export says can be brought into another study, and that one's export says the same."""

import csv
import json
from io import StringIO
from itertools import groupby
from pathlib import Path

import pytest
from django.core.management import call_command

from studies.models import Answer, Response
from tests import factories


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def command(*arguments: str) -> None:
    call_command(*arguments, verbosity=0, stdout=StringIO())


def as_jsonl(folder: Path, path: Path) -> Path:
    """The conversations of an export, as import_conversations reads them."""
    messages = {
        conversation: [{"role": row["role"], "content": row["text"]} for row in rows]
        for conversation, rows in groupby(read(folder / "turns.csv"), lambda row: row["conversation"])
    }
    keys = {"arm", "condition", "participant", "profile", "language", "end_reason"}
    lines = [
        {"id": row["conversation"], "messages": messages[row["conversation"]]} | {key: row[key] for key in keys}
        for row in read(folder / "conversations.csv")
    ]
    path.write_text("\n".join(json.dumps(line, ensure_ascii=False) for line in lines), encoding="utf-8")
    return path


@pytest.mark.django_db
def test_ratings_come_back_the_same_from_another_study(tmp_path: Path):
    study = factories.study()
    factories.study("second")
    for score in (1.0, 4.5):
        person = factories.person(study)
        run = factories.run_with_turns(study, person, turns=[("Weißt du…\u2028我", "Ja.")], arm="birch")
        factories.rating(person, run, score=score)
        factories.answer(person, "turn_checkpoint", {"empathetic": 2.0}, run=run, moment="checkpoint", turn=1)
    judged = Response.objects.create(
        rater=factories.judge(study), run=run, instrument="own", moment="final", replicate=3, is_rating=True
    )
    Answer.objects.create(response=judged, item="=care", value=2.3333333333333335)
    Answer.objects.create(response=judged, item="safety", missing_reason="refused")
    Response.objects.filter(run=run).update(first_turn=1, last_turn=1)
    Answer.objects.filter(response__run=run).update(seconds=2.5)

    command("export", "demo", "--out", str(tmp_path / "first"))
    command("import_conversations", "second", str(as_jsonl(tmp_path / "first", tmp_path / "conversations.jsonl")))
    command("import_ratings", "second", str(tmp_path / "first" / "ratings.csv"), "--as-is")
    command("export", "second", "--out", str(tmp_path / "second"))

    first, second = (read(tmp_path / key / "ratings.csv") for key in ("first", "second"))
    assert len(first) == 24
    # An import has its own time, and nothing was measured while it rated.
    measured = {"rated_at": "", "first_turn": "", "last_turn": "", "seconds": ""}
    assert [row | {"rated_at": ""} for row in second] == [row | measured for row in first]
    assert {(row["first_turn"], row["last_turn"], row["seconds"]) for row in first} == {("", "", ""), ("1", "1", "2.5")}
    first, second = (read(tmp_path / key / "turns.csv") for key in ("first", "second"))
    said = ("conversation", "turn", "role", "text")
    assert [[row[name] for name in said] for row in second] == [[row[name] for name in said] for row in first]
