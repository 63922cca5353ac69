import json
import uuid
from datetime import UTC, datetime, timedelta

import pytest

from dialogue.chat import assignments, history, lifecycle, messages, outcomes
from dialogue.chat.state import ChatRefused
from dialogue.models import Call, Conversation, RiskEvent, Supporter, Turn
from dialogue.models.conversation import EndReason, Status, TurnState
from dialogue.providers.base import ProviderError, Reply
from dialogue.safety.resources import standard_text
from dialogue.safety.screening import CLASSIFIER, SUSPECTED_REPLY_LEVEL, Verdict

pytestmark = pytest.mark.django_db

ME, OTHER = "me", "other"


def conversation(**fields):
    supporter = Supporter.get_or_freeze(kind="scripted", model="attuned", prompt="Be kind.\n\nProfile:\n{profile}")
    return Conversation.objects.create(**{"supporter": supporter, "min_turns": 2, "max_turns": 4, **fields})


def say(room, text="I feel low since the move", *, client_id=None, owner=ME):
    return messages.take_seeker_turn(room.pk, client_id=client_id or str(uuid.uuid4()), text=text, owner=owner)


def answer(taken, text="What was the move like?"):
    return outcomes.record_reply(taken.assignment, Reply(text=text, model="m"), seq=taken.assignment.seq)


def test_message_is_stored_and_its_reply_is_claimed():
    room = conversation()
    taken = say(room)
    turn = Turn.objects.get()
    assert (turn.number, turn.state, turn.owner, turn.attempts) == (1, TurnState.WAITING, ME, 1)
    assert [message.role for message in taken.assignment.messages] == ["system", "user"]
    assert Call.objects.get().status == "started"


def test_prompt_without_profile_loses_the_paragraph_that_would_introduce_it():
    assert say(conversation()).assignment.messages[0].text == "Be kind."
    assert say(conversation(profile="Age: 30")).assignment.messages[0].text == "Be kind.\n\nProfile:\nAge: 30"


def test_same_id_is_the_same_message():
    room = conversation()
    first = say(room, client_id="a")
    again = say(room, client_id="a")
    assert (again.turn, again.assignment, Turn.objects.count()) == (first.turn, None, 1)


def test_second_message_while_a_reply_is_due_is_refused():
    room = conversation()
    say(room)
    with pytest.raises(ChatRefused) as refusal:
        say(room)
    assert refusal.value.code == "busy"
    assert Turn.objects.count() == 1


@pytest.mark.parametrize(
    ("text", "code"), [("", "empty"), (" \n\t", "empty"), ("\u200b\u2060 \ufeff", "empty"), ("x" * 4001, "too_long")]
)
def test_text_that_cannot_be_taken_is_refused(text, code):
    room = conversation()
    with pytest.raises(ChatRefused) as refusal:
        say(room, text)
    assert refusal.value.code == code
    assert Turn.objects.count() == 0


def test_reply_is_stored_once_with_the_number_it_was_given():
    room = conversation()
    taken = say(room)
    frames = answer(taken)
    assert [frame.type for frame in frames] == ["reply"]
    assert answer(taken, "another") == []
    turn = Turn.objects.get()
    assert (turn.reply, turn.reply_seq, turn.owner) == ("What was the move like?", taken.assignment.seq, "")


def test_reply_of_one_who_lost_the_claim_is_not_stored():
    room = conversation()
    lost = say(room)
    Turn.objects.update(owner=OTHER)
    assert answer(lost) == []
    assert Turn.objects.get().state == TurnState.WAITING


def test_frame_numbers_are_never_used_twice():
    room = conversation(max_turns=9)
    used = []
    for _ in range(3):
        taken = say(room)
        block = range(taken.assignment.seq, taken.assignment.seq + assignments.BLOCK)
        used += [Turn.objects.get(number=taken.turn).seq, *block]
        answer(taken)
    assert used == sorted(set(used))
    room.refresh_from_db()
    assert room.next_seq > used[-1]


def test_conversation_pauses_for_a_rating_and_goes_on_after_it():
    room = conversation(pause_after=[1])
    frames = answer(say(room))
    assert [frame.type for frame in frames] == ["reply", "pause"]
    with pytest.raises(ChatRefused) as refusal:
        say(room)
    assert refusal.value.code == "paused"
    lifecycle.resume(room.pk)
    assert say(room).turn == 2


def test_rating_at_the_last_turn_comes_before_the_end():
    room = conversation(pause_after=[2], max_turns=2)
    answer(say(room))
    assert [frame.type for frame in answer(say(room))] == ["reply", "pause"]
    lifecycle.resume(room.pk)
    room.refresh_from_db()
    assert (room.status, room.end_reason) == (Status.CLOSED, EndReason.CAP)


def test_last_turn_closes_the_conversation():
    room = conversation(max_turns=1)
    assert [frame.type for frame in answer(say(room))] == ["reply", "closed"]
    with pytest.raises(ChatRefused) as refusal:
        say(room)
    assert refusal.value.code == "closed"


def test_end_needs_the_minimum_unless_it_is_early():
    room = conversation(min_turns=2)
    answer(say(room))
    with pytest.raises(ChatRefused):
        lifecycle.end(room.pk, early=False)
    assert lifecycle.end(room.pk, early=True).type == "closed"
    room.refresh_from_db()
    assert room.end_reason == EndReason.EARLY


def test_end_after_the_minimum_is_finished_even_if_it_says_early():
    room = conversation(min_turns=1)
    answer(say(room))
    lifecycle.end(room.pk, early=True)
    room.refresh_from_db()
    assert room.end_reason == EndReason.FINISHED


def test_failed_reply_is_told_and_can_be_asked_for_again():
    room = conversation()
    taken = say(room)
    [failed] = outcomes.give_up(taken.assignment, ProviderError("server_error", "broken"))
    assert (failed.type, failed.turn) == ("failed", 1)
    again = assignments.retry(room.pk, owner=ME)
    assert (again.turn, again.attempt) == (1, 2)
    assert again.seq > failed.seq
    assert list(Call.objects.order_by("pk").values_list("status", flat=True)) == ["server_error", "started"]


def test_conversation_too_long_for_its_partner_ends_and_is_kept():
    room = conversation()
    answer(say(room))
    taken = say(room, "And since then I do not sleep")
    [closed] = outcomes.give_up(
        taken.assignment, ProviderError("too_long", "Prompt exceeds max length", permanent=True)
    )
    room.refresh_from_db()
    assert (closed.type, room.status, room.end_reason) == ("closed", Status.CLOSED, EndReason.TECHNICAL)
    assert list(room.turns.order_by("number").values_list("state", "error")) == [
        ("answered", ""),
        ("failed", "too_long"),
    ]
    assert assignments.retry(room.pk, owner=ME) is None
    assert [frame.type for frame in history.get_missed_frames(room.pk, 0).frames][-1] == "closed"


def test_first_message_too_long_for_its_partner_is_a_failed_reply():
    """The arm is set up wrongly; nothing has been said that could be rated."""
    room = conversation()
    [failed] = outcomes.give_up(
        say(room).assignment, ProviderError("too_long", "Prompt exceeds max length", permanent=True)
    )
    room.refresh_from_db()
    assert (failed.type, room.status) == ("failed", Status.OPEN)


def test_retry_without_a_failure_does_nothing():
    room = conversation()
    answer(say(room))
    assert assignments.retry(room.pk, owner=ME) is None


def test_each_attempt_is_a_row_of_the_ledger():
    room = conversation()
    taken = say(room)
    second = outcomes.record_failure(
        taken.assignment, ProviderError("timeout", "slow", partial="What"), seq=taken.assignment.seq + 3
    )
    answer(type(taken)(turn=1, assignment=second))
    rows = list(Call.objects.order_by("pk").values_list("attempt", "status", "response"))
    assert rows == [(1, "timeout", "What"), (2, "ok", "What was the move like?")]
    assert Turn.objects.get().attempts == 2


@pytest.mark.parametrize(
    ("single", "owner", "claimed"), [(True, OTHER, True), (False, OTHER, False), (True, ME, False)]
)
def test_due_reply_is_taken_over_only_from_the_dead(single, owner, claimed):
    room = conversation()
    say(room, owner=owner)
    assignment = assignments.claim_due_reply(room.pk, owner=ME, single_process=single)
    assert (assignment is not None) == claimed


def test_due_reply_is_taken_over_when_its_lease_has_run_out():
    room = conversation()
    say(room, owner=OTHER)
    Turn.objects.update(lease_until="2020-01-01T00:00:00Z")
    assert assignments.claim_due_reply(room.pk, owner=ME, single_process=False).turn == 1


def test_resume_tells_exactly_what_was_missed():
    room = conversation(max_turns=2)
    first, second = say(room, client_id="a"), None
    answer(first)
    second = say(room, client_id="b")
    answer(second)
    every = history.get_missed_frames(room.pk, 0).frames
    assert [frame.type for frame in every] == ["message", "reply", "message", "reply", "closed"]
    numbers = [frame.seq for frame in every]
    assert numbers == sorted(set(numbers))
    for position, number in enumerate(numbers):
        assert history.get_missed_frames(room.pk, number).frames == every[position + 1 :]


def test_resume_tells_when_something_was_sent_to_the_minute_and_no_more():
    """Seconds between a message and its reply would tell how fast a partner is."""
    room = conversation()
    answer(say(room))
    moment = datetime(2026, 1, 31, 9, 5, 59, 999, tzinfo=UTC)
    Turn.objects.update(created_at=moment, replied_at=moment + timedelta(seconds=1))
    say(room)
    Turn.objects.filter(number=2).update(created_at=None)
    sent = [json.loads(frame.encode()).get("sent_at") for frame in history.get_missed_frames(room.pk, 0).frames]
    assert sent == ["2026-01-31T09:05:00Z", "2026-01-31T09:06:00Z", None]


def test_reply_is_the_same_frame_when_it_comes_again():
    room = conversation()
    [live] = answer(say(room))
    assert history.get_missed_frames(room.pk, 0).frames[-1] == live
    assert live.sent_at


def chinese() -> Supporter:
    return Supporter.get_or_freeze(kind="scripted", model="attuned", prompt="请善待对方。\n\n档案：\n{profile}")


def in_chinese(room):
    lifecycle.change_language(
        room.pk, language="zh", supporter=chinese(), profile="年龄：30", characters_per_second=20.0
    )
    room.refresh_from_db()


def test_partner_goes_on_in_the_language_that_the_person_switches_to():
    room = conversation(profile="Age: 30", characters_per_second=60.0)
    under_way = say(room)
    in_chinese(room)
    answer(under_way)
    taken = say(room, "我换成中文了")

    assert (under_way.assignment.language, under_way.assignment.messages[0].text) == (
        "en",
        "Be kind.\n\nProfile:\nAge: 30",
    )
    assert (taken.assignment.language, taken.assignment.pacing.rate) == ("zh", 20.0)
    told = [(message.role, message.text) for message in taken.assignment.messages]
    assert told[0] == ("system", "请善待对方。\n\n档案：\n年龄：30")
    assert [role for role, _text in told] == ["system", "user", "assistant", "user"]
    assert (room.language, room.earlier_languages) == ("zh", ["en"])
    assert [room.language_of(turn) for turn in (0, 1, 2)] == ["en", "en", "zh"]
    assert [call.request[0]["text"] for call in Call.objects.order_by("pk")] == [
        "Be kind.\n\nProfile:\nAge: 30",
        "请善待对方。\n\n档案：\n年龄：30",
    ]


def test_switch_before_the_first_word_leaves_no_earlier_language():
    room = conversation()
    in_chinese(room)
    in_chinese(room)
    assert (room.language, room.earlier_languages) == ("zh", [])


def test_conversation_that_is_over_keeps_its_language_and_its_supporter():
    room = conversation()
    answer(say(room))
    lifecycle.end(room.pk, early=True)
    in_chinese(room)
    assert (room.language, room.earlier_languages, room.supporter == chinese()) == ("en", [], False)


class TestRisk:
    def test_level_3_is_stored_and_held_and_no_model_is_asked(self):
        room = conversation()
        taken = say(room, "I want to kill myself")
        assert taken.assignment is None
        assert [frame.type for frame in taken.frames] == ["help", "held"]
        room.refresh_from_db()
        assert (room.status, Turn.objects.get().text) == (Status.HELD, "I want to kill myself")
        assert Call.objects.count() == 0
        assert RiskEvent.objects.get().level == 3

    def test_held_conversation_takes_no_message_until_released(self):
        room = conversation()
        say(room, "I want to kill myself")
        with pytest.raises(ChatRefused) as refusal:
            say(room)
        assert refusal.value.code == "held"
        lifecycle.release(room.pk)
        assert assignments.claim_due_reply(room.pk, owner=ME, single_process=True).turn == 1

    def test_level_4_ends_the_conversation(self):
        room = conversation()
        taken = say(room, "I am going to kill myself tonight")
        assert [frame.type for frame in taken.frames] == ["help", "held"]
        room.refresh_from_db()
        assert (room.status, room.end_reason) == (Status.CLOSED, EndReason.SAFETY)
        lifecycle.release(room.pk)
        room.refresh_from_db()
        assert room.status == Status.CLOSED

    def test_level_2_shows_help_and_goes_on(self):
        taken = say(conversation(), "I wish I was dead")
        assert [(frame.type, frame.level) for frame in taken.frames] == [("help", 2)]
        assert taken.assignment is not None

    def test_help_is_shown_again_to_one_who_comes_back(self):
        room = conversation()
        shown = say(room, "I wish I was dead").frames
        assert [frame for frame in history.get_missed_frames(room.pk, 0).frames if frame.type == "help"] == list(shown)
        RiskEvent.objects.update(role_answer="role")
        assert [frame.type for frame in history.get_missed_frames(room.pk, 0).frames] == ["message"]

    def test_held_message_is_told_in_order_to_one_who_comes_back(self):
        room = conversation()
        shown = say(room, "I want to kill myself").frames
        missed = history.get_missed_frames(room.pk, 0).frames
        assert [frame.type for frame in missed] == ["message", "help", "held"]
        assert missed[1:] == list(shown)

    def test_role_play_goes_on_at_level_3_and_waits_at_level_4(self):
        room = conversation(role_play=True)
        taken = say(room, "I want to kill myself")
        assert taken.assignment is not None
        answer(taken)
        assert say(room, "I am going to kill myself tonight").assignment is None
        room.refresh_from_db()
        assert room.status == Status.HELD

    def test_every_arm_is_screened_alike(self):
        for model in ("formula", "attuned"):
            room = conversation(supporter=Supporter.get_or_freeze(kind="scripted", model=model))
            assert say(room, "我想自杀").assignment is None

    def test_withheld_reply_keeps_the_original_and_shows_the_standard_text(self):
        room = conversation()
        taken = say(room)
        reply = Reply(text="You should just die.", model="m")
        frames = outcomes.withhold_reply(taken.assignment, reply, sign=Verdict(3, ("rep",)), seq=taken.assignment.seq)
        assert [frame.type for frame in frames] == ["reply", "help", "closed"]
        numbers = [frame.seq for frame in frames]
        assert numbers == sorted(set(numbers))
        turn = Turn.objects.get()
        assert (turn.masked, turn.reply_original) == (True, "You should just die.")
        assert "die" not in turn.reply
        room.refresh_from_db()
        assert room.end_reason == EndReason.SAFETY

    def test_reply_that_is_only_suspected_is_withheld_and_the_conversation_goes_on(self):
        room = conversation()
        taken = say(room)
        reply = Reply(text="Nobody would mind, you know.", model="m")
        found = Verdict(SUSPECTED_REPLY_LEVEL, (CLASSIFIER,))
        frames = outcomes.withhold_reply(taken.assignment, reply, sign=found, seq=taken.assignment.seq)
        assert [(frame.type, getattr(frame, "level", None)) for frame in frames] == [("reply", None), ("help", 2)]
        turn = Turn.objects.get()
        assert (turn.masked, turn.reply_original, turn.reply) == (True, reply.text, standard_text("en"))
        event = RiskEvent.objects.get()
        assert (event.source, event.level, event.entries) == ("reply", 2, [CLASSIFIER])
        assert say(room).turn == 2

    def test_reply_that_is_only_suspected_can_be_the_last(self):
        room = conversation(max_turns=1)
        taken = say(room)
        found = Verdict(SUSPECTED_REPLY_LEVEL, (CLASSIFIER,))
        outcomes.withhold_reply(taken.assignment, Reply(text="…", model="m"), sign=found, seq=taken.assignment.seq)
        room.refresh_from_db()
        assert room.end_reason == EndReason.CAP


# The team lets a conversation rest


def test_suspended_conversation_takes_no_message_until_it_goes_on():
    room = conversation()
    answer(say(room))
    [told] = lifecycle.suspend(room.pk).frames
    assert (told.type, told.by, told.next) == ("pause", "team", "/study/")
    for act in (lambda: say(room), lambda: lifecycle.end(room.pk, early=True)):
        with pytest.raises(ChatRefused) as refusal:
            act()
        assert refusal.value.code == "paused"
    assert history.get_missed_frames(room.pk, 0).frames[-1] == told

    lifecycle.unsuspend(room.pk)
    assert history.get_missed_frames(room.pk, told.seq).frames == []
    assert say(room).turn == 2


def test_reply_that_is_under_way_comes_before_the_conversation_rests():
    room = conversation()
    taken = say(room)
    assert lifecycle.suspend(room.pk).frames == ()
    assert [frame.type for frame in history.get_missed_frames(room.pk, 0).frames] == ["message"]
    shown = answer(taken)
    assert [frame.type for frame in shown] == ["reply", "pause"]
    assert shown[0].seq < shown[1].seq


def test_reply_that_fails_while_the_conversation_rests_is_asked_again_when_it_goes_on():
    room = conversation()
    taken = say(room)
    lifecycle.suspend(room.pk)
    [told] = outcomes.give_up(taken.assignment, ProviderError("server_error", "busy"))
    assert (told.type, told.by) == ("pause", "team")
    assert assignments.retry(room.pk, owner=ME) is None
    lifecycle.unsuspend(room.pk)
    assert [frame.type for frame in history.get_missed_frames(room.pk, 0).frames] == ["message", "failed"]
    assert assignments.retry(room.pk, owner=ME) is not None


def test_rating_that_is_due_stays_due_while_the_conversation_rests():
    room = conversation(pause_after=[1])
    taken = say(room)
    lifecycle.suspend(room.pk)
    assert answer(taken)[-1].by is None
    lifecycle.unsuspend(room.pk)
    room.refresh_from_db()
    assert room.status == Status.PAUSED


@pytest.mark.parametrize(("passed", "under_way"), [(timedelta(0), True), (assignments.LEASE * 2, False)])
def test_reply_is_under_way_as_long_as_a_process_fetches_it(passed, under_way):
    room = conversation()
    assert not lifecycle.is_reply_under_way(room.pk)
    say(room)
    Turn.objects.update(lease_until=datetime.now(UTC) + assignments.LEASE - passed)
    assert lifecycle.is_reply_under_way(room.pk) is under_way


def test_sockets_are_told_once_that_a_conversation_was_ended_from_outside():
    room = conversation()
    [told] = lifecycle.stop(room.pk, EndReason.WITHDRAWN).frames
    assert told.type == "closed"
    assert lifecycle.stop(room.pk, EndReason.SAFETY).frames == ()
