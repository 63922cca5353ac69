"""Anyone can use the pages: WCAG 2.2 A and AA by axe-core, nothing cut or sideways, nothing that moves unasked.

Every state of a page in both languages, light and dark, on a phone, 320 px wide, at 200 % and on a desktop.
"""

import sqlite3
from contextlib import closing
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.amounts import choose
from tests.browser.conftest import BRIEF, quick_demo
from tests.browser.screenshots import RESEARCH_PAGES
from tests.browser.survey import Survey
from tests.browser.surveyor import Blunderer, Surveyor
from tests.browser.test_walk import PHONE
from tests.browser.visitor import HurriedVisitor, come_in, sign_in
from tests.server import Server

pytestmark = pytest.mark.browser

WALKS: dict[str, tuple[str, type[Surveyor]]] = {"participant": ("brief", Blunderer), "counsellor": ("full", Surveyor)}
# What a person sees whose part is waiting or over: the status, and what the screening said.
ENDS = {
    "held": ("held", "{}"),
    "review": ("in_review", '{"kind": "review_by_person", "show_help": true}'),
    "review by selection": ("in_review", '{"kind": "eligible"}'),
    "screened out": ("screened_out", '{"kind": "exclude_with_care", "show_help": true}'),
    "not selected": ("screened_out", '{"kind": "eligible"}'),
    "stopped": ("stopped", "{}"),
    "withdrawn": ("withdrawn", "{}"),
    "timed out": ("timed_out", "{}"),
}
# Whom we worry about: the status, and what is stored of the newest sign.
DANGERS: dict[str, tuple[str, dict[str, object]]] = {
    "danger": ("held", {"source": "message", "level": 3}),
    "danger, not safe": ("held", {"source": "message", "level": 3, "safe_answer": "no"}),
    "danger, hard": ("held", {"source": "message", "level": 3, "safe_answer": "hard"}),
    "danger, safe": ("held", {"source": "message", "level": 3, "safe_answer": "safe"}),
    "danger, violence": ("held", {"source": "message", "level": 3, "categories": ["violence_from_others"]}),
    "danger of level 4": ("stopped", {"source": "message", "level": 4}),
    "danger of level 4, not safe": ("stopped", {"source": "answer", "level": 4, "safe_answer": "no"}),
    "danger when it is over": ("withdrawn", {"source": "answer", "level": 4}),
}
# What is surveyed, and in which language: in short one of both.
ROUNDS = [(what, language) for what in (*WALKS, "exits", "workbench") for language in ("en", "zh")]
IN_SHORT = [("participant", "zh"), ("counsellor", "en"), ("exits", "zh"), ("workbench", "en")]
AFTERCARE = '[{"kind": "aftercare", "key": "run1.aftercare", "run": 1}]'


def reading(browser: Browser, language: str) -> BrowserContext:
    locale = {"en": "en-GB", "zh": "zh-CN"}[language]
    return browser.new_context(locale=locale, reduced_motion="reduce", bypass_csp=True)


@pytest.fixture(scope="module")
def ended(server: Server, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The key of a study that is closed."""
    file = quick_demo(tmp_path_factory.mktemp("ended"), BRIEF, {'key = "brief"': 'key = "ended"'}, key="ended")
    server.load_open(file)
    closed = server.manage("close_study", "ended", "--by", "ada")
    assert closed.returncode == 0, closed.stderr
    return "ended"


@pytest.fixture(scope="module", params=choose(usual=IN_SHORT, full=ROUNDS), ids="-".join)
def survey(request: pytest.FixtureRequest, browser: Browser, server: Server, ended: str) -> Survey:
    what, language = request.param
    survey = Survey(language)
    context = reading(browser, language)
    page = context.new_page()
    if what in WALKS:
        survey_walk(page, server, survey, what)
    elif what == "exits":
        survey_exits(page, server, survey)
        survey_closed(page, f"{server.base_url}/open/{ended}/", survey)
    else:
        survey_workbench(page, server, survey)
        for path in ("", "reopen/", "analysis/"):
            survey_closed(page, f"{server.base_url}/research/{ended}/{path}", survey)
    context.close()
    return survey


def survey_walk(page: Page, server: Server, survey: Survey, track: str) -> None:
    study, kind = WALKS[track]
    surveyor = kind(page, survey)
    surveyor.walk(f"{server.base_url}/open/{study}/?track={track}")
    surveyor.look(page, "debrief")


def survey_exits(page: Page, server: Server, survey: Survey) -> None:
    for name, path in {
        "front": "",
        "no link": "study/",
        "does not exist": "nowhere/",
        "help": "help/",
        "offline": "offline/US/",
    }.items():
        page.goto(f"{server.base_url}/{path}")
        survey(page, name)
    arrive(page, server, survey.language)
    for name, path in {"help of a country": "help/?country=US", "pause": "pause/", "leave": "leave/"}.items():
        page.goto(f"{server.base_url}/{path}")
        survey(page, name)
    change_newest(server, status="withdrawn")
    page.goto(f"{server.base_url}/study/")
    survey(page, "declined")
    change_newest(server, status="applied")
    sign_newest(server)
    page.goto(f"{server.base_url}/leave/")
    survey(page, "leave, signed")
    page.locator("#content form button").first.click()
    survey(page, "leave, not chosen")
    for name, (status, outcome) in ENDS.items():
        change_newest(server, status=status, outcome=outcome)
        page.goto(f"{server.base_url}/study/")
        survey(page, name)
    survey_dangers(page, server, survey)
    change_newest(server, status="active", outcome="{}", position=6)
    page.goto(f"{server.base_url}/study/")
    survey(page, "debrief with something missing")
    change_newest(server, plan=AFTERCARE, position=0)
    page.goto(f"{server.base_url}/study/")
    survey(page, "aftercare")
    survey_faults(page, server, survey)


def survey_dangers(page: Page, server: Server, survey: Survey) -> None:
    store_signs(server)
    for place, (name, (status, _sign)) in enumerate(DANGERS.items()):
        make_newest(server, place)
        change_newest(server, status=status, outcome="{}")
        page.goto(f"{server.base_url}/study/care/")  # which leads to the study where that is the page to see
        survey(page, name)


def store_signs(server: Server) -> None:
    """Of the person who came last, each with an alarm that was sent; with the first one a letter of the team."""
    code = f"""
from django.utils import timezone
from dialogue.models import RiskEvent
from studies.models import Alarm, Participation, SafetyAct
person = Participation.objects.latest("pk")
for sign in {[sign for _status, sign in DANGERS.values()]!r}:
    event = RiskEvent.objects.create(subject=person.code, **sign)
    Alarm.objects.create(study=person.study, event=event, contact="Ada", channel="email", address="ada@example.org",
                         token_hash=str(event.pk), sent_at=timezone.now())
first = RiskEvent.objects.filter(subject=person.code).earliest("pk")
SafetyAct.objects.create(event=first, kind="wrote", by_name="ada", text="We have read it.")
"""
    stored = server.manage("shell", "-c", code)
    assert stored.returncode == 0, stored.stderr


def make_newest(server: Server, place: int) -> None:
    """Of the signs of the person who came last, the one at this place."""
    code = "(SELECT code FROM studies_participation ORDER BY id DESC LIMIT 1)"
    one = f"(SELECT id FROM dialogue_riskevent WHERE subject = {code} ORDER BY id LIMIT 1 OFFSET {place})"
    with closing(sqlite3.connect(server.database, timeout=20)) as connection, connection:
        moment = f"2100-01-01 00:00:{place:02}"
        connection.execute(f"UPDATE dialogue_riskevent SET created_at = ? WHERE id = {one}", [moment])


def survey_closed(page: Page, url: str, survey: Survey) -> None:
    page.goto(url)
    survey(page, f"closed {urlsplit(url).path}")


def arrive(page: Page, server: Server, language: str) -> None:
    """As someone new, up to the first questions."""
    come_in(page, f"{server.base_url}/open/brief/")
    page.locator(f'#content button[name="language"][value="{language}"]').click()


def survey_faults(page: Page, server: Server, survey: Survey) -> None:
    page.goto(f"{server.base_url}/leave/")
    page.locator('input[value="delete"]').check()
    page.context.clear_cookies(name="emostudy_csrf")
    page.locator('#content form:has(input[value="delete"]) button').first.click()
    survey(page, "form that was open for too long")
    page.goto(f"{server.base_url}/leave/")
    page.locator('input[value="delete"]').check()
    page.locator('#content form:has(input[value="delete"]) button').first.click()
    survey(page, "erased")
    arrive(page, server, survey.language)
    change_newest(server, plan='[{"kind": "unheard of", "key": "screening"}]', position=0)
    page.locator("form[data-instrument] button[type=submit]").click()
    survey(page, "fault with a form")
    page.goto(f"{server.base_url}/study/")
    survey(page, "fault")


def sign_newest(server: Server) -> None:
    with closing(sqlite3.connect(server.database, timeout=20)) as connection, connection:
        connection.execute(
            "INSERT INTO studies_consent "
            "(participation_id, instrument, version, text_hash, language, boxes, providers, signed_at) "
            "SELECT max(id), 'consent_template', '1', '', '', '{}', '[]', '2026-03-04 05:06:07' "
            "FROM studies_participation"
        )


def change_newest(server: Server, **values: object) -> None:
    """What would take a model, a researcher or a fault, written into the row of the person who came last."""
    names = ", ".join(f"{name} = ?" for name in values)
    connection = sqlite3.connect(server.database, timeout=20)
    with connection:
        newest = "(SELECT max(id) FROM studies_participation)"
        connection.execute(f"UPDATE studies_participation SET {names} WHERE id = {newest}", list(values.values()))
    connection.close()


def survey_workbench(page: Page, server: Server, survey: Survey) -> None:
    page.goto(f"{server.base_url}/research/")
    survey(page, "sign in")
    page.locator('#content button[type="submit"]').first.click()
    survey(page, "sign in, mistakes")
    sign_in(page, server)
    survey(page, "research")
    for path in RESEARCH_PAGES:
        page.goto(f"{server.base_url}/research/brief/{path}")
        survey(page, f"research/{path}")
    page.goto(f"{server.base_url}/research/brief/life/close/")
    page.locator('#content button[type="submit"]').click()
    survey(page, "research/life/close/, mistakes")


def test_axe_finds_no_violation(survey: Survey) -> None:
    assert survey.violations == {}
    assert survey.states


def test_no_text_is_cut_and_no_page_scrolls_sideways(survey: Survey) -> None:
    assert survey.cut == {}


def test_nothing_moves_for_who_asked_for_less_motion(survey: Survey) -> None:
    assert survey.moving == {}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_small_phone_with_doubled_text_scrolls_no_page_sideways(browser, server, language):
    """360 × 640; the steps of a scale keep the width of a finger's tip where a reply is rated."""
    context = browser.new_context(**{**PHONE, "viewport": {"width": 180, "height": 320}}, locale=language)
    wide: dict[str, int] = {}

    def look(page: Page, name: str) -> None:
        width = page.evaluate("document.documentElement.scrollWidth")
        if width > 180:
            wide[name] = width

    page = context.new_page()
    visitor = HurriedVisitor(page, language, look)
    come_in(page, f"{server.base_url}/open/full/?track=participant", look)
    while not page.locator("[data-conversation]").count():
        visitor.take_step()
    visitor.say()
    step = page.locator(".reply-rating__step").first.bounding_box() or {}
    assert (wide, step["width"] >= 44) == ({}, True)
    context.close()


def test_each_message_is_read_out_in_the_language_that_it_was_written_in(browser, server):
    """Also once the person has changed the language of the page."""
    context = browser.new_context(**PHONE, locale="en")
    page = context.new_page()
    visitor = HurriedVisitor(page, "en")
    come_in(page, f"{server.base_url}/open/brief/?track=participant")
    while not page.locator("[data-conversation]").count():
        visitor.take_step()
    visitor.say()
    with page.expect_navigation():
        page.locator('form[action="/study/language/"] button[lang="zh-Hans"]').first.evaluate("(one) => one.click()")
    expect(page.locator(".bubble--partner[data-seq]")).to_have_count(1)
    visitor.language = "zh"
    visitor.say()
    spoken = page.locator(".transcript .bubble__text").evaluate_all("(all) => all.map((one) => one.lang)")
    assert (spoken, page.locator("html").get_attribute("lang")) == (["en", "en", "zh-Hans", "zh-Hans"], "zh-Hans")
    context.close()
