"""A researcher at a real browser: from the buttons to the heat map and the report."""

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.screenshots import sign_in
from tests.browser.test_walk import page_of
from tests.server import Server

pytestmark = pytest.mark.browser

LONG = 120_000  # milliseconds: a judge and an analysis are at work


def test_researcher_judges_analyses_and_exports_by_buttons(browser: Browser, server: Server) -> None:
    walked = server.manage("run_bots", "demo", "--count", "4", "--concurrency", "4", "--base-url", server.base_url)
    assert walked.returncode == 0, walked.stderr
    page = page_of(browser, "desktop", "en")
    sign_in(page, server)
    page.goto(f"{server.base_url}/research/demo/analysis/")
    page.get_by_role("button", name="Start the judge").click()
    page.locator('[data-state="done"]').first.wait_for(timeout=LONG)
    expect(page.locator('[data-state="failed"]')).to_have_count(0)

    page.locator('form[action$="/analyse/"] input[type="checkbox"]').check()
    page.get_by_role("button", name="Start the analysis").click()
    page.get_by_role("link", name="Open the report").wait_for(timeout=LONG)
    assert page.locator("table.heat tbody tr").count() >= 3
    page.get_by_role("link", name="Open the report").click()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert "Demonstration data" in page.content()

    page.goto(f"{server.base_url}/research/demo/export/")
    page.locator('input[type="checkbox"]').first.check()
    page.locator("form.card button[type=submit]").first.click()
    link = page.locator('a[href$=".zip"]').first
    link.wait_for(timeout=LONG)
    with page.expect_download() as download:
        link.click()
    assert download.value.path().stat().st_size > 10_000
    page.context.close()


def test_stranger_is_asked_to_sign_in_and_told_nothing(browser: Browser, server: Server) -> None:
    page = page_of(browser, "phone", "zh")
    for path in ("research/", "research/demo/", "research/demo/people/", "api/v1/studies/", "admin/"):
        page.goto(f"{server.base_url}/{path}")
        assert "amber" not in page.content()
    page.goto(f"{server.base_url}/research/demo/")
    expect(page.locator('input[name="password"]')).to_be_visible()
    page.context.close()
