"""The buttons of a report's tables, in a real browser and without network."""

import csv
import io
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pandas as pd  # noqa: TID253
import pytest
from playwright.sync_api import Page, sync_playwright

from studies.analysis import load
from studies.analysis.bootstrap import Bootstrap
from studies.analysis.reporting.page import page
from studies.analysis.reporting.parts import Excerpt, Section
from studies.analysis.results import Results
from tests.studies.analysis.builders import six_people, write_export

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FRAME = pd.DataFrame({"arm_key": ["A & B_1", "=1+1"], "r": [0.25, -0.5], "says": ['50 % of "them"', "a, b"]})

pytestmark = [pytest.mark.browser, pytest.mark.skipif(not CHROMIUM, reason="no Chromium here")]


@pytest.fixture
def report(tmp_path: Path) -> Iterator[Page]:
    results = Results(load(write_export(tmp_path / "export", six_people())), Bootstrap(5, 1), {}, ())
    html = page(results, [Section("s", "S", [Excerpt("mine", "A table", FRAME)])], {})
    (tmp_path / "report.html").write_text(html, encoding="utf-8")
    with sync_playwright() as playwright:
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*sandbox, "--disable-gpu"])
        opened = browser.new_page()
        opened.goto((tmp_path / "report.html").as_uri())
        yield opened
        browser.close()


def copied(report: Page, button: str) -> str:
    """What a press puts on the clipboard, which a browser without a window need not have."""
    report.evaluate("navigator.clipboard.writeText = async (text) => { window.taken = text; }")
    report.get_by_role("button", name=f"{button}: A table").click()
    report.wait_for_function("window.taken !== undefined")
    return str(report.evaluate("window.taken"))


def test_latex_is_escaped_and_aligned(report: Page) -> None:
    assert copied(report, "LaTeX").splitlines() == [
        r"\begin{tabular}{lrl}",
        r"\toprule",
        r"arm\_key & r & says \\",
        r"\midrule",
        r'A \& B\_1 & 0.250 & 50 \% of "them" \\',
        r"=1+1 & $-$0.500 & a, b \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


def test_copy_gives_cells_apart_by_tabs_and_says_so(report: Page) -> None:
    assert copied(report, "Copy").splitlines()[1] == 'A & B_1\t0.250\t50 % of "them"'
    assert report.get_by_role("button", name="Copy: A table").text_content() == "Copied"


def test_csv_is_saved_under_the_name_of_the_table_and_guarded(report: Page, tmp_path: Path) -> None:
    with report.expect_download() as download:
        report.get_by_role("button", name="CSV: A table").click()
    assert download.value.suggested_filename == "mine.csv"
    download.value.save_as(tmp_path / "mine.csv")
    text = (tmp_path / "mine.csv").read_text(encoding="utf-8-sig")
    assert list(csv.reader(io.StringIO(text))) == [
        ["arm_key", "r", "says"],
        ["A & B_1", "0.250", '50 % of "them"'],
        ["'=1+1", "-0.500", "a, b"],
    ]


def test_no_script_but_its_own_runs(report: Page, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    foreign = "<script>window.taken = 1</script><img src=x onerror='window.taken = 2'></main>"
    file.write_text(file.read_text(encoding="utf-8").replace("</main>", foreign), encoding="utf-8")
    report.reload()
    report.get_by_role("button", name="Copy: A table").wait_for()
    assert report.evaluate("window.taken") is None
