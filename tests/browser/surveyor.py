"""Visitors who make every page show all that it can: what is folded away, its mistakes, each card of the chat."""

from collections import Counter

from playwright.sync_api import Page

from tests.answers import right_answers
from tests.browser.survey import Survey
from tests.browser.visitor import HurriedVisitor

FOLDED = "main details:not([open])"
TOO_LITTLE = {**dict.fromkeys(right_answers(), ""), "issue_text": "It is work."}


class Surveyor(HurriedVisitor):
    cards: tuple[str, ...] = ("role",)  # the parts of the chat that a frame brings

    def __init__(self, page: Page, survey: Survey) -> None:
        super().__init__(page, survey.language, self.inspect)
        self.survey = survey

    def inspect(self, page: Page, name: str) -> None:
        if name == "chat-pause":
            page.locator('[data-part="log"]').dispatch_event("wheel")  # or the page would go on by itself
        self.survey(page, name)
        if name == "chat":
            self.inspect_cards(page)
        if name == "chat" or not name.startswith("chat"):
            self.inspect_unfolded(page, name)

    def inspect_unfolded(self, page: Page, name: str) -> None:
        if "," in name or not page.locator(FOLDED).count():
            return
        page.evaluate(f"document.querySelectorAll('{FOLDED}').forEach((one) => (one.open = true))")
        self.survey(page, f"{name}, unfolded")
        page.evaluate("document.querySelectorAll('main details').forEach((one) => (one.open = false))")

    def inspect_cards(self, page: Page) -> None:
        """Each as its frame would show it."""
        for name in self.cards:
            part = page.locator(f'[data-part="{name}"]')
            part.evaluate("(part) => (part.hidden = false)")
            self.survey(page, f"chat, {name}")
            part.evaluate("(part) => (part.hidden = true)")


class Blunderer(Surveyor):
    """Sends every form empty first, then with too little in it, and looks at it filled in."""

    cards = ("typing", "newest", "failed", "help", "pause", "closed", "held", "superseded")

    def __init__(self, page: Page, survey: Survey) -> None:
        super().__init__(page, survey)
        self.sent: Counter[str] = Counter()  # how often the form of a step was sent

    def take_step(self) -> None:
        key = self.key() if self.page.locator("form[data-instrument]").count() else ""
        if not key or self.sent[key]:
            super().take_step()
            return
        self.look(self.page, self.name())
        self.sent[key] += 1
        self.send()
        if self.page.locator("[data-error-summary]").count():
            self.look(self.page, f"{self.name()}, mistakes")

    def answers(self, key: str) -> dict[str, str]:
        self.sent[key] += 1
        right = super().answers(key)
        after_the_empty_one = self.sent[key] == 2
        return {**right, **TOO_LITTLE} if after_the_empty_one else right

    def submit(self, key: str) -> None:
        self.look(self.page, f"{self.name()}, filled in")
        if self.sent[key] > 2:
            super().submit(key)
            return
        self.send()
        if self.page.locator("[data-error-summary]").count():
            self.look(self.page, f"{self.name()}, too little")

    def inspect_cards(self, page: Page) -> None:
        super().inspect_cards(page)
        page.locator('[data-part="early"]').click()
        self.survey(page, "chat, asked about stopping early")
        page.locator('[data-part="ask-early"] button[value="stay"]').click()
