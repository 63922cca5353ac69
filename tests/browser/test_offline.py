"""What a person sees who loads a page anew while the device has no network."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from playwright.sync_api import Browser, Error, Page, expect

from tests.browser.test_safety import hold
from tests.browser.test_walk import page_of
from tests.browser.visitor import HurriedVisitor, come_in
from tests.server import Server

pytestmark = pytest.mark.browser
# The workers that stand ready, and the text of all that the browser keeps for them.
KEPT = """async () => {
  const workers = await navigator.serviceWorker.getRegistrations();
  const names = await caches.keys();
  const keptIn = async (name) => {
    const cache = await caches.open(name);
    const pages = await Promise.all((await cache.keys()).map((one) => cache.match(one)));
    return Promise.all(pages.map((page) => page.text()));
  };
  const texts = (await Promise.all(names.map(keptIn))).flat();
  const scopes = workers.filter((one) => one.active).map((one) => new URL(one.scope).pathname);
  return { scopes: scopes.sort(), texts };
}"""
SCOPES = ["/help/", "/pause/", "/study/"]
OFFLINE = {"en": "Your device is offline", "zh": "您的设备没有联网"}
AGAIN = {"en": "Try again", "zh": "再试一次"}
NO_NETWORK = "ERR_INTERNET_DISCONNECTED"


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    page = page_of(browser, "phone", "en")
    yield page
    page.context.close()


def to_conversation(page: Page, server: Server) -> HurriedVisitor:
    visitor = HurriedVisitor(page, "en")
    come_in(page, f"{server.base_url}/open/brief/?track=participant")
    while not page.locator("[data-conversation]").count():
        visitor.take_step()
    return visitor


def kept(page: Page, *, scopes: list[str]) -> list[str]:
    """Wait for the workers of these addresses; return what is kept for them."""
    for _ in range(200):
        found: dict[str, Any] = page.evaluate(KEPT)
        if found["scopes"] == scopes and bool(scopes) == bool(found["texts"]):
            return found["texts"]
        page.wait_for_timeout(50)
    raise AssertionError(f"{found['scopes']} keep {len(found['texts'])} pages")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_person_in_danger_who_loads_the_page_anew_without_a_network_has_the_numbers(
    browser: Browser, server: Server, language: str
) -> None:
    page = page_of(browser, "phone", language)
    hold(page, server, "demo", language)
    kept(page, scopes=SCOPES)
    page.context.set_offline(True)
    again = page.get_by_role("link", name=AGAIN[language])
    for load in (page.reload, again.click, lambda: page.goto(f"{server.base_url}/help/")):
        load()
        expect(page.get_by_role("heading", level=1)).to_have_text(OFFLINE[language])
        expect(page.locator('a[href="tel:988"]')).to_be_in_viewport()
        expect(again).to_be_in_viewport()
    page.goto(f"{server.base_url}/study/")
    page.context.set_offline(False)
    again.click()
    expect(page.locator('[data-waits="held"]')).to_have_count(1)
    page.context.close()


def test_page_that_is_kept_tells_nothing_of_the_person(page: Page, server: Server) -> None:
    visitor = to_conversation(page, server)
    visitor.say()
    [text] = kept(page, scopes=SCOPES)
    assert text == page.request.get(f"{server.base_url}/offline/US/", headers={"Accept-Language": "en"}).text()


def test_page_follows_the_language_that_the_person_changes_to(page: Page, server: Server) -> None:
    to_conversation(page, server)
    [before] = kept(page, scopes=SCOPES)
    with page.expect_navigation():
        page.locator('form[action="/study/language/"] button[lang="zh-Hans"]').first.evaluate("(one) => one.click()")
    page.wait_for_function(f"async () => (await ({KEPT})()).texts[0].includes('{OFFLINE['zh']}')")
    assert OFFLINE["zh"] not in before


def test_nothing_else_is_answered_without_a_network(page: Page, server: Server) -> None:
    to_conversation(page, server)
    kept(page, scopes=SCOPES)
    page.context.set_offline(True)
    asked = "(path) => fetch(path).then(() => true, () => false)"
    assert [page.evaluate(asked, path) for path in ("/study/", "/offline/", "/offline/US/", "/help/")] == [False] * 4
    for path in ("research/", "offline/US/", "leave/", "admin/", "api/v1/"):
        with pytest.raises(Error, match=NO_NETWORK):
            page.goto(f"{server.base_url}/{path}")


def test_page_goes_with_the_end_of_the_part(page: Page, server: Server) -> None:
    to_conversation(page, server)
    kept(page, scopes=SCOPES)
    code = page.locator("[data-conversation]").get_attribute("data-conversation")
    with closing(sqlite3.connect(server.database)) as database:
        database.execute(
            "update studies_participation set status = 'timed_out' where id = (select participation_id from "
            "studies_armrun where conversation_id = (select id from dialogue_conversation where code = ?))",
            [code],
        )
        database.commit()
    page.goto(f"{server.base_url}/study/")
    assert kept(page, scopes=[]) == []
