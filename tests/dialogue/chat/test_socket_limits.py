"""How long sockets stay open, how many there are, and whom a new link shuts out."""

import asyncio

import pytest
from asgiref.sync import sync_to_async
from channels.db import database_sync_to_async
from channels.testing import WebsocketCommunicator
from django.contrib.sessions.models import Session
from django.test import Client

from dialogue.chat import access, sockets
from dialogue.models import Conversation
from emostudy.asgi import application
from studies.models import Membership, Study
from studies.models.membership import Role
from studies.participation import board_acts
from tests import factories
from tests.dialogue.chat.test_consumers import HOST, ORIGIN, connect, opened, room, session_for

pytestmark = pytest.mark.django_db(transaction=True)


async def close_code(socket):
    """The code with which the server closes, whatever frames come before."""
    while (event := await socket.receive_output(timeout=60))["type"] != "websocket.close":
        pass
    return event.get("code")


async def test_silent_browser_is_let_go_and_may_come_back(monkeypatch):
    monkeypatch.setattr(sockets, "IDLE", 0.3)
    conversation = await room()
    socket = await opened(conversation)
    assert await close_code(socket) == sockets.RESTING
    await socket.disconnect()
    assert conversation.pk not in sockets.lines
    again, connected = await connect(conversation)
    assert connected
    await again.disconnect()


async def test_browser_that_says_something_stays(monkeypatch):
    monkeypatch.setattr(sockets, "IDLE", 0.6)
    socket = await opened(await room())
    for _ in range(4):
        await asyncio.sleep(0.3)
        await socket.send_json_to({"type": "seen", "seq": 0})
    assert await socket.receive_nothing()
    await socket.disconnect()


async def test_every_socket_ends_after_the_longest_time(monkeypatch):
    monkeypatch.setattr(sockets, "TOTAL", 0.3)
    socket = await opened(await room())
    assert await close_code(socket) == sockets.WORN_OUT
    await socket.disconnect()


async def test_one_socket_too_many_closes_the_oldest(monkeypatch):
    monkeypatch.setattr(sockets, "OF_CONVERSATION", 2)
    conversation, other = await room(), await room()
    key = await session_for(conversation, other)
    elsewhere, _ = await connect(other, key=key)
    first, second, third = [(await connect(conversation, key=key))[0] for _ in range(3)]
    assert await close_code(first) == sockets.REPLACED
    assert len(sockets.lines[conversation.pk]) == 2
    assert await second.receive_nothing()
    for socket in (elsewhere, first, second, third):
        await socket.disconnect()


@database_sync_to_async
def person_in_chat():
    study = factories.study("demo")
    person = factories.person(study, plan=[{"kind": "consent", "key": "consent"}])
    return person, factories.run_with_turns(study, person).conversation


async def test_new_link_closes_the_sockets_of_the_old_one_and_lets_none_in_again(admin_user):
    person, conversation = await person_in_chat()
    bystander = await room()
    key, other = await session_for(conversation), await opened(bystander)
    socket, connected = await connect(conversation, key=key)
    assert connected
    await sync_to_async(board_acts.reissue_link)(person, by=admin_user, reason="the phone was lost")
    assert await close_code(socket) == sockets.SHUT_OUT
    await socket.disconnect()
    assert await close_code((await connect(conversation, key=key))[0]) == sockets.SHUT_OUT
    assert await other.receive_nothing()
    await other.disconnect()


async def test_browser_is_let_in_again_once_it_has_come_by_the_new_link(admin_user):
    person, conversation = await person_in_chat()
    await sync_to_async(board_acts.reissue_link)(person, by=admin_user, reason="the phone was lost")
    socket, connected = await connect(await Conversation.objects.aget(pk=conversation.pk))
    assert connected
    await socket.disconnect()


def test_session_from_before_access_had_numbers_opens_nothing():
    conversation = Conversation.objects.create()
    assert access.conversation_for({"session": {"conversations": [conversation.code]}}, conversation.code) is None


async def test_researcher_has_so_many_sockets_and_no_more(monkeypatch, django_user_model):
    monkeypatch.setattr(sockets, "OF_ACCOUNT", 1)
    cookie = await database_sync_to_async(cookie_of_admin)(django_user_model)

    async def watch():
        socket = WebsocketCommunicator(application, "/ws/research/demo/board/", headers=[HOST, ORIGIN, cookie])
        return socket, (await socket.connect(timeout=60))[0]

    first, is_first_in = await watch()
    second, is_second_in = await watch()
    assert (is_first_in, is_second_in) == (True, False)
    await first.disconnect()
    third, is_third_in = await watch()
    assert is_third_in
    await third.disconnect()
    await second.wait()


async def test_stranger_is_refused_a_socket_of_the_researchers():
    socket = WebsocketCommunicator(application, "/ws/research/demo/board/", headers=[HOST, ORIGIN])
    assert not (await socket.connect(timeout=60))[0]


async def test_page_of_who_has_signed_out_elsewhere_is_told_no_more(django_user_model):
    cookie = await database_sync_to_async(cookie_of_admin)(django_user_model)
    socket = WebsocketCommunicator(application, "/ws/research/demo/board/", headers=[HOST, ORIGIN, cookie])
    assert (await socket.connect(timeout=60))[0]
    await Session.objects.all().adelete()
    await close_code(socket)
    await socket.wait()


def cookie_of_admin(users):
    factories.study("demo")
    ada = users.objects.create_user("ada", is_staff=True)
    Membership.objects.create(study=Study.objects.get(), user=ada, role=Role.ADMIN)
    client = Client()
    client.force_login(ada)
    return b"cookie", f"emostudy_session={client.session.session_key}".encode()
