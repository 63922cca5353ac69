"""Who may read /metrics."""

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db
TOKEN = "a long token that the Prometheus server has too"


def status(address: str = "127.0.0.1", **headers: str) -> int:
    return Client(REMOTE_ADDR=address).get("/metrics", headers=headers).status_code


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.0.1", "::1", "::ffff:127.0.0.1"])
def test_this_machine_reads_them(address):
    assert status(address) == 200


@pytest.mark.parametrize("address", ["10.0.0.8", "203.0.113.9", "2001:db8::1", ""])
def test_nobody_else_does(address):
    assert status(address) == 403


@pytest.mark.parametrize(
    "header", ["X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "X-Real-IP", "Forwarded", "Via"]
)
def test_what_a_proxy_on_this_machine_hands_on_comes_from_elsewhere(header):
    assert status(**{header: "127.0.0.1"}) == 403


def test_token_is_enough_from_anywhere(settings):
    settings.METRICS_TOKEN = TOKEN
    assert status("203.0.113.9", Authorization=f"Bearer {TOKEN}") == 200


@pytest.mark.parametrize("sent", ["", "Bearer ", "Bearer other", f"Basic {TOKEN}", TOKEN, "Bearer 令牌"])
def test_other_words_are_not(sent, settings):
    settings.METRICS_TOKEN = TOKEN
    assert status("203.0.113.9", Authorization=sent) == 403
    settings.METRICS_TOKEN = ""
    assert status("203.0.113.9", Authorization=sent) == 403
