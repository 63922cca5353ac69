"""A person at a real browser: reads the page that is there, fills in its form with the mouse, and chats."""

import re
from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect

from tests.answers import AFTER, BOXES, ELIGIBLE, MOOD, right_answers
from tests.server import Server

Look = Callable[[Page, str], None]
LINES = {
    "en": "We had a quarrel at work, and I slept badly",
    "zh": "周一和同事争吵之后，我晚上睡得不太好",
}
TEXTS = {
    "en": ELIGIBLE["issue_text"],
    "zh": "上个月领导没有说一声就把我调到别的组，我觉得自己被推到一边，很委屈，希望有人听我说。",
}
MOST_TURNS = 30
PATIENCE = 20_000  # milliseconds


class Visitor:
    def __init__(self, page: Page, language: str, look: Look = lambda page, name: None) -> None:
        self.page, self.language, self.look = page, language, look
        self.seen: list[str] = []

    def walk(self, url: str) -> str:
        """From the open door to the completion code, which is returned."""
        come_in(self.page, url, self.look)
        for _ in range(60):
            if code := self.code():
                return code
            self.take_step()
        raise AssertionError(f"no end after {self.seen}")

    def code(self) -> str:
        found = self.page.locator(".completion-code")
        return found.inner_text().strip() if found.count() else ""

    def take_step(self) -> None:
        if self.page.locator("[data-conversation]").count():
            self.seen.append("chat")
            self.converse()
            return
        key = self.key()
        self.seen.append(key)
        self.look(self.page, self.name())
        if key == "language":
            press(self.page, f'#content button[name="language"][value="{self.language}"]')
            return
        self.fill_form(key)
        self.submit(key)

    def key(self) -> str:
        return self.page.locator('input[name="step"]').first.get_attribute("value") or ""

    def name(self) -> str:
        """Of the page as a kind: that of the second conversation is that of the first."""
        rating = self.page.locator('input[name="checkpoint"]').count()
        return "checkpoint" if rating else re.sub(r"run\d\.", "", self.key())

    def send(self) -> None:
        with self.page.expect_navigation():  # not at once where a draft is on its way
            self.page.locator("form[data-instrument] button[type=submit]").first.click()

    def submit(self, key: str) -> None:
        self.send()
        mend = self.page.locator("[data-error-summary]")
        assert mend.count() == 0, f"{key}: {mend.inner_text()}"

    def fill_form(self, key: str) -> None:
        chosen = self.answers(key)
        for fieldset in self.page.locator("[data-item]").all():
            if fieldset.is_visible():
                self.answer(fieldset, chosen)

    def answers(self, key: str) -> dict[str, str]:
        if "emotion_checkin.pre" in key:
            return MOOD
        if "emotion_checkin.post" in key:
            return AFTER
        return {
            **right_answers(),
            **{name: value for name, value in ELIGIBLE.items() if name != "issue_text"},
            "issue_text": TEXTS[self.language],
            "language": self.language,
            "topic_change": "keep",
            **dict.fromkeys(BOXES, "on"),
        }

    def answer(self, item: Locator, chosen: dict[str, str]) -> None:
        name = item.get_attribute("data-item") or ""
        radios = item.locator("input[type=radio]")
        if radios.count():
            wanted = item.locator(f'input[type=radio][value="{chosen.get(name, "3")}"]')
            self.click(wanted if wanted.count() else radios.first)
        elif item.locator("input[type=checkbox]").count():
            if name in chosen:
                self.click(item.locator("input[type=checkbox]"))
        elif item.locator("select").count():
            item.locator("select").select_option(chosen.get(name, "US"))
        elif name in chosen:
            item.locator("input:not([type=hidden]), textarea").first.fill(chosen[name])

    def click(self, control: Locator) -> None:
        """By its label, as a person does; the control itself may be drawn by its label alone."""
        identity = control.get_attribute("id")
        self.page.locator(f'label:has([id="{identity}"]), label[for="{identity}"]').first.click()
        expect(control).to_be_checked()

    def converse(self) -> None:
        """Until the page has moved on from this conversation, or to a rating in its middle."""
        had = int(self.page.locator("[data-conversation]").get_attribute("data-answered") or 0)
        expect(self.page.locator(".bubble--partner[data-seq]")).to_have_count(had, timeout=PATIENCE)
        first = not had
        if first:
            self.look(self.page, "chat-start")
        for _ in range(MOST_TURNS):
            if not self.page.locator("[data-conversation]").count():
                return
            if self.page.locator('[data-part="pause"]').is_visible():
                self.look(self.page, "chat-pause")
                self.page.locator('[data-part="pause"] [data-go]').click()
                self.page.locator("[data-instrument]").wait_for(timeout=PATIENCE)
                return
            end = self.page.locator('[data-part="end"]')
            if end.is_enabled():
                self.end(end)
                return
            self.say()
            if first:
                self.look(self.page, "chat")
                first = False

    def answered(self) -> int:
        return self.page.locator(".bubble--partner[data-seq]").count()

    def say(self) -> None:
        before = self.answered()
        composer = self.page.locator("textarea").first
        expect(composer).to_be_enabled(timeout=PATIENCE)
        composer.fill(f"{LINES[self.language]} ({before + 1})")
        self.page.locator('[data-part="send"]').click()
        expect(self.page.locator(".bubble--partner[data-seq]")).to_have_count(before + 1, timeout=PATIENCE)
        self.page.wait_for_timeout(50)

    def end(self, button: Locator) -> None:
        self.look(self.page, "chat-end")
        button.click()
        self.look(self.page, "chat-asked")
        self.page.locator('[data-part="ask-finished"] button[value="end"]').click()
        self.page.locator("[data-instrument]").wait_for(timeout=PATIENCE)


START = "#content .form-actions button"


def come_in(page: Page, url: str, look: Look = lambda page, name: None) -> None:
    """By a personal link, or through the open door, which shows the link that it made and has a second button."""
    page.goto(url)
    look(page, "start")
    press(page, START)
    if page.locator(".own-link").count():
        look(page, "open")
        press(page, START)


def press(page: Page, selector: str) -> None:
    with page.expect_navigation():
        page.locator(selector).click()


class HurriedVisitor(Visitor):
    """Where a way is only the way to somewhere: that a mouse reaches each control is for the others to find."""

    def click(self, control: Locator) -> None:
        control.evaluate("(control) => control.click()")


def sign_in(page: Page, server: Server) -> None:
    page.goto(f"{server.base_url}/research/")
    fill_sign_in(page, server)


def fill_sign_in(page: Page, server: Server) -> None:
    page.locator('input[name="login"]').fill("researcher")
    page.locator('input[name="password"]').fill((server.folder / "researcher_password").read_text())
    with page.expect_navigation():
        page.locator('#content button[type="submit"]').first.click()
