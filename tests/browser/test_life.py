"""A study from nothing to data at a real browser, against a real model server: built from a template, its arm tried,
rehearsed by bots, opened, walked by people of whom some leave, watched on the board, amended, closed and exported."""

import gettext
import re
import zipfile
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import brief_studies
from tests.browser.survey import Survey
from tests.browser.test_board import SOON
from tests.browser.test_walk import DESKTOP, PHONE
from tests.browser.visitor import HurriedVisitor, come_in, sign_in
from tests.llm_server import running
from tests.server import ROOT, Server, serving
from tests.studies.care.servers import Box, mail_server

pytestmark = pytest.mark.browser

KEY, SHORT_KEY = "from_nothing", "from_nothing_zh"
TABLET = {"viewport": {"width": 820, "height": 1180}, "bypass_csp": True}
LONG = 120_000  # milliseconds, of work in a process of its own
DRILL = f"""
from studies.models import Study
from tests.factories import acknowledged_drill
acknowledged_drill(Study.objects.get(key="{KEY}"))
"""
OPENED = f"""
from studies.models import Study
Study.objects.filter(key="{SHORT_KEY}").update(stage="open")
"""
STAY, LEAVE = 3, 2  # people


Say = Callable[..., str]  # a message of the pages, as the pages say it
CHINESE = gettext.translation("django", ROOT / "locale", ["zh_Hans"])


def in_english(message: str, **values: object) -> str:
    return message % values if values else message


def in_chinese(message: str, **values: object) -> str:
    said = CHINESE.gettext(message)
    assert said != message, f"no Chinese: {message}"
    return said % values if values else said


@pytest.fixture(scope="module")
def model_url() -> Iterator[str]:
    with running() as url:
        yield url


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that sends mail, or no study could be opened on it."""
    folder = tmp_path_factory.mktemp("mailing")
    with (
        mail_server(Box()) as port,
        serving(folder, EMAIL_URL=f"smtp://127.0.0.1:{port}/?from=study@example.org") as server,
    ):
        for study in brief_studies(folder):
            server.load_open(study)
        yield server


def test_study_from_nothing_to_data(browser: Browser, server: Server, model_url: str) -> None:
    desk = browser.new_context(**DESKTOP, bypass_csp=True, accept_downloads=True).new_page()
    survey = Survey("en")
    sign_in(desk, server)
    build(desk, server, model_url)
    try_the_arm(desk, survey)
    load(desk)
    rehearse(desk, server, survey)
    open_it(desk, server, survey)
    watch(desk, browser, server)
    amend(desk, survey)
    close_and_export(desk, server)
    assert (survey.violations, survey.cut) == ({}, {})


def build(page: Page, server: Server, model_url: str, *, key: str = KEY, say: Say = in_english) -> None:
    """Fill in what the smallest template lacks, on its pages alone."""
    page.goto(f"{server.base_url}/research/new/")
    page.locator('button[value="minimal"]').click()
    page.locator('a[href$="#arms[1].base_url"]').first.click()
    page.locator('input[name="arms[1].base_url"]').fill(model_url)
    page.locator('input[name="arms[1].model"]').fill("echo")
    save(page, say)
    page.get_by_role("link", name=say("Basics")).first.click()
    page.locator('input[name="key"]').fill(key)
    page.locator('input[name="contact"]').fill("lab@lab.university")
    save(page, say)
    page.get_by_role("link", name=say("Consent")).first.click()
    page.locator('[name="consent.contact_email"], [name^="consent.contact_email"]').first.fill("lab@lab.university")
    for name, words in {"oncall_role": "the psychologist on call", "oncall_hours": "9 to 17"}.items():
        page.locator(f'[name="consent.{name}.none"]').uncheck()
        page.locator(f'textarea[name^="consent.{name}"], input[type=text][name^="consent.{name}"]').first.fill(words)
    save(page, say)


def save(page: Page, say: Say = in_english) -> None:
    page.get_by_role("button", name=say("Save")).last.click()
    expect(page.get_by_text(say("Saved."))).to_be_visible()


def try_the_arm(page: Page, survey: Survey) -> None:
    page.get_by_role("link", name="Arms").first.click()
    page.get_by_role("link", name="a1").first.click()
    page.get_by_role("link", name="Try this arm …").click()
    page.get_by_label("Your message").fill("I feel low since the move.")
    page.get_by_role("button", name="Send").click()
    expect(page.locator(".trial__supporter")).to_contain_text("I feel low since the move")
    expect(page.locator("#answer")).to_contain_text("First piece")
    survey(page, "research/drafts/arms/…/try/")


def load(page: Page, say: Say = in_english) -> None:
    page.get_by_role("link", name=say("Draft"), exact=True).click()
    page.get_by_role("link", name=say("Load the study …")).click()
    page.get_by_role("button", name=say("Load the study")).click()
    expect(page.get_by_text(say("The study is loaded, version %(number)s.", number=1))).to_be_visible()


def rehearse(page: Page, server: Server, survey: Survey) -> None:
    """Everything that opening asks for; then the bots' data are thrown away, and their rehearsal with them."""
    page.get_by_role("button", name="Ask each model one question").click()
    expect(page.get_by_text("1 of 1 models answer")).to_be_visible(timeout=LONG)
    to_life(page)
    survey(page, "research/life/ with much missing")
    page.get_by_role("link", name="Go there").first.click()
    survey(page, "research/life/help/")
    page.get_by_role("button", name="I have tried each line today").click()
    run_bots(page, times=1)
    page.get_by_role("link", name="Throw away the test data …").click()
    confirm(page, "Throw away")
    done = server.manage("shell", "-c", DRILL)
    assert done.returncode == 0, done.stderr
    to_life(page)
    run_bots(page, times=2)


def run_bots(page: Page, *, times: int) -> None:
    """Wait until the list has this many rehearsals that ended: an earlier one stays in it."""
    page.get_by_role("button", name="Rehearse …").click()
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_text("2 came to the end")).to_have_count(times, timeout=LONG)


def open_it(page: Page, server: Server, survey: Survey) -> None:
    to_life(page)
    expect(page.locator(".checklist__line--met")).to_have_count(page.locator(".checklist__line").count())
    page.get_by_role("link", name="Open the study …").click()
    survey(page, "research/life/open/")
    confirm(page, "Open the study")
    expect(page.get_by_text("The study is open: people can start.")).to_be_visible()
    page.goto(f"{server.base_url}/research/{KEY}/?test=no")
    expect(page.get_by_text("This page is live.")).to_be_visible(timeout=SOON)


def watch(desk: Page, browser: Browser, server: Server) -> None:
    """People come, some to the end and some away; the board of researchers shows it without being loaded again."""
    told = server.manage("invite", KEY, "--count", str(STAY + LEAVE))
    links = re.findall(r"http\S+", told.stdout)
    assert len(links) == STAY + LEAVE, told.stderr
    for number, link in enumerate(links):
        context = browser.new_context(**PHONE)
        page = context.new_page()
        if number < STAY:
            assert HurriedVisitor(page, "en").walk(link)
        else:
            come_in(page, link)
            page.get_by_role("link", name="I do not want to take part").click()
            page.locator('main button[type="submit"]').last.click()
        context.close()
    completed = desk.locator('[data-part="funnel"] tr').filter(has_text="Completed")
    expect(completed.locator("td").first).to_have_text(str(STAY), timeout=SOON)
    expect(desk.locator('[data-part="funnel"]')).to_contain_text(str(LEAVE))


def amend(page: Page, survey: Survey, say: Say = in_english) -> None:
    page.get_by_role("link", name=say("Design")).first.click()
    page.get_by_role("button", name=say("Edit in a draft")).click()
    page.get_by_role("link", name=say("Conversations")).last.click()
    page.locator('input[name="chat.max_turns"]').fill("12")
    save(page, say)
    page.get_by_role("link", name=say("Draft"), exact=True).click()
    page.get_by_role("link", name=say("Load the study …")).click()
    survey(page, "research/drafts/load/ of an amendment")
    expect(page.locator(".differences__line--changed")).to_contain_text("max_turns = 12")
    page.get_by_label(say("What has changed, and why")).fill("Thirty turns tire people.")
    page.get_by_role("button", name=say("Load the study")).click()
    expect(page.get_by_text("Thirty turns tire people.")).to_be_visible()
    page.get_by_role("link", name=say("%(number)s: what changed", number=2)).click()
    survey(page, "research/life/versions/2/")


def close_and_export(page: Page, server: Server) -> None:
    to_life(page)
    page.get_by_role("link", name="Close the study …").click()
    confirm(page, "Close the study")
    expect(page.get_by_text("The study is closed.").first).to_be_visible()
    page.goto(f"{server.base_url}/research/{KEY}/export/")
    page.locator("main form button[type=submit]").first.click()
    page.get_by_role("link", name="Download ZIP").first.wait_for(timeout=LONG)
    with page.expect_download() as download:
        page.get_by_role("link", name="Download ZIP").first.click()
    with zipfile.ZipFile(download.value.path()) as archive:
        people = archive.read("participants.csv").decode().splitlines()
    done = [line for line in people if ",completed," in line]
    assert len(done) == STAY


def to_life(page: Page, say: Say = in_english) -> None:
    page.get_by_role("link", name=say("Lifecycle"), exact=True).first.click()
    expect(page.get_by_role("heading", name=say("Lifecycle of the study"))).to_be_visible()


def confirm(page: Page, button: str, *, key: str = KEY, say: Say = in_english) -> None:
    """Type the study's key, as acts on a whole study ask for."""
    page.get_by_label(say("Type %(key)s to confirm", key=key)).fill(key)
    page.get_by_role("button", name=button).first.click()


def test_study_from_nothing_to_its_end_in_chinese_on_a_tablet(browser: Browser, server: Server, model_url: str) -> None:
    """The same way without bots and trials, which the walk in English has."""
    say = in_chinese
    context = browser.new_context(**TABLET, locale="zh-CN")
    page, survey = context.new_page(), Survey("zh")
    sign_in(page, server)
    build(page, server, model_url, key=SHORT_KEY, say=say)
    load(page, say)
    to_life(page, say)
    survey(page, "research/life/ in Chinese, with much missing")
    assert server.manage("shell", "-c", OPENED).returncode == 0
    told = server.manage("invite", SHORT_KEY, "--count", "1", "--test")
    phone = browser.new_context(**PHONE)
    assert HurriedVisitor(phone.new_page(), "en").walk(re.findall(r"http\S+", told.stdout)[0])
    phone.close()
    page.goto(f"{server.base_url}/research/{SHORT_KEY}/?test=all")
    expect(page.locator('[data-part="funnel"]')).to_contain_text(say("Completed"))
    survey(page, "research/ in Chinese")
    for place in ("payments/", "webhooks/", "access/"):
        page.goto(f"{server.base_url}/research/{SHORT_KEY}/{place}")
        survey(page, f"research/{place} in Chinese")
    amend(page, survey, say)
    to_life(page, say)
    page.get_by_role("link", name=say("Close the study …")).click()
    confirm(page, say("Close the study"), key=SHORT_KEY, say=say)
    expect(page.get_by_text(say("The study is closed")).first).to_be_visible()
    assert (survey.violations, survey.cut) == ({}, {})
    context.close()


def test_life_is_read_in_chinese_on_a_tablet(browser: Browser, server: Server) -> None:
    page = browser.new_context(**TABLET, locale="zh-CN").new_page()
    survey = Survey("zh")
    sign_in(page, server)
    for place in ("life/", "life/open/", "life/help/", "life/versions/1/", ""):
        page.goto(f"{server.base_url}/research/brief/{place}")
        survey(page, f"research/{place} on a tablet")
    page.goto(f"{server.base_url}/research/brief/life/")
    expect(page.get_by_role("heading", name="研究进程")).to_be_visible()
    assert (survey.violations, survey.cut) == ({}, {})
