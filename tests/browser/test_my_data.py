"""A person on a phone reads their data, downloads them, and has them deleted; no word of theirs stays on the server."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.test_walk import page_of
from tests.browser.visitor import LINES, HurriedVisitor, come_in
from tests.server import Server

pytestmark = pytest.mark.browser

WORDS = {
    "en": ("My data", "Download everything", "Download the receipt"),
    "zh": ("我的数据", "下载全部数据", "下载回执"),
}

MARKS = {
    "en": "I counted the blue lamps of the harbour until it was light",
    "zh": "我数着港口的蓝色灯火，一直数到天亮才睡着",
}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_person_reads_downloads_and_deletes(
    browser: Browser, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, language: str
) -> None:
    monkeypatch.setitem(LINES, language, MARKS[language])  # what no one else has said to this server
    mine, download, receipt = WORDS[language]
    page = page_of(browser, "phone", language)
    visitor = HurriedVisitor(page, language)
    come_in(page, f"{server.base_url}/open/brief/?track=participant")
    while "chat" not in visitor.seen:
        visitor.take_step()

    page.get_by_role("link", name=mine, exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(mine)
    fits(page)
    document = json.loads(save(page, download, tmp_path / "data.json"))
    said = [turn["message"] for turn in document["data"]["conversations"]["turns"]]
    assert said[0] == f"{LINES[language]} (1)"
    assert places_with(server, LINES[language]) != []

    page.goto(f"{server.base_url}/study/my-data/read/")
    fits(page)
    assert LINES[language] in page.locator("main").text_content()

    page.goto(f"{server.base_url}/leave/")
    page.locator('input[name="choice"][value="delete"]').check()
    page.locator("main form button[type=submit]").click()
    page.get_by_role("link", name=re.compile(mine)).first.click()
    fits(page)
    code = page.locator(".completion-code").inner_text()
    assert code in save(page, receipt, tmp_path / "receipt.txt")
    assert places_with(server, LINES[language]) == []
    page.context.close()


def save(page: Page, name: str, path: Path) -> str:
    """Click a link that downloads, and return the text."""
    with page.expect_download() as started:
        page.get_by_role("link", name=name).first.click()
    started.value.save_as(path)
    return path.read_text(encoding="utf-8")


def fits(page: Page) -> None:
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def places_with(server: Server, words: str) -> list[str]:
    """The files of the server with these words: its database, the log of it, everything below var/, its own log."""
    forms = [words.encode(), json.dumps(words)[1:-1].encode()]
    files = [path for path in (*server.folder.rglob("*"), server.log) if path.is_file()]
    return [path.name for path in files if any(form in path.read_bytes() for form in forms)]
