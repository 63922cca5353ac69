"""The socket, frame by frame, with models that do as they are told."""

import asyncio
import json
import threading
import uuid
from dataclasses import asdict

import pytest
from asgiref.sync import sync_to_async
from channels.db import database_sync_to_async
from channels.layers import get_channel_layer
from channels.testing import WebsocketCommunicator
from django.contrib.sessions.backends.db import SessionStore
from django.db import OperationalError, connection

from dialogue.chat import access, chat_frames, lifecycle, messages, outcomes, pacing, replies, sockets
from dialogue.chat.consumers import ChatConsumer
from dialogue.models import Call, Conversation, RiskEvent, Supporter, Turn
from dialogue.providers.base import Message, ProviderError, Reply
from dialogue.providers.recorded import question_of
from emostudy.asgi import application

pytestmark = pytest.mark.django_db(transaction=True)

HOST, ORIGIN = (b"host", b"localhost"), (b"origin", b"http://localhost")


class Model:
    """Streams pieces, waiting for `gate` before the one at `wait_at`; then raises, or ends well."""

    def __init__(self, pieces=("Hel", "lo."), *, error=None, gate=None, wait_at=0):
        self.pieces, self.error, self.gate, self.wait_at = pieces, error, gate, wait_at
        self.asked = []

    async def reply(self, messages, on_text=None):
        self.asked.append(messages)
        text = ""
        for number, piece in enumerate(self.pieces):
            if self.gate and number == self.wait_at:
                await self.gate.wait()
            text += piece
            on_text(piece)
        if self.error:
            raise self.error
        return Reply(text=text, model="m", total_ms=1)


@pytest.fixture
def answers(monkeypatch):
    """Sets the models that answer one attempt after the other; the last one answers all further ones."""
    monkeypatch.setattr(replies, "BACKOFF", 0.0)

    def use(*models):
        queue = list(models)
        monkeypatch.setattr(replies, "model_for", lambda *_args, **_kw: queue.pop(0) if len(queue) > 1 else queue[0])

    use(Model())
    return use


@pytest.fixture
def at_once(monkeypatch):
    """Every piece goes out by itself."""
    monkeypatch.setattr(pacing, "WINDOW", 0.0)
    monkeypatch.setattr(pacing, "WINDOW_FOR_EACH", 0.0)


@database_sync_to_async
def room(**fields):
    supporter = Supporter.get_or_freeze(kind="scripted", model="attuned")
    return Conversation.objects.create(**{"supporter": supporter, "min_turns": 1, "max_turns": 5, **fields})


@database_sync_to_async
def session_for(*conversations):
    session = SessionStore()
    session["any"] = True
    for conversation in conversations:
        access.grant(session, conversation)
    session.save()
    return session.session_key


async def connect(conversation, *, key=None, headers=()):
    key = key or await session_for(conversation)
    cookie = (b"cookie", f"emostudy_session={key}".encode())
    socket = WebsocketCommunicator(
        application, f"/ws/chat/{conversation.code}/", headers=[HOST, *(headers or [ORIGIN, cookie])]
    )
    connected, _ = await socket.connect(timeout=60)
    return socket, connected


async def opened(conversation, after=0):
    socket, _ = await connect(conversation)
    await socket.send_json_to({"type": "resume", "after": after})
    return socket


def message(text="I feel low", id=None):
    return {"type": "message", "id": id or str(uuid.uuid4()), "text": text}


async def until(socket, *types):
    """All frames up to the first of one of these types."""
    frames = []
    while not frames or frames[-1]["type"] not in types:
        frames.append(await socket.receive_json_from(timeout=60))
    return frames


def shown(frames):
    """What stands on the screen after these chunks, by the contract's rule."""
    text = ""
    for frame in frames:
        if frame["type"] == "chunk":
            text = text[: frame["at"]] + frame["text"]
    return text


async def test_message_is_acknowledged_streamed_and_answered(answers):
    conversation = await room()
    socket = await opened(conversation)
    await socket.send_json_to(message(id="one"))
    frames = await until(socket, "reply")
    assert frames[0] == {"type": "ack", "id": "one", "turn": 1}
    assert frames[1]["type"] == "chunk"
    assert frames[-1]["text"] == "Hello."
    numbers = [frame["seq"] for frame in frames[1:]]
    assert numbers == sorted(set(numbers))
    await socket.disconnect()


async def test_nothing_is_sent_before_resume(answers):
    conversation = await room()
    socket, connected = await connect(conversation)
    assert connected
    assert await socket.receive_nothing(timeout=0.2)
    await socket.disconnect()


@pytest.mark.parametrize(
    "raw",
    [" ", "no json", "[]", '"text"', "{}", '{"type":"nonsense"}', '{"type":"resume"}', '{"type":"resume","after":-1}',
     '{"type":"resume","after":true}', '{"type":"message","id":1,"text":"x"}', '{"type":"message","id":"a"}',
     '{"type":"end","early":"yes"}', '{"type":"seen","seq":1e99}', "[" * 50_000],
)  # fmt: skip
async def test_bad_frame_gets_an_error_and_the_conversation_goes_on(answers, raw):
    conversation = await room()
    socket = await opened(conversation)
    await socket.send_to(text_data=raw)
    error = await socket.receive_json_from(timeout=60)
    assert (error["type"], error["code"]) == ("error", "bad_frame")
    await socket.send_json_to(message())
    assert (await until(socket, "reply"))[-1]["turn"] == 1
    await socket.disconnect()


async def test_resent_message_is_acknowledged_and_stored_once(answers):
    conversation = await room()
    socket = await opened(conversation)
    await socket.send_json_to(message(id="one"))
    await until(socket, "reply")
    await socket.send_json_to(message(id="one"))
    assert await socket.receive_json_from(timeout=60) == {"type": "ack", "id": "one", "turn": 1}
    assert await Turn.objects.acount() == 1
    await socket.disconnect()


async def test_reply_runs_on_without_a_socket_and_resume_fetches_it(answers):
    gate = asyncio.Event()
    answers(Model(("Still ", "here."), gate=gate, wait_at=1))
    conversation = await room()
    socket = await opened(conversation)
    await socket.send_json_to(message())
    await until(socket, "chunk")
    await socket.disconnect()
    gate.set()
    await replies.running[conversation.pk].task
    again = await opened(conversation)
    assert [(frame["type"], frame["text"]) for frame in await until(again, "reply")] == [
        ("message", "I feel low"),
        ("reply", "Still here."),
    ]
    await again.disconnect()


async def test_resume_in_the_middle_of_a_reply_shows_it_from_its_beginning(answers):
    gate = asyncio.Event()
    answers(Model(("字🙂", "Half ", "whole."), gate=gate, wait_at=2))
    conversation = await room()
    socket = await opened(conversation)
    await socket.send_json_to(message())
    first = await until(socket, "chunk")
    again = await opened(conversation, after=first[-1]["seq"])
    [joined] = await until(again, "chunk")
    assert (joined["at"], joined["seq"] > first[-1]["seq"]) == (0, True)
    gate.set()
    rest = await until(again, "reply")
    assert "字🙂Half whole.".startswith(shown([joined, *rest]))
    assert rest[-1]["text"] == "字🙂Half whole."
    await again.disconnect()


async def test_one_who_joins_while_the_reply_is_being_stored_gets_it_too(answers, monkeypatch):
    storing, go_on = asyncio.Event(), asyncio.Event()
    store = replies.LiveReply.store

    async def slowly(self, rule, *args, **kwargs):
        storing.set()
        await go_on.wait()
        return await store(self, rule, *args, **kwargs)

    monkeypatch.setattr(replies.LiveReply, "store", slowly)
    conversation = await room()
    socket = await opened(conversation)
    await socket.send_json_to(message())
    await storing.wait()
    joined = await opened(conversation)
    seen = await until(joined, "message")
    go_on.set()
    seen += await until(joined, "reply")
    numbers = [frame["seq"] for frame in seen]
    assert numbers == sorted(set(numbers))
    assert seen[-1]["text"] == "Hello."
    await joined.disconnect()


async def test_one_who_joins_while_a_failure_is_being_stored_sees_the_next_attempt_whole(answers, at_once, monkeypatch):
    """Else the next attempt begins under the number that they were just given, and its first piece looks old."""
    storing, go_on = asyncio.Event(), asyncio.Event()
    store = replies.LiveReply.store

    async def slowly(self, rule, *args, **kwargs):
        if rule is outcomes.record_failure:
            storing.set()
            await go_on.wait()
        return await store(self, rule, *args, **kwargs)

    monkeypatch.setattr(replies.LiveReply, "store", slowly)
    answers(Model(("You ",), error=ProviderError("server_error", "500")), Model(("Answer ", "two.")))
    conversation = await room()
    socket = await opened(conversation)
    await socket.send_json_to(message())
    await storing.wait()
    joined = await opened(conversation)
    seen = await until(joined, "message")
    if not await joined.receive_nothing(timeout=0.2):
        seen.append(await joined.receive_json_from(timeout=60))
    go_on.set()
    seen += await until(joined, "reply")
    numbers = [frame["seq"] for frame in seen]
    assert numbers == sorted(set(numbers))
    assert "Answer " in [frame["text"] for frame in seen if frame["type"] == "chunk" and frame["at"] == 0]
    await joined.disconnect()


async def test_older_tab_is_told_that_it_is_superseded(answers):
    conversation = await room()
    older = await opened(conversation)
    newer = await opened(conversation)
    assert (await older.receive_json_from(timeout=60))["type"] == "superseded"
    await older.send_json_to(message())
    assert (await older.receive_json_from(timeout=60))["type"] == "superseded"
    await newer.send_json_to(message())
    await until(newer, "reply")
    assert await Turn.objects.acount() == 1
    await older.disconnect()
    await newer.disconnect()


async def test_failing_model_is_tried_again_and_the_ledger_shows_it(answers, at_once):
    answers(Model(error=ProviderError("server_error", "500")), Model())
    conversation = await room()
    socket = await opened(conversation)
    await socket.send_json_to(message())
    frames = await until(socket, "reply", "failed")
    assert frames[-1]["text"] == "Hello."
    statuses = [call.status async for call in Call.objects.order_by("pk")]
    assert statuses == ["server_error", "ok"]
    numbers = [frame["seq"] for frame in frames if "seq" in frame]
    assert numbers == list(range(2, 2 + len(numbers)))  # no gap tells that there was a second attempt
    again = [frame for frame in frames if frame["type"] == "chunk" and frame["at"] == 0]
    assert len(again) == 2
    await socket.disconnect()


async def test_model_that_never_answers_is_told_and_retry_is_welcome(answers):
    answers(Model((), error=ProviderError("timeout", "slow")))
    conversation = await room()
    socket = await opened(conversation)
    await socket.send_json_to(message())
    assert (await until(socket, "failed"))[-1]["turn"] == 1
    assert await Call.objects.acount() == replies.ATTEMPTS
    answers(Model())
    await socket.send_json_to({"type": "retry"})
    assert (await until(socket, "reply"))[-1]["text"] == "Hello."
    await socket.disconnect()


async def test_reply_is_stored_once_the_database_is_back(answers, monkeypatch):
    record, tries = outcomes.record_reply, []

    def away_at_first(*args, **kwargs):
        tries.append(args)
        if len(tries) < 3:
            raise OperationalError("the server closed the connection")
        return record(*args, **kwargs)

    monkeypatch.setattr(outcomes, "record_reply", away_at_first)
    conversation = await room()
    socket = await opened(conversation)
    await socket.send_json_to(message())
    assert (await until(socket, "reply"))[-1]["text"] == "Hello."
    assert len(tries) == 3
    assert await Call.objects.acount() == 1
    await socket.disconnect()


async def test_socket_whose_handler_broke_leaves_nothing_behind(answers, monkeypatch):
    def away(*_args, **_kwargs):
        raise OperationalError("the server closed the connection")

    monkeypatch.setattr(messages, "take_seeker_turn", away)
    conversation = await room()
    socket = await opened(conversation)
    await socket.send_json_to(message())
    with pytest.raises(OperationalError):
        await socket.wait()
    assert not replies.listeners
    assert not [task for task in asyncio.all_tasks() if "ChatConsumer.write" in repr(task)]


async def test_reply_comes_although_the_socket_was_given_up_while_its_message_was_stored(answers, monkeypatch):
    take, storing, go_on = messages.take_seeker_turn, threading.Event(), threading.Event()

    def slowly(*args, **kwargs):
        storing.set()
        assert go_on.wait(timeout=10)
        return take(*args, **kwargs)

    monkeypatch.setattr(messages, "take_seeker_turn", slowly)
    conversation = await room()
    socket = await opened(conversation)
    await socket.send_json_to(message())
    assert await asyncio.to_thread(storing.wait, 10)
    socket.future.cancel()  # as Daphne does, ten seconds after the line broke
    await asyncio.wait([socket.future])
    go_on.set()
    again = await opened(conversation)
    assert (await until(again, "reply"))[-1]["text"] == "Hello."
    assert await Call.objects.acount() == 1
    await again.disconnect()


async def test_permanent_failure_is_not_tried_again(answers):
    answers(Model((), error=ProviderError("client_error", "401", permanent=True)))
    conversation = await room()
    socket = await opened(conversation)
    await socket.send_json_to(message())
    await until(socket, "failed")
    assert await Call.objects.acount() == 1
    await socket.disconnect()


async def test_programming_error_in_a_model_leaves_no_dead_input_box(answers):
    answers(Model((), error=ZeroDivisionError()))
    conversation = await room()
    socket = await opened(conversation)
    await socket.send_json_to(message())
    assert (await until(socket, "failed"))[-1]["turn"] == 1
    await socket.disconnect()


async def test_dangerous_reply_never_reaches_the_screen_whole(answers):
    answers(Model(("I hear you. ", "You should just ", "kill yourself", " and more")))
    conversation = await room()
    socket = await opened(conversation)
    await socket.send_json_to(message())
    frames = await until(socket, "closed")
    assert "kill yourself" not in json.dumps(frames)
    turn = await Turn.objects.aget()
    assert turn.masked
    assert "kill yourself" in turn.reply_original
    assert (await RiskEvent.objects.aget()).source == "reply"
    await socket.disconnect()


async def test_message_of_level_3_is_acknowledged_and_asks_no_model(answers):
    model = Model()
    answers(model)
    conversation = await room()
    socket = await opened(conversation)
    await socket.send_json_to(message("我想自杀", id="x"))
    assert [frame["type"] for frame in await until(socket, "held")] == ["ack", "help", "held"]
    await socket.send_json_to(message())
    assert (await socket.receive_json_from(timeout=60))["code"] == "held"
    assert model.asked == []
    await socket.disconnect()


async def test_end_before_and_after_the_minimum(answers):
    conversation = await room(min_turns=1)
    socket = await opened(conversation)
    await socket.send_json_to({"type": "end", "early": False})
    assert (await socket.receive_json_from(timeout=60))["type"] == "error"
    await socket.send_json_to(message())
    await until(socket, "reply")
    await socket.send_json_to({"type": "end", "early": False})
    assert (await socket.receive_json_from(timeout=60))["type"] == "closed"
    await socket.send_json_to(message())
    assert (await socket.receive_json_from(timeout=60))["code"] == "closed"
    await socket.disconnect()


async def test_seen_marks_what_was_on_the_screen(answers):
    conversation = await room()
    socket = await opened(conversation)
    await socket.send_json_to(message())
    reply = (await until(socket, "reply"))[-1]
    await socket.send_json_to({"type": "seen", "seq": reply["seq"]})
    await socket.send_json_to({"type": "nonsense"})
    await until(socket, "error")
    assert (await Turn.objects.aget()).seen
    await socket.disconnect()


async def test_too_many_frames_are_refused_for_a_while(answers):
    conversation = await room()
    socket = await opened(conversation)
    for _ in range(130):
        await socket.send_json_to({"type": "nonsense"})
    codes = [(await socket.receive_json_from(timeout=60))["code"] for _ in range(130)]
    assert set(codes) == {"bad_frame", "rate"}
    await socket.disconnect()


async def test_reply_that_another_process_stored_is_told(answers, settings):
    settings.SINGLE_PROCESS = False
    conversation = await room()
    socket = await opened(conversation)
    await socket.send_json_to({"type": "seen", "seq": 0})
    other = await database_sync_to_async(messages.take_seeker_turn)(
        conversation.pk, client_id="a", text="I feel low", owner="another-process"
    )
    outcome = await database_sync_to_async(outcomes.record_reply)(
        other.assignment, Reply(text="From afar.", model="m"), seq=other.assignment.seq
    )
    assert outcome
    layer = get_channel_layer()
    event = {"type": "conversation.changed", "owner": "another-process"}
    await layer.group_send(replies.channel_group(conversation.code), event)
    assert (await until(socket, "reply"))[-1]["text"] == "From afar."
    await socket.disconnect()


async def test_reply_that_died_with_its_process_comes_on_resume(answers, settings):
    settings.SINGLE_PROCESS = True
    conversation = await room()
    await database_sync_to_async(messages.take_seeker_turn)(
        conversation.pk, client_id="a", text="I feel low", owner="a-process-that-was-killed"
    )
    socket = await opened(conversation)
    assert (await until(socket, "reply"))[-1]["text"] == "Hello."
    await socket.disconnect()


@pytest.mark.parametrize("who", ["other origin", "other port", "no origin"])
async def test_socket_is_refused_to_strangers(who):
    conversation = await room()
    key = await session_for(conversation)
    cookie = (b"cookie", f"emostudy_session={key}".encode())
    headers = {
        "other origin": [(b"origin", b"http://evil.example"), cookie],
        "other port": [(b"origin", b"http://localhost:9000"), cookie],
        "no origin": [cookie],
    }[who]
    _, connected = await connect(conversation, key=key, headers=headers)
    assert not connected


@pytest.mark.parametrize("who", ["no session", "other person"])
async def test_browser_without_access_is_told_so_and_not_heard(who):
    """Its cookies may have gone: were the handshake refused, the page could not know and would try for ever."""
    conversation, other = await room(), await room()
    cookie = {
        "no session": b"",
        "other person": f"emostudy_session={await session_for(other)}".encode(),
    }[who]
    socket, _ = await connect(conversation, headers=[ORIGIN, (b"cookie", cookie)])
    await socket.send_json_to({"type": "resume", "after": 0})
    assert await socket.receive_output(timeout=60) == {"type": "websocket.close", "code": sockets.SHUT_OUT}


@pytest.mark.parametrize(
    "path", ["/ws/", "/ws/chat/", "/ws/chat/a/b/", "/j/a-token/", "/ws/chat/%00/", "/ws/chat/a\0/"]
)
async def test_socket_to_an_unknown_address_is_refused_without_a_word_in_the_log(path, caplog):
    key = await session_for(await room())
    cookie = (b"cookie", f"emostudy_session={key}".encode())
    socket = WebsocketCommunicator(application, path, headers=[HOST, ORIGIN, cookie])
    connected, _ = await socket.connect(timeout=60)
    assert (connected, caplog.records) == (False, [])


async def test_cookie_with_a_nul_is_no_session():
    conversation = await room()
    _, connected = await connect(conversation, headers=[ORIGIN, (b"cookie", rb'emostudy_session="\000aaaaaaaaaa"')])
    assert not connected


async def test_reply_of_a_paced_conversation_comes_whole_and_in_many_pieces(answers):
    answers(Model(pieces=["That sounds hard. " * 4]))
    socket = await opened(await room(characters_per_second=200.0, first_piece_ms=50))
    await socket.send_json_to(message())
    heard = await until(socket, "reply")
    assert shown(heard) == heard[-1]["text"] == "That sounds hard. " * 4
    assert len([frame for frame in heard if frame["type"] == "chunk"]) >= 4
    await socket.disconnect()


async def test_model_that_names_itself_is_flagged_and_masked_where_the_study_says_so(answers, at_once):
    named = "I hear you. I am ChatGPT, made by OpenAI. What weighs on you most?"
    for masks in (False, True):
        answers(Model(pieces=[named[:20], named[20:30], named[30:]]))
        conversation = await room(mask_names=masks)
        socket = await opened(conversation)
        await socket.send_json_to(message())
        heard = await until(socket, "reply")
        turn = await Turn.objects.aget(conversation=conversation)
        assert turn.names_itself
        assert (turn.masked, turn.reply_original) == (masks, named if masks else "")
        assert shown(heard) == heard[-1]["text"] == turn.reply
        assert ("ChatGPT" in json.dumps(heard)) is not masks
        await socket.disconnect()


async def test_how_a_message_was_written_is_refused_where_it_is_nonsense(answers):
    socket = await opened(await room(timings=True))
    timing = {"reading_ms": 1, "typing_ms": -1, "focus_losses": 0, "pasted": False}
    await socket.send_json_to({**message(), "timing": timing})
    assert (await until(socket, "error"))[-1]["code"] == "bad_frame"
    await socket.send_json_to({**message(), "timing": {**timing, "typing_ms": 2000}})
    await until(socket, "reply")
    assert (await Turn.objects.aget()).typing_ms == 2000
    await socket.disconnect()


async def test_who_sends_without_reading_is_let_go(answers, monkeypatch):
    monkeypatch.setattr("dialogue.chat.consumers.BACKLOG", -1)  # as if nothing of what was sent had been taken
    socket = await opened(await room())
    closed = await socket.receive_output(timeout=60)
    assert (closed["type"], closed["code"]) == ("websocket.close", 1013)


async def test_what_a_slow_reader_asks_for_again_and_again_waits_once():
    consumer = ChatConsumer()
    consumer.outgoing = asyncio.Queue()
    for seq in (1, 2):
        consumer.outgoing.put_nowait(chat_frames.StoredReply(seq=seq, turn=seq, text="Hello."))
    consumer.outgoing.put_nowait(chat_frames.Ack(id="a", turn=1))
    consumer.drop_unsent()
    assert consumer.outgoing.get_nowait() == chat_frames.Ack(id="a", turn=1)
    assert consumer.outgoing.empty()


@database_sync_to_async
def room_with_model():
    supporter = Supporter.get_or_freeze(kind="openai_compatible", model="m", base_url="http://127.0.0.1:1/v1")
    return Conversation.objects.create(
        supporter=supporter, min_turns=1, max_turns=5, unpaced=True
    ), supporter.settings()


async def test_recorded_reply_is_played_at_its_attempt_and_no_server_is_asked(tmp_path, monkeypatch):
    monkeypatch.setattr(replies, "BACKOFF", 0.0)
    conversation, settings = await room_with_model()
    place = {"question": question_of(settings, [Message("user", "I feel low")]), "replicate": 1}
    failure = {"failure": {"status": "server_error", "detail": "500", "partial": ""}}
    reply = {"reply": asdict(Reply("Tell me more.", "m", total_ms=7))}
    lines = [place | {"attempt": number} | outcome for number, outcome in enumerate((failure, reply), 1)]
    (tmp_path / "calls.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    monkeypatch.setenv("REPLAY", str(tmp_path / "calls.jsonl"))
    socket = await opened(conversation)
    await socket.send_json_to(message())
    assert (await until(socket, "reply", "failed"))[-1]["text"] == "Tell me more."
    calls = [(call.kind, call.status, call.total_ms) async for call in Call.objects.order_by("pk")]
    assert calls == [("recorded", "server_error", None), ("recorded", "ok", 7)]
    await socket.disconnect()


async def test_socket_is_told_by_the_page_of_the_team_that_its_conversation_rests(answers):
    conversation = await room()
    socket = await opened(conversation)
    await socket.send_json_to(message())
    await until(socket, "reply")
    in_thread_of_a_page = sync_to_async(suspend_and_tell, thread_sensitive=False)
    await in_thread_of_a_page(conversation.pk)
    [told] = await until(socket, "pause")
    assert (told["by"], told["turn"]) == ("team", 1)
    await socket.send_json_to(message())
    assert (await until(socket, "error"))[-1]["code"] == "paused"
    await socket.disconnect()


def suspend_and_tell(conversation):
    try:
        replies.tell_sockets([lifecycle.suspend(conversation)])
    finally:
        connection.close()


async def test_sockets_of_other_processes_read_that_their_conversation_rests(answers, settings):
    settings.SINGLE_PROCESS = False
    conversation = await room()
    socket = await opened(conversation)
    await socket.send_json_to(message())
    await until(socket, "reply")
    notice = await database_sync_to_async(lifecycle.suspend)(conversation.pk)
    told = {"type": "conversation.changed", "owner": "another process"}
    await get_channel_layer().group_send(replies.channel_group(notice.code), told)
    assert (await until(socket, "pause"))[-1]["by"] == "team"
    await socket.disconnect()
