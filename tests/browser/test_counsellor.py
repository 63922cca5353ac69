"""A counsellor at a keyboard, from the link to the end: plays, flags replies, steps out and back, rates, and leaves the
role behind. Nothing here clicks, fills in or moves the focus but through keys."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import BRIEF, TURNS, quick_demo
from tests.browser.test_kept import stored
from tests.browser.test_walk import page_of
from tests.browser.typist import FIELDS, Typist
from tests.browser.visitor import PATIENCE, START
from tests.server import Server

pytestmark = pytest.mark.browser

ONE_TALK = {
    'key = "brief"': 'key = "played"',
    "arms_per_person = 2": "arms_per_person = 1",
    "flags = []": 'flags = ["if_interview"]\ninterview_minutes = "10"',
    '[[steps]]\nkind = "debrief"': '[[steps]]\nkind = "interview"\ntrack = "counsellor"\n\n[[steps]]\nkind = "debrief"',
}
PAGES = 8  # of the interview
TOLD = {"op1": "I work in a clinic for adults.", "cs1": "Those who come because they were sent."}
NOTE = "It had not even asked."
REASON = "It went past what I had said."
DRAFT = "half a thought"
FLAG = '[data-flag="open"]'


class Counsellor(Typist):
    def converse(self) -> None:
        self.tab_to("textarea")
        while self.answered() < TURNS:
            self.say()
        self.flag_the_last_reply()
        self.flag_the_first_reply_and_take_it_back()
        self.step_out_and_back()
        self.ask_to_end()

    def bubble(self, number: int) -> str:
        return f".transcript .bubble--partner:nth-child({2 * number})"

    def open_flag(self, number: int) -> None:
        """The bubbles stand before the message box, so the way is back."""
        self.tab_to(f"{self.bubble(number)} {FLAG}", "Shift+Tab")
        self.press("Enter")
        expect(self.page.locator(f"{self.bubble(number)} {FLAG}")).to_have_attribute("aria-expanded", "true")
        assert self.is_at('.flag__form [name="reason"]')

    def flag_the_last_reply(self) -> None:
        assert self.is_at("textarea")
        self.open_flag(TURNS)
        self.press("Escape")
        assert self.is_at(FLAG), "the focus did not come back"
        self.press("Enter")
        self.press("Space")
        self.press("ArrowDown", 2)
        self.tab_to('.flag__form [name="note"]')
        self.type(NOTE)
        self.tab_to(".flag__form [type=submit]")
        self.press("Enter")
        mark = self.page.locator(f"{self.bubble(TURNS)} .flag__mark")
        expect(mark).to_have_text(re.compile("Flagged: Pushed advice too soon"))
        expect(mark).to_contain_text(NOTE)
        assert self.is_at(f"{self.bubble(TURNS)} {FLAG}")

    def flag_the_first_reply_and_take_it_back(self) -> None:
        self.open_flag(1)
        self.press("Space")
        self.press("Enter")  # sends the form, as in any form
        mark = self.page.locator(f"{self.bubble(1)} .flag__mark")
        expect(mark).to_have_text("Flagged: Empty comfort, a template")
        self.tab_to('[data-flag="withdraw"]')
        self.press("Enter")
        expect(mark).to_have_text("The flag has been taken back.")
        assert self.is_at(f"{self.bubble(1)} {FLAG}")

    def step_out_and_back(self) -> None:
        self.tab_to("textarea")
        self.type(DRAFT)
        self.tab_to('.chat-bar__out [value="out"]', "Shift+Tab")
        self.leave_page()
        expect(self.page.get_by_role("heading", level=1)).to_have_text("You are yourself again")
        self.follow('#content a[href="/study/"]')
        expect(self.page.locator(".bubble--partner[data-seq]")).to_have_count(TURNS, timeout=PATIENCE)
        expect(self.page.locator("textarea").first).to_have_value(DRAFT)
        expect(self.page.locator(f"{self.bubble(TURNS)} .flag__mark")).to_contain_text(NOTE)
        expect(self.page.locator(".flag__mark:not(:empty)")).to_have_count(1)
        self.tab_to("textarea")

    def answers(self, key: str) -> dict[str, str]:
        return TOLD if key == "interview" else super().answers(key)

    def answer_form(self) -> None:
        if self.key() == "run1.rating.emoharbor_10":
            self.explain_the_first_score()
        super().answer_form()

    def explain_the_first_score(self) -> None:
        self.answer_at(self.tab_to(FIELDS), {})
        self.tab_to(".reason__ask")
        self.press("Enter")
        self.tab_to('[name^="why-"]')
        self.type(REASON)


@pytest.fixture
def page(browser: Browser, server: Server, tmp_path: Path) -> Page:
    server.load_open(quick_demo(tmp_path, BRIEF, ONE_TALK, key="played"))
    return page_of(browser, "desktop", "en")


def test_counsellor_walks_their_track_by_keyboard(page: Page, server: Server) -> None:
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    counsellor = Counsellor(page, "en")
    page.goto(f"{server.base_url}/open/played/?track=counsellor")
    counsellor.follow(START)
    counsellor.follow(START)
    while not counsellor.code():
        counsellor.take_step()

    assert complaints == []
    assert len(counsellor.code()) == 10
    assert counsellor.seen[counsellor.seen.index("chat") :] == [
        "chat",
        "run1.rating.emoharbor_10",
        "run1.rating.worst_case_4",
        "run1.rating.role_fidelity",
        "run1.questionnaire.de_roling.post",
        *["interview"] * PAGES,
    ]
    page.context.close()
    run = stored(server, "select max(run_id) from studies_response")[0][0]
    assert stored(
        server, f"select turn, reason, note, withdrawn_at is null from studies_flag where run_id = {run} order by id"
    ) == [(TURNS, "early_advice", NOTE, 1), (1, "empty_comfort", "", 0)]
    assert stored(
        server,
        "select item, value, a.reason from studies_answer a join studies_response r on r.id = a.response_id "
        f"where run_id = {run} and a.reason != ''",
    ) == [("problem_resolution", 3.0, REASON)]
    assert stored(
        server, f"select instrument, moment, is_rating from studies_response where run_id = {run} order by id"
    ) == [
        ("emotion_checkin", "pre", 0),
        ("emoharbor_10", "final", 1),
        ("worst_case_4", "final", 1),
        ("role_fidelity", "final", 0),
        ("de_roling", "post", 0),
    ]
    assert stored(
        server,
        "select item, text from studies_answer a join studies_response r on r.id = a.response_id "
        "where r.instrument = 'interview_guide' and text != '' order by item",
    ) == sorted(TOLD.items())
    assert stored(server, f"select stepped_out from studies_roleplay where run_id = {run}") == [(1,)]
