"""Tables with many columns, in a real browser: whole where there is room, marked where they scroll, whole on paper."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pandas as pd  # noqa: TID253
import pytest
from playwright.sync_api import Page, expect, sync_playwright

from studies.analysis import load
from studies.analysis.bootstrap import Bootstrap
from studies.analysis.reporting.naming import item_name
from studies.analysis.reporting.page import page
from studies.analysis.reporting.parts import Excerpt, Section
from studies.analysis.results import Results
from studies.instruments.loading import load as load_instrument
from tests.studies.analysis.builders import six_people, write_export

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
TEN = [item_name("emoharbor_10", item.key) for item in load_instrument("emoharbor_10").rated_items()]
ROW = {"judge": "gemini-2.5", "strategy": "state-aware", **dict.fromkeys(TEN, "0.43***"), "n": "178–183"}
BOUNDED = {f"{users} people": "0.83 [0.70, 0.91]" for users in range(5, 14)}
OVERFLOW = "wide => wide.scrollWidth - wide.clientWidth"
A4 = 673  # pixels between the margins of the page

pytestmark = [pytest.mark.browser, pytest.mark.skipif(not CHROMIUM, reason="no Chromium here")]


@pytest.fixture
def report(tmp_path: Path) -> Iterator[Page]:
    results = Results(load(write_export(tmp_path / "export", six_people())), Bootstrap(5, 1), {}, ())
    frames = {
        "ten": pd.DataFrame([ROW, ROW]),
        "bounded": pd.DataFrame([{"item": "Problem resolution"} | BOUNDED]),
        "many": pd.DataFrame([dict.fromkeys([f"some statistic {number}" for number in range(18)], "10.997")]),
        "most": pd.DataFrame([dict.fromkeys([f"some statistic {number}" for number in range(40)], "10.997")]),
    }
    parts = [Excerpt(name, f"Table {name}", frame) for name, frame in frames.items()]
    (tmp_path / "report.html").write_text(page(results, [Section("s", "S", parts)], {}), encoding="utf-8")
    arguments = ["--disable-gpu", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with (
        sync_playwright() as playwright,
        playwright.chromium.launch(executable_path=CHROMIUM, args=arguments) as browser,
    ):
        found = browser.new_page(viewport={"width": 1440, "height": 900})
        found.goto((tmp_path / "report.html").as_uri())
        yield found


def overflow(report: Page, name: str) -> int:
    """How many pixels of the table lie beyond its edges."""
    return int(report.locator(f"[data-name={name}] .wide").evaluate(OVERFLOW))


def test_table_1_shows_its_ten_items_on_a_desktop(report: Page) -> None:
    assert len(TEN) == 10
    assert overflow(report, "ten") == 0
    assert overflow(report, "bounded") == 0
    assert report.evaluate("document.documentElement.scrollWidth") == 1440


@pytest.mark.parametrize("width", [390, 1440])
def test_a_table_that_scrolls_shows_it_and_is_reached_by_the_keyboard(report: Page, width: int) -> None:
    report.set_viewport_size({"width": width, "height": 800})
    wide = report.locator("[data-name=most] .wide")
    assert overflow(report, "most") > 100
    assert report.evaluate("document.documentElement.scrollWidth") == width
    wide.focus()
    at_start = wide.screenshot()
    report.keyboard.press("ArrowRight")
    expect(report.locator("[data-name=most] .wide:focus")).not_to_have_js_property("scrollLeft", 0)
    shadows = wide.evaluate("wide => getComputedStyle(wide).backgroundAttachment")
    assert shadows == "local, local, scroll, scroll, scroll"
    assert wide.screenshot() != at_start


def test_every_column_is_on_paper(report: Page) -> None:
    report.set_viewport_size({"width": A4, "height": 900})
    report.emulate_media(media="print")
    assert [overflow(report, name) for name in ("ten", "bounded", "many")] == [0, 0, 0]


def test_high_figure_keeps_its_size_on_paper_so_that_its_words_can_be_read(report: Page) -> None:
    report.set_viewport_size({"width": A4, "height": 900})
    report.emulate_media(media="print")
    of_ten_items = '<div style="width: 85mm"><figure class="narrow"><svg viewBox="0 0 241 480"></svg></figure></div>'
    report.evaluate("figure => document.querySelector('main').insertAdjacentHTML('beforeend', figure)", of_ten_items)
    box = report.locator("figure.narrow svg").bounding_box()
    assert box
    assert box["height"] == pytest.approx(2 * box["width"], rel=0.01)
