"""A sign of danger in a role: whose words were these? Asked beside the chat, and after it where no answer came."""

import pytest
from django.core import mail
from django.core.management import call_command

from dialogue.chat import history, signs
from dialogue.models import RiskEvent
from studies.care import oncall
from tests.people import Person

pytestmark = pytest.mark.django_db

PASSIVE, ACTIVE = "I wish I were dead", "I want to kill myself"
SUSPECTED = "I don't see the point."
QUESTION = "Were these words part of the role, or your own?"


@pytest.fixture
def counsellor(settings, on_commit_at_once) -> Person:
    call_command("load_study", str(settings.FIXTURES / "studies" / "demo.toml"), verbosity=0)
    person = Person(track="counsellor")
    person.go_to("chat", run=1)
    person.page()
    person.say()
    return person


def answer(person: Person, turn: int, words: str, **fields: str) -> None:
    person.client.post("/study/role/", {"turn": str(turn), "answer": words, **fields})


def finish(person: Person) -> str:
    """Bring the conversation to its end without an answer to the bar; return the page that follows."""
    person.converse()
    return person.client.get("/study/", follow=True).content.decode()


def test_line_of_a_difficult_seeker_that_only_the_classifier_suspects_asks_nothing(counsellor: Person) -> None:
    taken = counsellor.say(SUSPECTED)
    sign = RiskEvent.objects.get()
    assert (sign.level, sign.entries, taken.frames) == (2, ["classifier"], ())
    assert all(frame.type != "help" for frame in history.get_missed_frames(counsellor.conversation().pk, 0).frames)


def test_words_that_a_pattern_finds_are_asked_about(counsellor: Person) -> None:
    assert [frame.type for frame in counsellor.say(PASSIVE).frames] == ["help"]


def test_own_words_of_level_2_keep_the_lines_at_hand(counsellor: Person) -> None:
    counsellor.say(PASSIVE)
    assert not signs.needs_help(counsellor.conversation())
    answer(counsellor, 2, "me")
    assert signs.needs_help(counsellor.conversation())
    assert (counsellor.step.kind, mail.outbox) == ("chat", [])


def test_answer_is_about_the_conversation_it_names(counsellor: Person) -> None:
    counsellor.say(ACTIVE)
    answer(counsellor, 2, "role", conversation="another")
    assert RiskEvent.objects.get().role_answer == ""
    answer(counsellor, 2, "role", conversation=counsellor.conversation().code)
    assert RiskEvent.objects.get().role_answer == "role"


def test_grave_words_without_an_answer_are_asked_about_after_the_conversation(counsellor: Person) -> None:
    counsellor.say(ACTIVE)
    page = finish(counsellor)
    assert (QUESTION in page, ACTIVE in page) == (True, True)
    sign = {"event": str(RiskEvent.objects.get().pk)}
    counsellor.client.post("/study/whose/", {**sign, "answer": "role"})
    assert QUESTION not in counsellor.client.get("/study/", follow=True).content.decode()
    assert (RiskEvent.objects.get().role_answer, mail.outbox) == ("role", [])


def test_own_words_told_after_the_conversation_alarm_and_lead_to_help(counsellor: Person) -> None:
    counsellor.say(ACTIVE)
    finish(counsellor)
    counsellor.client.post("/study/whose/", {"event": str(RiskEvent.objects.get().pk), "answer": "me"})
    assert (counsellor.step.kind, len(mail.outbox)) == ("held", 1)


def test_no_one_answers_for_another(counsellor: Person) -> None:
    counsellor.say(ACTIVE)
    other = Person(track="counsellor")
    other.client.post("/study/whose/", {"event": str(RiskEvent.objects.get().pk), "answer": "role"})
    assert RiskEvent.objects.get().role_answer == ""


def test_words_that_a_person_on_call_has_released_are_not_asked_about(counsellor: Person) -> None:
    counsellor.say(ACTIVE)
    oncall.release(RiskEvent.objects.get(), by=None)
    assert QUESTION not in finish(counsellor)
