"""The safety desk: what waits stands first, and each act is kept with who did it."""

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dialogue.models import RiskEvent
from dialogue.models.conversation import Status as ConversationStatus
from studies.care import desk as rules
from studies.care.acts import record_act
from studies.models import Participation, Study
from tests import factories

pytestmark = pytest.mark.django_db

BASE = "/research/demo/risks/"


def sign(study: Study, level: int = 3, **fields) -> RiskEvent:
    return RiskEvent.objects.create(subject=factories.person(study).code, source="answer", level=level, **fields)


def sign_in_talk(study: Study, status: str = "held", **fields) -> RiskEvent:
    """A held message, the second of its conversation."""
    run = factories.run_with_turns(study, factories.person(study, status=status), status=ConversationStatus.HELD)
    run.conversation.turns.filter(number=2).update(state="held", risk_level=3, text="I cannot go on", reply="")
    values = {"source": "message", "level": 3, "turn": 2, "subject": run.participation.code, **fields}
    return RiskEvent.objects.create(conversation=run.conversation, **values)


def acts(event: RiskEvent) -> list[tuple[str, str, str]]:
    return [(act.kind, act.by_name, act.text) for act in event.acts.all()]


def person_of(event: RiskEvent) -> Participation:
    return Participation.objects.get(code=event.subject)


def test_unacknowledged_stand_first_the_oldest_first_and_all_others_below(desk, study):
    seen, first, second = sign(study), sign(study), sign(study, level=4)
    low, done = sign(study, level=2), sign(study, released_at=timezone.now())
    sign(factories.study("another"))
    rules.acknowledge(seen, by=User.objects.get(username="ada"))

    shown = desk.get(BASE).context

    assert [event.pk for event in shown["open_events"]] == [first.pk, second.pk, seen.pk]
    assert [event.pk for event in shown["risks"]] == [done.pk, low.pk]
    assert shown["state"][:2] == (3, 2)


def test_desk_without_any_sign_says_so(desk, study):
    assert "No one is waiting" in desk.get(BASE).content.decode()


def test_number_of_queries_does_not_grow_with_the_rows(desk, study):
    def queries() -> int:
        with CaptureQueriesContext(connection) as counted:
            desk.get(BASE)
        return len(counted)

    sign(study)
    sign(study, level=2)
    desk.get(BASE)
    few = queries()
    for level in (2, 3, 4):
        sign(study, level=level)
    assert queries() == few


def test_event_shows_the_words_around_it_and_what_the_person_answered(desk, study):
    event = sign_in_talk(study, safe_answer="hard", safe_answered_at=timezone.now(), entries=["wish_direct"])

    page = desk.get(f"{BASE}{event.pk}/").content.decode()

    for words in ("I feel low.", "I cannot go on", "Yes, but it is hard", "wish_direct", person_of(event).code):
        assert words in page


def test_event_whose_person_is_erased_can_still_be_looked_at(desk, study):
    event = sign_in_talk(study)
    RiskEvent.objects.filter(pk=event.pk).update(subject="")
    assert desk.get(f"{BASE}{event.pk}/").status_code == 200


def test_acknowledging_is_kept(desk, study):
    event = sign(study)
    sent = desk.post(f"{BASE}{event.pk}/acknowledge/")
    assert (sent.status_code, sent["Location"]) == (302, f"{BASE}{event.pk}/")
    assert acts(event) == [("acknowledged", "ada", "")]
    assert "No one has taken this on yet" not in desk.get(f"{BASE}{event.pk}/").content.decode()


def test_answers_and_reviews_are_told_in_words(desk, study):
    event = sign(study)
    for kind, text in (("answered", "follow_up"), ("reviewed", "false alarm"), ("noted", "role")):
        record_act(event, kind, by_name="person", text=text)

    page = desk.get(f"{BASE}{event.pk}/").content.decode()

    assert "Would like someone to write" in page
    assert "False alarm" in page
    assert ">role<" in page  # a colleague's own word stays as it is


def test_message_reaches_the_person_without_a_name(desk, study):
    event = sign(study)
    desk.post(f"{BASE}{event.pk}/write/", {"text": "We will call you at six."})

    assert acts(event) == [("wrote", "ada", "We will call you at six.")]
    [message] = rules.get_messages(person_of(event))
    assert message.text == "We will call you at six."
    assert rules.get_messages(factories.person(study)) == []


def test_note_is_for_colleagues_alone(desk, study):
    event = sign(study)
    desk.post(f"{BASE}{event.pk}/note/", {"text": "Called twice."})
    assert acts(event) == [("noted", "ada", "Called twice.")]
    assert rules.get_messages(person_of(event)) == []


def test_release_lets_the_person_continue_once_and_keeps_who_and_why(desk, study):
    event = sign_in_talk(study)
    for text in ("Called; safe at home.", "Something else."):
        desk.post(f"{BASE}{event.pk}/release/", {"text": text})

    event.refresh_from_db()
    assert (event.released_by.username, event.note) == ("ada", "Called; safe at home.")
    assert person_of(event).status == "active"
    assert event.conversation.turns.get(number=2).state == "waiting"
    assert acts(event) == [("released", "ada", "Called; safe at home.")]


def test_kind_end_stops_the_study_and_settles_the_event(desk, study):
    event = sign_in_talk(study)

    desk.post(f"{BASE}{event.pk}/end/", {"text": "In hospital."})
    desk.post(f"{BASE}{event.pk}/end/", {"text": "Again."})

    event.refresh_from_db()
    assert person_of(event).status == "stopped"
    assert (event.conversation.status, event.conversation.end_reason) == ("closed", "safety")
    assert event.released_at is not None
    assert acts(event) == [("ended", "ada", "In hospital.")]


@pytest.mark.parametrize("act", ["write", "note", "release", "end"])
@pytest.mark.parametrize("text", ["", "   ", "x" * 4001])
def test_act_without_words_or_with_too_many_changes_nothing(desk, study, act, text):
    event = sign_in_talk(study)

    sent = desk.post(f"{BASE}{event.pk}/{act}/", {"text": text}, follow=True)

    assert [str(message.level_tag) for message in sent.context["messages"]] == ["error"]
    event.refresh_from_db()
    assert (acts(event), event.released_at, person_of(event).status) == ([], None, "held")


@pytest.mark.parametrize("act", ["", "acknowledge/", "write/", "note/", "release/", "end/"])
def test_event_of_another_study_is_not_found(desk, study, act):
    event = sign(factories.study("another"))
    sent = desk.post(f"{BASE}{event.pk}/{act}", {"text": "x"}) if act else desk.get(f"{BASE}{event.pk}/")
    assert sent.status_code == 404
    assert acts(event) == []


@pytest.mark.parametrize("act", ["acknowledge", "write", "note", "release", "end"])
def test_act_is_a_form_and_no_link(desk, study, act):
    event = sign(study)
    assert desk.get(f"{BASE}{event.pk}/{act}/").status_code == 405
