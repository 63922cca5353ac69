"""Rating pages show the conversation that they ask about, closed at first."""

import re
from html import unescape

import pytest

from dialogue.models import Conversation, Turn
from dialogue.safety.resources import standard_text
from tests import factories
from tests.people import Person

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("study")]

HEADING = "Read the conversation again"
SAID = "My sister has not called since May"
ANSWERED = "What happened in May?"


def read(person):
    return unescape(person.page().content.decode())


@pytest.mark.parametrize("track", ["participant", "counsellor"])
def test_final_rating_shows_the_conversation_closed_and_without_its_arm(track):
    person = Person(track=track)
    person.go_to("rating", run=1)
    page = read(person)
    assert page.count(HEADING) == 1
    assert page.count(SAID) == page.count(ANSWERED) == 10
    assert "<details open" not in page
    arms = [word for arm in factories.demo_spec().arms for word in (arm.key, *arm.title.values())]
    assert [word for word in arms if word in page] == []


def test_check_after_the_conversation_shows_it_too_and_the_pages_before_do_not():
    person = Person()
    person.go_to("questionnaire", run=1)
    assert (person.step.phase, HEADING in read(person)) == ("pre", False)
    person.go_to("rating", run=1)
    person.send(person.answers())
    assert (person.step.phase, HEADING in read(person)) == ("post", True)


def test_second_conversation_shows_its_own_words_alone():
    person = Person()
    person.go_to("rating", run=1)
    Turn.objects.update(text="Words of the first", reply="A reply of the first")
    person.go_to("rating", run=2)
    page = read(person)
    assert "Words of the first" not in page
    assert page.count(SAID) == 10


def test_page_without_a_conversation_has_no_panel_and_asks_for_no_turns(django_assert_num_queries):
    person = Person(track="participant")
    person.go_to("consent")
    person.send(person.answers())
    person.go_to("questionnaire")
    assert HEADING not in read(person)
    with django_assert_num_queries(9):
        person.client.get("/study/")


def test_withheld_reply_is_shown_as_the_chat_showed_it():
    person = Person()
    person.go_to("rating", run=1)
    turn = Turn.objects.order_by("number").last()
    turn.reply, turn.reply_original, turn.masked = standard_text("en"), "Words that were withheld", True
    turn.save()
    page = read(person)
    assert "Words that were withheld" not in page
    assert standard_text("en") in page


def test_each_message_is_in_the_language_that_it_was_written_in():
    person = Person()
    person.go_to("rating", run=1)
    Conversation.objects.update(earlier_languages=["zh"], switched_after=[3])
    spoken = re.findall(r'class="bubble__text" lang="([^"]+)"', read(person))
    assert spoken == ["zh-Hans"] * 6 + ["en"] * 14


def test_messages_are_escaped():
    person = Person()
    person.go_to("rating", run=1)
    Turn.objects.filter(number=1).update(text="<script>alert(1)</script>", reply="<b>bold</b>")
    page = person.page().content.decode()
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "&lt;b&gt;bold&lt;/b&gt;" in page
