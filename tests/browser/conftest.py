"""A real Chromium against a real server. Without a Chromium these tests are skipped, loudly."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.server import ROOT, Server, serving

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
QUIET = ["--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update"]


def arguments() -> list[str]:
    """Only root needs to go without the sandbox."""
    return [*QUIET, "--no-sandbox"] if os.geteuid() == 0 else QUIET


def quick_demo(folder: Path) -> Path:
    """The demonstration study with partners that answer at once: a test need not wait for them to think."""
    text = (ROOT / "fixtures" / "studies" / "demo.toml").read_text(encoding="utf-8")
    path = folder / "demo.toml"
    path.write_text(text.replace('kind = "scripted"', 'kind = "scripted"\nextra = {pace = 0}'), encoding="utf-8")
    return path


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
        loaded = server.manage("load_study", str(quick_demo(folder)))
        assert loaded.returncode == 0, loaded.stderr
        yield server
