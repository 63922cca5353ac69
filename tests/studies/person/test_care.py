"""How a person in danger is met: the line first, a question with three buttons, and what each of them does."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from dialogue.chat import history, lifecycle
from dialogue.models import Conversation, RiskEvent, Turn
from studies.bots.page_reader import read_page
from studies.care import oncall
from studies.care.acts import record_act
from studies.care.alarms import CONSOLE
from studies.design.safety_rules import RULES, SafetyRules
from studies.models import Alarm, Participation, Question, SafetyAct
from studies.participation import board_acts, counts
from tests import factories
from tests.answers import AFTER, MOOD
from tests.people import Person

pytestmark = pytest.mark.django_db

GRAVE, GRAVER = "I want to kill myself", "I am going to kill myself tonight"


def someone(**safety: object) -> Person:
    """A person at their first conversation, in a study with these rules."""
    factories.study("cared", safety=RULES.validate_python(safety))
    person = Person("cared")
    person.go_to("chat", run=1)
    person.page()
    return person


def event() -> RiskEvent:
    return RiskEvent.objects.latest("pk")


def acts() -> list[tuple[str, str]]:
    return list(SafetyAct.objects.filter(by_name="person").order_by("pk").values_list("kind", "text"))


def rounds() -> int:
    return Alarm.objects.values("event", "round").distinct().count()


def answer(person: Person, value: str, **data: object) -> str:
    """Press one of the three buttons, as the page has them."""
    sent = person.client.post("/study/safe/", {"event": event().pk, "answer": value, **data}, follow=True)
    assert sent.status_code == 200
    return sent.content.decode()


def look(person: Person) -> str:
    return person.page().content.decode()


def lines(page: str) -> list[str]:
    """The addresses of the buttons that lead to a person, in their order."""
    return re.findall(r'href="((?:tel:|sms:|https:)[^"]+)"', page)


# The page


@pytest.mark.parametrize(("said", "kind", "first"), [(GRAVE, "held", "tel:988"), (GRAVER, "stopped", "tel:911")])
def test_page_begins_with_care_and_the_line_to_call(said, kind, first):
    person = someone()
    person.say(said)
    assert person.step.kind == kind
    page = look(person)
    assert lines(page)[0] == first
    assert page.index("Thank you for telling us") < page.index(first) < page.index("Are you safe right now?")
    assert re.findall(r'name="answer"\s+value="(\w+)"', page) == ["no", "hard", "safe"]


@pytest.mark.parametrize(
    ("categories", "words"),
    [
        (["violence_from_others"], "No one has the right to hurt you, and it is not your fault."),
        (["danger_to_others"], "Are you and the others safe right now?"),
        (["child"], "Are you and the child safe right now?"),
        (["active_ideation"], "You do not have to carry this alone."),
    ],
)
def test_words_follow_what_the_danger_is_about(categories, words):
    person = someone()
    person.say(GRAVE)
    RiskEvent.objects.update(categories=categories)
    assert words in look(person)


def test_line_for_violence_comes_first_where_the_country_has_one():
    person = someone()
    person.say(GRAVE)
    RiskEvent.objects.update(categories=["violence_from_others"])
    assert lines(look(person))[0] == "tel:1-800-799-7233"


def test_page_says_who_was_told_without_a_name_and_when_somebody_has_seen_it():
    person = someone(oncall=({"name": "Ada Lovelace", "email": "ada@example.org"},))
    person.say(GRAVE)
    Alarm.objects.update(sent_at=timezone.now())
    page = look(person)
    assert ("the person on call" in page, "Ada" in page, "ada@" in page) == (True, False, False)
    assert "Someone from the team has seen this" not in page
    Alarm.objects.update(acknowledged_at=timezone.now(), climb_at=None)
    assert "Someone from the team has seen this" in look(person)


def test_page_says_so_when_nobody_has_answered_in_time():
    person = someone()
    person.say(GRAVE)
    Alarm.objects.update(sent_at=timezone.now(), climb_at=timezone.now())
    assert "We have not had an answer from our team yet" in look(person)


def test_page_does_not_count_mail_that_the_server_only_prints(settings):
    settings.EMAIL_BACKEND = CONSOLE
    person = someone(oncall=({"name": "Ada Lovelace", "email": "ada@example.org"},))
    person.say(GRAVE)
    Alarm.objects.update(sent_at=timezone.now())
    page = look(person)
    assert ("We have not reached anyone" in page, "We have told" in page) == (True, False)


def test_demonstration_says_that_nobody_has_been_told_and_promises_no_one():
    factories.study("demo")
    person = Person()
    person.go_to("chat", run=1)
    person.page()
    person.say(GRAVE)
    Alarm.objects.update(sent_at=timezone.now())
    held, hard, safe = look(person), answer(person, "hard"), answer(person, "safe")
    pause = person.client.get("/study/pause/").content.decode()
    for page in (held, hard, safe):
        assert "This is a demonstration: nobody has been told. Please call one of the lines above." in page
    promises = ("We have told", "is informed", "from the team", "research team reads", "research team decides")
    assert [one for one in (*promises, "the team writes") for page in (held, hard, safe, pause) if one in page] == []
    assert "in the demonstration nobody decides" in held.lower()


def test_letter_of_the_team_stands_on_the_page():
    person = someone()
    person.say(GRAVE)
    record_act(event(), SafetyAct.Kind.WROTE, by_name="ada", text="I will call you at six.")
    page = look(person)
    assert ("I will call you at six." in page, "ada" in page) == (True, False)


def test_letter_stands_open_until_the_person_has_read_it(desk):
    person = someone()
    person.say(GRAVE)
    letter = record_act(event(), SafetyAct.Kind.WROTE, by_name="ada", text="I will call you at six.")
    page = person.client.get("/leave/").content.decode()
    assert '<details class="card letter" open>' in page
    place = f"/research/cared/risks/{event().pk}/"
    assert "has not said yet that they have read it" in desk.get(place).content.decode()

    for _twice in range(2):
        sent = person.client.post("/study/letter/", {"letter": f"message {letter.pk}", "next": "/leave/"})
        assert sent["Location"] == "/leave/"

    assert acts() == [("answered", "read")]
    page = person.client.get("/leave/").content.decode()
    assert "I will call you at six." in page
    assert '<details class="card letter" >' in page
    shown = desk.get(place).content.decode()
    assert "has not said yet that they have read it" not in shown
    assert "Has read the message" in shown


def test_a_person_in_danger_reads_that_their_alarm_outlasts_what_they_delete():
    stays = "The alarm to the person on call stays until someone has taken care of it."
    person = someone()
    assert stays not in person.client.get("/leave/").content.decode()
    person.say(GRAVE)
    assert stays in person.client.get("/leave/").content.decode()
    person.client.post("/leave/", {"choice": "delete"})
    assert stays in look(person)
    RiskEvent.objects.update(released_at=timezone.now())
    assert stays not in look(person)


def test_answer_to_an_earlier_question_does_not_come_between_help_and_the_question_how_they_are():
    person = someone()
    Question.objects.create(
        participation=person.row, text="A break?", answer="Yes, any time.", answered_at=timezone.now()
    )
    person.say(GRAVE)
    record_act(event(), SafetyAct.Kind.WROTE, by_name="ada", text="I will call you at six.")
    page = look(person)
    order = [page.index(words) for words in ("I will call you at six.", "Are you safe right now?", "Yes, any time.")]
    assert order == sorted(order)
    assert page.count("Yes, any time.") == 1


def test_letter_of_someone_else_cannot_be_marked_as_read():
    person, other = someone(), someone()
    person.say(GRAVE)
    letter = record_act(event(), SafetyAct.Kind.WROTE, by_name="ada", text="I will call you at six.")
    for key in (f"message {letter.pk}", f"answer {letter.pk}", "message", "nonsense"):
        assert other.client.post("/study/letter/", {"letter": key}).status_code == 302
    assert SafetyAct.objects.filter(kind="answered").count() == 0


# The answers


def test_not_safe_is_stored_alarms_again_and_says_what_to_do_now():
    person = someone()
    person.say(GRAVE)
    before = rounds()
    page = answer(person, "no")
    assert (event().safe_answer, event().safe_answered_at is not None) == ("no", True)
    assert rounds() == before + 1
    assert acts() == [("answered", "no")]
    assert "Please do not stay alone for the next few minutes." in page
    assert 'name="where"' not in page
    assert person.step.kind == "held"


def test_where_somebody_is_goes_to_the_event_and_into_no_mail(mailoutbox):
    person = someone(ask_where=True)
    person.say(GRAVE)
    assert 'name="where"' in answer(person, "no")
    person.client.post("/study/where/", {"where": "At the old mill"})
    assert acts()[-1] == ("where", "At the old mill")
    assert "At the old mill" in look(person)
    assert not any("old mill" in f"{mail.subject}{mail.body}" for mail in mailoutbox)


def test_where_is_taken_only_where_the_study_offers_it():
    person = someone()
    person.say(GRAVE)
    answer(person, "no")
    person.client.post("/study/where/", {"where": "At the old mill"})
    assert acts() == [("answered", "no")]


def test_hard_shows_rest_and_waits():
    person = someone()
    person.say(GRAVE)
    before = rounds()
    assert "You can rest here" in answer(person, "hard")
    assert (event().safe_answer, person.step.kind, rounds()) == ("hard", "held", before)


def test_safe_waits_for_a_person_where_the_study_says_so():
    person = someone()
    person.say(GRAVE)
    assert "Someone from the team still reads it" in answer(person, "safe")
    assert (person.step.kind, event().released_at) == ("held", None)
    person.client.post("/study/check/", {"event": event().pk, "answer": "yes"})
    assert person.step.kind == "held"


def test_safe_continues_after_a_short_check_where_the_study_says_so():
    person = someone(after_safe="continue")
    person.say(GRAVE)
    assert "will you be safe for the rest of the day?" in answer(person, "safe")
    assert person.step.kind == "held"
    page = person.client.post("/study/check/", {"event": event().pk, "answer": "yes"}, follow=True)
    assert (person.step.kind, Turn.objects.get().state) == ("chat", "waiting")
    assert 'href="tel:988"' in page.content.decode()  # the help is kept in sight
    assert (event().released_at, event().continued_at is not None) == (None, True)


def test_not_sure_at_the_check_counts_as_not_safe():
    person = someone(after_safe="continue")
    person.say(GRAVE)
    answer(person, "safe")
    person.client.post("/study/check/", {"event": event().pk, "answer": "unsure"})
    assert (person.step.kind, event().safe_answer) == ("held", "no")


def test_false_alarm_costs_one_kind_page():
    person = someone()
    person.say(GRAVE)
    RiskEvent.objects.update(suspected=True)
    page = answer(person, "safe")
    assert "data-conversation" in page  # not the list of help
    assert (person.step.kind, Turn.objects.get().state) == ("chat", "waiting")
    assert event().released_at is None  # open, for review
    assert acts() == [("answered", "safe"), ("answered", "continues")]


def test_release_for_review_leaves_a_newer_hold_alone():
    person = someone()
    person.say(GRAVE)
    old = event()
    RiskEvent.objects.update(suspected=True)
    answer(person, "safe")
    Turn.objects.update(state="answered")
    person.say(GRAVE)
    oncall.release(old, by=None)
    assert (person.step.kind, person.conversation().status if person.step.run else "") == ("held", "")
    oncall.release(event(), by=None)
    assert person.step.kind == "chat"


def test_suspected_level_4_ends_all_the_same():
    person = someone(after_safe="continue")
    person.say(GRAVER)
    RiskEvent.objects.update(suspected=True)
    page = answer(person, "safe")
    assert (person.step.kind, event().safe_answer) == ("stopped", "safe")
    assert "will you be safe for the rest of the day?" not in page


def test_answer_of_an_old_page_never_calls_off_a_newer_sign():
    person = someone(after_safe="continue")
    person.say(GRAVE)
    old = event().pk
    RiskEvent.objects.update(suspected=True)
    person.client.post("/study/unsafe/")
    answer(person, "safe", event=old)
    assert event().safe_answer == ""
    answer(person, "no", event=old)
    assert event().safe_answer == "no"


def test_not_safe_is_heard_also_on_a_page_that_is_old():
    person = someone()
    person.say(GRAVE)
    oncall.release(event(), by=None)
    assert person.step.kind == "chat"
    page = answer(person, "no")
    assert (event().level, event().source, person.step.kind) == (4, "answer", "stopped")
    assert 'href="tel:911"' in page


def test_not_safe_after_continuing_shows_the_page_again():
    person = someone()
    person.say(GRAVE)
    RiskEvent.objects.update(suspected=True)
    answer(person, "safe")
    page = answer(person, "no")
    assert (person.step.kind, "Please do not stay alone for the next few minutes." in page) == ("chat", True)


def test_same_button_twice_answers_once_and_another_one_counts():
    person = someone()
    person.say(GRAVE)
    for _ in range(2):
        answer(person, "hard", idempotency="k.hard")
    answer(person, "no", idempotency="k.no")
    assert acts() == [("answered", "hard"), ("answered", "no")]


@pytest.mark.parametrize("data", [{}, {"answer": "maybe"}, {"answer": ""}])
def test_no_answer_changes_nothing(data):
    person = someone()
    person.say(GRAVE)
    assert person.client.post("/study/safe/", data).status_code == 302
    assert (event().safe_answer, acts()) == ("", [])


@pytest.mark.parametrize("path", ["safe", "where", "check", "whose", "unsafe"])
def test_buttons_are_posted(path):
    person = someone()
    assert person.client.get(f"/study/{path}/").status_code == 405


RULE_WORDS = {
    "continue": "If you answer that you are safe, the conversation continues at once.",
    "check": "If you answer that you are safe, we ask one more question, and then the conversation can continue.",
    "wait": "reads your last messages and decides with care whether the conversation continues.",
}


@pytest.mark.parametrize(
    ("after_safe", "suspected", "rule"),
    [
        ("wait", False, "wait"),
        ("wait", True, "continue"),
        ("continue", False, "check"),
        ("continue", True, "continue"),
    ],
)
def test_page_says_beforehand_what_an_answer_leads_to(after_safe, suspected, rule):
    person = someone(after_safe=after_safe)
    person.say(GRAVE)
    RiskEvent.objects.update(suspected=suspected)
    page = look(person)
    assert [name for name, words in RULE_WORDS.items() if words in page] == [rule]
    assert "will you be safe for the rest of the day?" in answer(person, "safe") or rule != "check"
    assert (person.step.kind == "chat") == (rule == "continue")


def test_counsellor_reads_what_their_word_leads_to_at_level_4():
    factories.study("cared", safety=RULES.validate_python({"after_safe": "continue"}))
    person = Person("cared", track="counsellor")
    person.go_to("chat", run=1)
    person.page()
    person.say(GRAVER)
    words = "If you answer twice that the words were only part of the role, the conversation continues."
    assert words in look(person)


@pytest.mark.parametrize(
    ("said", "true", "first"),
    [
        (GRAVE, "The conversation waits, and no AI program answers now.", "tel:988"),
        (GRAVER, "The study has ended for you, so there is nothing left to do in it.", "tel:911"),
    ],
)
def test_rest_begins_with_the_lines_and_says_only_what_is_true(said, true, first):
    person = someone()
    person.say(said)
    record_act(event(), SafetyAct.Kind.WROTE, by_name="ada", text="I will call you at six.")
    page = person.client.get("/pause/").content.decode()
    assert lines(page)[0] == first
    assert page.index(first) < page.index("I will call you at six.") < page.index(true)
    assert "<details" not in page
    assert "still on its way" not in page
    assert 'href="/study/care/"' in page
    assert person.client.get("/study/care/").status_code == 302


def test_rest_of_whom_no_danger_has_met_has_the_lines_below():
    person = someone()
    page = person.client.get("/pause/").content.decode()
    assert page.index("A reply that is still on its way") < page.index('href="tel:988"')
    person.converse()
    assert "A reply that is still on its way" not in person.client.get("/pause/").content.decode()


def test_whose_part_is_over_has_nothing_to_pause():
    person = someone()
    person.client.post("/leave/", {"choice": "keep"})
    assert person.client.get("/pause/").url == "/study/"
    person.client.post("/study/unsafe/")
    assert lines(person.client.get("/pause/").content.decode())[0] == "tel:911"


# "I do not feel safe"


def test_unsafe_stands_on_every_page_of_a_person():
    person = someone()
    for path in ("/study/", "/pause/", "/leave/", "/help/"):
        assert 'action="/study/unsafe/"' in person.client.get(path).content.decode(), path
    person.say(GRAVE)
    assert 'action="/study/unsafe/"' in look(person)


def test_unsafe_ends_the_study_kindly_with_words_that_fit_a_choice():
    person = someone()
    page = person.client.post("/study/unsafe/", follow=True).content.decode()
    assert (event().level, event().source, event().entries) == (4, "answer", ["want_support"])
    assert (person.step.kind, rounds()) == ("stopped", 1)
    assert person.row.runs.get(position=1).conversation.end_reason == "safety"
    assert "You told us that you do not feel safe." in page
    assert "wrote" not in page
    assert lines(page)[0] == "tel:911"


def test_unsafe_said_again_alarms_again_about_the_same_sign():
    person = someone()
    for _ in range(2):
        person.client.post("/study/unsafe/")
    assert (RiskEvent.objects.count(), rounds(), event().safe_answer) == (1, 2, "no")


def test_whose_part_is_over_is_met_too_and_keeps_their_status():
    person = someone()
    person.client.post("/leave/", {"choice": "keep"})
    page = person.client.post("/study/unsafe/", follow=True).content.decode()
    assert "Are you safe right now?" in page
    assert 'href="tel:911"' in page
    assert (person.step.kind, rounds()) == ("withdrawn", 1)
    oncall.release(event(), by=None)
    assert person.client.get("/study/care/").url == "/help/"


def test_nobody_known_is_led_to_the_help():
    assert Client().post("/study/unsafe/").url == "/help/"
    assert RiskEvent.objects.count() == 0


def test_rehearsal_alarms_nobody_and_says_so():
    person = someone()
    Participation.objects.update(is_test=True)
    person.client.post("/study/unsafe/")
    assert (event().is_test, rounds()) == (True, 0)
    assert "This is a rehearsal" in look(person)


@pytest.mark.parametrize("is_test", [False, True])
def test_pages_of_a_rehearsal_promise_nobody(is_test):
    person = someone()
    Participation.objects.update(is_test=is_test)
    person.say(GRAVE)
    held, hard = look(person), answer(person, "hard")
    Participation.objects.update(status="completed")
    person.client.post("/study/unsafe/")
    over = person.client.get("/study/care/").content.decode()

    promises = ("is informed", "Someone from the team reads your answer")
    found = [[promise for promise in promises if promise in page] for page in (held, hard, over)]
    assert found == ([[], [], []] if is_test else [["is informed"], list(promises), ["is informed"]])
    assert ["This is a rehearsal" in page for page in (held, hard, over)] == [is_test] * 3


# The card at level 2


def test_card_of_the_chat_holds_the_whole_list():
    person = someone()
    page = look(person)
    card = page[page.index('data-part="help"') :].partition("</section>")[0]
    assert 'href="tel:988"' in card
    assert 'href="tel:911"' in card
    assert 'action="/study/unsafe/"' in card


# The lines after a sign, on the page that comes next


def say_until_rating(person: Person, *words: str) -> str:
    """Say these words in the last turns before a checkpoint; return the page of the rating."""
    while (here := person.conversation()).answered_turns() < here.pause_after[0] - len(words):
        person.say()
    for said in words:
        person.say(said)
    return look(person)


@pytest.mark.parametrize(
    ("words", "shown"),
    [(["I just want to disappear"], True), (["I just want to disappear", "It has passed"], False), (["Hello"], False)],
)
def test_checkpoint_keeps_the_lines_that_its_last_turn_called_for(words, shown):
    page = say_until_rating(someone(), *words)
    assert 'name="checkpoint"' in page
    assert ('href="tel:988"' in page) == shown


def test_checkpoint_keeps_the_lines_where_the_reply_was_withheld():
    person = someone()
    say_until_rating(person, "Hello")
    RiskEvent.objects.create(conversation=person.conversation(), turn=Turn.objects.count(), source="reply", level=2)
    assert 'href="tel:988"' in look(person)


def test_open_conversation_tells_its_page_that_a_reply_was_withheld():
    person = someone()
    person.say()
    assert "data-needs-help" not in look(person)
    RiskEvent.objects.create(conversation=person.conversation(), turn=1, source="reply", level=2)
    assert "data-needs-help" in look(person)
    assert "at-hand" not in look(person)


def test_first_page_after_a_conversation_keeps_the_lines_and_the_next_one_not():
    person = someone()
    person.say("I just want to disappear")
    lifecycle.end(person.conversation().pk, early=True)
    assert 'href="tel:988"' in look(person)
    assert person.step.kind != "chat"
    person.send(person.answers())
    assert 'href="tel:988"' not in look(person)


@pytest.mark.parametrize(("said", "shown"), [("", True), ("no", True), ("safe", False)])
def test_who_leaves_from_the_page_for_danger_keeps_the_lines_in_sight(said, shown):
    person = someone()
    person.say(GRAVE)
    if said:
        answer(person, said)
    leaving = person.client.get("/leave/").content.decode()
    person.client.post("/leave/", {"choice": "keep"})
    left = look(person)
    assert "You have left the study" in left
    assert [lines(page)[:1] == ["tel:988"] and "at-hand" in page for page in (leaving, left)] == [shown, shown]
    RiskEvent.objects.update(released_at=timezone.now())
    assert "at-hand" not in look(person)


# "Yes, show me"


@pytest.mark.parametrize("phase", ["pre", "post"])
def test_who_asks_where_to_talk_to_a_person_sees_the_lines_at_once(phase):
    factories.study("cared")
    person = Person("cared")
    while person.step.instrument != "emotion_checkin" or person.step.phase != phase:
        person.converse() if person.step.kind == "chat" else person.send(person.answers())
    asked, chosen = person.step, {**person.answers(), "want_support": "yes"}
    for _ in range(2):  # a double click
        person.send(chosen, step=asked)
    page = look(person)
    assert person.step.key == f"{asked.key}.help_lines"
    assert lines(page)[0] == "tel:988"
    assert page.index('href="tel:911"') < page.index("Continue with the study")
    person.send({})
    assert person.step.kind != "help_lines"
    assert 'href="tel:988"' not in look(person) or person.step.kind == "chat"


# Much worse after than before


def after_chat(person: Person, valence: str, **data: str):
    while person.step.instrument != "emotion_checkin" or person.step.phase != "post":
        assert person.send(person.answers()).status_code == 302
    return person.send({**AFTER, "valence": valence, **data})


def talked(**safety: object) -> Person:
    person = someone(**safety)
    person.converse()
    return person


def test_much_worse_is_met_with_care_an_event_and_an_offer():
    person = talked(worse_by=2)
    after_chat(person, str(int(MOOD["valence"]) - 2))
    assert person.step.key == "run1.aftercare"
    assert (event().level, event().source, event().entries, event().conversation) == (
        2, "answer", ["worsening"], person.row.runs.get(position=1).conversation,
    )  # fmt: skip
    page = look(person)
    assert "Thank you for telling us how you feel" in page
    assert 'href="tel:988"' in page
    assert rounds() == 0
    person.send({})
    assert (person.step.key, rounds(), acts()) == ("run1.between", 0, [])


def test_who_would_like_to_be_written_to_is_told_about_and_reads_the_letter():
    person = talked(worse_by=2)
    after_chat(person, "1")
    person.send({"follow_up": "yes"})
    assert (person.step.key, rounds(), acts()) == ("run1.between", 1, [("answered", "follow_up")])
    assert event() in counts.open_risks(person.row.study)
    record_act(event(), SafetyAct.Kind.WROTE, by_name="ada", text="Shall we talk tomorrow?")
    assert "Shall we talk tomorrow?" in look(person)


@pytest.mark.parametrize(("rule", "valence"), [(3, "1"), (None, "1"), (2, "2")])
def test_who_is_not_much_worse_goes_on_as_usual(rule, valence):
    person = talked(worse_by=rule)
    after_chat(person, valence)
    assert (person.step.key, RiskEvent.objects.count()) == ("run1.between", 0)


def test_worse_and_not_safe_is_both():
    person = talked(worse_by=2)
    after_chat(person, "1", want_support="unsafe")
    assert person.step.kind == "stopped"
    assert sorted(RiskEvent.objects.values_list("entries", flat=True)) == [["want_support"], ["worsening"]]


def test_form_sent_twice_is_much_worse_once():
    person = talked(worse_by=2)
    after_chat(person, "1")
    step = next(each for each in person.row.steps() if each.key == "run1.questionnaire.emotion_checkin.post")
    person.send({**AFTER, "valence": "1"}, step=step)
    assert RiskEvent.objects.count() == 1
    assert [each.key for each in Participation.objects.get(pk=person.row.pk).steps()].count("run1.aftercare") == 1


def test_study_with_care_in_it_can_be_completed():
    person = talked(worse_by=2)
    after_chat(person, "1")
    person.send({})
    person.go_to("debrief")
    person.page()
    person.row.refresh_from_db()
    assert person.row.status == "completed"


# Role-play


@pytest.fixture
def counsellor() -> Person:
    factories.study("cared")
    person = Person("cared", track="counsellor")
    person.go_to("chat", run=1)
    person.page()
    person.say(GRAVER)
    return person


def press(person: Person, value: str) -> str:
    """Press a button of the question whose words they were, with what the page's form sends."""
    [form, *_] = [form for form in read_page(page_of(person)).forms if form.action == "/study/whose/"]
    sent = person.client.post("/study/whose/", {**form.hidden_values(), "answer": value})
    assert sent["Location"] == "/study/"
    return page_of(person)


def page_of(person: Person) -> str:
    return person.page().content.decode()


def test_level_4_in_a_role_waits_and_asks_twice_whose_words_they_were(counsellor):
    assert counsellor.step.kind == "held"
    assert "Were these words part of the role, or your own?" in counsellor.page().content.decode()
    assert "was it only the role?" in press(counsellor, "role")
    assert event().role_answer == ""
    page = press(counsellor, "role")
    assert (event().role_answer, counsellor.step.kind) == ("role", "held")
    assert 'action="/study/whose/"' not in page


def test_level_4_in_a_role_continues_where_the_study_says_so(counsellor):
    rules = SafetyRules(after_safe="continue")
    factories.study("cared", safety=rules)
    Participation.objects.update(protocol=counsellor.row.study.current())
    for _ in range(2):
        press(counsellor, "role")
    assert (counsellor.step.kind, Turn.objects.get().state) == ("chat", "waiting")


def test_the_question_whose_words_they_were_shows_them_and_is_asked_alone(counsellor):
    page = page_of(counsellor)
    assert page.count(GRAVER) == 1
    assert "Are you safe right now?" not in page


def test_who_left_it_open_is_asked_before_they_continue():
    factories.study("cared")
    person = Person("cared", track="counsellor")
    person.go_to("chat", run=1)
    person.page()
    person.say(GRAVE)
    lifecycle.end(person.conversation().pk, early=True)
    asked = page_of(person)
    assert ("One question before you continue" in asked, asked.count(GRAVE)) == (True, 1)
    press(person, "role")
    assert event().role_answer == "role"
    assert "One question before you continue" not in page_of(person)


def test_it_is_me_is_taken_at_once_and_alarms_again(counsellor):
    before = rounds()
    press(counsellor, "me")
    assert (event().role_answer, counsellor.step.kind, rounds()) == ("me", "held", before + 1)


def test_bar_of_the_chat_asks_once_more_on_the_page_that_waits(counsellor):
    answer = counsellor.client.post("/study/role/", {"turn": "1", "answer": "role"}).json()
    assert (answer, event().role_answer) == ({"next": "/study/"}, "")
    assert "was it only the role?" in counsellor.page().content.decode()


def test_own_words_count_where_the_reply_to_them_was_withheld():
    factories.study("cared")
    person = Person("cared", track="counsellor")
    person.go_to("chat", run=1)
    person.page()
    person.say(GRAVE)
    talk = person.conversation()
    RiskEvent.objects.create(conversation=talk, subject=person.row.code, turn=1, source="reply", level=2)
    sent = {"turn": "1", "conversation": talk.code, "answer": "me"}
    assert person.client.post("/study/role/", sent).json() == {"next": "/study/"}
    assert RiskEvent.objects.get(source="message").role_answer == "me"
    assert person.step.kind == "held"


def test_role_can_be_skipped_before_a_reply_without_rating_it():
    factories.study("cared")
    person = Person("cared", track="counsellor")
    person.go_to("chat", run=1)
    person.page()
    assert "Skip this role" in person.client.get("/study/step-out/").content.decode()
    person.client.post("/study/step-out/", {"act": "skip"})
    person.page()
    assert person.step.instrument == "de_roling"
    person.go_to("chat", run=2)
    person.page()
    person.say()
    assert "Skip this role" not in person.client.get("/study/step-out/").content.decode()
    person.client.post("/study/step-out/", {"act": "skip"})
    person.page()
    assert person.step.kind == "rating"


def test_role_of_someone_whom_the_team_has_paused_is_not_skipped():
    factories.study("cared")
    person = Person("cared", track="counsellor")
    person.go_to("chat", run=1)
    person.page()
    board_acts.pause_person(person.row, by=User.objects.create(username="ada"), reason="a break")
    plan = Participation.objects.get(pk=person.row.pk).plan
    person.client.post("/study/step-out/", {"act": "skip"})
    assert Participation.objects.get(pk=person.row.pk).plan == plan
    assert Conversation.objects.get().status == "open"


def test_conversation_of_another_person_is_untouched():
    """`record_unsafe` ends what this person has open, and no one else's."""
    person, other = someone(), Person("cared")
    other.go_to("chat", run=1)
    other.page()
    person.client.post("/study/unsafe/")
    assert history.get_missed_frames(other.conversation().pk, 0).frames == []
    assert other.conversation().status == "open"
