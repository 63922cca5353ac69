"""What conversations.csv tells of the safety check's holds."""

from datetime import timedelta
from typing import Any

import pytest

from dialogue.chat import lifecycle, messages
from dialogue.models import Conversation, RiskEvent
from dialogue.models.conversation import EndReason, Status
from studies.care import oncall
from studies.data.exports.columns import Filter
from studies.data.exports.tables import CONVERSATIONS, conversations
from studies.models import ArmRun, Participation, Study
from tests import factories

pytestmark = pytest.mark.django_db

OF_HOLDS = ("holds", "holds_lifted", "held_seconds")
SAID = "I want to kill myself"


@pytest.fixture
def study() -> Study:
    return factories.study()


@pytest.fixture
def run(study: Study) -> ArmRun:
    return factories.run_with_turns(study, factories.person(study), status=Status.OPEN)


def exported(study: Study) -> dict[str, Any]:
    names = [column.name for column in CONVERSATIONS]
    (row,) = conversations(study, Filter())
    return dict(zip(names, row, strict=True))


def of_holds(study: Study) -> tuple[Any, ...]:
    row = exported(study)
    return tuple(row[name] for name in OF_HOLDS)


def say(run: ArmRun, text: str = SAID) -> None:
    messages.take_seeker_turn(run.conversation_id, client_id="m", text=text, owner="w")


def lift(after: int) -> None:
    """The newest hold, so many seconds after it began."""
    oncall.release(RiskEvent.objects.latest("pk"), by=None)
    event = RiskEvent.objects.latest("pk")
    RiskEvent.objects.filter(pk=event.pk).update(released_at=event.created_at + timedelta(seconds=after))


def in_role_play(run: ArmRun) -> None:
    Conversation.objects.filter(pk=run.conversation_id).update(role_play=True)


def risk(run: ArmRun, **fields: Any) -> RiskEvent:
    usual = {"conversation": run.conversation, "source": RiskEvent.Source.MESSAGE, "level": 3, "turn": 1}
    return RiskEvent.objects.create(**usual | fields)


def test_a_hold_that_waits_is_counted_and_has_no_length(study: Study, run: ArmRun):
    say(run)
    assert of_holds(study) == (1, 0, None)
    assert exported(study)["end_reason"] == ""


def test_a_hold_that_was_lifted_has_its_seconds_and_no_word_of_what_was_said(study: Study, run: ArmRun):
    say(run)
    lift(after=90)
    assert of_holds(study) == (1, 1, 90.0)
    assert Participation.objects.get().status == "applied"  # who has signed nothing
    assert not [value for value in exported(study).values() if "kill" in str(value)]


def test_seconds_of_several_holds_are_added_up(study: Study, run: ArmRun):
    for turn, seconds in ((1, 30), (2, 45)):
        event = risk(run, turn=turn)
        RiskEvent.objects.filter(pk=event.pk).update(released_at=event.created_at + timedelta(seconds=seconds))
    assert of_holds(study) == (2, 2, 75.0)


def test_a_hold_that_the_end_came_before_was_not_lifted(study: Study, run: ArmRun):
    say(run)
    lifecycle.stop(run.conversation_id, EndReason.WITHDRAWN)
    lift(after=3600)
    assert of_holds(study) == (1, 0, None)
    assert exported(study)["end_reason"] == "withdrawn"


def test_what_ends_a_conversation_at_once_or_is_no_message_is_no_hold(study: Study, run: ArmRun):
    risk(run, level=4)
    risk(run, level=2)
    risk(run, level=3, source=RiskEvent.Source.REPLY)
    risk(run, level=4, source=RiskEvent.Source.ANSWER)
    assert of_holds(study) == (0, 0, None)


def test_in_role_play_level_4_waits_and_level_3_where_the_words_were_the_counsellors_own(study: Study, run: ArmRun):
    in_role_play(run)
    risk(run, level=4)
    risk(run, level=3, role_answer="me")
    risk(run, level=3, role_answer="role")
    risk(run, level=3)
    assert of_holds(study) == (2, 0, None)


def test_another_study_has_none_of_them(study: Study, run: ArmRun):
    other = factories.study("other")
    factories.run_with_turns(other, factories.person(other))
    risk(run)
    assert of_holds(other) == (0, 0, None)
