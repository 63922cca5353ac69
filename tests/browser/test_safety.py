"""A sign of danger in a real browser: the person is asked and shown help, a researcher lets them go on."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import quick_demo
from tests.browser.test_walk import page_of
from tests.browser.visitor import PATIENCE, HurriedVisitor, come_in, sign_in
from tests.server import Server

pytestmark = pytest.mark.browser
GRAVE = {"en": "I want to kill myself", "zh": "我想自杀"}
ASKED = {
    'key = "demo"\ntitle = {en = "Emotional': 'key = "asked"\ntitle = {en = "Emotional',
    "[chat]\n": '[safety]\nafter_safe = "wait"\nask_where = true\n\n[chat]\n',
}


def test_person_is_held_helped_and_released(browser: Browser, server: Server) -> None:
    person = page_of(browser, "phone", "en")
    person.clock.install()  # for the page that looks every 20 seconds whether it may go on
    hold(person, server, "demo")
    expect(person.get_by_role("heading", level=1)).to_contain_text("We are worried about you.")
    expect(person.get_by_role("heading", name="Are you safe right now?")).to_be_visible()
    assert person.locator('a[href="tel:988"]').count() == 1
    with person.expect_response("**/study/"):
        person.clock.fast_forward(20_000)
    expect(person.locator('[data-waits="held"]')).to_have_count(1)  # looked, and waits on

    release(browser, server, "demo")
    person.clock.fast_forward(20_000)
    expect(person.locator(".bubble--partner[data-seq]")).to_have_count(1, timeout=PATIENCE)
    assert person.locator(".bubble--own").count() == 1
    person.context.close()


def hold(person: Page, server: Server, study: str, language: str = "en") -> None:
    """Walk to the conversation and write what it waits after."""
    visitor = HurriedVisitor(person, language)
    come_in(person, f"{server.base_url}/open/{study}/")
    while not person.locator("[data-conversation]").count():
        visitor.take_step()
    person.locator("textarea").first.fill(GRAVE[language])
    person.locator('[data-part="send"]').click()
    person.locator('[data-waits="held"]').wait_for(state="attached", timeout=PATIENCE)
    person.wait_for_load_state()  # the scripts, which a test may leave without a network, are there


def release(browser: Browser, server: Server, study: str) -> None:
    """As the person on call does with the newest sign; other tests hold people of the same study."""
    with closing(sqlite3.connect(server.database)) as database:
        [[newest]] = database.execute("select max(id) from dialogue_riskevent")
    researcher = page_of(browser, "desktop", "en")
    sign_in(researcher, server)
    researcher.goto(f"{server.base_url}/research/{study}/risks/")
    researcher.locator(f'#content a[href="/research/{study}/risks/{newest}/"]').first.click()
    researcher.locator("#release").fill("Called; safe at home.")
    with researcher.expect_navigation():
        researcher.locator('form[action$="/release/"] button').click()
    researcher.context.close()


def test_help_is_one_tap_away_and_needs_no_script(browser: Browser, server: Server) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{server.base_url}/open/demo/")
    page.locator("a.help-link").click()
    page.get_by_label("Where are you now?").select_option(label="United Kingdom")
    page.get_by_role("button", name="Show").click()
    assert page.locator('a[href="tel:116123"]').count() == 1
    context.close()


def test_numbers_stay_in_sight_where_the_answer_of_a_held_person_cannot_be_sent(
    browser: Browser, server: Server
) -> None:
    person = page_of(browser, "phone", "en")
    hold(person, server, "demo")
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


def test_release_does_not_take_what_a_held_person_is_writing(browser: Browser, server: Server, tmp_path: Path) -> None:
    server.load_open(quick_demo(tmp_path, ASKED, key="asked"))
    person = page_of(browser, "phone", "en")
    person.clock.install()
    hold(person, server, "asked")
    with person.expect_navigation():
        person.get_by_role("button", name="No, or I am not sure").click()
    where = person.locator("#where")
    where.fill("At home, on the third floor")
    release(browser, server, "asked")
    person.clock.fast_forward(20_000)
    expect(person.locator("[data-news]")).to_be_visible()
    expect(where).to_have_value("At home, on the third floor")
    with person.expect_navigation():
        person.locator(".care__send button").click()
    expect(person.locator("[data-conversation]")).to_have_count(1)
    with closing(sqlite3.connect(server.database)) as database:
        sent = database.execute("select count(*) from studies_safetyact where text = 'At home, on the third floor'")
        assert sent.fetchall() == [(1,)]
    person.context.close()


def test_counsellor_whose_own_words_they_were_finds_the_chat_and_the_lines_again(
    browser: Browser, server: Server
) -> None:
    person = page_of(browser, "phone", "en")
    visitor = HurriedVisitor(person, "en")
    come_in(person, f"{server.base_url}/open/brief/?track=counsellor")
    while not person.locator("[data-conversation]").count():
        visitor.take_step()
    person.locator("textarea").first.fill("I just want to disappear")
    person.locator('[data-part="send"]').click()
    person.locator('[data-part="role"] button[value="me"]').click()
    lines = person.locator('[data-part="help"] a[href="tel:988"]')
    expect(lines).to_be_visible()
    person.reload()
    expect(person.locator('[data-state="connected"]')).to_be_visible()
    expect(person.locator(".bubble--own")).to_have_count(1)
    expect(lines).to_be_visible()
    person.context.close()
