"""The desk's socket says that something has changed, to researchers alone."""

import pytest
from channels.db import database_sync_to_async
from channels.testing import WebsocketCommunicator
from django.contrib.auth.models import User
from django.test import Client

from dialogue.models import RiskEvent
from emostudy.asgi import application
from studies.care import consumers
from tests import factories

pytestmark = pytest.mark.django_db(transaction=True)

HOST, ORIGIN = (b"host", b"localhost"), (b"origin", b"http://localhost")
PATH = "/ws/research/demo/risks/"


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    monkeypatch.setattr(consumers, "EVERY", 0.01)


def cookie_of(**fields) -> tuple[bytes, bytes]:
    client = Client()
    client.force_login(User.objects.create(username="ada", **fields))
    return b"cookie", f"emostudy_session={client.cookies['emostudy_session'].value}".encode()


async def connect(*headers, path=PATH):
    socket = WebsocketCommunicator(application, path, headers=[HOST, ORIGIN, *headers])
    return socket, (await socket.connect(timeout=60))[0]


async def test_state_comes_at_first_and_at_each_change():
    study = await database_sync_to_async(factories.study)()
    person = await database_sync_to_async(factories.person)(study)
    socket, connected = await connect(await database_sync_to_async(cookie_of)(is_staff=True, is_superuser=True))
    assert connected
    first = await socket.receive_json_from(timeout=60)
    assert (first["type"], first["open"], first["unacknowledged"]) == ("desk", 0, 0)

    event = await RiskEvent.objects.acreate(subject=person.code, source="answer", level=4)

    second = await socket.receive_json_from(timeout=60)
    assert (second["open"], second["unacknowledged"], second["newest_event"]) == (1, 1, event.pk)
    assert set(second) == {"type", "open", "unacknowledged", "newest_event", "newest_act"}
    await socket.disconnect()


@pytest.mark.parametrize("staff", [None, False])
async def test_strangers_and_accounts_that_are_no_researchers_are_refused(staff):
    await database_sync_to_async(factories.study)()
    cookies = [] if staff is None else [await database_sync_to_async(cookie_of)(is_staff=staff)]
    _socket, connected = await connect(*cookies)
    assert not connected


async def test_study_that_is_not_there_is_refused():
    cookie = await database_sync_to_async(cookie_of)(is_staff=True, is_superuser=True)
    _socket, connected = await connect(cookie, path="/ws/research/nothing/risks/")
    assert not connected


async def test_what_a_page_sends_is_not_read():
    await database_sync_to_async(factories.study)()
    socket, _connected = await connect(await database_sync_to_async(cookie_of)(is_staff=True, is_superuser=True))
    await socket.receive_json_from(timeout=60)
    await socket.send_to(text_data="no json")
    await socket.send_to(bytes_data=b"\0")
    assert await socket.receive_nothing(timeout=0.2)
    await socket.disconnect()


async def test_socket_closes_when_the_role_is_taken_away():
    study = await database_sync_to_async(factories.study)()
    cookie = await database_sync_to_async(cookie_of)(is_staff=True)
    ada = await User.objects.aget()
    await database_sync_to_async(factories.grant)(study, ada, "safety_officer")
    socket, connected = await connect(cookie)
    assert connected
    await socket.receive_json_from(timeout=60)

    await ada.memberships.all().adelete()

    assert (await socket.receive_output(timeout=60))["type"] == "websocket.close"
