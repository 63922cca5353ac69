"""What a person has typed is not lost: over a reload, on another device, and while the server cannot save."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.browser.test_offline import SCOPES, kept
from tests.browser.visitor import TEXTS, Visitor, come_in, fill_sign_in, sign_in
from tests.server import Server

pytestmark = pytest.mark.browser


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 390, "height": 844}, locale="en")
    yield context.new_page()
    context.close()


def at(page: Page, server: Server, kind: str, language: str = "en") -> Visitor:
    """Walk the brief study up to the first page of this kind."""
    visitor = Visitor(page, language)
    come_in(page, f"{server.base_url}/open/brief/?track=participant")
    while visitor.name() != kind:
        visitor.take_step()
    return visitor


def link_of(page: Page, server: Server) -> str:
    page.goto(f"{server.base_url}/open/brief/?track=participant")
    return page.locator("input[readonly], code, .link").first.evaluate("one => one.value ?? one.textContent")


def stored(server: Server, query: str) -> list[tuple]:
    with closing(sqlite3.connect(server.database)) as database:
        return database.execute(query).fetchall()


def wait_for(page: Page, server: Server, query: str) -> None:
    for _ in range(200):
        if stored(server, query):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"nothing is stored of {query!r}")


def test_answers_not_sent_yet_are_there_after_a_reload_and_on_another_device(page, browser, server):
    at(page, server, "questionnaire.profile")
    page.locator('[name="interests"]').fill("long walks")
    expect(page.locator("[data-draft-state]")).to_be_visible()
    page.reload()
    expect(page.locator('[name="interests"]')).to_have_value("long walks")

    link = link_of(page, server)
    context = browser.new_context()
    other = context.new_page()
    come_in(other, link)
    expect(other.locator('[name="interests"]')).to_have_value("long walks")
    context.close()


def test_answer_is_kept_also_where_the_page_is_left_at_once(page, server):
    at(page, server, "questionnaire.profile")
    page.evaluate("window.setTimeout = () => 1")  # the pause in typing is never over
    page.locator('[name="interests"]').fill("short walks")

    def answer(route: Route) -> None:  # no sooner: who comes back at once must find it
        wait_for(page, server, "select 1 from studies_draft where answers like '%short walks%'")
        route.continue_()

    page.route("**/help/", answer)
    page.locator('a[href="/help/"]').first.click()
    expect(page).to_have_url(f"{server.base_url}/help/")
    page.goto(f"{server.base_url}/study/")
    expect(page.locator('[name="interests"]')).to_have_value("short walks")


def test_sent_page_leaves_no_draft_and_tells_how_long_each_item_took(page, server):
    visitor = at(page, server, "questionnaire.mini_ipip")
    visitor.fill_form(visitor.key())
    expect(page.locator("[data-draft-state]")).to_be_visible()
    visitor.submit(visitor.key())
    of_this = "instrument = 'mini_ipip' and response_id = (select max(response_id) from studies_answer)"
    rows = stored(
        server, f"select a.seconds from studies_answer a join studies_response r on r.id = response_id where {of_this}"
    )
    assert len(rows) == 20
    assert all(seconds is not None and seconds >= 0 for (seconds,) in rows)
    assert stored(server, "select count(*) from studies_draft where step = 'questionnaire.mini_ipip'") == [(0,)]


def test_message_tells_how_it_was_written(page, server):
    at(page, server, "questionnaire.emotion_checkin.pre")
    visitor = Visitor(page, "en")
    visitor.take_step()
    composer = page.locator("textarea").first
    composer.press_sequentially("My week was long.")
    page.evaluate("document.querySelector('textarea').dispatchEvent(new ClipboardEvent('paste', {bubbles: true}))")
    page.locator('[data-part="send"]').click()
    expect(page.locator(".bubble--partner[data-seq]")).to_have_count(1)
    (row,) = stored(
        server, "select reading_ms, typing_ms, focus_losses, pasted from dialogue_turn order by id desc limit 1"
    )
    assert row[0] is not None
    assert row[1] > 0
    assert row[2:] == (0, 1)


def test_form_that_could_not_be_saved_is_sent_again_by_a_button(page, server):
    visitor = at(page, server, "questionnaire.mini_ipip")
    visitor.fill_form(visitor.key())
    expect(page.locator("[data-draft-state]")).to_be_visible()
    with closing(sqlite3.connect(server.database, isolation_level=None)) as other:
        other.execute("alter table studies_response rename to studies_response_away")
        try:
            visitor.send()
            expect(page.locator("h1").first).to_contain_text("cannot save")
        finally:
            other.execute("alter table studies_response_away rename to studies_response")
    page.get_by_role("button", name="Send again").click()
    page.wait_for_load_state()
    assert visitor.name() == "questionnaire.emotion_checkin.pre"


def test_back_and_reload_after_a_refused_form_send_nothing(page, server):
    """A browser asks before it sends a form again; so no page of a person may be the answer to one."""
    visitor = at(page, server, "questionnaire.profile")
    page.locator('[name="interests"]').fill("long walks")
    visitor.send()
    summary = page.locator("[data-error-summary]")
    expect(summary).to_be_focused()
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.method) if request.is_navigation_request() else None)
    page.reload()
    expect(summary).to_be_visible()
    page.locator('a[href="/help/"]').first.click()
    page.go_back()
    expect(summary).to_be_visible()
    expect(page.locator('[name="interests"]')).to_have_value("long walks")
    page.go_back()
    expect(page.locator('[name="interests"]')).to_be_visible()
    assert set(sent) <= {"GET"}


def test_least_length_of_a_text_is_counted_and_a_short_one_is_led_back_to(page, server):
    visitor = at(page, server, "screening")
    text, line = page.locator('[name="issue_text"]'), page.locator("[data-count-of]")
    visitor.fill_form("screening")
    text.fill(" Work. 😀 ")
    expect(line).to_have_text(re.compile(r"^\s*7 of at least 80 characters\s+7 of at least 80 characters\s*$"))
    visitor.send()
    summary = page.locator("[data-error-summary]")
    expect(summary).to_be_focused()
    expect(summary).to_be_in_viewport()
    summary.locator("a").click()
    expect(text).to_be_in_viewport()
    expect(page.locator(".item--wrong .errorlist")).to_be_in_viewport()
    expect(text).to_have_attribute("aria-invalid", "true")
    described = (text.get_attribute("aria-describedby") or "").split()
    told = " ".join(page.locator(f'[id="{one}"]').inner_text() for one in described)
    assert "At least 80 characters." in told
    assert "There are 7 so far." in told
    text.fill(TEXTS["en"])
    expect(line).to_contain_text(f"{len(TEXTS['en'])} characters: long enough")
    visitor.submit("screening")
    assert visitor.key() == "consent"


def test_failed_quiz_comes_back_at_its_summary_and_not_at_the_questions(page, server):
    visitor = at(page, server, "training")
    visitor.fill_form("training")
    visitor.click(page.locator('input[name="c1"][value="a"]'))
    page.evaluate("location.hash = 'quiz'")
    visitor.send()
    summary = page.locator("[data-error-summary]")
    expect(summary).to_be_focused()
    expect(summary).to_be_in_viewport()
    assert page.url.endswith("/study/#error-summary")
    wrong = page.locator(".item--wrong")
    assert [one.get_attribute("data-item") for one in wrong.all()] == ["c1"]
    expect(wrong).to_contain_text("Every partner is an AI program.")
    visitor.click(page.locator('input[name="c1"][value="b"]'))
    visitor.submit("training")
    assert "#" not in page.url


def end_session(page: Page) -> None:
    page.context.clear_cookies(name="emostudy_session")


def test_words_written_when_the_session_had_ended_come_back(page, browser, server):
    """A person's question, and the researcher's answer to it."""
    come_in(page, f"{server.base_url}/open/brief/?track=participant")
    link, text, answer = link_of(page, server), "Where do I find my code?", "On the last page."
    page.goto(f"{server.base_url}/study/ask/")
    page.locator("#question").fill(text)
    end_session(page)
    page.get_by_role("button", name="Send the question").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Please open your personal link")
    come_in(page, link)
    page.goto(f"{server.base_url}/study/ask/")
    expect(page.locator("#question")).to_have_value(text)
    page.get_by_role("button", name="Send the question").click()
    expect(page).to_have_url(f"{server.base_url}/study/")
    end_session(page)
    page.locator('a[href="/study/ask/"]').first.click()  # what has arrived does not come back
    expect(page.get_by_role("heading", level=1)).to_have_text("Please open your personal link")
    come_in(page, link)
    page.goto(f"{server.base_url}/study/ask/")
    expect(page.locator("#question")).to_have_value("")

    context = browser.new_context(locale="en")
    desk = context.new_page()
    sign_in(desk, server)
    [(key,)] = stored(server, f"select id from studies_question where text = '{text}'")
    address = f"{server.base_url}/research/brief/questions/{key}/"
    desk.goto(address)
    desk.locator("textarea").fill(answer)
    end_session(desk)
    desk.get_by_role("button", name="Send the answer").click()
    expect(desk.get_by_role("heading", level=1)).to_have_text("This page was open for too long")
    desk.goto(address)
    fill_sign_in(desk, server)
    expect(desk).to_have_url(address)
    expect(desk.locator("textarea")).to_have_value(answer)
    desk.get_by_role("button", name="Send the answer").click()
    expect(desk.get_by_role("heading", name="Answer", exact=True)).to_be_visible()
    context.close()


def test_answers_typed_without_a_network_are_not_lost_to_the_browsers_own_page(page, server):
    visitor = at(page, server, "questionnaire.profile")
    visitor.fill_form(visitor.key())
    page.context.set_offline(True)
    page.locator('[name="interests"]').fill("walks by the river")
    page.locator("form[data-instrument] button[type=submit]").click()
    notice = page.locator("[data-offline]")
    expect(notice).to_be_visible()
    assert notice.locator('a[href^="tel:"]').count() > 0
    notice.get_by_role("button").click()
    page.locator('a[href="/help/"]').first.click()
    expect(notice).to_be_visible()
    notice.get_by_role("button").click()
    expect(page.locator('[name="interests"]')).to_have_value("walks by the river")
    page.context.set_offline(False)
    visitor.submit(visitor.key())
    assert visitor.name() == "questionnaire.mini_ipip"
    (kept,) = stored(server, "select text from studies_answer where item = 'interests' order by id desc limit 1")
    assert kept == ("walks by the river",)


def test_form_waits_where_the_line_is_dead_without_saying_so(page, server):
    visitor = at(page, server, "questionnaire.profile")
    visitor.fill_form(visitor.key())
    expect(page.locator("[data-draft-state]")).to_be_visible()
    page.route("**/study/draft/", lambda route: route.abort())
    with page.expect_event("requestfailed"):
        page.locator('[name="interests"]').fill("walks by the sea")
    page.locator("form[data-instrument] button[type=submit]").click()
    expect(page.locator("[data-offline]")).to_be_visible()
    page.locator("[data-offline]").get_by_role("button").click()
    page.unroute("**/study/draft/")
    visitor.submit(visitor.key())
    expect(page.locator("form[data-instrument]")).to_be_visible()
    assert visitor.name() == "questionnaire.mini_ipip"


def test_network_that_the_browser_denies_is_looked_for(page, server):
    """On some devices it says that there is none where there is one."""
    page.add_init_script("Object.defineProperty(Navigator.prototype, 'onLine', {get: () => false})")
    at(page, server, "questionnaire.profile")
    with page.expect_navigation():
        page.locator('a[href="/help/"]').first.click()
    expect(page).to_have_url(f"{server.base_url}/help/")


def test_half_written_message_is_there_in_another_tab_until_the_conversation_is_over(page, server):
    at(page, server, "questionnaire.emotion_checkin.pre").take_step()
    page.locator("textarea").first.fill("I was just about to say")
    other = page.context.new_page()
    page.close()  # and with it all that is the tab's own
    other.goto(f"{server.base_url}/study/")
    expect(other.locator("textarea").first).to_have_value("I was just about to say")
    other.locator('[data-part="early"]').click()
    other.locator('[data-part="ask-early"] button[value="end"]').click()
    expect(other.locator('[data-part="closed"]')).to_be_visible()
    assert other.evaluate("Object.keys(localStorage)") == []


def test_leaving_the_study_leaves_nothing_on_the_device(page, server):
    at(page, server, "questionnaire.emotion_checkin.pre").take_step()
    page.locator("textarea").first.fill("I was just about to say")
    kept(page, scopes=SCOPES)
    page.goto(f"{server.base_url}/leave/")
    page.locator("label.choice", has=page.locator('input[value="keep"]')).click()
    page.locator("#content form button[type=submit]").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("You have left the study")
    assert page.evaluate("Object.keys(localStorage)") == []
    assert kept(page, scopes=[]) == []


def test_conversation_that_was_there_before_is_not_read_out_anew_and_what_follows_is(page, server):
    visitor = at(page, server, "questionnaire.emotion_checkin.pre")
    visitor.take_step()
    log = page.locator('[data-part="log"]')
    expect(log).to_have_attribute("aria-live", "polite")
    visitor.say()
    expect(page.locator(".bubble--own")).to_have_attribute("aria-live", "off")
    assert re.search(r'role="log"\s+aria-live="off"', page.request.get(page.url).text())
    page.reload()
    expect(page.locator(".bubble--partner[data-seq]")).to_have_count(1)
    expect(log).to_have_attribute("aria-live", "polite")
    assert page.title().startswith("Conversation 1 of 2 · ")


NO_STORAGE = {
    "refused": """for (const name of ["localStorage", "sessionStorage"]) {
      Object.defineProperty(window, name, { get() { throw new DOMException("", "SecurityError"); } });
    }""",
    "none": """for (const name of ["localStorage", "sessionStorage"]) {
      Object.defineProperty(window, name, { value: null });
    }""",
    "full": "Storage.prototype.setItem = () => { throw new DOMException('', 'QuotaExceededError'); };",
}


@pytest.mark.parametrize("storage", NO_STORAGE)
def test_conversation_works_where_the_browser_keeps_nothing(page, server, storage):
    page.add_init_script(NO_STORAGE[storage])
    faults: list[str] = []
    page.on("pageerror", lambda fault: faults.append(str(fault)))
    visitor = at(page, server, "questionnaire.emotion_checkin.pre")
    visitor.take_step()
    visitor.say()
    expect(page.locator(".bubble--own")).to_have_count(1)
    assert faults == []


def test_conversation_whose_cookies_have_gone_asks_for_the_link(page, server):
    at(page, server, "questionnaire.emotion_checkin.pre").take_step()
    expect(page.locator('[data-state="connected"]')).to_be_visible()
    page.locator("textarea").first.fill("I was just about to say")
    page.context.clear_cookies()
    page.context.set_offline(True)
    expect(page.locator('[data-state="broken"]')).to_be_visible()
    page.context.set_offline(False)
    expect(page.get_by_role("heading", level=1)).to_have_text("Please open your personal link")
    drafts = "Object.keys(localStorage).filter((name) => name.includes('draft')).map((name) => localStorage[name])"
    assert page.evaluate(drafts) == ["I was just about to say"]


def test_reply_that_was_rated_shows_its_rating_after_a_reload(page, server):
    visitor = Visitor(page, "en")
    come_in(page, f"{server.base_url}/open/full/?track=participant")
    while not page.locator("[data-conversation]").count():
        visitor.take_step()
    visitor.say()
    page.locator(".reply-rating__step").nth(2).click()
    expect(page.locator(".reply-rating__state")).to_have_text("Saved")
    page.reload()
    expect(page.locator(".reply-rating__step input").nth(2)).to_be_checked()
    expect(page.locator(".reply-rating__step input").nth(2)).to_be_disabled()
