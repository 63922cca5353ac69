"""The demonstration study, whole and brief, from the open door to the completion code, as people walk it."""

import pytest
from playwright.sync_api import Browser, Page

from tests.amounts import choose
from tests.browser.visitor import Visitor
from tests.server import Server

pytestmark = pytest.mark.browser

PHONE = {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2, "has_touch": True, "is_mobile": True}
DESKTOP = {"viewport": {"width": 1280, "height": 800}}
LEFT = "net::ERR_ABORTED"  # the page was left while something was still loading
SCREENS = {"phone": PHONE, "desktop": DESKTOP}


def page_of(browser: Browser, screen: str, language: str) -> Page:
    context = browser.new_context(**SCREENS[screen], locale="zh-CN" if language == "zh" else "en-GB")
    return context.new_page()


# In short the whole demonstration on a phone, and a brief study on a desktop.
WALKS = [("demo", "phone", "zh"), ("brief", "desktop", "en"), ("brief", "phone", "en"), ("brief", "desktop", "zh")]


@pytest.mark.parametrize(("study", "screen", "language"), WALKS[: choose(usual=2, full=4)])
def test_person_walks_a_study_to_the_completion_code(
    browser: Browser, server: Server, study: str, screen: str, language: str
) -> None:
    page = page_of(browser, screen, language)
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("requestfailed", lambda request: complaints.append(request.url) if request.failure != LEFT else None)
    hosts: set[str] = set()
    page.on("request", lambda request: hosts.add(request.url.split("/")[2]))
    code = Visitor(page, language).walk(f"{server.base_url}/open/{study}/?track=participant")
    assert len(code) == 10
    assert page.locator("html").get_attribute("lang") == {"en": "en", "zh": "zh-Hans"}[language]
    assert complaints == []
    assert hosts == {server.base_url.removeprefix("http://")}
    page.context.close()
