"""Replies are flagged while the conversation goes on: once, by their counsellor, and nothing is overwritten."""

import json
import re

import pytest
from django.core.management import call_command

from studies.models import Flag
from studies.models.participation import Status
from tests.people import Person

pytestmark = pytest.mark.django_db
NOTE = "It said the same to the line before."


@pytest.fixture(autouse=True)
def demo(db, settings):
    call_command("load_study", str(settings.FIXTURES / "studies" / "demo.toml"), verbosity=0)


def playing(track: str = "counsellor") -> Person:
    """One who has had a reply to their first message."""
    person = Person(track=track)
    person.go_to("chat", run=1)
    person.page()
    person.say()
    return person


@pytest.fixture
def counsellor() -> Person:
    return playing()


def send(person: Person, **fields: str):
    return person.client.post("/study/flag/", {"act": "save", "turn": "1", "reason": "not_heard", **fields})


def rows() -> list[tuple]:
    return [(flag.turn, flag.reason, flag.note, flag.withdrawn_at is not None) for flag in Flag.objects.order_by("pk")]


def on_page(person: Person) -> list[dict]:
    found = re.search(r'<script id="standing-flags"[^>]*>(.*?)</script>', person.page().content.decode())
    return json.loads(found[1])


def test_flag_keeps_the_reply_as_it_was_shown(counsellor):
    response = send(counsellor, reason="empty_comfort", note=NOTE)

    shown = {"turn": 1, "reason": "empty_comfort", "words": "Empty comfort, a template", "note": NOTE}
    assert response.json() == {"flag": shown}
    flag = Flag.objects.get()
    assert (flag.run.participation, flag.turn, flag.reason, flag.note) == (counsellor.row, 1, "empty_comfort", NOTE)
    assert flag.reply == "What happened in May?"
    assert flag.withdrawn_at is None


def test_flag_is_there_again_after_a_reload(counsellor):
    assert on_page(counsellor) == []
    send(counsellor, note="</script>")
    assert [(flag["turn"], flag["note"]) for flag in on_page(counsellor)] == [(1, "</script>")]


def test_flag_that_is_changed_or_taken_back_stays_with_the_time_of_that(counsellor):
    send(counsellor)
    send(counsellor, reason="harsh")
    assert send(counsellor, act="withdraw").json() == {"flag": None}
    assert rows() == [(1, "not_heard", "", True), (1, "harsh", "", True)]
    assert on_page(counsellor) == []

    send(counsellor, reason="good")
    assert rows()[-1] == (1, "good", "", False)


def test_same_flag_again_is_no_other_one(counsellor):
    send(counsellor)
    send(counsellor)
    assert rows() == [(1, "not_heard", "", False)]


def test_form_that_was_taken_is_answered_with_what_stands(counsellor):
    send(counsellor, idempotency="one")
    send(counsellor, reason="harsh", idempotency="two")
    assert send(counsellor, idempotency="one").json()["flag"]["reason"] == "harsh"
    assert rows() == [(1, "not_heard", "", True), (1, "harsh", "", False)]


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"reason": ""}, "Please choose one of the answers."),
        ({"reason": "unheard_of"}, "Please choose one of the answers."),
        ({"reason": "other", "note": "  "}, "Please say in a few words what you noticed about this reply."),
        ({"note": "x" * 501}, "Please shorten this to 500 characters."),
        *(
            ({"turn": turn}, "The open conversation has no such reply.")
            for turn in ("", "2", "-1", "one", "²", "9" * 40)
        ),
    ],
)
def test_flag_that_cannot_be_taken_is_refused_with_a_reason(counsellor, fields, error):
    response = send(counsellor, **{"idempotency": "one", **fields})
    assert (response.status_code, response.json()) == (400, {"error": error})
    assert rows() == []
    assert send(counsellor, idempotency="one").status_code == 200  # the key was left free


def test_other_reason_with_a_note_is_taken(counsellor):
    send(counsellor, reason="other", note=NOTE)
    assert rows() == [(1, "other", NOTE, False)]


def test_only_who_plays_a_role_can_flag():
    participant = playing("participant")
    page = participant.page().content.decode()
    assert "data-flag" not in page
    assert "step-out" not in page
    assert send(participant).status_code == 400
    assert rows() == []


def test_only_in_the_conversation_at_hand(counsellor):
    other = playing()
    other.say()
    assert send(counsellor, turn="2").status_code == 400

    counsellor.converse()
    assert send(counsellor).status_code == 400
    assert rows() == []


def test_who_is_held_flags_nothing(counsellor):
    counsellor.say("I am going to kill myself tonight")
    counsellor.row.refresh_from_db()
    assert counsellor.row.status == Status.HELD
    assert send(counsellor).status_code == 400


def test_get_and_strangers_are_refused(counsellor, client):
    assert counsellor.client.get("/study/flag/").status_code == 405
    assert client.post("/study/flag/", {"turn": "1", "reason": "good"}).status_code == 403
