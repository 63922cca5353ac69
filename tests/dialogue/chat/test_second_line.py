"""The second line beside the arm, over sockets and real HTTP: what the person sees, and what is stored."""

import asyncio
import json
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator
from importlib import import_module
from urllib.parse import quote

import pytest
from channels.db import database_sync_to_async
from django.conf import settings
from django.db import transaction

from dialogue.chat import lifecycle, messages, replies
from dialogue.models import Call, RiskEvent, Turn
from dialogue.models.conversation import EndReason, Status, TurnState
from dialogue.providers.base import ProviderError
from dialogue.providers.openai_client import close_clients
from dialogue.safety.resources import standard_text
from tests.dialogue.chat.test_consumers import Model, message, opened, room, until
from tests.llm_server import running

pytestmark = pytest.mark.django_db(transaction=True)

KINDS = ("openai_moderation", "openai_compatible")
ORDINARY = (
    "I slept a little better",
    "My sister came by and we cooked",
    "Work is still stressful",
    "I feel hopeless about this job",
    "I feel so alone in this city",
    "Thank you for asking",
)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    import_module("openai")  # takes seconds where the machine is busy
    with running() as base_url:
        yield base_url


@pytest.fixture(autouse=True)
async def closed_clients():
    yield
    await close_clients()


@pytest.fixture
def answers(monkeypatch):
    """Sets the arm's models, one for each attempt; the last answers all further ones."""
    monkeypatch.setattr(replies, "BACKOFF", 0.0)

    def use(*models):
        queue = list(models)
        monkeypatch.setattr(replies, "model_for", lambda *_args, **_kw: queue.pop(0) if len(queue) > 1 else queue[0])
        return models[0]

    use(Model())
    return use


class Endless(Model):
    """Says something and then never ends."""

    def __init__(self):
        super().__init__(("Secret ", "words"), gate=asyncio.Event(), wait_at=1)
        self.cancelled = False

    async def reply(self, messages, on_text=None):
        try:
            return await super().reply(messages, on_text)
        except asyncio.CancelledError:
            self.cancelled = True
            raise


def line(url, model, kind="openai_compatible", **fields):
    return {"kind": kind, "base_url": url, "model": model, "provider": "Watch", "seconds": 5.0, **fields}


async def talked(conversation, text="I feel low", *types):
    """The frames that follow a message, without those of earlier turns, which come before its ack."""
    socket = await opened(conversation)
    await socket.send_json_to(message(text))
    frames = (await until(socket, "ack"))[-1:]
    frames += await until(socket, *(types or ("reply", "held", "closed", "failed")))
    await socket.disconnect()
    return frames


def types(frames):
    return [frame["type"] for frame in frames]


async def safety_calls():
    return [call async for call in Call.objects.filter(purpose=Call.Purpose.SAFETY).order_by("pk")]


@pytest.mark.parametrize("kind", KINDS)
async def test_what_the_second_line_alone_finds_holds_the_conversation(answers, url, kind):
    arm = answers(Endless())
    conversation = await room(second_line=line(url, "late-300+level-3", kind))
    frames = await talked(conversation)
    assert types(frames) == ["ack", "help", "held"]
    assert frames[1]["level"] == 3
    assert "Secret" not in json.dumps(frames)
    assert arm.cancelled
    turn, event = await Turn.objects.aget(), await RiskEvent.objects.aget()
    assert (turn.state, turn.risk_level, turn.first_level, turn.second_level) == (TurnState.HELD, 3, 0, 3)
    assert turn.second_screen.startswith(f"{kind}, late-300+level-3, ")
    assert turn.screen == event.screen != ""
    assert (event.level, event.first_level, event.second_level, event.suspected) == (3, 0, 3, True)
    assert (event.second_screen, event.entries, event.categories) == (turn.second_screen, ["second line"], ["self"])
    await conversation.arefresh_from_db()
    assert conversation.status == Status.HELD
    assert [call.status async for call in Call.objects.filter(purpose="reply")] == ["stopped"]
    [call] = await safety_calls()
    assert (call.status, call.provider, call.kind, call.turn) == ("ok", "Watch", kind, 1)
    assert call.total_ms is not None
    assert call.request[-1]["text"].endswith("I feel low" if kind == KINDS[0] else "<message>I feel low</message>")


async def test_frames_are_those_of_the_first_line(answers, url):
    by_first = await talked(await room(), "I want to kill myself")
    by_second = await talked(await room(second_line=line(url, "level-3")))
    assert types(by_first) == types(by_second)
    assert [set(frame) for frame in by_first] == [set(frame) for frame in by_second]


async def test_level_4_ends_the_conversation_and_comes_again_on_a_new_page(answers, url):
    conversation = await room(second_line=line(url, "level-4"))
    frames = await talked(conversation)
    assert types(frames) == ["ack", "help", "held"]
    await conversation.arefresh_from_db()
    assert (conversation.status, conversation.end_reason) == (Status.CLOSED, EndReason.SAFETY)
    again = await opened(conversation)
    missed = await until(again, "held")
    assert types(missed) == ["message", "help", "held"]
    assert [frame["seq"] for frame in missed[1:]] == [frame["seq"] for frame in frames[1:]]
    await again.disconnect()


async def test_a_reply_that_was_whole_before_the_verdict_is_not_shown_either(answers, url):
    answers(Model(("Secret ", "words.")))
    frames = await talked(await room(second_line=line(url, "late-300+level-3")))
    assert types(frames) == ["ack", "help", "held"]
    call = await Call.objects.aget(purpose="reply")
    assert (call.status, call.response) == ("stopped", "Secret words.")
    assert (await Turn.objects.aget()).reply == ""


class Telling(Model):
    """Says when all of it has come."""

    def __init__(self, *pieces):
        super().__init__(pieces)
        self.done = asyncio.Event()

    async def reply(self, messages, on_text=None):
        reply = await super().reply(messages, on_text)
        self.done.set()
        return reply


async def test_no_frame_of_the_reply_comes_before_the_verdict(answers, url):
    arm = answers(Telling("Here ", "I am."))
    conversation = await room(second_line=line(url, "late-2000+level-0"))
    socket = await opened(conversation)
    await socket.send_json_to(message())
    assert (await socket.receive_json_from(timeout=60))["type"] == "ack"
    await arm.done.wait()
    assert await socket.receive_nothing(timeout=0.2)
    joined = await opened(conversation)
    assert types(await until(joined, "reply")) == ["message", "chunk", "reply"]
    await joined.disconnect()
    turn = await Turn.objects.aget()
    assert (turn.reply, turn.risk_level, turn.first_level, turn.second_level) == ("Here I am.", 0, 0, 0)


def nowhere():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/v1"


FAULTS = [
    ("openai_compatible", "status-500", "server_error"),
    ("openai_compatible", "hangup", "network"),
    ("openai_compatible", "late-5000+level-0", "timeout"),
    ("openai_compatible", "badjudge", "unparseable"),
    ("openai_compatible", "level-9", "out_of_range"),
    ("openai_compatible", f"say:{quote('Level 3, I would say.')}", "unparseable"),
    ("openai_compatible", f"say:{quote(json.dumps({'level': '3'}))}", "unparseable"),
    ("openai_compatible", f"say:{quote(json.dumps({'level': True}))}", "unparseable"),
    ("openai_moderation", "status-500", "server_error"),
    ("openai_moderation", "hangup", "network"),
    ("openai_moderation", "late-5000+level-0", "timeout"),
    ("openai_moderation", "badjson", "unparseable"),
    ("openai_moderation", "bare", "out_of_range"),
    ("openai_moderation", "wild", "out_of_range"),
]


@pytest.mark.parametrize(("kind", "model", "status"), FAULTS)
@pytest.mark.parametrize("when_unreachable", ["open", "hold"])
async def test_second_line_that_says_nothing_useful(answers, url, kind, model, status, when_unreachable):
    answers(Model(("Here ", "I am.")))
    fields = {"when_unreachable": when_unreachable, "seconds": 0.5 if status == "timeout" else 5.0}
    conversation = await room(second_line=line(url, model, kind, **fields))
    frames = await talked(conversation)
    assert [call.status for call in await safety_calls()] == [status]
    turn = await Turn.objects.aget()
    assert (turn.second_level, turn.risk_level, await RiskEvent.objects.acount()) == (None, 0, 0)
    await conversation.arefresh_from_db()
    assert conversation.status == Status.OPEN
    reply = await Call.objects.aget(purpose="reply")
    if when_unreachable == "open":
        assert (frames[-1]["text"], turn.state, reply.status) == ("Here I am.", TurnState.ANSWERED, "ok")
    else:
        assert types(frames) == ["ack", "failed"]
        assert (turn.state, turn.error, reply.status) == (TurnState.FAILED, "second_line", "stopped")


@pytest.mark.parametrize("kind", KINDS)
async def test_server_that_is_away_counts_as_unreachable(answers, kind):
    frames = await talked(await room(second_line=line(nowhere(), "m", kind)))
    assert frames[-1]["text"] == "Hello."
    assert [call.status for call in await safety_calls()] == ["network"]


async def test_key_that_is_missing_counts_as_unreachable_and_is_told_in_the_ledger(answers, url):
    frames = await talked(await room(second_line=line(url, "level-0", api_key_env="NO_SUCH_KEY")))
    assert frames[-1]["text"] == "Hello."
    [call] = await safety_calls()
    assert "NO_SUCH_KEY" in call.error


async def test_after_hold_the_person_asks_again_and_the_second_line_is_asked_again(answers, url):
    model = f"flaky-1-status-500+say:{quote(json.dumps({'level': 0, 'category': 'none'}))}"
    conversation = await room(second_line=line(url, model, when_unreachable="hold"))
    socket = await opened(conversation)
    await socket.send_json_to(message(f"I feel low {uuid.uuid4()}"))
    assert types(await until(socket, "failed")) == ["ack", "failed"]
    await socket.send_json_to({"type": "retry"})
    assert (await until(socket, "reply"))[-1]["text"] == "Hello."
    assert [call.status for call in await safety_calls()] == ["server_error", "ok"]
    assert (await Turn.objects.aget()).second_level == 0
    await socket.disconnect()


async def test_level_2_shows_help_and_then_the_reply(answers, url):
    conversation = await room(second_line=line(url, "level-2", "openai_moderation"))
    frames = await talked(conversation)
    assert types(frames) == ["ack", "help", "reply"]
    assert frames[1]["level"] == 2
    numbers = [frame["seq"] for frame in frames[1:]]
    assert numbers == sorted(set(numbers))
    event = await RiskEvent.objects.aget()
    assert (event.level, event.first_level, event.second_level, event.suspected) == (2, 0, 2, False)
    again = await opened(conversation)
    assert (await until(again, "reply"))[1:] == frames[1:]
    await again.disconnect()


async def test_both_levels_are_kept_where_the_first_line_found_more(answers, url):
    frames = await talked(await room(second_line=line(url, "level-0")), "I wish I was dead")
    assert types(frames)[:2] == ["ack", "help"]
    turn, event = await Turn.objects.aget(), await RiskEvent.objects.aget()
    assert (turn.risk_level, turn.first_level, turn.second_level) == (2, 2, 0)
    assert (event.level, event.first_level, event.second_level) == (2, 2, 0)
    assert event.second_screen == turn.second_screen != ""


async def test_sign_of_the_first_line_that_the_second_raises_is_one_event(answers, url):
    frames = await talked(await room(second_line=line(url, "level-4")), "they would be better off without me")
    assert [(frame["type"], frame.get("level")) for frame in frames] == [
        ("ack", None),
        ("help", 2),
        ("help", 4),
        ("held", None),
    ]
    event = await RiskEvent.objects.aget()
    assert (event.level, event.first_level, event.second_level, event.suspected) == (4, 2, 4, True)
    assert "second line" in event.entries
    assert len(event.entries) > 1


async def test_message_that_the_first_line_holds_goes_to_nobody(answers, url):
    frames = await talked(await room(second_line=line(url, "level-0")), "I want to kill myself")
    assert types(frames) == ["ack", "help", "held"]
    assert await Call.objects.acount() == 0
    event = await RiskEvent.objects.aget()
    assert (event.first_level, event.second_level, event.suspected) == (3, None, False)


async def test_what_only_the_classifier_finds_is_suspected(answers):
    await talked(await room(), "I keep looking at the bridge and tonight I will let go for good")
    assert (await RiskEvent.objects.aget()).suspected


async def test_in_role_play_level_3_goes_on_and_level_4_waits(answers, url):
    acting = await room(second_line=line(url, "level-3"), role_play=True)
    assert types(await talked(acting)) == ["ack", "help", "reply"]
    grave = await room(second_line=line(url, "level-4"), role_play=True)
    assert types(await talked(grave)) == ["ack", "help", "held"]
    await grave.arefresh_from_db()
    assert grave.status == Status.HELD


@pytest.mark.parametrize("kind", KINDS)
async def test_six_ordinary_messages_after_a_release_hold_nobody(answers, url, kind):
    """Though this second line would find the old sign wherever it is told of it."""
    conversation = await room(second_line=line(url, "lantern", kind), max_turns=20)
    assert types(await talked(conversation, "I painted the lantern red"))[-1] == "held"
    await database_sync_to_async(transaction.atomic(lifecycle.release))(conversation.pk)
    socket = await opened(conversation)
    assert (await until(socket, "reply"))[-1]["turn"] == 1
    for text in ORDINARY:
        await socket.send_json_to(message(text))
        assert types(await until(socket, "reply", "held", "closed"))[-1] == "reply"
    await socket.send_json_to(message("the lantern again"))
    assert types(await until(socket, "reply", "held", "closed"))[-1] == "held"
    levels = [(turn.number, turn.second_level) async for turn in Turn.objects.order_by("number")]
    assert levels == [(1, 3), *((number, 0) for number in range(2, 8)), (8, 3)]
    await socket.disconnect()


@pytest.mark.parametrize("kind", KINDS)
async def test_old_words_of_level_2_do_not_hold_an_ordinary_message(answers, url, kind):
    """A second line that answered with 2 at first, and would now call the whole six turns a 3."""
    conversation = await room(second_line=line(url, "level-2", kind), max_turns=20)
    await talked(conversation, "I painted the lantern red")
    conversation.second_line = line(url, "lantern", kind) if kind == KINDS[0] else line(url, "level-0")
    await conversation.asave()
    assert types(await talked(conversation, "We cooked soup"))[-1] == "reply"


async def test_turns_before_the_message_are_told_to_a_chat_model(answers, url):
    conversation = await room(second_line=line(url, "level-0"))
    await talked(conversation, "first </message> words")
    await talked(conversation, "second words")
    last = (await safety_calls())[-1]
    told = last.request[-1]["text"]
    assert told == (
        "<earlier>\nPerson: first (/message) words\nPartner: Hello.\n</earlier>\n<message>second words</message>"
    )
    assert last.prompt_version.endswith("prompt 1")
    assert (last.status, last.error) == ("ok", "")
    assert (last.input_tokens, last.output_tokens) != (None, None)


# Replies that the second line reads.


async def test_reply_to_a_message_of_level_2_is_read_before_it_is_shown(answers, url):
    answers(Model(("Take ", "the lantern.")))
    conversation = await room(second_line=line(url, "lantern"))
    frames = await talked(conversation, "I wish I was dead", "closed")
    assert types(frames) == ["ack", "help", "reply", "help", "closed"]
    assert frames[2]["text"] == standard_text("en")
    turn = await Turn.objects.aget()
    assert (turn.masked, turn.reply_original) == (True, "Take the lantern.")
    event = await RiskEvent.objects.aget(source="reply")
    assert (event.level, event.first_level, event.second_level, event.categories) == (3, 0, 3, ["method"])
    assert [(call.status, call.parameters["about"]) for call in await safety_calls()] == [
        ("ok", "message"),
        ("ok", "reply"),
    ]


async def test_kind_reply_to_a_message_of_level_2_comes_whole(answers, url):
    answers(Model(("I am ", "here.")))
    frames = await talked(await room(second_line=line(url, "lantern")), "I wish I was dead")
    assert types(frames) == ["ack", "help", "reply"]
    assert frames[-1]["text"] == "I am here."


@pytest.mark.parametrize(("when_unreachable", "last"), [("open", "reply"), ("hold", "failed")])
async def test_reply_that_the_second_line_could_not_read(answers, url, when_unreachable, last):
    answers(Model(("I am ", "here.")))
    conversation = await room(second_line=line(url, "shy", when_unreachable=when_unreachable))
    frames = await talked(conversation, "I wish I was dead")
    assert types(frames) == ["ack", "help", last]
    assert [call.status for call in await safety_calls()] == ["ok", "unparseable"]
    assert (await Turn.objects.aget()).second_level == 0


async def test_paced_reply_waits_for_the_verdict_and_then_keeps_its_pace(answers, url):
    answers(Model(("One two ", "three four.")))
    fields = {"first_piece_ms": 100, "characters_per_second": 100.0}
    frames = await talked(await room(second_line=line(url, "late-300+level-0"), **fields))
    assert types(frames)[0] == "ack"
    assert set(types(frames)[1:-1]) == {"chunk"}
    assert "".join(frame["text"] for frame in frames if frame["type"] == "chunk") == "One two three four."


# Failures, ends and restarts.


async def test_arm_that_fails_waits_for_the_verdict_too(answers, url):
    answers(Model((), error=ProviderError("client_error", "no", permanent=True)))
    frames = await talked(await room(second_line=line(url, "late-300+level-3")))
    assert types(frames) == ["ack", "help", "held"]


async def test_second_attempt_of_the_arm_does_not_ask_the_second_line_again(answers, url):
    answers(Model(error=ProviderError("server_error", "500")), Model())
    frames = await talked(await room(second_line=line(url, "late-300+level-0")))
    assert frames[-1]["text"] == "Hello."
    assert len(await safety_calls()) == 1
    assert (await Turn.objects.aget()).second_level == 0


async def test_dangerous_reply_waits_for_the_verdict(answers, url):
    answers(Model(("You should just ", "kill yourself", " and more")))
    frames = await talked(await room(second_line=line(url, "late-300+level-3")))
    assert types(frames) == ["ack", "help", "held"]
    frames = await talked(await room(second_line=line(url, "late-300+level-0")), "I feel low", "closed")
    assert "kill yourself" not in json.dumps(frames)
    assert (await RiskEvent.objects.aget(source="reply")).level == 3


async def test_person_who_ends_it_meanwhile_is_not_forgotten(answers, url):
    answers(Endless())
    conversation = await room(second_line=line(url, "late-500+level-4"))
    socket = await opened(conversation)
    await socket.send_json_to(message("one last thing"))
    await until(socket, "ack")
    await socket.send_json_to({"type": "end", "early": True})
    await until(socket, "closed")
    await replies.running[conversation.pk].task
    event = await RiskEvent.objects.aget()
    assert (event.level, event.second_level) == (4, 4)
    await conversation.arefresh_from_db()
    assert conversation.end_reason == EndReason.EARLY
    assert not await Call.objects.filter(status="started").aexists()
    await socket.disconnect()


async def test_after_a_restart_reply_and_second_line_are_asked_again(answers, url):
    """The process that took the message died before the verdict."""
    conversation = await room(second_line=line(url, "level-3"))
    await database_sync_to_async(messages.take_seeker_turn)(
        conversation.pk, client_id="one", text="I feel low", owner="a process that died"
    )
    await Turn.objects.aupdate(lease_until="2020-01-01T00:00:00Z")  # which another process waits for
    socket = await opened(conversation)
    assert types(await until(socket, "held")) == ["message", "help", "held"]
    statuses = [(call.purpose, call.status) async for call in Call.objects.order_by("pk")]
    assert statuses.count(("safety", "ok")) == 1
    assert (await RiskEvent.objects.aget()).second_level == 3
    await socket.disconnect()


async def test_verdict_that_is_known_is_not_asked_for_again(answers, url):
    answers(Model((), error=ProviderError("timeout", "slow")))
    conversation = await room(second_line=line(url, "level-0"))
    socket = await opened(conversation)
    await socket.send_json_to(message())
    await until(socket, "failed")
    answers(Model())
    await socket.send_json_to({"type": "retry"})
    assert (await until(socket, "reply"))[-1]["text"] == "Hello."
    assert len(await safety_calls()) == 1
    await socket.disconnect()


async def test_fault_of_ours_in_the_second_line_costs_nobody_their_reply(answers, url, monkeypatch):
    async def broken(_question):
        raise ZeroDivisionError

    monkeypatch.setattr(replies.second_line, "ask", broken)
    frames = await talked(await room(second_line=line(url, "level-0")))
    assert frames[-1]["text"] == "Hello."
    assert [call.status for call in await safety_calls()] == ["client_error"]


async def test_call_has_its_cost(answers, url, settings, tmp_path):
    prices = tmp_path / "prices.toml"
    prices.write_text(
        'version = "v1"\ncurrency = "USD"\n'
        '[[models]]\nmodel = "level-0"\nsince = "2020-01-01"\ninput = 10\noutput = 10\n'
    )
    settings.PRICES = str(prices)
    await talked(await room(second_line=line(url, "level-0")))
    [call] = await safety_calls()
    assert call.cost is not None
    assert call.cost > 0
    assert call.prices == "v1"


@pytest.mark.parametrize(("model", "last"), [("", "reply"), ("level-0", "reply"), ("level-3", "held")])
async def test_scripted_second_line_needs_no_server(answers, model, last):
    frames = await talked(await room(second_line={"kind": "scripted", "model": model}))
    assert types(frames)[-1] == last
    [call] = await safety_calls()
    assert (call.status, call.cost) == ("ok", 0)


async def test_without_a_second_line_nothing_is_asked_or_kept(answers):
    frames = await talked(await room())
    assert frames[-1]["text"] == "Hello."
    turn = await Turn.objects.aget()
    assert (turn.first_level, turn.second_level, turn.screen, turn.second_screen) == (None, None, "", "")
    assert await Call.objects.acount() == 1


def test_client_of_the_moderation_endpoint_is_loaded_before_anybody_writes():
    code = (
        "import sys, threading; from dialogue.safety.second_line import prepare; assert 'openai' not in sys.modules;"
        "prepare({}); prepare({'kind': 'scripted'}); assert threading.active_count() == 1;"
        "prepare({'kind': 'openai_moderation'}); [one.join() for one in threading.enumerate()[1:]];"
        "assert 'openai' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], cwd=settings.BASE_DIR, check=True)
