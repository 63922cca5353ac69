"""What counsellors read when a role ends, and when they have skipped it."""

from html import unescape

import pytest

from tests.people import Person

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("study")]

LEFT = "You are no longer the person on the card. Take a breath before you rate."
SKIPPED = "You skipped this role."


def read(person):
    return unescape(person.page().content.decode())


def test_first_rating_page_of_each_role_ends_it():
    person = Person(track="counsellor")
    seen = []
    for run in (1, 2):
        person.go_to("rating", run=run)
        while person.step.run == run and person.step.kind != "between":
            seen.append((person.step.key, LEFT in read(person)))
            person.send(person.answers())
        person.send(person.answers())
    assert [key for key, told in seen if told] == ["run1.rating.emoharbor_10", "run2.rating.emoharbor_10"]
    assert len(seen) == 8  # three ratings and the page after the role, twice


def test_participants_have_no_role_to_leave():
    person = Person()
    person.go_to("rating", run=1)
    assert LEFT not in read(person)


def test_skipped_role_is_called_so_and_nothing_is_called_rated():
    person = Person(track="counsellor")
    person.go_to("chat", run=1)
    person.page()
    person.client.post("/study/step-out/", {"act": "skip"})
    page = read(person)
    assert (person.step.instrument, page.count(SKIPPED)) == ("de_roling", 1)
    assert "Read the conversation again" not in page
    person.send(person.answers())
    page = read(person)
    assert person.step.kind == "between"
    assert page.count(SKIPPED) == 1
    assert "and its ratings are saved" not in page


def test_role_that_was_played_is_not_called_skipped():
    person = Person(track="counsellor")
    person.go_to("between", run=1)
    page = read(person)
    assert SKIPPED not in page
    assert "Conversation 1 and its ratings are saved." in page
