"""A bot whose partner does not answer says which arm that is, and why."""

import pytest

from dialogue.models import Call
from studies.bots import walker
from studies.bots.answers import Person
from studies.bots.walker import Bot, BotStuck, ChatSocket, NoReply, Talk
from studies.management.commands.run_bots import describe_stuck, get_hint
from tests.factories import person, run_with_turns, study


async def test_bot_gives_up_a_reply_that_fails_again_and_again() -> None:
    bot = Bot(Person("P1", "en", "1"), "", "", min_turns=1)
    line = ChatSocket(bot, Talk("A", 1, retries=walker.RETRIES), socket=None)
    with pytest.raises(NoReply, match="no reply to turn 1 after 5 retries") as caught:
        await line.on_failed({"turn": 1})
    assert caught.value.conversation == "A"


@pytest.mark.django_db
def test_arm_and_reason_are_told() -> None:
    hearts = study()
    run = run_with_turns(hearts, person(hearts), arm="birch")
    error = "The environment variable BIRCH_KEY is not set."
    for status, detail in (("failed", "The connection broke."), ("failed", error), ("ok", "")):
        Call.objects.create(conversation=run.conversation, purpose="reply", status=status, error=detail, kind="x")
    assert (
        describe_stuck(NoReply("bot P1: no reply", run.conversation.code))
        == f"bot P1: no reply; arm birch: no reply: {error}"
    )


@pytest.mark.django_db
def test_nothing_is_added_where_nothing_more_is_known() -> None:
    assert describe_stuck(NoReply("bot P1: no reply", "elsewhere")) == "bot P1: no reply"
    assert describe_stuck(BotStuck("bot P1: the server answered 404")) == "bot P1: the server answered 404"


def test_command_that_asks_each_model_is_named_where_no_reply_came() -> None:
    failed = ["bot P1: the server answered 404", "bot P2: no reply to turn 1; arm birch: no reply: HTTP 500"]
    assert get_hint("demo", failed) == (
        "Ask each model one question to see which ones answer: manage.py check_models demo"
    )
    assert get_hint("demo", failed[:1]) == ""
