"""A researcher at a real browser: from the buttons to the heat map and the report."""

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.survey import Survey
from tests.browser.test_walk import DESKTOP, page_of
from tests.browser.visitor import sign_in
from tests.server import Server

pytestmark = pytest.mark.browser

# The whole tables have 80,000 cells, for which axe takes minutes; one row is as the next.
FEW_ROWS = "document.querySelectorAll('details tr:nth-child(n + 4)').forEach((row) => row.remove())"
LONG = 120_000  # milliseconds: a judge and an analysis are at work


def test_researcher_judges_analyses_and_exports_by_buttons(browser: Browser, server: Server) -> None:
    walked = server.manage("run_bots", "demo", "--count", "4", "--concurrency", "4", "--base-url", server.base_url)
    assert walked.returncode == 0, walked.stderr
    context = browser.new_context(**DESKTOP, bypass_csp=True)
    page, survey = context.new_page(), Survey("en")
    sign_in(page, server)
    page.goto(f"{server.base_url}/research/demo/analysis/")
    page.get_by_role("button", name="Start the judge").click()
    survey(page, "research/confirm/")
    page.get_by_role("button", name="Start", exact=True).click()
    page.locator('[data-state="done"]').first.wait_for(timeout=LONG)
    expect(page.locator('[data-state="failed"]')).to_have_count(0)

    page.locator('form[action$="/analyse/"] input[name="include_tests"]').check()
    page.get_by_role("button", name="Start the analysis").click()
    page.get_by_role("link", name="Open the report").wait_for(timeout=LONG)
    assert page.locator("table.heat tbody tr").count() >= 3
    survey(page, "research/analysis/ with results")
    page.get_by_role("link", name="Open the report").click()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert "Demonstration data" in page.content()
    page.evaluate(FEW_ROWS)
    survey(page, "report")

    page.goto(f"{server.base_url}/research/demo/export/")
    page.locator('input[type="checkbox"]').first.check()
    page.locator("form.card button[type=submit]").first.click()
    link = page.locator('a[href$=".zip"]').first
    link.wait_for(timeout=LONG)
    with page.expect_download() as download:
        link.click()
    assert download.value.path().stat().st_size > 10_000
    survey(page, "research/export/ with files")
    survey_what_one_leads_to(page, server, survey)
    see_wide_tables(page, server)
    context.close()
    assert (survey.violations, survey.cut) == ({}, {})


def survey_what_one_leads_to(page: Page, server: Server, survey: Survey) -> None:
    """The lists with rows in them, and the first row of each."""
    for path in ("people/", "conversations/"):
        page.goto(f"{server.base_url}/research/demo/{path}")
        survey(page, f"research/{path} with rows")
        page.locator("tbody a").first.click()
        survey(page, f"research/{path}…")
    page.goto(f"{server.base_url}/research/demo/")
    survey(page, "research/ with people")
    page.get_by_role("button", name="Make links", exact=True).click()
    survey(page, "research/ with new links")


def see_wide_tables(page: Page, server: Server) -> None:
    """The list of conversations has all its columns in view on a laptop. What is wider scrolls, can be reached by
    keyboard, shows it at its edge, and keeps its first column."""
    page.goto(f"{server.base_url}/research/demo/conversations/")
    for width in (1440, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.locator(".table-scroll").evaluate("box => box.scrollWidth - box.clientWidth") == 0, width
    page.set_viewport_size({"width": 800, "height": 900})
    box = page.get_by_role("region", name="Conversations")
    assert box.evaluate("box => box.scrollWidth > box.clientWidth && box.tabIndex === 0")
    assert "local" in box.evaluate("box => getComputedStyle(box).backgroundAttachment")
    first = page.locator("tbody tr").first.locator("td").first
    before = first.bounding_box()
    box.evaluate("box => { box.scrollLeft = box.scrollWidth }")
    assert first.bounding_box() == before


def test_stranger_is_asked_to_sign_in_and_told_nothing(browser: Browser, server: Server) -> None:
    page = page_of(browser, "phone", "zh")
    for path in ("research/", "research/demo/", "research/demo/people/", "api/v1/studies/", "admin/"):
        page.goto(f"{server.base_url}/{path}")
        assert "amber" not in page.content()
    page.goto(f"{server.base_url}/research/demo/")
    expect(page.locator('input[name="password"]')).to_be_visible()
    page.context.close()
