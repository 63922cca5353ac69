"""axe-core finds nothing to object to on the pages of a person's way and of the workbench (WCAG 2.2 A and AA)."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from tests.browser.screenshots import OTHER_PAGES, RESEARCH_PAGES, sign_in
from tests.browser.test_walk import SCREENS
from tests.browser.visitor import Visitor
from tests.server import Server

pytestmark = pytest.mark.browser

RULES = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}}
FADED_IN = 400  # milliseconds: while a bubble fades in, its contrast is not what it will be
LAST = "between"  # after it every page comes again


class Inspector:
    def __init__(self) -> None:
        self.axe = Axe()
        self.violations: dict[str, list[str]] = {}
        self.pages: list[str] = []

    def __call__(self, page: Page, name: str) -> None:
        if name in self.pages:
            return
        self.pages.append(name)
        page.wait_for_timeout(FADED_IN)
        found = self.axe.run(page, options=RULES).response["violations"]
        if found:
            self.violations[name] = [f"{each['id']}: {each['nodes'][0]['html'][:160]}" for each in found]


@pytest.mark.parametrize(("language", "screen", "scheme"), [("en", "phone", "dark"), ("zh", "desktop", "light")])
def test_pages_have_no_violation(browser: Browser, server: Server, language: str, screen: str, scheme: str) -> None:
    context = browser.new_context(**SCREENS[screen], color_scheme=scheme, bypass_csp=True)
    page, inspect = context.new_page(), Inspector()
    visitor = Visitor(page, language, inspect)
    page.goto(f"{server.base_url}/open/demo/")
    inspect(page, "open")
    page.locator('a[href="/study/"]').first.click()
    while LAST not in inspect.pages:
        visitor.take_step()
    for path in OTHER_PAGES:
        page.goto(f"{server.base_url}/{path}")
        inspect(page, path)
    sign_in(page, server)
    for path in RESEARCH_PAGES:
        page.goto(f"{server.base_url}/research/demo/{path}")
        inspect(page, f"research/{path}")
    context.close()
    assert inspect.violations == {}
    assert len(inspect.pages) >= 20
