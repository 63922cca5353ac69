"""From a sign of danger to someone who comes: the live desk, the mail, the page behind its link; and a false alarm."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Dialog, Page, Route, expect

from tests.browser.conftest import BRIEF, quick_demo
from tests.browser.test_walk import page_of
from tests.browser.visitor import PATIENCE, HurriedVisitor, come_in, sign_in
from tests.server import Server, serving
from tests.studies.care.servers import Box, mail_server

pytestmark = pytest.mark.browser

ONCALL = """
[safety]

[[safety.oncall]]
name = "Ann"
email = "ann@example.org"
"""
SUSPICIOUS = """
[safety.second_line]
kind = "scripted"
model = "level-3"
"""


@pytest.fixture(scope="module")
def box() -> Box:
    return Box()


@pytest.fixture(scope="module")
def watched(box: Box, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that sends mail; a study with someone on call, and one whose second line suspects everyone."""
    folder = tmp_path_factory.mktemp("watched")
    with (
        mail_server(box) as port,
        serving(folder, EMAIL_URL=f"smtp://127.0.0.1:{port}/?from=study@example.org") as server,
    ):
        for key, rules in (("watched", ONCALL), ("suspicious", SUSPICIOUS)):
            load(server, folder, key, rules)
        yield server


def load(server: Server, folder: Path, key: str, rules: str) -> None:
    file = quick_demo(folder, BRIEF, {'key = "brief"': f'key = "{key}"'}, key=key)
    file.write_text(file.read_text(encoding="utf-8") + rules, encoding="utf-8")
    server.load_open(file)


def begin_chat(browser: Browser, server: Server, study: str) -> Page:
    page = page_of(browser, "phone", "en")
    page.clock.install()  # for the page that looks every 20 seconds how things stand
    visitor = HurriedVisitor(page, "en")
    come_in(page, f"{server.base_url}/open/{study}/")
    while not page.locator("[data-conversation]").count():
        visitor.take_step()
    return page


def say(page: Page, text: str) -> None:
    page.locator("textarea").first.fill(text)
    page.locator('[data-part="send"]').click()
    page.locator('[data-waits="held"]').wait_for(state="attached", timeout=PATIENCE)


def open_desk(browser: Browser, server: Server, study: str, *, before: str = "") -> Page:
    """Open the desk of a study; `before` is a script that runs first on each page."""
    page = page_of(browser, "desktop", "en")
    page.add_init_script(before)
    sign_in(page, server)
    page.goto(f"{server.base_url}/research/{study}/risks/")
    expect(page.get_by_text("This list is live.")).to_be_visible(timeout=PATIENCE)
    return page


def assert_row_fits(desk: Page, *, width: int) -> None:
    """Every cell of what waits is in view on a phone, and says what it is."""
    desk.set_viewport_size({"width": width, "height": 844})
    cells = desk.locator("[data-live] tbody tr").first.locator("td")
    assert cells.count() == 6
    for cell in cells.all():
        box = cell.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert cell.evaluate("cell => cell.scrollWidth <= cell.clientWidth")
        assert cell.evaluate("cell => getComputedStyle(cell, '::before').content") != "none"


def test_alarm_is_seen_on_the_desk_and_acknowledged_by_the_link_in_the_mail(
    browser: Browser, watched: Server, box: Box
) -> None:
    desk = open_desk(browser, watched, "watched")
    expect(desk.get_by_role("heading", name="No one is waiting")).to_be_visible()
    person = begin_chat(browser, watched, "watched")
    say(person, "I want to kill myself")
    expect(desk.locator("tr.row--attention")).to_have_count(1, timeout=PATIENCE)  # no one has loaded it again
    expect(desk).to_have_title(re.compile(r"^\(1\) "))

    for _ in range(PATIENCE // 100):
        if box.mails:
            break
        desk.wait_for_timeout(100)
    [link] = {word for word in box.texts()[0].split() if "/oncall/" in word}
    ann = page_of(browser, "phone", "en")
    ann.goto(f"{watched.base_url}/oncall/{link.partition('/oncall/')[2]}")
    expect(ann.get_by_role("heading", name="Someone may be in danger")).to_be_visible()
    expect(desk.locator("tr.row--attention")).to_have_count(1)  # a link that was opened acknowledges nothing
    ann.get_by_role("button", name="I will take care of this").click()
    expect(ann.get_by_role("status")).to_contain_text("Acknowledged by Ann")
    expect(desk.locator("tr.row--attention")).to_have_count(0, timeout=PATIENCE)
    assert_row_fits(desk, width=390)
    expect(desk).not_to_have_title(re.compile(r"^\("))

    person.clock.fast_forward(20_000)
    expect(person.get_by_text("Someone from the team has seen this and is taking care of it.")).to_be_visible(
        timeout=PATIENCE
    )
    for page in (person, ann, desk):
        page.context.close()


def test_desk_is_live_where_the_browser_keeps_nothing(browser: Browser, watched: Server) -> None:
    refused = (
        "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('', 'SecurityError'); } });"
    )
    desk = open_desk(browser, watched, "watched", before=refused)
    sound = desk.locator('[data-part="sound"]')
    sound.click()
    expect(sound).to_have_attribute("aria-pressed", "true")
    desk.context.close()


def test_a_false_alarm_costs_one_page(browser: Browser, watched: Server) -> None:
    person = begin_chat(browser, watched, "suspicious")
    say(person, "My sister came by and we cooked")
    with person.expect_navigation():
        person.locator('button[name="answer"][value="safe"]').first.click()
    expect(person.locator(".bubble--partner[data-seq]")).to_have_count(1, timeout=PATIENCE)

    desk = open_desk(browser, watched, "suspicious")
    expect(desk.get_by_text("(suspected)")).to_be_visible()  # it stays for review
    for page in (person, desk):
        page.context.close()


def test_page_of_a_sign_tells_what_came_since_and_keeps_what_is_typed(browser: Browser, watched: Server) -> None:
    person = begin_chat(browser, watched, "watched")
    say(person, "I want to kill myself")
    officer = open_desk(browser, watched, "watched")
    officer.locator("[data-live] tbody a").first.click()
    expect(officer.get_by_text("no answer yet")).to_be_visible()
    officer.locator("#release").fill("Called; safe at home.")
    with person.expect_navigation():
        person.get_by_role("button", name="No, or I am not sure").click()
    expect(officer.get_by_text("Something new has happened.")).to_be_in_viewport(timeout=PATIENCE)

    officer.get_by_role("button", name="Show it").click()
    expect(officer.get_by_text("Something new has happened.")).to_be_hidden()
    expect(officer.locator(".acts").first).to_contain_text("No, or I am not sure")
    expect(officer.locator("#release")).to_have_value("Called; safe at home.")
    with officer.expect_navigation():
        officer.locator('form[action$="/release/"] button').click()
    expect(officer.get_by_text("Released. If the person was waiting, they can continue now.")).to_be_visible()
    for page in (person, officer):
        page.context.close()


def test_what_was_typed_for_a_release_is_a_note_where_a_colleague_was_faster(browser: Browser, watched: Server) -> None:
    person = begin_chat(browser, watched, "watched")
    say(person, "I want to kill myself")
    first, second = (open_desk(browser, watched, "watched") for _ in range(2))
    for officer, text in ((first, "Called; safe at home."), (second, "I called too.")):
        officer.locator("[data-live] tbody a").first.click()
        officer.locator("#release").fill(text)
    with first.expect_navigation():
        first.locator('form[action$="/release/"] button').click()

    second.get_by_role("button", name="Show it").click(timeout=PATIENCE)
    expect(second.locator("#release")).to_be_hidden()
    expect(second.locator("#note")).to_have_value("I called too.")
    for page in (person, first, second):
        page.context.close()


def test_a_message_that_was_not_sent_is_not_left_without_a_question(browser: Browser, watched: Server) -> None:
    person = begin_chat(browser, watched, "suspicious")
    say(person, "My sister came by and we cooked")
    person.context.close()
    desk = open_desk(browser, watched, "suspicious")
    late: list[Route] = []
    desk.route("**/js/guard*", lambda route: late.append(route))
    desk.locator("[data-live] tbody a").first.click()
    asked: list[str] = []

    def stay(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.dismiss()

    desk.on("dialog", stay)
    desk.locator("#write").press_sequentially("We are here.")
    for route in late:  # on a slow line, people type before it is there
        route.continue_()
    desk.wait_for_load_state()
    desk.locator("#note").press_sequentially("I wrote to them.")
    desk.locator('form[action$="/note/"] button').click()

    expect(desk.locator("#write")).to_have_value("We are here.")
    assert asked == ["beforeunload"]
    desk.context.close()
