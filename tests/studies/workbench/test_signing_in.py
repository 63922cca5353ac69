"""Signing in: what is counted, whom it stops, and whom it does not."""

import socket
import threading
import uuid

import pytest
from allauth.account.adapter import DefaultAccountAdapter
from django.contrib.auth.models import User
from django.core.cache import caches
from django.core.exceptions import ValidationError
from django.db import connection
from django.test import Client, RequestFactory
from django.urls import NoReverseMatch, reverse

from emostudy.shared_cache import SharedCache
from studies.workbench import signing_in

pytestmark = pytest.mark.django_db

DOOR = "/research/sign-in/"
RIGHT, WRONG = "a long enough one", "wrong"
WAIT = "Too many attempts. Please wait a few minutes and try again."
MISMATCH = "The user name or the password is wrong."
STRANGER, OFFICE = "198.51.100.7", "203.0.113.20"


@pytest.fixture(autouse=True)
def ada():
    return User.objects.create_user("ada", password=RIGHT, is_staff=True)


@pytest.fixture
def looks(monkeypatch):
    """The passwords that were looked at: each costs a good part of a second of a processor."""
    seen = []
    check = User.check_password
    monkeypatch.setattr(User, "check_password", lambda user, text: seen.append(text) or check(user, text))
    return seen


def sign_in(password=RIGHT, name="ada", address=OFFICE, client=None, **more):
    fields = {"login": name, "password": password, **more}
    return (client or Client()).post(DOOR, fields, REMOTE_ADDR=address)


def faults(response):
    return response.context["form"].non_field_errors()


def test_sign_in_leads_to_the_studies_and_sign_out_ends_it():
    client = Client()
    response = sign_in(client=client)
    assert (response.status_code, response["Location"]) == (302, "/research/")
    assert client.get("/research/").status_code == 200
    assert client.post("/research/sign-out/")["Location"] == DOOR
    assert client.get("/research/").status_code == 302


@pytest.fixture(params=["refused", "silent"])
def redis_is_away(request, settings, monkeypatch):
    """At a real address: no one listens there, or someone who never answers."""
    monkeypatch.setattr(SharedCache, "away_until", 0.0)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"redis://127.0.0.1:{taken.getsockname()[1]}"
        if request.param == "refused":
            taken.close()
        backend = "emostudy.shared_cache.SharedCache"
        settings.CACHES = settings.CACHES | {
            "default": {"BACKEND": backend, "LOCATION": address, "KEY_PREFIX": uuid.uuid4().hex}
        }
        yield


def test_sign_in_works_and_guessing_is_limited_while_redis_is_away(redis_is_away):
    assert sign_in().status_code == 302
    for _ in range(5):
        assert faults(sign_in(WRONG, address=STRANGER)) == [MISMATCH]
    assert faults(sign_in(WRONG, address=STRANGER)) == [WAIT]
    assert sign_in().status_code == 302


def test_sign_in_leads_back_to_the_page_that_was_asked_for_and_to_no_other_host():
    client = Client()
    page = client.get(client.get("/research/planning/sample-size/")["Location"])
    assert '<input type="hidden" name="next" value="/research/planning/sample-size/">' in page.content.decode()
    assert sign_in(next="/research/planning/sample-size/")["Location"] == "/research/planning/sample-size/"
    assert sign_in(next="https://evil.example/")["Location"] == "/research/"


def test_page_after_it_says_nothing_of_it():
    client = Client()
    sign_in(client=client)
    assert list(client.get("/research/").context["messages"]) == []


def test_sign_in_is_for_researchers_whose_account_is_open(ada):
    User.objects.filter(pk=ada.pk).update(is_staff=False)
    assert faults(sign_in()) == ["This account has no access to the researchers' pages."]
    User.objects.filter(pk=ada.pk).update(is_staff=True, is_active=False)
    assert faults(sign_in()) == [MISMATCH]


def test_name_without_an_account_is_told_the_same_as_a_wrong_password():
    assert faults(sign_in(WRONG)) == faults(sign_in(name="nobody")) == [MISMATCH]


@pytest.mark.parametrize("fields", [{}, {"login": ""}, {"login": "ada"}, {"login": "\0"}, {"password": "a"}])
def test_form_that_lacks_something_is_shown_again(fields):
    response = Client().post(DOOR, fields)
    assert response.status_code == 200
    assert response.context["form"].errors


def test_guesser_waits_and_no_more_passwords_are_looked_at(looks):
    for _ in range(8):
        response = sign_in(WRONG, name="ADA")
    assert faults(response) == [WAIT]
    assert faults(sign_in()) == [WAIT]
    assert looks == [WRONG] * 5


def test_empty_password_takes_nothing_back(looks):
    for _ in range(6):
        sign_in(WRONG)
        sign_in("")
    assert faults(sign_in()) == [WAIT]
    assert looks == [WRONG] * 5


def test_right_password_takes_back_its_own_try_alone():
    for _ in range(4):
        sign_in(WRONG)
    assert sign_in().status_code == 302
    assert faults(sign_in(WRONG)) == [MISMATCH]
    assert faults(sign_in()) == [WAIT]


def test_stranger_cannot_lock_out_somebody_at_another_address():
    for _ in range(20):
        sign_in(WRONG, address=STRANGER)
    assert faults(sign_in(address=STRANGER)) == [WAIT]
    assert sign_in().status_code == 302


def test_address_has_few_wrong_passwords_whatever_the_names(looks, settings):
    settings.ACCOUNT_RATE_LIMITS = {**settings.ACCOUNT_RATE_LIMITS, "login": ""}
    for number in range(30):
        User.objects.create_user(f"user{number}", password=RIGHT, is_staff=True)
        sign_in(WRONG, name=f"user{number}", address=STRANGER)
    assert faults(sign_in(address=STRANGER)) == [WAIT]
    assert len(looks) == 30
    assert sign_in().status_code == 302


def test_many_addresses_lock_a_name_but_where_it_has_signed_in_before(looks):
    sign_in(address=OFFICE)
    for number in range(100):
        sign_in(WRONG, address=f"198.51.100.{number}")
    assert looks == [RIGHT, *[WRONG] * 59]
    assert faults(sign_in(address="192.0.2.1")) == [WAIT]
    assert sign_in(address=OFFICE).status_code == 302


def test_addresses_of_one_ipv6_network_are_one(looks):
    for number in range(9):
        sign_in(WRONG, address=f"2001:db8::{number}")
    assert len(looks) == 5


def test_header_of_a_proxy_counts_only_where_there_is_one(settings, looks):
    def guess(written):
        return Client().post(
            DOOR,
            {"login": "ada", "password": WRONG},
            REMOTE_ADDR="127.0.0.1",
            headers={"x-forwarded-for": written},
        )

    for number in range(9):
        guess(f"10.0.0.{number}")
    assert len(looks) == 5
    settings.ALLAUTH_TRUSTED_PROXY_COUNT = 1
    for number in range(9):
        guess(f"10.0.0.{number}, {STRANGER}")
    assert len(looks) == 10
    guess(f"{STRANGER}, 10.0.0.1")
    assert len(looks) == 11


def test_too_many_posts_are_answered_before_anything_is_looked_at(looks):
    for _ in range(30):
        sign_in("")
    response = Client(headers={"accept-language": "zh"}).post(DOOR, {}, REMOTE_ADDR=OFFICE)
    assert response.status_code == 429
    assert "请稍候" in response.content.decode()
    assert looks == []


def keys_in_the_database():
    with connection.cursor() as cursor:
        cursor.execute("SELECT cache_key FROM emostudy_cache")
        return [key for (key,) in cursor.fetchall()]


def keys_in_redis():
    own = caches["default"]
    return [key.decode() for key in own._cache.get_client().keys(f"{own.key_prefix}*")]


def test_tries_stand_where_all_processes_see_them_without_a_name(settings):
    sign_in(WRONG)
    keys = keys_in_the_database() if settings.SINGLE_PROCESS else keys_in_redis()
    assert len(keys) == 4  # the name here, the address, its posts, the name from elsewhere
    assert not any("ada" in key for key in keys)


def test_one_password_is_looked_at_while_one_waits_and_others_are_sent_away(monkeypatch):
    """However many guess at once, two of the four threads that answer pages are free."""
    go, inside, ended = threading.Event(), [], []

    def look(*_args, **_credentials):
        inside.append(threading.get_ident())
        go.wait(10)

    def guess():
        request = RequestFactory().post(DOOR)
        try:
            signing_in.Adapter(request).authenticate(request, username="ada", password=WRONG)
        except ValidationError as refusal:
            ended.append(refusal.code)
            refused.release()

    refused = threading.Semaphore(0)
    monkeypatch.setattr(DefaultAccountAdapter, "authenticate", look)
    guessers = [threading.Thread(target=guess) for _ in range(8)]
    for guesser in guessers:
        guesser.start()
    for _ in range(6):
        assert refused.acquire(timeout=10)
    assert (len(inside), ended) == (1, ["busy"] * 6)
    go.set()
    for guesser in guessers:
        guesser.join(10)
    assert len(inside) == 2


@pytest.mark.parametrize("method", ["get", "post"])
def test_admin_is_entered_by_the_same_door(method, looks):
    guess = {"username": "ada", "password": WRONG} if method == "post" else None
    response = getattr(Client(), method)("/admin/login/?next=/admin/", guess)
    assert response["Location"] == f"{DOOR}?next=%2Fadmin%2F"
    assert Client().get("/admin/")["Location"] == f"{DOOR}?next=/admin/"
    assert looks == []


def test_admin_is_no_place_for_others(ada):
    User.objects.filter(pk=ada.pk).update(is_staff=False)
    client = Client()
    client.force_login(ada)
    assert client.get("/admin/login/").status_code == 403


def test_admin_shows_no_table_of_addresses_that_nobody_signs_in_by(ada):
    User.objects.filter(pk=ada.pk).update(is_superuser=True)
    client = Client()
    sign_in(client=client)
    assert "emailaddress" not in client.get("/admin/").content.decode()


def test_nobody_can_sign_up():
    with pytest.raises(NoReverseMatch):
        reverse("account_signup")
    assert not signing_in.Adapter().is_open_for_signup(RequestFactory().get("/"))
