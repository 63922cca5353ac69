"""A partner that speaks first: the page shows its words at once, once, and first, whatever the line does."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import BRIEF, TURNS, quick_demo
from tests.browser.test_walk import DESKTOP, PHONE
from tests.browser.visitor import HurriedVisitor, come_in
from tests.server import Server

pytestmark = pytest.mark.browser

OPENING = {"en": "Hello! What is on your mind today?", "zh": "你好！今天想聊些什么？"}
NAME = {"en": "Partner 1", "zh": "AI 助手 1"}
OPENS = {
    'key = "brief"': 'key = "opens"',
    f"min_turns = {TURNS}": f'min_turns = {TURNS}\nopening = {{en = "{OPENING["en"]}", zh = "{OPENING["zh"]}"}}',
}
WAYS = [("en", DESKTOP), ("zh", PHONE)]


@pytest.fixture(scope="module")
def opens(server: Server, tmp_path_factory: pytest.TempPathFactory) -> str:
    file = quick_demo(tmp_path_factory.mktemp("opens"), BRIEF, OPENS, key="opens")
    server.load_open(file)
    return f"{server.base_url}/open/opens/?track=participant"


@pytest.fixture(params=WAYS, ids=["English desktop", "Chinese phone"])
def visitor(request: pytest.FixtureRequest, browser: Browser, opens: str) -> Iterator[HurriedVisitor]:
    """One who stands before their first message."""
    language, settings = request.param
    context = browser.new_context(**settings)
    visitor = HurriedVisitor(context.new_page(), language)
    come_in(visitor.page, opens)
    while not visitor.page.locator("[data-conversation]").count():
        visitor.take_step()
    yield visitor
    context.close()


def said(page: Page) -> list[tuple[str, str]]:
    """Each bubble on the page: who speaks, as it is read out, and their words."""
    bubbles: list[list[str]] = page.locator('[data-part="turns"] > li').evaluate_all(
        "bubbles => bubbles.map(one => [...one.querySelectorAll('p')].slice(0, 2).map(p => p.textContent.trim()))"
    )
    return [(who, words) for who, words in bubbles]


def test_opening_stands_first_and_once_also_after_a_reload(visitor: HurriedVisitor) -> None:
    page, language = visitor.page, visitor.language
    first = (NAME[language], OPENING[language])
    expect(page.get_by_text(OPENING[language])).to_be_in_viewport()
    assert said(page) == [first]
    visitor.say()
    before = said(page)
    assert (len(before), before[0]) == (3, first)
    page.reload()
    expect(page.locator(".bubble--partner[data-seq]")).to_have_count(1)
    assert said(page) == before
    visitor.converse()  # up to the rating after the second turn
    expect(page.get_by_text(OPENING[language])).to_have_count(1)


def test_opening_needs_no_line_and_is_in_the_log(visitor: HurriedVisitor) -> None:
    page = visitor.page
    page.route_web_socket("**/ws/chat/**", lambda _route: None)
    page.reload()
    log: Any = page.get_by_role("log")
    expect(log.get_by_role("listitem")).to_have_text(
        re.compile(rf"^\s*{NAME[visitor.language]}\s*{re.escape(OPENING[visitor.language])}\s*$")
    )
    assert log.locator("[aria-busy], .typing:visible").count() == 0
