"""`make screenshots`: the pages of people, counsellors, reviewers and researchers, both screens, both languages."""

import html
import re
import sys
import tempfile
from itertools import product
from pathlib import Path
from urllib.parse import urljoin, urlsplit

from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser.conftest import BRIEF, CHROMIUM, arguments, quick_demo
from tests.browser.test_counsellor import ONE_TALK
from tests.browser.test_reviewer import Reader
from tests.browser.test_walk import SCREENS, page_of
from tests.browser.visitor import Visitor, come_in, sign_in
from tests.server import Server, serving

UNSAFE = re.compile(r"\W+")  # in the name of a file
STUDIES = {"participant": "demo", "counsellor": "played"}
OTHER_PAGES = ("help/?country=US", "offline/US/", "pause/", "leave/")
RESEARCH_PAGES = (
    *("", "people/", "conversations/", "conversations/?judge=any", "reviews/", "reviews/new/", "pairs/", "pairs/new/"),
    *("quality/", "risks/", "risks/adverse/", "risks/adverse/new/", "risks/review/", "risks/drill/"),
    *("interviews/", "profiles/", "benchmark/", "benchmark/new/", "judges/"),
    *("analysis/", "analysis/precision/", "analysis/unblind/", "export/", "design/", "design/cards/"),
    *("life/", "life/close/", "life/pause/", "life/anonymise/", "life/erase/"),
    *("life/help/", "life/versions/1/"),
    *("payments/", "webhooks/"),
    *("access/", "access/leave/", "access/transfer/", "audit/"),
)
SITE_PAGES = ("questionnaires/", "questionnaires/new/", "questionnaires/mini_ipip/")  # of no study


class Camera:
    def __init__(self, folder: Path, screen: str, language: str) -> None:
        self.folder, self.label = folder, f"{screen}-{language}"
        self.taken: list[str] = []
        folder.mkdir(parents=True, exist_ok=True)

    def __call__(self, page: Page, name: str) -> None:
        """Each page once: the second conversation looks as the first."""
        if name not in self.taken:
            self.taken.append(name)
            file = f"{self.label}-{len(self.taken):02}-{UNSAFE.sub('-', name)}.png"
            page.screenshot(path=self.folder / file, full_page=True)


def person_pages(browser: Browser, server: Server, folder: Path, screen: str, language: str, track: str) -> None:
    page = page_of(browser, screen, language)
    camera = Camera(folder, f"{track}-{screen}", language)
    Visitor(page, language, camera).walk(f"{server.base_url}/open/{STUDIES[track]}/?track={track}")
    camera(page, "debrief")
    for path in OTHER_PAGES:
        page.goto(f"{server.base_url}/{path}")
        camera(page, path.split("/")[0])
    page.context.close()


def reviewer_pages(browser: Browser, server: Server, folder: Path, screen: str, language: str) -> None:
    """What counsellors of this language said, and two of them side by side."""
    links = folder / f"{screen}-{language}.csv"
    server.manage("invite", STUDIES["counsellor"], "--count", "1", "--track", "reviewer", "--csv", str(links))
    page = page_of(browser, screen, language)
    camera = Camera(folder, f"reviewer-{screen}", language)
    reader = Reader(page, language, camera)
    come_in(page, urljoin(server.base_url, urlsplit(links.read_text().split(",")[-1].strip()).path), camera)
    links.unlink()
    while not reader.code():
        reader.take_step()
    camera(page, "debrief")
    page.context.close()


def plan_for_reviewers(server: Server) -> None:
    plan = ("--instruments", "emoharbor_10", "--source", "all", "--each", "2")
    server.manage("plan_reviews", STUDIES["counsellor"], "--name", "looks", *plan)
    pairs = ("--instrument", "pairwise_support", "--between", "arms", "--count", "4", "--each", "2")
    server.manage("plan_pairs", STUDIES["counsellor"], "--name", "looks", *pairs)


def research_pages(browser: Browser, server: Server, folder: Path, screen: str, language: str) -> None:
    page = page_of(browser, screen, language)
    camera = Camera(folder, f"research-{screen}", language)
    sign_in(page, server)
    camera(page, "studies")
    for path in SITE_PAGES:
        page.goto(f"{server.base_url}/research/{path}")
        camera(page, path.strip("/"))
    for path in RESEARCH_PAGES:
        page.goto(f"{server.base_url}/research/demo/{path}")
        camera(page, path.strip("/") or "overview")
    page.context.close()


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
        server.load_open(quick_demo(Path(scratch)))
        server.load_open(quick_demo(Path(scratch), BRIEF, ONE_TALK, key="played"))
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments())
        for screen, language in product(SCREENS, ("en", "zh")):
            print(f"{screen}, {language} …", flush=True)
            for track in STUDIES:
                person_pages(browser, server, folder, screen, language, track)
        plan_for_reviewers(server)
        for screen, language in product(SCREENS, ("en", "zh")):
            print(f"{screen}, {language}: reviewers and researchers …", flush=True)
            reviewer_pages(browser, server, folder, screen, language)
            research_pages(browser, server, folder, screen, language)
        browser.close()
    print(contact_sheet(folder))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
