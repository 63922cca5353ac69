"""The whole study by keyboard alone. Nothing here clicks, fills in or moves the focus but through keys."""

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.test_walk import page_of
from tests.browser.typist import Typist
from tests.browser.visitor import START, HurriedVisitor, come_in
from tests.server import Server

pytestmark = pytest.mark.browser


def test_person_walks_a_study_to_the_completion_code_by_keyboard(browser: Browser, server: Server) -> None:
    page = page_of(browser, "desktop", "en")
    typist = Typist(page, "en")
    page.goto(f"{server.base_url}/open/brief/?track=participant")
    typist.follow(START)
    typist.follow(START)
    while not typist.code():
        typist.take_step()
    assert len(typist.code()) == 10
    assert typist.seen.count("chat") == 4  # two conversations, each in two parts
    assert typist.stops > 200
    page.context.close()


def test_mistakes_lead_from_their_summary_to_the_questions(browser: Browser, server: Server) -> None:
    page = page_of(browser, "desktop", "en")
    typist = Typist(page, "en")
    page.goto(f"{server.base_url}/open/brief/?track=participant")
    typist.follow(START)
    typist.follow(START)
    typist.take_step()  # language
    typist.follow("form[data-instrument] button[type=submit]")
    expect(page.locator("[data-error-summary]")).to_be_focused()
    typist.tab_to("[data-error-summary] a")
    href = page.evaluate("document.activeElement.getAttribute('href')")
    typist.press("Enter")
    assert page.evaluate("document.activeElement.id") == href.removeprefix("#")
    typist.tab("Shift+Tab")  # so that the first answer is the one just before which one stands
    typist.answer_form()
    assert typist.key() == "consent"
    page.context.close()


def test_head_of_a_long_summary_is_in_sight(browser: Browser, server: Server) -> None:
    page = page_of(browser, "phone", "en")
    visitor = HurriedVisitor(page, "en")
    come_in(page, f"{server.base_url}/open/brief/?track=participant")
    visitor.take_step()  # language
    visitor.send()
    summary = page.locator("[data-error-summary]")
    expect(summary).to_be_focused()
    assert (summary.bounding_box() or {})["height"] > 844, "not a long one"
    expect(summary.get_by_role("heading")).to_be_in_viewport(ratio=1)
    page.context.close()


def test_first_key_skips_to_the_content(browser: Browser, server: Server) -> None:
    page = page_of(browser, "desktop", "en")
    typist = Typist(page, "en")
    page.goto(f"{server.base_url}/help/")
    typist.tab()
    assert typist.is_at(".skip-link")
    expect(page.locator(".skip-link")).to_be_in_viewport()
    typist.press("Enter")
    typist.tab()
    assert typist.is_at("#content .country-choice select")
    page.context.close()
