"""What a supporter is sent, over a real server, where it speaks first."""

import json
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from channels.db import database_sync_to_async

from dialogue.chat.supporters import messages_for_opening
from dialogue.models import Conversation, Supporter
from tests.dialogue.chat.test_consumers import message, opened, until
from tests.llm_server import running

pytestmark = pytest.mark.django_db(transaction=True)

OPENING = {"opening": "Hello! What is on your mind?", "opening_request": "Speak first."}
REQUEST = {"role": "user", "content": "Speak first."}
FIRST = {"role": "assistant", "content": "Hello! What is on your mind?"}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with running() as base_url:
        yield base_url


def asked(server: str) -> list[Any]:
    """The messages of all requests."""
    with urllib.request.urlopen(f"{server.removesuffix('/v1')}/asked") as response:
        return [body["messages"] for body in json.loads(response.read())]


@database_sync_to_async
def room_at(server: str, prompt: str = "", **fields: Any) -> Conversation:
    supporter = Supporter.get_or_freeze(kind="openai_compatible", model="say:Go%20on.", base_url=server, prompt=prompt)
    return Conversation.objects.create(supporter=supporter, unpaced=True, **fields)


async def say(conversation: Conversation, *texts: str) -> None:
    socket = await opened(conversation)
    for text in texts:
        await socket.send_json_to(message(text))
        await until(socket, "reply")
    await socket.disconnect()


@pytest.mark.parametrize("prompt", ["Be kind.", ""])
async def test_opening_stands_after_the_request_for_it_so_that_the_user_speaks_first(server: str, prompt: str) -> None:
    conversation = await room_at(server, prompt, **OPENING)
    await say(conversation, "I feel low.", "My job.")
    standing = [{"role": "system", "content": prompt}] if prompt else []
    first = [*standing, REQUEST, FIRST, {"role": "user", "content": "I feel low."}]
    second = [*first, {"role": "assistant", "content": "Go on."}, {"role": "user", "content": "My job."}]
    assert asked(server)[-2:] == [first, second]


async def test_without_an_opening_the_person_speaks_first(server: str) -> None:
    await say(await room_at(server, "Be kind."), "I feel low.")
    assert asked(server)[-1] == [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "I feel low."},
    ]


async def test_opening_brings_no_frame_and_counts_as_no_turn(server: str) -> None:
    conversation = await room_at(server, **OPENING)
    socket = await opened(conversation)
    assert await socket.receive_nothing(timeout=0.2)
    await socket.send_json_to(message("I feel low.", id="one"))
    frames = await until(socket, "reply")
    assert (frames[0], frames[-1]["turn"]) == ({"type": "ack", "id": "one", "turn": 1}, 1)
    await socket.disconnect()
    assert await database_sync_to_async(conversation.answered_turns)() == 1


async def test_supporter_that_is_to_speak_first_is_asked_with_its_prompt_and_the_profile(server: str) -> None:
    conversation = await room_at(server, "Be kind.\n\nThey: {profile}", profile="29, nurse", opening_request="Speak.")
    assert [(one.role, one.text) for one in messages_for_opening(conversation)] == [
        ("system", "Be kind.\n\nThey: 29, nurse"),
        ("user", "Speak."),
    ]
    assert conversation.is_opening_due()
    conversation.opening = "Hi."
    assert not conversation.is_opening_due()


async def test_supporter_is_sent_no_names_and_numbers_where_the_study_says_so(server: str) -> None:
    conversation = await room_at(server, "Be kind.\n\n{profile}", redacts=True, profile="Contact: a@b.org")
    socket = await opened(conversation)
    for text in ("I'm Yusuf.", "Call 07700 900123."):
        await socket.send_json_to(message(text))
        await until(socket, "reply")
    await socket.disconnect()

    assert asked(server)[-1] == [
        {"role": "system", "content": "Be kind.\n\nContact: [e-mail address]"},
        {"role": "user", "content": "I'm [name]."},
        {"role": "assistant", "content": "Go on."},
        {"role": "user", "content": "Call [number]."},
    ]
    assert await stored_texts(conversation) == ["I'm Yusuf.", "Call 07700 900123."]


@database_sync_to_async
def stored_texts(conversation: Conversation) -> list[str]:
    return list(conversation.turns.order_by("number").values_list("text", flat=True))
