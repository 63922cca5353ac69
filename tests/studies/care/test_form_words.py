"""Words of danger in a form: help at once, an alarm, and at level 4 a kind end, as in a conversation."""

import pytest

from dialogue.models import RiskEvent
from studies.care.desk import get_sign
from studies.care.form_words import find_grave_words, find_words, screen_words
from studies.instruments.forms import AnswerValue
from studies.instruments.loading import load
from studies.models import Alarm
from tests import factories
from tests.answers import ELIGIBLE, MOOD, middle
from tests.people import Person

pytestmark = pytest.mark.django_db

CALM, GRAVE, GRAVER = "It was fine, thank you.", "I want to kill myself", "I will kill myself tonight with my pills"


@pytest.fixture
def study():
    return factories.study("cared")


def write(person: Person, words: str) -> str:
    """Write the words into the present form, and return the address of the page that follows."""
    forms = {
        "screening": {**ELIGIBLE, "issue_text": f"{ELIGIBLE['issue_text']} {words}"},
        "questionnaire": {**MOOD, "primary_emotion": "other", "primary_emotion_other": words},
    }
    return person.send(forms[person.step.kind])["Location"]


def checkpoint(person: Person, words: str) -> str:
    """Talk up to the first rating, and write the words into its remark."""
    person.go_to("chat", run=1)
    person.page()
    room = person.conversation()
    while room.status != "paused":
        person.say()
        room.refresh_from_db()
    given = {**middle("turn_checkpoint"), "inner_thought": words, "checkpoint": str(room.answered_turns())}
    return person.send(given)["Location"]


@pytest.mark.parametrize(("words", "events", "page"), [(CALM, [], "/study/"), (GRAVE, [3], "/study/care/")])
def test_a_remark_in_a_rating_is_screened_and_the_study_goes_on(study, words, events, page):
    person = Person("cared")
    assert checkpoint(person, words) == page
    assert list(RiskEvent.objects.values_list("level", flat=True)) == events
    assert (Alarm.objects.count() > 0, find_grave_words(person.row)) == (bool(events), [words] if events else [])
    assert (person.step.kind, person.conversation().status) == ("chat", "open")


def test_the_page_that_follows_has_lines_a_question_and_the_way_on(study):
    person = Person("cared")
    checkpoint(person, GRAVE)
    page = person.client.get("/study/care/").content.decode()
    told = ('href="tel:988"', "Are you safe right now?", "What you wrote made us worry", "Continue the study")
    assert [word in page for word in told] == [True] * 4
    assert "You told us that you do not feel safe" not in page
    person.client.post("/study/safe/", {"event": RiskEvent.objects.get().pk, "answer": "no"})
    assert Alarm.objects.values("round").distinct().count() == 2


def test_lines_stay_at_hand_until_the_person_has_answered_also_where_the_page_was_lost(study):
    person = Person("cared")
    person.go_to("questionnaire", run=1)
    write(person, GRAVE)  # and the answer of the server never arrives
    assert "data-needs-help" in person.page().content.decode()
    rest = person.client.get("/pause/").content.decode()
    assert ("The study waits for you" in rest, "The study has ended for you" in rest) == (True, False)
    person.client.post("/study/safe/", {"event": RiskEvent.objects.get().pk, "answer": "safe"})
    page = person.page().content.decode()
    assert ("data-needs-help" in page, 'class="note at-hand"' in page) == (False, False)
    assert "The study waits for you" not in person.client.get("/pause/").content.decode()


def test_a_plan_in_a_rating_ends_the_part_kindly(study):
    person = Person("cared")
    checkpoint(person, GRAVER)
    assert (person.step.kind, RiskEvent.objects.get().level) == ("stopped", 4)
    assert person.row.runs.get(position=1).conversation.status == "closed"
    assert "What you wrote made us worry for your safety." in person.page().content.decode()


def test_the_screening_and_the_feelings_check_are_screened(study):
    person = Person("cared")
    person.go_to("screening")
    assert write(person, GRAVE) == "/study/care/"
    person.go_to("questionnaire", run=1)
    assert write(person, GRAVE) == "/study/care/"
    assert [one.entries[0] for one in RiskEvent.objects.order_by("pk")] == ["written", "written"]


def test_not_feeling_safe_ends_the_part_also_after_words_that_did_not(study):
    person = Person("cared")
    checkpoint(person, GRAVE)
    person.client.post("/study/unsafe/")
    assert (person.step.kind, RiskEvent.objects.latest("pk").level) == ("stopped", 4)


def test_the_desk_shows_what_was_written_and_where(study):
    person = Person("cared")
    checkpoint(person, GRAVE)
    sign = get_sign(RiskEvent.objects.get())
    assert (sign.words, "in an answer to a form" in map(str, sign.findings())) == ([GRAVE], True)


def test_a_form_sent_twice_is_one_sign(study):
    person = Person("cared")
    checkpoint(person, GRAVE)
    again = {**middle("turn_checkpoint"), "inner_thought": GRAVE, "checkpoint": "5"}
    assert person.send(again)["Location"] == "/study/"
    assert RiskEvent.objects.count() == 1


@pytest.mark.parametrize(
    ("instrument", "item", "found"),
    [("de_roling", "role_words", [GRAVE]), ("interview_guide", "cl2", [GRAVE]), ("interview_guide", "cl1", [])],
)
def test_words_of_counsellors_are_about_others_but_where_they_say_how_they_are(study, instrument, item, found):
    counsellor, participant = (Person("cared", track=track).row for track in ("counsellor", "participant"))
    given = [AnswerValue(item, text=GRAVE)]
    assert find_words(counsellor, load(instrument), given) == found
    assert find_words(participant, load(instrument), given) == [GRAVE]


def test_counsellor_who_is_in_danger_after_a_role_is_met(study):
    counsellor = Person("cared", track="counsellor")
    assert screen_words(counsellor.row, [GRAVE])
    assert RiskEvent.objects.get().subject == counsellor.row.code
