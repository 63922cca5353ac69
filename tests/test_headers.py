"""The headers of pages that protect whoever reads them."""

import pytest
from django.contrib.auth.hashers import identify_hasher, make_password
from django.contrib.auth.models import User
from django.test import Client, override_settings

from emostudy import http
from emostudy import settings as installed

pytestmark = pytest.mark.django_db
PUBLIC = override_settings(
    SECURE_HSTS_SECONDS=31_536_000,
    SECURE_SSL_REDIRECT=True,
    SECURE_PROXY_SSL_HEADER=("HTTP_X_FORWARDED_PROTO", "https"),
)
BY_HTTPS = {"HTTP_X_FORWARDED_PROTO": "https"}


@pytest.mark.parametrize("page", ["/", "/help/", "/research/sign-in/", "/j/no-such-link/", "/api/v1/", "/healthz"])
def test_every_page_keeps_to_itself(page):
    with PUBLIC:
        headers = Client().get(page, **BY_HTTPS).headers
    assert headers["Strict-Transport-Security"] == "max-age=31536000"
    assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Permissions-Policy"].startswith("camera=(), display-capture=(), geolocation=(), microphone=()")
    policy = dict(part.strip().split(" ", 1) for part in headers["Content-Security-Policy"].split(";"))
    assert {policy[name] for name in ("default-src", "script-src", "style-src", "form-action")} == {"'self'"}


def test_page_without_a_database_has_the_same_headers(rf):
    with PUBLIC:
        response = http.Handler().respond_without_database(rf.get("/", **BY_HTTPS))
    assert response.headers["Strict-Transport-Security"] == "max-age=31536000"
    assert "Permissions-Policy" in response.headers


def test_pages_over_http_lead_to_https_but_for_the_checks_of_this_machine():
    with PUBLIC:
        moved = Client().get("/help/")
        assert (moved.status_code, moved["Location"]) == (301, "https://testserver/help/")
        assert Client().get("/healthz").status_code == 200


def test_passwords_are_stored_by_argon2_and_older_ones_anew_at_the_next_sign_in(settings):
    settings.PASSWORD_HASHERS = installed.PASSWORD_HASHERS
    older = make_password("a long enough one", hasher="pbkdf2_sha256")
    ada = User.objects.create(username="ada", password=older, is_staff=True)
    response = Client().post("/research/sign-in/", {"login": "ada", "password": "a long enough one"})
    assert response.status_code == 302
    ada.refresh_from_db()
    assert identify_hasher(ada.password).algorithm == "argon2"
