"""The safety desk: what waits stands first, and each act is kept with who did it."""

from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dialogue.chat import lifecycle
from dialogue.models import RiskEvent
from dialogue.models.conversation import EndReason
from dialogue.models.conversation import Status as ConversationStatus
from dialogue.safety.categories import PAGE_CATEGORIES
from dialogue.safety.patterns import LANGUAGES, load_patterns
from dialogue.safety.second_line import HARMS
from studies.care import desk as rules
from studies.care.acts import record_act
from studies.care.answers import answer_safe, let_continue, pass_check
from studies.care.sign_words import CATEGORIES
from studies.data.erasure import erase
from studies.design.safety_rules import SafetyRules
from studies.models import Alarm, Participation, Receipt, Study
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

    assert [event.pk for event, *_words in shown["waiting"]] == [first.pk, second.pk, seen.pk]
    assert [event.pk for event, _found in shown["risks"]] == [done.pk, low.pk]
    assert shown["state"][:2] == (3, 2)


def test_what_was_the_roles_stands_below_what_may_be_someones_own(desk, study):
    played, own, seen = sign_in_talk(study, role_answer="role"), sign_in_talk(study, role_answer="me"), sign(study)
    rules.acknowledge(seen, by=User.objects.get(username="ada"))

    shown = desk.get(BASE).context["waiting"]

    assert [event.pk for event, *_words in shown] == [own.pk, seen.pk, played.pk]


def test_real_people_stand_before_test_data_and_are_counted_alone(desk, study):
    rehearsed, grave, real = sign(study, level=4, is_test=True), sign(study), sign(study, level=4)
    rules.acknowledge(grave, by=User.objects.get(username="ada"))

    shown = desk.get(BASE)

    assert [event.pk for event, *_words in shown.context["waiting"]] == [real.pk, grave.pk, rehearsed.pk]
    assert shown.context["state"][:2] == (2, 1)
    pages = [page for group in shown.context["navigation"] for page in group["pages"]]
    assert [page["count"] for page in pages if page["url"] == BASE] == [2]


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


def test_event_shows_the_times_of_turns_in_the_zone_of_the_page(desk):
    event = sign_in_talk(factories.study("east", safety=SafetyRules(time_zone="Asia/Shanghai")))
    event.conversation.turns.update(created_at=datetime(2026, 11, 30, 23, 15, tzinfo=UTC))
    page = desk.get(f"/research/east/risks/{event.pk}/").content.decode()
    assert "seeker 07:15:00" in " ".join(page.split())


def test_event_whose_person_is_erased_can_still_be_looked_at(desk, study):
    event = sign_in_talk(study)
    RiskEvent.objects.filter(pk=event.pk).update(subject="")
    assert desk.get(f"{BASE}{event.pk}/").status_code == 200


def test_desk_says_that_a_person_in_danger_has_deleted_their_data(desk, study):
    event = sign_in_talk(study)
    erase(person_of(event), kind=Receipt.Kind.DELETED)

    assert [waiting.pk for waiting, *_words in desk.get(BASE).context["waiting"]] == [event.pk]
    page = desk.get(f"{BASE}{event.pk}/").content.decode()
    assert "Has left, and had all their data deleted" in page
    assert "messages no longer reach them" in page
    assert "the person's page says" not in page
    assert "I cannot go on" not in page
    assert f"{BASE}{event.pk}/write/" not in page

    desk.post(f"{BASE}{event.pk}/release/", {"text": "The police know."})
    assert not desk.get(BASE).context["waiting"]


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


def test_what_a_counsellor_said_of_their_words_is_told_on_both_pages(desk, study):
    own, played, unasked = sign_in_talk(study, role_answer="me"), sign_in_talk(study, role_answer="role"), sign(study)

    rows = {event: str(role) for event, _found, role in desk.get(BASE).context["waiting"]}

    assert rows == {own: "The words were their own", played: "The words were part of the role", unasked: ""}
    assert "The words were their own" in desk.get(BASE).content.decode()
    assert "The words were their own" in desk.get(f"{BASE}{own.pk}/").content.decode()


def test_an_act_names_who_did_it_unless_its_kind_does(desk, study):
    event = sign(study)
    for kind, name, text in (("alarmed", "Ann", "email"), ("where", "person", "at home")):
        record_act(event, kind, by_name=name, text=text)

    shown = desk.get(f"{BASE}{event.pk}/").context["sign"].acts

    assert [(one.who, str(one.text)) for one in shown] == [("Ann", "E-mail"), ("", "at home")]


def test_chinese_sentences_on_a_release_have_no_space_between_them(desk, study):
    event = sign_in_talk(study)
    desk.cookies["django_language"] = "zh-hans"
    assert "解除后，此人可以继续。被暂停的消息随后会得到回复。" in desk.get(f"{BASE}{event.pk}/").content.decode()


def done(desk, event: RiskEvent) -> list[tuple[str, str]]:
    shown = desk.get(f"{BASE}{event.pk}/").context["sign"].acts
    return [(str(one.kind), str(one.text)) for one in shown]


def test_only_an_answer_that_was_given_is_told_as_one(desk, study):
    suspected, asked = sign_in_talk(study, suspected=True), sign_in_talk(study)
    for event in (suspected, asked):
        answer_safe(person_of(event), event, "safe")
        event.refresh_from_db()
        pass_check(person_of(event), event)

    said = ("Answer of the person", "Yes, I am safe")
    at_once = ("Continued", "At once after “Yes, I am safe”, since the sign was only suspected")
    assert done(desk, suspected) == [said, at_once]
    assert done(desk, asked) == [said]  # the study does not let them
    let_continue(person_of(asked), asked)
    assert done(desk, asked) == [said, ("Answer of the person", "Safe for today, and continues")]


HOLDS = "Releasing lets the person continue."
CONFIRMS = "Releasing confirms that someone has taken care of this."


def test_release_says_what_it_would_do(desk, study):
    held = sign_in_talk(study)
    continued = sign_in_talk(study, status="active", continued_at=timezone.now())
    lifecycle.release(continued.conversation_id)
    stopped, answered = sign_in_talk(study, status="stopped", level=4), sign(study)
    lifecycle.stop(stopped.conversation_id, EndReason.SAFETY)

    told = {}
    for event in (held, continued, stopped, answered):
        shown = desk.get(f"{BASE}{event.pk}/").context["sign"]
        told[event.pk] = (shown.standing(), " ".join(shown.release_words()).removesuffix(" Say what was done."))

    assert told == {
        held.pk: ("On hold", f"{HOLDS} The held message then gets a reply."),
        continued.pk: (
            "Continued by their own answer",
            f"{CONFIRMS} The person has already continued by their own answer.",
        ),
        stopped.pk: (
            "Ended for safety",
            f"{CONFIRMS} The study has ended for this person, and releasing does not change that.",
        ),
        answered.pk: ("Active", f"{CONFIRMS} No one waits for it."),
    }


def test_wish_for_a_letter_can_be_settled(desk, study):
    event = sign(study, level=2)
    Alarm.objects.create(study=study, event=event, contact="Ann", channel="email", address="a@b.org", token_hash="h")
    page = desk.get(f"{BASE}{event.pk}/").content.decode()
    assert f"{BASE}{event.pk}/release/" in page


def test_desk_says_in_words_what_found_a_sign_and_keeps_the_ids_beside(desk, study):
    pressed = sign(study, level=4, entries=["want_support"])
    wrote = sign_in_talk(study, entries=["en_kill_self", "classifier"], categories=["active_ideation", "farewell"])
    old = sign_in_talk(study, entries=["en_kill_self"])

    found = {event.pk: list(map(str, found)) for event, found, _role in desk.get(BASE).context["waiting"]}
    page = desk.get(f"{BASE}{wrote.pk}/").content.decode()

    assert found == {
        pressed.pk: ["the person pressed “I do not feel safe”"],
        wrote.pk: ["the classifier of the screen", "words about suicide", "words of farewell"],
        old.pk: ["words that the screen knows"],
    }
    assert '<span class="small">en_kill_self, classifier</span>' in page


def test_every_category_has_words():
    lexicons = [load_patterns(name, lang) for name in ("patterns", "replies") for lang in LANGUAGES]
    categories = {one.category for lexicon in lexicons for one in (*lexicon.patterns, *lexicon.soft)}
    assert {*categories, *PAGE_CATEGORIES, *HARMS} - set(CATEGORIES) == set()


@pytest.mark.parametrize("is_test", [False, True])
def test_only_a_real_person_is_told_that_someone_takes_care(is_test, desk, study):
    page = desk.get(f"{BASE}{sign(study, is_test=is_test).pk}/").content.decode()
    promise, rehearsal = "page says that someone is taking care of it", "page says that it is a rehearsal"
    assert (promise in page, rehearsal in page) == (not is_test, is_test)


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
    assert person_of(event).status == "applied"  # of someone who has signed no consent form
    assert event.conversation.turns.get(number=2).state == "waiting"
    assert acts(event) == [("released", "ada", "Called; safe at home.")]


def said_on(desk, path: str, **form) -> tuple[int, str]:
    """The status, and all that the page says, in one line."""
    response = desk.post(f"{BASE}{path}", form)
    page = desk.get(response["Location"]) if response.status_code == 302 else response
    return response.status_code, " ".join(page.content.decode().split())


NEWS = "Nothing was changed, because something has happened since you opened this page."


@pytest.mark.parametrize("act", ["release", "end"])
def test_decision_on_a_page_from_before_an_answer_changes_nothing_and_keeps_the_text(desk, study, act):
    event = sign_in_talk(study)
    seen = rules.get_sign(event).seen
    answer_safe(person_of(event), event, "no")

    status, page = said_on(desk, f"{event.pk}/{act}/", text="Called; safe at home.", seen=seen)

    event.refresh_from_db()
    assert (status, event.released_at, person_of(event).status) == (409, None, "held")
    assert NEWS in page
    assert "No, or I am not sure" in page
    assert page.count(">Called; safe at home.</textarea>") == 1

    status, page = said_on(desk, f"{event.pk}/{act}/", text="Called again.", seen=rules.get_sign(event).seen)
    event.refresh_from_db()
    assert (status, event.note) == (302, "Called again.")


@pytest.mark.parametrize("act", ["release", "end"])
def test_second_officer_learns_that_the_first_has_decided_and_keeps_the_words_for_a_note(desk, study, act):
    event = sign_in_talk(study)
    seen = rules.get_sign(event).seen
    rules.end_kindly(event, by=User.objects.create(username="bob"), reason="In hospital.", seen=seen)

    status, page = said_on(desk, f"{event.pk}/{act}/", text="Called; safe at home.", seen=seen)

    event.refresh_from_db()
    assert (status, event.note, event.released_by.username) == (409, "In hospital.", "bob")
    assert NEWS in page
    assert 'id="note" name="text" rows="2" maxlength="4000" required>Called; safe at home.</textarea>' in page


def test_text_of_a_second_release_is_kept_where_the_page_knew_of_the_first(desk, study):
    event = sign_in_talk(study)
    rules.release(event, by=User.objects.create(username="bob"), reason="Called; safe at home.")

    status, page = said_on(desk, f"{event.pk}/release/", text="I called too.", seen=rules.get_sign(event).seen)

    assert status == 409
    assert 'id="note" name="text" rows="2" maxlength="4000" required>I called too.</textarea>' in page


def test_another_sign_of_the_same_person_is_told_and_is_news(desk, study):
    event = sign_in_talk(study)
    seen = rules.get_sign(event).seen
    other = RiskEvent.objects.create(subject=event.subject, source="answer", level=4)

    status, page = said_on(desk, f"{event.pk}/release/", text="Called; safe at home.", seen=seen)

    assert (status, person_of(event).status) == (409, "held")
    assert "This person has another open sign: level 4" in page
    assert f'href="{BASE}{other.pk}/"' in page


def test_alarm_that_went_out_or_a_letter_that_was_read_is_no_news(desk, study):
    event = sign_in_talk(study)
    seen = rules.get_sign(event).seen
    record_act(event, "alarmed", by_name="Ann", text="email")
    record_act(event, "answered", by_name="person", text=rules.READ)
    assert rules.get_sign(event).seen == seen


def test_second_who_acknowledges_is_told_who_was_first(desk, study):
    event = sign(study)
    rules.acknowledge(event, by=User.objects.create(username="bob"))

    _status, page = said_on(desk, f"{event.pk}/acknowledge/")

    assert "bob is taking care of this already. Please agree on who does what." in page
    assert acts(event) == [("acknowledged", "bob", "")]
    _status, page = said_on(desk, f"{sign(study).pk}/acknowledge/")
    assert "Acknowledged. No one else will be alerted." in page


def test_alarm_that_came_after_the_page_is_not_acknowledged_with_it(desk, study):
    event = sign(study)
    values = {"study": study, "event": event, "channel": "email", "address": "a@b.org"}
    Alarm.objects.create(**values, contact="Ann", token_hash="1", round=1)
    page = desk.get(f"{BASE}{event.pk}/").content.decode()
    assert '<input type="hidden" name="newest" value="1">' in page
    later = Alarm.objects.create(**values, contact="Bob", token_hash="2", round=2)

    _status, page = said_on(desk, f"{event.pk}/acknowledge/", newest="1")

    assert "Something new has happened since you opened this page." in page
    assert "No one has taken this on yet" in page
    later.refresh_from_db()
    assert later.acknowledged_at is None
    said_on(desk, f"{event.pk}/acknowledge/", newest="2")
    later.refresh_from_db()
    assert later.acknowledged_at is not None


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
