"""Your account: a second factor at sign-in, recovery codes, and the browsers that are signed in."""

import re
import time

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.contrib.auth.models import User
from django.test import Client

from studies.models import AuditEntry
from tests import factories

pytestmark = pytest.mark.django_db

DOOR, SECOND, HOME = "/research/sign-in/", "/research/sign-in/second-step/", "/research/account/"
PASSWORD = "a long enough one"


@pytest.fixture
def ada():
    return User.objects.create_user("ada", password=PASSWORD, is_staff=True)


def sign_in(client=None):
    client = client or Client()
    response = client.post(DOOR, {"login": "ada", "password": PASSWORD})
    assert response.status_code == 302
    return client, response["Location"]


def code_of(secret, when=None):
    return format_hotp_value(hotp_value(secret, int((when or time.time()) // 30)))


def turn_on_app(client):
    """Set the app up as its page says, and return its key."""
    page = client.get(f"{HOME}app/").content.decode()
    secret = re.search(r'id="key" type="text" readonly value="(\w+)"', page)[1]
    assert client.post(f"{HOME}app/", {"code": code_of(secret)})["Location"] == f"{HOME}codes/"
    return secret


def codes_on(page):
    return re.findall(r"<code>(\d{8})</code>", page.content.decode())


def test_app_is_asked_for_its_code_after_the_password(ada):
    client, to = sign_in()
    assert to == "/research/"
    secret = turn_on_app(client)
    assert len(codes_on(client.get(f"{HOME}codes/"))) == 10

    other, to = sign_in()
    assert to == SECOND
    assert other.get("/research/").status_code == 302
    assert "This code is not correct." in other.post(SECOND, {"code": "000000"}).content.decode()
    sign_in(other)
    assert other.post(SECOND, {"code": code_of(secret)})["Location"] == "/research/"
    assert other.get("/research/").status_code == 200


@pytest.mark.usefixtures("on_commit_at_once")
def test_owner_is_told_by_mail_what_was_changed(ada, mailoutbox):
    User.objects.update(email="ada@example.org")
    client, _ = sign_in()
    turn_on_app(client)
    client.post(f"{HOME}app/off/")
    assert [mail.body.split(" Account: ada, ")[0] for mail in mailoutbox] == [
        "An authenticator app was added to your account.",
        "The authenticator app was removed from your account.",
    ]
    assert {(*mail.to, mail.subject) for mail in mailoutbox} == {
        ("ada@example.org", "Your emostudy account was changed")
    }
    assert "sign out everywhere" in mailoutbox[0].body


@pytest.mark.usefixtures("on_commit_at_once")
def test_change_holds_where_the_mail_server_does_not_take_the_mail(ada, settings, caplog):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 9
    User.objects.update(email="ada@example.org")
    client, _ = sign_in()
    turn_on_app(client)
    assert Authenticator.objects.filter(type=Authenticator.Type.TOTP).exists()
    assert "could not be sent: ConnectionRefusedError" in caplog.text


def test_wrong_code_of_the_second_step_stands_in_the_audit_log(ada):
    turn_on_app(sign_in()[0])
    before = AuditEntry.objects.count()
    sign_in()[0].post(SECOND, {"code": "000000"})
    entry = AuditEntry.objects.latest("pk")
    assert AuditEntry.objects.count() == before + 1
    assert (entry.act, entry.thing, entry.account, entry.by_name) == ("refused", "account", ada.pk, "ada")
    assert entry.source == "mfa_authenticate"


def test_wrong_code_turns_nothing_on(ada):
    client, _ = sign_in()
    response = client.post(f"{HOME}app/", {"code": "000000"})
    assert "This code is not correct." in response.content.decode()
    assert not Authenticator.objects.exists()


def test_recovery_code_signs_in_once(ada):
    client, _ = sign_in()
    turn_on_app(client)
    code = codes_on(client.get(f"{HOME}codes/"))[0]
    first, _ = sign_in()
    assert first.post(SECOND, {"code": code})["Location"] == "/research/"
    second, _ = sign_in()
    assert second.post(SECOND, {"code": code}).status_code == 200
    assert code not in codes_on(client.get(f"{HOME}codes/"))


def test_app_is_turned_off_and_codes_are_made_anew(ada):
    client, _ = sign_in()
    turn_on_app(client)
    before = codes_on(client.get(f"{HOME}codes/"))
    assert client.post(f"{HOME}codes/new/").status_code == 302
    assert not set(before) & set(codes_on(client.get(f"{HOME}codes/")))
    assert client.post(f"{HOME}app/off/")["Location"] == HOME
    assert not Authenticator.objects.exists()
    assert sign_in()[1] == "/research/"


def test_secret_is_of_no_use_to_who_has_the_database_alone(ada, settings):
    client, _ = sign_in()
    secret = turn_on_app(client)
    assert secret not in str(list(Authenticator.objects.values_list("data", flat=True)))
    other, _ = sign_in()
    settings.SECRET_KEY = "another key of the server, as long as the first one was before it"
    other, _ = sign_in()
    page = other.post(SECOND, {"code": code_of(secret)}).content.decode()
    assert "SECRET_KEY has changed" in page


def test_browsers_are_listed_and_the_others_signed_out(ada):
    own, _ = sign_in(Client(headers={"user-agent": "Firefox/1 (Windows)"}))
    other, _ = sign_in(Client(headers={"user-agent": "Chrome/1 (Android)"}))
    page = own.get(HOME).content.decode()
    assert ("Firefox, Windows" in page, "Chrome, Android" in page) == (True, True)
    assert own.post(f"{HOME}sign-out-elsewhere/")["Location"] == HOME
    assert "Chrome, Android" not in own.get(HOME).content.decode()
    assert (own.get("/research/").status_code, other.get("/research/").status_code) == (200, 302)


def test_new_password_signs_out_other_browsers(ada):
    own, other = sign_in()[0], sign_in()[0]
    fields = {"oldpassword": PASSWORD, "password1": "another long one", "password2": "another long one"}
    assert own.post(f"{HOME}password/", {**fields, "oldpassword": "wrong"}).status_code == 200
    assert own.post(f"{HOME}password/", fields)["Location"] == HOME
    assert (own.get("/research/").status_code, other.get("/research/").status_code) == (200, 302)


def test_account_without_a_password_has_none_to_change():
    client = Client()
    client.force_login(User.objects.create_user("bo", is_staff=True))
    assert client.get(f"{HOME}password/").status_code == 404
    assert client.get(HOME).status_code == 200


def test_factor_is_changed_by_its_own_account_alone(ada):
    client, _ = sign_in()
    eve = User.objects.create_user("eve", is_staff=True)
    theirs = Authenticator.objects.create(user=eve, type=Authenticator.Type.WEBAUTHN, data={"name": "key"})
    assert client.post(f"{HOME}passkey/{theirs.pk}/remove/").status_code == 404
    assert Authenticator.objects.filter(pk=theirs.pk).exists()
    assert client.get(f"{HOME}codes/").status_code == 404
    assert Client().get(HOME)["Location"] == f"{DOOR}?next={HOME}"


@pytest.mark.parametrize("sent", ["9" * 5000, "[" * 100_000, "5", "{}", "no JSON"])
@pytest.mark.parametrize("page", ["passkey/", "again/passkey/"])
def test_text_that_is_no_passkey_is_refused(ada, page, sent):
    client, _ = sign_in()
    turn_on_app(client)
    assert client.post(f"{HOME}{page}", {"credential": sent}).status_code < 500
    assert not Authenticator.objects.filter(type=Authenticator.Type.WEBAUTHN).exists()


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML) Chrome/1 Safari/537 Edg/1",
            "Edge, Windows",
        ),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605 Version/18 Safari/604",
            "Safari, iPhone",
        ),
        ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox, Linux"),
        ("curl/8.1", "curl/8.1"),
    ],
)
def test_browsers_have_the_names_that_people_call_them(ada, said, shown):
    client, _ = sign_in(Client(headers={"user-agent": said}))
    page = client.get(HOME).content.decode()
    assert shown in page
    assert "AppleWebKit" not in page


# REQUIRE_MFA


@pytest.mark.parametrize(("role", "must"), [("admin", True), ("researcher", True), ("coder", False), ("reader", False)])
def test_accounts_that_can_export_or_erase_must_have_a_second_factor_where_the_server_says_so(
    ada, settings, role, must
):
    settings.REQUIRE_MFA = True
    factories.grant(factories.study("demo"), ada, role)
    client, _ = sign_in()
    assert client.get("/research/").status_code == (302 if must else 200)
    assert client.get("/api/v1/").status_code == (403 if must else 200)
    assert ("need a second factor" in client.get(HOME).content.decode()) == must
    turn_on_app(client)
    assert client.get("/research/").status_code == 200


def test_admins_of_the_installation_need_one_too_also_for_the_admin(ada, settings):
    settings.REQUIRE_MFA = True
    User.objects.update(is_superuser=True)
    client, _ = sign_in()
    assert client.get("/admin/")["Location"] == HOME
