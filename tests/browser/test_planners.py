"""A researcher at a real browser: a blind study, its precision, and a sample size without a script."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import BRIEF, quick_demo
from tests.browser.survey import Survey
from tests.browser.test_walk import DESKTOP
from tests.browser.visitor import sign_in
from tests.server import Server

pytestmark = pytest.mark.browser

LONG = 120_000  # milliseconds: a judge and an analysis are at work
# Bots are test data, which no study is blind to: they become people.
REAL = """
from studies.models import ArmRun, Participation
Participation.objects.filter(study__key="blind").update(is_test=False)
ArmRun.objects.filter(study__key="blind").update(is_test=False)
"""
OF_ITS_OWN = {'key = "brief"': 'key = "blind"'}


def test_a_blind_study_is_analysed_planned_and_unblinded(browser: Browser, server: Server, tmp_path: Path) -> None:
    server.load_open(quick_demo(tmp_path, BRIEF, OF_ITS_OWN, key="blind"))
    walked = server.manage("run_bots", "blind", "--count", "6", "--concurrency", "4", "--base-url", server.base_url)
    assert walked.returncode == 0, walked.stderr
    assert server.manage("shell", "-c", REAL).returncode == 0
    assert server.manage("judge", "blind", "--judge", "demo", "--strategy", "standard").returncode == 0
    context = browser.new_context(**DESKTOP, bypass_csp=True)
    page, survey = context.new_page(), Survey("en")
    sign_in(page, server)
    page.goto(f"{server.base_url}/research/blind/analysis/")
    page.get_by_role("button", name="Start the analysis").click()
    page.locator(".live-letters").wait_for(timeout=LONG)
    assert "amber" not in page.locator("main").inner_text()
    expect(page.get_by_role("link", name="Open the report")).to_have_count(0)
    survey(page, "research/analysis/ blinded")
    plan_precision(page, survey)
    unblind(page, server, survey)
    context.close()
    assert (survey.violations, survey.cut) == ({}, {})


def plan_precision(page: Page, survey: Survey) -> None:
    page.get_by_role("link", name="How precise are the results").click()
    page.get_by_role("button", name="Compute").click()
    page.locator(".planner-chart").first.wait_for(timeout=LONG)
    expect(page.locator('[data-state="failed"]')).to_have_count(0)
    survey(page, "research/analysis/precision/")


def unblind(page: Page, server: Server, survey: Survey) -> None:
    page.goto(f"{server.base_url}/research/blind/analysis/unblind/")
    survey(page, "research/analysis/unblind/")
    page.get_by_role("button", name="Show results by arm").click()
    expect(page.locator(".alarm")).to_be_visible()
    page.get_by_label("Data collection is finished").check()
    page.get_by_label("Why", exact=True).fill("All have finished.")
    page.get_by_label("Type blind to confirm").fill("blind")
    page.get_by_role("button", name="Show results by arm").click()
    expect(page.get_by_role("link", name="Open the report")).to_be_visible()
    assert "amber" in page.locator("main").inner_text()
    survey(page, "research/analysis/ unblinded")


def test_a_sample_size_needs_no_script(browser: Browser, server: Server) -> None:
    context = browser.new_context(**DESKTOP, java_script_enabled=False)
    page = context.new_page()
    sign_in(page, server)
    page.goto(f"{server.base_url}/research/planning/sample-size/")
    page.get_by_role("link", name="Find a difference within people").click()
    page.get_by_label("Difference d_z").fill("0.4")
    page.get_by_role("button", name="Compute").click()
    expect(page.locator(".figure dd").first).to_contain_text("52")
    context.close()
