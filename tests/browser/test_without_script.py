"""Without JavaScript everything but the conversation itself works: the server asks, refuses, keeps and goes on."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.visitor import Visitor, come_in
from tests.server import Server

pytestmark = pytest.mark.browser


class ScriptlessVisitor(Visitor):
    """Talks in another browser, and does all the rest in one that runs no script."""

    def __init__(self, page: Page, language: str, browser: Browser) -> None:
        super().__init__(page, language)
        self.browser = browser

    def converse(self) -> None:
        expect(self.page.locator(".chat-without")).to_be_visible()
        expect(self.page.locator(".chat")).to_be_hidden()
        context = self.browser.new_context(storage_state=self.page.context.storage_state())
        talking = Visitor(context.new_page(), self.language)
        talking.page.goto(self.page.url)
        talking.converse()
        context.close()
        self.page.reload()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(java_script_enabled=False)
    yield context
    context.close()


@pytest.fixture
def visitor(context: BrowserContext, browser: Browser, server: Server) -> ScriptlessVisitor:
    """At the choice of a language."""
    page = context.new_page()
    come_in(page, f"{server.base_url}/open/brief/")
    return ScriptlessVisitor(page, "en", browser)


def test_person_walks_a_study_to_the_completion_code(visitor: ScriptlessVisitor) -> None:
    while not visitor.code():
        visitor.take_step()
    assert len(visitor.code()) == 10
    assert visitor.seen.count("chat") == 4  # two conversations, each in two parts
    assert {"screening", "consent", "training", "blinding"} <= set(visitor.seen)


def test_mistakes_are_told_and_answers_kept(visitor: ScriptlessVisitor) -> None:
    visitor.take_step()
    page = visitor.page
    page.locator('input[name="age"]').fill("30")
    visitor.send()
    summary = page.locator("[data-error-summary]")
    expect(summary).to_be_visible()
    summary.locator("a").first.click()
    assert page.url.endswith(summary.locator("a").first.get_attribute("href") or "nowhere")
    expect(page.locator('input[name="age"]')).to_have_value("30")
    visitor.take_step()
    assert visitor.key() == "consent"


def test_server_decides_which_question_was_to_be_answered(visitor: ScriptlessVisitor) -> None:
    while "emotion_checkin.pre" not in visitor.key():
        visitor.take_step()
    page = visitor.page
    shown = page.locator('[data-item="intensity"], [data-item="primary_emotion_other"]')
    expect(shown.first).to_be_visible()
    expect(shown.last).to_be_visible()
    for name, value in {"primary_emotion": "sadness", "valence": "3", "arousal": "5", "want_support": "no"}.items():
        visitor.click(page.locator(f'input[name="{name}"][value="{value}"]'))
    visitor.send()
    mistakes = page.locator("[data-error-summary] a")
    assert [mistake.get_attribute("href") for mistake in mistakes.all()] == ["#id_intensity"]
    visitor.click(page.locator('input[name="primary_emotion"][value="prefer_not"]'))
    visitor.send()
    expect(page.locator("[data-conversation]")).to_have_count(1)


def test_chat_page_tells_what_it_needs_and_shows_the_ways_out(visitor: ScriptlessVisitor) -> None:
    page = visitor.page
    while not page.locator("[data-conversation]").count():
        visitor.take_step()
    expect(page.locator(".chat-without")).to_contain_text("JavaScript")
    for href in ("/help/", "/pause/", "/leave/"):
        expect(page.locator(f'a[href="{href}"]:visible')).to_have_count(1)
    page.locator('a[href="/pause/"]:visible').click()
    page.locator('#content a[href="/study/"]').click()
    page.locator('a[href="/leave/"]:visible').click()
    page.locator("label.choice", has=page.locator('input[value="keep"]')).click()
    page.locator("#content form button[type=submit]").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("You have left the study")
