"""A table of results that is registered from outside is computed, written and shown like the product's own."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from studies.analysis import compute, load, notes
from studies.analysis.language import speaking
from studies.analysis.notes import add_wordings
from studies.analysis.results import Results
from studies.analysis.run import compute as compute_results
from studies.analysis.run import files_of, settings
from studies.analysis.tables.registry import TABLES, register
from tests.extensions import score_ranges
from tests.languages import CHINESE
from tests.studies.analysis.builders import write_export

SMALL = ("agreement", "reliability", "conditions")  # without which there is no report
CHINESE_TEXTS = {"there is one score of {item}": "{item}只有一个评分", "highest minus lowest score": "最高分减最低分"}


@pytest.fixture
def brought() -> Iterator[None]:
    score_ranges.bring()
    yield
    TABLES.remove(score_ranges.TABLE)
    for code in score_ranges.WORDINGS:
        del notes.WORDINGS[code]


def rating(conversation: str, arm: str, item: str, score: int) -> dict[str, Any]:
    return {"conversation": conversation, "participant": "P1", "arm": arm, "item": item, "score": score}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    ratings = [rating("C1", "a", "care", 2), rating("C2", "a", "care", 5), rating("C3", "b", "care", 4)]
    return write_export(tmp_path / "export", ratings)


@pytest.fixture
def results(brought: None, folder: Path) -> Results:
    return compute_results(load(folder), settings(10, 1), lambda *_: None, [*SMALL, "score_ranges"])


def test_it_is_computed_by_its_name(brought: None, folder: Path) -> None:
    table = compute(load(folder), tables=["score_ranges"])["score_ranges"]
    assert table["range"].fillna(-1).to_dict() == {0: 3.0, 1: -1.0}
    assert table["note"].tolist() == ["", "range: there is one score of care"]


def test_it_is_a_file_and_a_section_of_the_report(results: Results) -> None:
    files = files_of(results, lambda _what: None)
    assert files["score_ranges.csv"].decode().splitlines() == [
        "arm,item,range,n,method,note",
        "a,care,3,2,highest minus lowest score,",
        "b,care,,1,highest minus lowest score,range: there is one score of care",
    ]
    report = files["report.html"].decode()
    assert '<summary><h3>Ranges of scores</h3></summary><div id="score_ranges">' in report
    assert '<td class="note">range: there is one score of care</td>' in report
    assert "<dt>range</dt><dd>highest minus lowest score.</dd>" in report


def test_its_notes_are_said_in_the_language_of_the_report(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notes, "gettext", lambda text: CHINESE_TEXTS.get(text, text))
    last = results.table("score_ranges").iloc[-1]
    with speaking(CHINESE):
        assert (last["note"].text(), last["method"].text()) == ("range：care只有一个评分", "最高分减最低分")


def test_what_is_there_already_is_not_registered_again(brought: None) -> None:
    with pytest.raises(ValueError, match="there is a table score_ranges already"):
        register(score_ranges.TABLE)
    with pytest.raises(ValueError, match="there are notes one_pair already"):
        add_wordings({"one_pair": "another"})
