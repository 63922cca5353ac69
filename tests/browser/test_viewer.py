"""One conversation at a real browser: every part of it readable by everyone, calls fetched when opened, links that
lead back to the same place; and all of it without a script."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from studies.instruments.loading import load
from tests.amounts import choose
from tests.browser.conftest import BRIEF, quick_demo
from tests.browser.survey import Survey
from tests.browser.visitor import sign_in
from tests.server import Server

pytestmark = pytest.mark.browser

STUDY = "viewed"
CHANGES = {'key = "brief"': f'key = "{STUDY}"'}
PATH = f"research/{STUDY}/conversations/"
SUPPORTER = "That is hard. What would help? " * 4
COMPARED = "a=demo+standard&b=demo+state_aware"


@pytest.fixture(scope="module")
def viewed(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Server:
    """Three imported conversations, rated by a crowd and by a judge in two ways, one of them with thoughts."""
    folder = tmp_path_factory.mktemp("viewed")
    for arguments in (
        ("load_study", str(quick_demo(folder, BRIEF, CHANGES, key=STUDY))),
        ("import_conversations", STUDY, str(conversations(folder / "conversations.jsonl"))),
        ("import_ratings", STUDY, str(ratings(folder / "ratings.csv"))),
        ("judge", STUDY, "--judge", "demo", "--strategy", "standard"),
        ("judge", STUDY, "--judge", "demo", "--strategy", "state_aware"),
    ):
        done = server.manage(*arguments)
        assert done.returncode == 0, done.stderr
    return server


def conversations(path: Path) -> Path:
    told = {"arm": "amber", "condition": "worst_case", "profile": "An engineer of 34.", "language": "en"}
    lines = [json.dumps({"id": f"c{number}", **told, "turns": turns(number)}) for number in (1, 2, 3)]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def turns(number: int) -> list[dict[str, str]]:
    """Others in each conversation: what was asked before is not asked again."""
    said = [f"It is the {turn}. time in {number} that I say so. " * 3 for turn in range(1, 7)]
    return [{"seeker": words, "supporter": SUPPORTER} for words in said]


def ratings(path: Path) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["conversation", "rater", "rater_kind", "instrument", "item", "score", "moment"])
        for item in load("emoharbor_10").items:
            rows.writerow(["c1", "W1", "crowd", "emoharbor_10", item.key, 1, "final"])
            rows.writerow(["c1", "W2", "crowd", "emoharbor_10", item.key, 2, "final"])
            rows.writerow(["c2", "W1", "crowd", "emoharbor_10", item.key, 5, "final"])
    return path


@pytest.fixture
def reading(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context()
    yield context
    context.close()


def open_first(page: Page, server: Server, query: str = "") -> None:
    sign_in(page, server)
    page.goto(f"{server.base_url}/{PATH}{query}")
    page.locator("tbody a").first.click()
    page.locator("#calls").wait_for()


@pytest.mark.parametrize("language", choose(usual=["en"], full=["en", "zh"]))
def test_everyone_can_read_every_state(language: str, browser: Browser, viewed: Server) -> None:
    locale = {"en": "en-GB", "zh": "zh-CN"}[language]
    context = browser.new_context(locale=locale, reduced_motion="reduce", bypass_csp=True)
    page, survey = context.new_page(), Survey(language)
    sign_in(page, viewed)
    lists = {"far": "?judge=any&far=0.1", "nothing like it": "?kind=person", "no points": "?judge=any&far=x"}
    for name, query in lists.items():
        page.goto(f"{viewed.base_url}/{PATH}{query}")
        survey(page, f"conversations, {name}")
    page.goto(f"{viewed.base_url}/{PATH}?judge=any&far=0.1")
    page.locator("tbody a").first.click()
    page.locator("#calls").wait_for()
    page.goto(f"{page.url}&{COMPARED}&turn=2")
    survey(page, "viewer")
    page.locator(".drawer > summary").click()
    page.locator(".call > summary").first.click()
    page.locator("[data-here] .verbatim-part").first.wait_for()
    page.evaluate("document.querySelectorAll('main details:not(.call)').forEach((one) => (one.open = true))")
    survey(page, "viewer with all of it open")
    page.goto(page.url.split("?")[0] + "?a=demo+standard&b=gone")
    survey(page, "viewer, a judge that is not there")
    page.locator(".turn__head .small").first.click()
    page.locator('select[name="purpose"]').wait_for()
    survey(page, "calls of a turn")
    page.locator(".call > summary").first.click()
    page.locator(".call a").first.click()
    page.locator("h1 ~ .verbatim-part").first.wait_for()
    survey(page, "call")
    context.close()
    assert (survey.violations, survey.cut, survey.moving) == ({}, {}, {})


def test_an_address_opens_the_call_that_it_names(reading: BrowserContext, viewed: Server) -> None:
    page = reading.new_page()
    open_first(page, viewed)
    call = page.locator("details.call").last
    name = call.get_attribute("id")
    expect(call).to_be_hidden()

    page.goto(f"{page.url}#{name}")

    expect(call.locator("[data-here] .verbatim-part").first).to_be_visible()
    expect(call.locator("summary").first).to_be_in_viewport()
    page.reload()
    expect(call.locator("[data-here] .verbatim-part").first).to_be_visible()


def test_an_address_leads_to_the_turn_that_it_names(reading: BrowserContext, viewed: Server) -> None:
    page = reading.new_page()
    open_first(page, viewed)

    page.goto(f"{page.url}?turn=6")

    expect(page.locator('[aria-current="true"] h3')).to_be_in_viewport()
    expect(page.locator('[aria-current="true"] h3')).to_have_text("Turn 6")


def test_one_goes_on_to_the_next_conversation_of_the_list(reading: BrowserContext, viewed: Server) -> None:
    page = reading.new_page()
    open_first(page, viewed, "?judge=demo+standard&far=0.1")
    page.locator('#comparison ~ form select[name="a"]').select_option("demo standard")
    page.locator('#comparison ~ form select[name="b"]').select_option("demo state_aware")
    page.get_by_role("button", name="Compare").click()
    expect(page.locator("#comparison ~ .table-scroll").first).to_be_visible()
    first = page.locator("h1").inner_text()

    page.get_by_role("link", name="Next", exact=True).click()

    expect(page.locator(".neighbours")).to_contain_text("2 of 2")
    expect(page.locator("h1")).not_to_have_text(first)
    expect(page.locator("#comparison ~ .table-scroll").first).to_be_visible()
    page.locator(".back a").click()
    expect(page.locator("tbody tr")).to_have_count(2)


def test_a_call_that_cannot_be_loaded_says_so_and_may_be_asked_for_again(
    reading: BrowserContext, viewed: Server
) -> None:
    page = reading.new_page()
    open_first(page, viewed)
    page.route("**/calls/*/?part=yes", lambda route: route.abort())
    page.locator(".drawer > summary").click()
    call = page.locator("details.call").first
    call.locator("summary").first.click()
    expect(call.locator("[data-here]")).to_have_text("This part could not be loaded. Please open it on its own page.")

    page.unroute("**/calls/*/?part=yes")
    call.locator("summary").first.click()
    call.locator("summary").first.click()

    expect(call.locator("[data-here] .verbatim-part").first).to_be_visible()


def test_without_a_script_each_call_is_a_page(browser: Browser, viewed: Server) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    open_first(page, viewed)

    page.locator(".drawer > summary").click()
    page.locator(".call > summary").first.click()
    page.locator(".call a").first.click()

    expect(page.get_by_role("heading", level=1)).to_contain_text("Model call")
    expect(page.locator(".verbatim-part").first).to_be_visible()
    context.close()
