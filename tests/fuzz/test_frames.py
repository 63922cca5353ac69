"""Frames of the chat's websocket: each is answered or ignored, none ends the socket, a refused one stores nothing."""

import asyncio
import json
from typing import Any

import pytest
from channels.db import database_sync_to_async
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from dialogue.chat import chat_frames, consumers, replies
from tests.dialogue.chat.test_consumers import Model, opened, room
from tests.fuzz.amount import get_amount
from tests.fuzz.hostile import NODES, VALUES, changed, damaged
from tests.fuzz.watch import Watch, digest, watching

pytestmark = pytest.mark.django_db(transaction=True)
TABLES = ("dialogue_conversation", "dialogue_turn", "dialogue_call", "dialogue_riskevent")
ON_ONE_SOCKET = 40
NO_JSON = "The frame is not JSON."
TIMING = {"reading_ms": 1, "typing_ms": 2, "focus_losses": 0, "pasted": False}
GOOD: list[dict[str, Any]] = [
    {"type": "resume", "after": 0},
    {"type": "message", "id": "a", "text": "I feel low.", "timing": TIMING},
    {"type": "retry"},
    {"type": "seen", "seq": 1},
    {"type": "end", "early": True},
]
NEARLY_GOOD = st.sampled_from(GOOD).flatmap(changed)
FRAMES = st.one_of(
    NEARLY_GOOD.map(json.dumps),
    NODES.map(json.dumps),
    st.sampled_from(GOOD)
    .flatmap(lambda one: damaged(json.dumps(one).encode()))
    .map(lambda b: b.decode(errors="replace")),
    VALUES,
    st.just("[" * 100_000),
).filter(bool)


async def send(watch: Watch, socket: Any, frame: str) -> None:
    """Send a frame and then one that is surely refused, whose answer says that the first is done with."""
    # What an earlier frame asked for is stored first.
    await asyncio.gather(*(live.task for live in list(replies.running.values()) if live.task), return_exceptions=True)
    before = await database_sync_to_async(digests)()
    await socket.send_to(text_data=frame)
    await socket.send_to(text_data="?")
    refusals: list[str] = []
    is_last = 1 + is_no_json(frame)  # such a frame is refused in the same words as the one sent after it
    while refusals.count(NO_JSON) < is_last:
        answer = await socket.receive_json_from(timeout=20)
        refusals += [answer["detail"]] if answer["type"] == "error" else []
        if answer["type"] == "superseded":
            break
    refused = len(refusals) > 1
    watch.sent["refused" if refused else "accepted"] += 1
    if refused and before != await database_sync_to_async(digests)():
        watch.faults.append(f"{frame[:200]}: refused, but something was stored")


def is_no_json(frame: str) -> bool:
    try:
        chat_frames.parse(frame)
    except chat_frames.BadFrame as refusal:
        return str(refusal) == NO_JSON
    return False


def digests() -> list[str]:
    return [digest(table) for table in TABLES]


async def test_no_frame_breaks_a_conversation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replies, "model_for", lambda *_args, **_kw: Model())
    monkeypatch.setattr(consumers, "FRAMES_PER_WINDOW", 10**9)
    rest = get_amount("frame")
    with watching("frame") as watch:
        while rest > 0:
            drawn = draw_frames(min(rest, ON_ONE_SOCKET))
            conversation = await room(max_turns=1000)
            socket = await opened(conversation)
            for frame in drawn:
                await send(watch, socket, frame)
            await socket.disconnect()
            rest -= len(drawn)


def draw_frames(amount: int) -> list[str]:
    """Return that many frames. They are drawn apart from the socket, which lives in an event loop."""
    drawn: list[str] = []

    @settings(max_examples=amount, phases=[Phase.generate], suppress_health_check=list(HealthCheck), database=None)
    @given(FRAMES)
    def keep(frame: str) -> None:
        drawn.append(frame)

    keep()
    return drawn[:amount]
