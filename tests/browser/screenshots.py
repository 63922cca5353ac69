"""`make screenshots`: every page that a person and a researcher see, phone and desktop, English and Chinese."""

import html
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser.conftest import CHROMIUM, arguments, quick_demo
from tests.browser.test_walk import SCREENS, page_of
from tests.browser.visitor import Visitor
from tests.server import Server, serving

OTHER_PAGES = ("help/?country=US", "pause/", "leave/")
RESEARCH_PAGES = ("", "people/", "conversations/", "risks/", "analysis/", "export/", "design/")


class Camera:
    def __init__(self, folder: Path, screen: str, language: str) -> None:
        self.folder, self.label = folder, f"{screen}-{language}"
        self.taken: list[str] = []
        folder.mkdir(parents=True, exist_ok=True)

    def __call__(self, page: Page, name: str) -> None:
        """Each page once: the second conversation looks as the first."""
        if name not in self.taken:
            self.taken.append(name)
            page.screenshot(path=self.folder / f"{self.label}-{len(self.taken):02}-{name}.png", full_page=True)


def person_pages(browser: Browser, server: Server, folder: Path, screen: str, language: str) -> None:
    page = page_of(browser, screen, language)
    camera = Camera(folder, screen, language)
    Visitor(page, language, camera).walk(f"{server.base_url}/open/demo/?track=participant")
    camera(page, "debrief")
    for path in OTHER_PAGES:
        page.goto(f"{server.base_url}/{path}")
        camera(page, path.split("/")[0])
    page.context.close()


def research_pages(browser: Browser, server: Server, folder: Path, screen: str, language: str) -> None:
    page = page_of(browser, screen, language)
    camera = Camera(folder, f"research-{screen}", language)
    sign_in(page, server)
    camera(page, "studies")
    for path in RESEARCH_PAGES:
        page.goto(f"{server.base_url}/research/demo/{path}")
        camera(page, path.strip("/") or "overview")
    page.context.close()


def sign_in(page: Page, server: Server) -> None:
    page.goto(f"{server.base_url}/research/")
    page.locator('input[name="username"]').fill("researcher")
    page.locator('input[name="password"]').fill((server.folder / "researcher_password").read_text())
    page.locator('#content button[type="submit"]').first.click()
    page.wait_for_load_state()


def contact_sheet(folder: Path) -> Path:
    shots = sorted(shot.name for shot in folder.glob("*.png"))
    figures = "".join(
        f'<figure><img src="{shot}" loading="lazy"><figcaption>{shot}</figcaption></figure>'
        for shot in map(html.escape, shots)
    )
    style = "figure{display:inline-block;margin:8px;vertical-align:top}img{max-width:420px;border:1px solid #999}"
    sheet = folder / "index.html"
    sheet.write_text(f"<!doctype html><meta charset=utf-8><style>{style}</style>{figures}", encoding="utf-8")
    return sheet


def main(folder: Path) -> None:
    if CHROMIUM is None:
        sys.exit("No Chromium on this machine: install the package 'chromium'.")
    with tempfile.TemporaryDirectory() as scratch, serving(Path(scratch)) as server, sync_playwright() as playwright:
        server.manage("load_study", str(quick_demo(Path(scratch))))
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments())
        for screen in SCREENS:
            for language in ("en", "zh"):
                print(f"{screen}, {language} …", flush=True)
                person_pages(browser, server, folder, screen, language)
                research_pages(browser, server, folder, screen, language)
        browser.close()
    print(contact_sheet(folder))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
