"""Who reads the items as the seeker, and who reads of the seeker."""

from dataclasses import replace
from html import unescape

import pytest

from studies.instruments.loading import load
from studies.models import Response
from studies.participation.responses import rater_for
from studies.second_raters.reviews import PlanOptions, Source, make_plan
from tests import factories
from tests.people import Person

pytestmark = pytest.mark.django_db

SCALE, CHECKPOINT = "emoharbor_10", "turn_checkpoint"
AGREED = {item.key: "on" for item in load("reviewer_agreement").items}
REPLY = {
    "participant": "How helpful was this reply to you?",
    "counsellor": "How helpful was this reply to the seeker?",
}


def study():
    chat = replace(factories.demo_spec().chat, rate_each_reply=True)
    return factories.study(chat=chat)


def read(person):
    return unescape(person.page().content.decode())


def is_on(html, instrument, language):
    """Whether the page has the texts of the first person, and those of the third; None where it has some of them.

    What the two wordings share is left out.
    """
    first, third = (
        {
            text[language]
            for item in one.rated_items()
            for text in (item.text, item.definition or item.text, *(option.text for option in item.options))
        }
        for one in (load(instrument), load(instrument).in_third_person)
    )
    shown = ({text in html for text in texts} for texts in (first - third, third - first))
    return tuple(found.pop() if len(found) == 1 else None for found in shown)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("track", ["participant", "counsellor"])
def test_participants_rate_as_themselves_and_counsellors_the_seeker_they_played(track, language):
    study()
    person = Person(track=track, language=language)
    person.go_to("rating", run=1)
    assert is_on(read(person), SCALE, language) == (track == "participant", track == "counsellor")


@pytest.mark.parametrize("track", REPLY)
def test_single_replies_are_worded_for_the_same_reader(track):
    study()
    person = Person(track=track)
    person.go_to("chat", run=1)
    html = read(person)
    assert {who: text in html for who, text in REPLY.items()} == {who: who == track for who in REPLY}


def test_checkpoints_which_participants_alone_have_are_in_the_first_person():
    study()
    person = Person()
    person.go_to("chat", run=1)
    person.page()
    while person.conversation().status != "paused":
        person.say()
    assert is_on(read(person), CHECKPOINT, "en") == (True, False)


@pytest.mark.parametrize("calibration", [True, False])
def test_second_raters_read_of_the_seeker_also_in_examples(calibration):
    here = study()
    factories.run_with_turns(here)
    make_plan(here, PlanOptions(name="first", instruments=(SCALE,), source=Source(), calibration=calibration))
    reviewer = Person(track="reviewer")
    reviewer.go_to("questionnaire")
    reviewer.send(AGREED)
    html = read(reviewer)
    assert is_on(html, SCALE, "en") == (False, True)
    assert ("First, an example" in html) is calibration


def test_scores_of_both_wordings_are_kept_under_the_same_keys():
    study()
    people = [Person(track=track) for track in ("participant", "counsellor")]
    for person in people:
        person.go_to("rating", run=1)
        assert person.send(person.answers()).status_code == 302
    kept = [Response.objects.get(rater=rater_for(person.row), instrument=SCALE) for person in people]
    items = [[answer.item for answer in one.answers.order_by("pk")] for one in kept]
    assert items[0] == items[1]
    assert [(one.version, one.role, one.prompt) for one in kept] == [("1.1.2", "", "")] * 2
