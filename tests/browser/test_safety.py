"""A sign of danger in a real browser: the person is asked and shown help, a researcher lets them go on."""

import re

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.test_walk import page_of
from tests.browser.visitor import PATIENCE, Visitor, come_in, sign_in
from tests.server import Server

pytestmark = pytest.mark.browser


def test_person_is_held_helped_and_released(browser: Browser, server: Server) -> None:
    person = page_of(browser, "phone", "en")
    person.clock.install()  # for the page that looks every 20 seconds whether it may go on
    visitor = Visitor(person, "en")
    come_in(person, f"{server.base_url}/open/demo/")
    while not person.locator("[data-conversation]").count():
        visitor.take_step()
    person.locator("textarea").first.fill("I want to kill myself")
    person.locator('[data-part="send"]').click()
    person.locator('[data-waits="held"]').wait_for(state="attached", timeout=PATIENCE)
    expect(person.get_by_role("heading", level=1)).to_contain_text("We are worried about you.")
    expect(person.get_by_role("heading", name="Are you safe right now?")).to_be_visible()
    assert person.locator('a[href="tel:988"]').count() == 1
    with person.expect_response("**/study/"):
        person.clock.fast_forward(20_000)
    expect(person.locator('[data-waits="held"]')).to_have_count(1)  # looked, and waits on

    researcher = page_of(browser, "desktop", "en")
    sign_in(researcher, server)
    researcher.goto(f"{server.base_url}/research/demo/risks/")
    researcher.locator('#content a[href^="/research/demo/risks/"]').filter(
        has_text=re.compile("Level|P[0-9A-Z]{7}")
    ).first.click()
    researcher.locator("#release").fill("Called; safe at home.")
    researcher.locator('form[action$="/release/"] button').click()
    researcher.wait_for_load_state()

    person.clock.fast_forward(20_000)
    expect(person.locator(".bubble--partner[data-seq]")).to_have_count(1, timeout=PATIENCE)
    assert person.locator(".bubble--own").count() == 1
    person.context.close()
    researcher.context.close()


def test_help_is_one_tap_away_and_needs_no_script(browser: Browser, server: Server) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{server.base_url}/open/demo/")
    page.locator("a.help-link").click()
    page.get_by_role("button", name="United Kingdom").click()
    assert page.locator('a[href="tel:116123"]').count() == 1
    context.close()


def test_numbers_stay_in_sight_where_the_answer_of_a_held_person_cannot_be_sent(
    browser: Browser, server: Server
) -> None:
    person = page_of(browser, "phone", "en")
    come_in(person, f"{server.base_url}/open/demo/")
    visitor = Visitor(person, "en")
    while not person.locator("[data-conversation]").count():
        visitor.take_step()
    person.locator("textarea").first.fill("I want to kill myself")
    person.locator('[data-part="send"]').click()
    person.locator('[data-waits="held"]').wait_for(state="attached", timeout=PATIENCE)
    person.context.set_offline(True)
    unsure = person.get_by_role("button", name="No, or I am not sure")
    unsure.click()
    notice = person.locator("[data-offline]")
    expect(notice.locator('a[href="tel:988"]')).to_be_in_viewport()
    notice.get_by_role("button").click()
    person.context.set_offline(False)
    unsure.click()
    expect(person.get_by_role("heading", level=1)).to_contain_text("Please call now.")
    person.context.close()
