"""A researcher at a real browser turns on second factors, signs in with them, and is asked again before an export."""

import time

import pytest
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from playwright.sync_api import Browser, Page, expect

from tests.browser.survey import Survey
from tests.browser.test_walk import DESKTOP, PHONE
from tests.server import Server

pytestmark = pytest.mark.browser

PASSWORD = "a long enough one"
ACCOUNT = """
from django.contrib.auth.models import User
User.objects.create_user("{name}", password="{password}", is_staff=True, is_superuser=True)
"""


def sign_in(page: Page, url: str, name: str) -> None:
    page.goto(f"{url}/research/sign-in/")
    page.locator("[name=login]").fill(name)
    page.locator("[name=password]").fill(PASSWORD)
    page.locator("#content button[type=submit]").click()


@pytest.mark.parametrize(("language", "screen"), [("en", DESKTOP), ("zh", PHONE)], ids=["en", "zh"])
def test_second_factors(browser: Browser, server: Server, language: str, screen: dict[str, object]) -> None:
    name = f"ada-{language}"
    made = server.manage("shell", "-c", ACCOUNT.format(name=name, password=PASSWORD))
    assert made.returncode == 0, made.stderr
    url = server.base_url.replace("127.0.0.1", "localhost")  # passkeys need a name
    context = browser.new_context(**{**screen, "locale": {"en": "en-US", "zh": "zh-CN"}[language]}, bypass_csp=True)
    page, survey = context.new_page(), Survey(language)
    asked: set[str] = set()
    page.on("request", lambda request: asked.add(request.url.split("/")[2]))
    device = context.new_cdp_session(page)
    device.send("WebAuthn.enable")
    virtual = {"protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True}
    device.send(
        "WebAuthn.addVirtualAuthenticator",
        {"options": {**virtual, "isUserVerified": True, "automaticPresenceSimulation": True}},
    )

    # The app
    sign_in(page, url, name)
    page.goto(f"{url}/research/account/")
    expect(page.locator("html")).to_have_attribute("lang", {"en": "en", "zh": "zh-Hans"}[language])
    survey(page, "research/account/")
    page.locator("#content a[href$='/account/app/']").click()
    survey(page, "research/account/app/")
    secret = page.locator("#key").input_value()
    page.locator("[name=code]").fill(format_hotp_value(hotp_value(secret, int(time.time() // 30))))
    page.locator("#content button").click()
    expect(page.locator(".recovery-codes li")).to_have_count(10)
    survey(page, "research/account/codes/")

    # A passkey
    page.goto(f"{url}/research/account/")
    page.locator("#content a[href$='/account/passkey/']").click()
    survey(page, "research/account/passkey/")
    page.locator("[name=name]").fill("my laptop")
    page.locator("#content button").click()
    expect(page.get_by_text("my laptop").first).to_be_visible()
    survey(page, "research/account/ with factors")

    # Signing in with each of them
    page.locator(".sign-out button").click()
    sign_in(page, url, name)
    expect(page).to_have_url(f"{url}/research/sign-in/second-step/")
    survey(page, "research/sign-in/second-step/")
    page.locator("form[data-passkey] button").click()
    expect(page).to_have_url(f"{url}/research/")

    other = browser.new_context(**screen).new_page()
    sign_in(other, url, name)
    other.locator("[name=code]").fill(format_hotp_value(hotp_value(secret, int(time.time() // 30))))
    other.locator("#content form").first.locator("button").click()
    expect(other).to_have_url(f"{url}/research/")

    # Asked again by passkey, and the other browser signed out
    page.goto(f"{url}/research/account/again/passkey/?next=/research/account/")
    survey(page, "research/account/again/passkey/")
    page.locator("#content button").click()
    expect(page).to_have_url(f"{url}/research/account/")
    page.locator("form[action*=sign-out-elsewhere] button").click()
    expect(page.locator("#content tbody tr")).to_have_count(1)
    other.goto(f"{url}/research/")
    expect(other).to_have_url(f"{url}/research/sign-in/?next=/research/")
    assert asked == {url.split("/")[2]}
    assert (survey.violations, survey.cut, survey.moving) == ({}, {}, {})
    context.close()
    other.context.close()


def test_what_was_written_when_the_session_ended_is_shown_and_comes_back_after_signing_in(
    browser: Browser, server: Server
) -> None:
    made = server.manage("shell", "-c", ACCOUNT.format(name="bea", password=PASSWORD))
    assert made.returncode == 0, made.stderr
    context = browser.new_context(**DESKTOP)
    page = context.new_page()
    sign_in(page, server.base_url, "bea")
    page.goto(f"{server.base_url}/research/demo/access/")
    page.locator("[name=named]").fill("someone new")
    for cookie in context.cookies():
        if "csrf" not in cookie["name"]:
            context.clear_cookies(name=cookie["name"])
    page.get_by_role("button", name="Invite").click()
    expect(page.get_by_role("heading", name="This page was open for too long")).to_be_visible()
    expect(page.locator("main")).to_contain_text("someone new")

    with context.expect_page() as opened:
        page.get_by_role("link", name="Sign in in another tab").click()
    sign_in(opened.value, server.base_url, "bea")
    expect(opened.value.get_by_role("heading", name="Studies")).to_be_visible()
    page.go_back()
    expect(page.locator("[name=named]")).to_have_value("someone new")
    page.get_by_role("button", name="Invite").click()
    expect(page.locator("main")).to_contain_text("This field is required.")  # the roles: the form was taken
    context.close()
