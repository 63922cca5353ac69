"""A person at a keyboard, without a mouse: every key goes to where the focus is, and every stop is looked at."""

from dataclasses import dataclass

from playwright.sync_api import Page, expect

from tests.browser.conftest import PAUSE, TURNS
from tests.browser.survey import PROBES
from tests.browser.visitor import PATIENCE, Visitor

MOST_STOPS = 60  # between two places on one page
FIELDS = "form[data-instrument] :is(input, textarea, select, button)"
# The page goes on by itself a moment later, so that no one may have looked in between.
KEEP_FOCUS = "addEventListener('focusin', (event) => sessionStorage.setItem('focused', event.target.dataset.part))"
LINES = ("We had a quarrel at work,", "and I slept badly")


@dataclass(frozen=True)
class Stop:
    """Where the focus is, as probes.js tells it."""

    tag: str
    kind: str
    name: str
    value: str
    drawn: str
    seen: bool
    faint: str


class Typist(Visitor):
    def __init__(self, page: Page, language: str) -> None:
        super().__init__(page, language)
        self.stops = 0
        page.add_init_script(PROBES)

    def press(self, key: str, times: int = 1) -> None:
        for _ in range(times):
            self.page.keyboard.press(key)

    def type(self, text: str) -> None:
        self.page.keyboard.type(text)

    def tab(self, key: str = "Tab") -> Stop:
        """To the next place, which must be there, in sight, and look otherwise than without the focus."""
        self.press(key)
        self.stops += 1
        stop = Stop(**self.page.evaluate("probes.focus()"))
        assert stop.tag != "BODY", "the focus is nowhere"
        assert stop.seen, f"the focus is where no one sees it: {stop.drawn}"
        assert not stop.faint, f"the focus did not show: {stop.faint}"
        return stop

    def tab_to(self, selector: str, key: str = "Tab") -> Stop:
        for _ in range(MOST_STOPS):
            stop = self.tab(key)
            if self.is_at(selector):
                return stop
        raise AssertionError(f"no key leads to {selector}")

    def is_at(self, selector: str) -> bool:
        return bool(self.page.evaluate("(selector) => document.activeElement.matches(selector)", selector))

    def leave_page(self) -> None:
        with self.page.expect_navigation():
            self.press("Enter")

    def follow(self, selector: str) -> None:
        self.tab_to(selector)
        self.leave_page()

    def take_step(self) -> None:
        if self.page.locator("[data-conversation]").count():
            self.seen.append("chat")
            self.converse()
            return
        self.seen.append(self.key())
        if self.key() == "language":
            self.follow(f'#content button[name="language"][value="{self.language}"]')
        else:
            self.answer_form()

    def answer_form(self) -> None:
        key = self.key()
        chosen = self.answers(key)
        while (stop := self.tab_to(FIELDS)).kind != "submit":
            self.answer_at(stop, chosen)
        self.leave_page()
        assert not self.page.locator("[data-error-summary]").count(), key

    def answer_at(self, stop: Stop, chosen: dict[str, str]) -> None:
        if stop.kind == "radio":
            self.choose(stop, chosen.get(stop.name, "3"))
        elif stop.kind == "checkbox" and stop.name in chosen:
            self.press("Space")
        elif stop.tag == "SELECT":
            wanted = chosen.get(stop.name, "US")
            self.type(self.page.locator(f'select[name="{stop.name}"] option[value="{wanted}"]').inner_text())
        elif stop.kind != "checkbox":
            self.type(chosen.get(stop.name, ""))

    def choose(self, stop: Stop, wanted: str) -> None:
        """With the arrows; the answer that one stands on, with the space bar."""
        radios = self.page.locator(f'input[name="{stop.name}"]')
        values: list[str] = radios.evaluate_all("all => all.map(({ value }) => value)")
        way = values.index(wanted if wanted in values else values[0]) - values.index(stop.value)
        if way:
            self.press("ArrowDown" if way > 0 else "ArrowUp", abs(way))
        else:
            self.press("Space")
        assert self.is_at(":checked")

    def converse(self) -> None:
        had = int(self.page.locator("[data-conversation]").get_attribute("data-answered") or 0)
        expect(self.page.locator(".bubble--partner[data-seq]")).to_have_count(had, timeout=PATIENCE)
        self.tab_to("textarea")
        while self.answered() < TURNS:
            self.say()
            if self.answered() == PAUSE:
                self.go_to_the_rating()
                return
        self.ask_to_end()

    def say(self) -> None:
        """Two lines in one message; the focus stays where the next one is written."""
        before = self.answered()
        self.type(LINES[0])
        self.press("Shift+Enter")
        self.type(LINES[1])
        expect(self.page.locator("textarea")).to_have_value("\n".join(LINES))
        self.press("Enter")
        expect(self.page.locator(".bubble--own .bubble__text").last).to_have_text("\n".join(LINES))
        expect(self.page.locator(".bubble--partner[data-seq]")).to_have_count(before + 1, timeout=PATIENCE)

    def go_to_the_rating(self) -> None:
        card = self.page.locator('[data-part="pause"]')
        expect(card).to_be_visible(timeout=PATIENCE)
        expect(card).to_be_focused()  # the message box, where the focus was, is gone
        self.follow('[data-part="pause"] [data-go]')

    def ask_to_end(self) -> None:
        assert self.is_at("textarea")
        self.tab_to('[data-part="end"]')
        self.press("Enter")
        dialog = self.page.locator('[data-part="ask-finished"]')
        expect(dialog).to_be_visible()
        self.go_around(dialog.get_attribute("data-part") or "")
        self.press("Escape")
        expect(dialog).to_be_hidden()
        assert self.is_at('[data-part="end"]'), "the focus did not come back"
        self.press("Enter")
        self.tab_to('[data-part="ask-finished"] button[value="end"]', "Shift+Tab")
        self.page.evaluate(KEEP_FOCUS)
        self.press("Enter")
        self.page.locator("[data-instrument]").wait_for(timeout=PATIENCE)
        assert self.page.evaluate("sessionStorage.getItem('focused')") == "closed"

    def go_around(self, part: str) -> None:
        """Nothing outside of an open dialog is reached."""
        assert self.is_at(f'[data-part="{part}"] *')
        for key in ("Tab", "Tab", "Tab", "Shift+Tab"):
            self.press(key)
            assert self.is_at(f'[data-part="{part}"] *, body'), "the focus left the dialog"
