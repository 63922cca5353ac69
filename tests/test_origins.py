"""From which pages a websocket may be opened, and what a page may connect to."""

import re

import pytest
from channels.testing import WebsocketCommunicator
from django.test import Client

from emostudy.origins import OriginGuard

HOST = "study.example.org"
TRUSTED = ["https://front.example.org", "https://*.lab.example.org:8443"]


async def greet(_scope, _receive, send):
    await send({"type": "websocket.accept"})


async def is_let_in(*headers, scheme="ws"):
    socket = WebsocketCommunicator(OriginGuard(greet, TRUSTED), "/ws/", headers=[(b"host", HOST.encode()), *headers])
    socket.scope["scheme"] = scheme
    connected, _ = await socket.connect(timeout=60)
    return connected


def told(origin):
    return b"origin", origin.encode("latin1")


@pytest.fixture(autouse=True)
def hosts(settings):
    settings.ALLOWED_HOSTS = [HOST]


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        (f"http://{HOST}", True),
        (f"http://{HOST}:80", True),
        (f"http://{HOST}:8000", False),
        (f"https://{HOST}", False),
        (f"http://sub.{HOST}", False),
        ("http://evil.example", False),
        ("null", False),
        ("file://", False),
        ("http://[", False),
        (f"http://{HOST}:port", False),
        ("\xff", False),
        ("https://front.example.org", True),
        ("https://front.example.org:443", True),
        ("https://front.example.org:444", False),
        ("http://front.example.org", False),
        ("https://a.lab.example.org:8443", True),
        ("https://a.lab.example.org", False),
    ],
)
async def test_scheme_host_and_port_of_an_origin_are_compared(origin, expected):
    assert await is_let_in(told(origin)) == expected


async def test_socket_without_an_origin_or_with_two_is_refused():
    assert not await is_let_in()
    assert not await is_let_in(told(f"http://{HOST}"), told("http://evil.example"))


async def test_host_that_is_not_ours_is_no_origin(settings):
    settings.ALLOWED_HOSTS = ["other.example.org"]
    assert not await is_let_in(told(f"http://{HOST}"))


async def test_word_of_the_proxy_counts_only_where_it_is_trusted(settings):
    forwarded = (b"x-forwarded-proto", b"https")
    assert not await is_let_in(told(f"https://{HOST}"), forwarded)
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    assert await is_let_in(told(f"https://{HOST}"), forwarded)
    assert not await is_let_in(told(f"http://{HOST}"), forwarded)
    assert await is_let_in(told(f"https://{HOST}"), scheme="wss")


@pytest.mark.parametrize(("secure", "socket"), [(False, f"ws://{HOST}"), (True, f"wss://{HOST}")])
def test_page_may_connect_to_its_own_server_alone(secure, socket, db):
    response = Client(headers={"host": HOST}).get("/help/", secure=secure)
    connect = re.search(r"connect-src ([^;]+)", response["Content-Security-Policy"])
    assert connect[1].split() == ["'self'", socket]
