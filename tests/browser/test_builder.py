"""A researcher at a real browser sets up a study without touching a file, and someone takes part in it."""

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.survey import Survey
from tests.browser.test_walk import DESKTOP, PHONE
from tests.browser.visitor import Visitor, sign_in
from tests.server import Server

pytestmark = pytest.mark.browser


def test_study_from_a_template_is_loaded_tried_and_walked(browser: Browser, server: Server) -> None:
    context = browser.new_context(**DESKTOP, bypass_csp=True)
    page, survey = context.new_page(), Survey("en")
    sign_in(page, server)
    page.goto(f"{server.base_url}/research/")
    page.get_by_role("link", name="New study").click()
    survey(page, "research/new/")
    page.locator('button[value="minimal"]').click()
    expect(page.get_by_role("heading", name="Left to do")).to_be_visible()
    survey(page, "research/drafts/")
    fill_arm(page, survey)
    fill_basics(page, survey)
    load(page, survey)
    ask_models(page)
    page.get_by_role("link", name="Board").click()
    page.get_by_label("Test links: what is done with them is test data").check()
    page.get_by_role("button", name="Make links", exact=True).first.click()
    link = page.locator("main").get_by_text(f"{server.base_url}/").first.inner_text()
    context.close()
    phone = browser.new_context(**PHONE)
    assert Visitor(phone.new_page(), "en").walk(link)
    phone.close()
    assert (survey.violations, survey.cut) == ({}, {})


def fill_arm(page: Page, survey: Survey) -> None:
    """Follow a fault to its field, choose the provider, and name the model."""
    page.locator('a[href$="#arms[1].base_url"]').first.click()
    page.get_by_label("Provider").first.select_option("scripted")
    page.get_by_role("button", name="Save").last.click()
    page.locator('input[name="arms[1].model"]').fill("mirror")
    page.get_by_role("button", name="Save").last.click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    survey(page, "research/drafts/arms/1/")


def fill_basics(page: Page, survey: Survey) -> None:
    page.get_by_role("link", name="Basics").first.click()
    page.locator('input[name="key"]').fill("from_browser")
    page.locator('input[name="contact"]').fill("lab@example.org")
    page.get_by_role("button", name="Save").last.click()
    survey(page, "research/drafts/basics/")


def load(page: Page, survey: Survey) -> None:
    page.get_by_role("link", name="Draft", exact=True).click()
    page.get_by_role("link", name="Load the study …").click()
    survey(page, "research/drafts/load/")
    page.get_by_role("button", name="Load the study").click()
    expect(page.get_by_text("The study is loaded, version 1.")).to_be_visible()


def ask_models(page: Page) -> None:
    page.get_by_role("button", name="Ask each model one question").click()
    expect(page.get_by_text("1 of 1 models answer")).to_be_visible(timeout=60_000)


def test_steps_are_dragged_to_another_place_and_given_back_by_escape(browser: Browser, server: Server) -> None:
    context = browser.new_context(**DESKTOP, bypass_csp=True)
    page, survey = context.new_page(), Survey("en")
    sign_in(page, server)
    page.goto(f"{server.base_url}/research/new/")
    page.locator('button[value="emoharbor"]').click()
    page.get_by_role("link", name="Steps").first.click()
    names = page.locator(".builder-row__what > a")
    before = names.all_inner_texts()
    survey(page, "research/drafts/steps/")

    pull(page, 0, 2)
    page.keyboard.press("Escape")
    page.mouse.up()
    assert names.all_inner_texts() == before

    pull(page, 0, 2)
    with page.expect_navigation():
        page.mouse.up()
    assert names.all_inner_texts() == [*before[1:3], before[0], *before[3:]]
    assert (survey.violations, survey.cut) == ({}, {})
    context.close()


def pull(page: Page, row: int, below: int) -> None:
    """Hold a row by its grip, and carry it below another."""
    grips = page.locator(".builder-row__grip")
    grips.nth(row).hover()
    page.mouse.down()
    box = page.locator(".builder-row").nth(below).bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 20, box["y"] + box["height"] * 0.3, steps=4)
    page.mouse.move(box["x"] + 20, box["y"] + box["height"] * 0.9, steps=8)
