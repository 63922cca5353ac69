"""A real Chromium against a real server. Without a Chromium these tests are skipped, loudly."""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser.survey import summary, taken
from tests.server import ROOT, Server, serving

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
QUIET = ["--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update"]


def arguments() -> list[str]:
    """Only root needs to go without the sandbox."""
    return [*QUIET, "--no-sandbox"] if os.geteuid() == 0 else QUIET


# What makes replies come slower than they can, so that speed does not tell partners apart.
PACED = re.compile(r"^(?:first_piece_seconds|characters_per_second) = .*\n", re.MULTILINE)
TURNS, PAUSE = 3, 2  # of the brief studies: turns at least, and after which of them a rating comes
BRIEF = {
    'key = "demo"\ntitle = {en = "Emotional': 'key = "brief"\ntitle = {en = "Emotional',
    "min_turns = 10": f"min_turns = {TURNS}",
    "checkpoints = [5, 10]": f"checkpoints = [{PAUSE}]",
    'design = "williams"': 'design = "williams"\narms_per_person = 2',
}
# What the demonstration does not use: a rating under each reply, and the instruments of the other study files.
FULL = {
    'key = "brief"': 'key = "full"',
    f"checkpoints = [{PAUSE}]": f"checkpoints = [{PAUSE}]\nrate_each_reply = true",
    '["emoharbor_10"]': '["emoharbor_10", "worst_case_4"]',
    'instrument = "mini_ipip"': 'instrument = "ipip_bfm_50"',
}


def quick_demo(folder: Path, *changes: dict[str, str], key: str = "demo") -> Path:
    """The demonstration study with partners that answer at once: a test need not wait for them to think."""
    text = (ROOT / "fixtures" / "studies" / "demo.toml").read_text(encoding="utf-8")
    text = PACED.sub("", text).replace('kind = "scripted"', 'kind = "scripted"\nextra = {pace = 0}')
    for was, becomes in (pair for change in changes for pair in change.items()):
        assert text.count(was) == 1, was
        text = text.replace(was, becomes)
    path = folder / f"{key}.toml"
    path.write_text(text, encoding="utf-8")
    return path


def brief_studies(folder: Path) -> list[Path]:
    """Two partners, three turns each, a rating after the second: `brief`, and `full` with all that can be asked."""
    return [quick_demo(folder, BRIEF, key="brief"), quick_demo(folder, BRIEF, FULL, key="full")]


figures: list[str] = []  # what was measured, for the last lines of a run


def pytest_terminal_summary(terminalreporter: Any) -> None:
    for line in [*figures, summary()] if taken else figures:
        terminalreporter.write_line(line)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Closed when the last browser test is done: while it is open an event loop runs, and Django refuses its database
    to whoever calls from a running loop."""
    if CHROMIUM is None:
        if os.environ.get("CI"):
            pytest.fail("no Chromium, and this is CI")
        pytest.skip("no Chromium on this machine: install the package 'chromium'")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments())
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("browser")
    with serving(folder) as server:
        for study in (quick_demo(folder), *brief_studies(folder)):
            server.load_open(study)
        yield server
