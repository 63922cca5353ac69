"""The tables of the interviews, about whom they are, and how they hang together with the others."""

import csv
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.utils import timezone

from studies.data.exports.columns import Filter
from studies.data.exports.interviews import TABLES
from studies.models import Answer
from tests import factories

pytestmark = pytest.mark.django_db

BY_NAME = {table.name: table for table in TABLES}


def rows(name, study, *, include_tests=False):
    table, only = BY_NAME[name], Filter(include_tests=include_tests)
    found = [dict(zip([column.name for column in table.columns], row, strict=True)) for row in table.rows(study, only)]
    assert len(found) == table.count(study, only)
    return found


def test_interviews_tell_how_each_was_held():
    study = factories.study()
    held = factories.interview(factories.person(study))
    held.notes.create(question="cs2", text="More.")
    held.attachments.create(kind="audio", name="a.mp3", path="interviews/a", size=1, sha256="")
    written = factories.interview(factories.person(study), ended_at=timezone.now())
    factories.interviewed(written.participation, "self")

    assert rows("interviews", study) == [
        {
            "participant": held.participation.code,
            "mode": "interviewer",
            "instrument": "interview_guide",
            "version": "1.0.4",
            "started_at": held.started_at,
            "ended_at": None,
            "notes": 2,
            "files": 1,
        },
        {
            "participant": written.participation.code,
            "mode": "self",
            "instrument": "interview_guide",
            "version": "1.0.4",
            "started_at": written.started_at,
            "ended_at": written.ended_at,
            "notes": 1,
            "files": 0,
        },
    ]


def test_notes_name_the_conversation_of_the_reply_or_the_score_that_they_are_about():
    study = factories.study()
    person = factories.person(study)
    first, second = (factories.run_with_turns(study, person) for _ in range(2))
    factories.rating(person, second)
    held = factories.interview(person)
    held.notes.create(question="rl1", text="Unsafe.", flag=factories.flag(first, 2))
    held.notes.create(question="rd4", text="Unsure.", rating=Answer.objects.get(item="safety"))

    found = [
        (row["question"], row["text"], row["conversation"], row["turn"], row["item"])
        for row in rows("interview_notes", study)
    ]

    assert found == [
        ("cs1", "Stock phrases.", None, None, ""),
        ("rl1", "Unsafe.", first.conversation.code, 2, ""),
        ("rd4", "Unsure.", second.conversation.code, None, "safety"),
    ]


def test_passages_and_candidates_are_told_as_they_stand():
    study = factories.study()
    held = factories.interview(factories.person(study), "Words.")
    held.passages.update(coder=User.objects.create(username="ada"), memo="Again.")
    note, passage = held.notes.get(), held.passages.get()

    assert rows("passages", study) == [
        {
            "participant": held.participation.code,
            "source": f"note:{note.pk}",
            "text": "Words.",
            "code": "stock phrases",
            "memo": "Again.",
            "coder": "ada",
            "coded_at": passage.coded_at,
            "redacted": False,
        }
    ]
    assert rows("candidate_dimensions", study) == [
        {
            "participant": held.participation.code,
            "name": "Pacing",
            "definition": "Words.",
            "example": "",
            "redacted": False,
        }
    ]


@pytest.mark.parametrize("name", BY_NAME)
def test_test_data_and_other_studies_stay_apart(name):
    study, other = factories.study(), factories.study("other")
    factories.interview(factories.person(study, is_test=True))
    factories.interview(factories.person(other))

    assert (len(rows(name, study)), len(rows(name, study, include_tests=True))) == (0, 1)


def test_export_explains_the_guide_and_what_people_wrote_is_among_the_answers(tmp_path):
    study = factories.study()
    person = factories.person(study)
    factories.interview(person)
    factories.answer(person, "interview_guide", {"cs1": "Those who stay away."})

    call_command("export", "demo", "--out", str(tmp_path / "out"), verbosity=0, stdout=StringIO())

    assert [row["text"] for row in read(tmp_path / "out" / "answers.csv")] == ["Those who stay away."]
    meanings = {(row["file"], row["column"]): row["meaning"] for row in read(tmp_path / "out" / "codebook.csv")}
    assert meanings["interview_guide.json", "cs4"].endswith("be poorly served by a chat system?")
    assert meanings["interviews.csv", "files"] == "recordings and transcripts that lie on the server"


def read(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
