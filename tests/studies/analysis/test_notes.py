"""Notes are codes with values, worded once and said in the language of the reader."""

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from studies import analysis
from studies.analysis import notes
from studies.analysis.language import speaking
from studies.analysis.notes import INTERVAL, WORDINGS, Note, Notes, in_english, in_words, places_of
from studies.analysis.rows import Row, Undefined
from tests.languages import CHINESE

ROOT = Path(analysis.__file__).parent
SOURCES = [path for path in sorted(ROOT.rglob("*.py")) if path.name != "notes.py"]
CATALOGUE = {
    "fewer than two clusters": "少于两个聚类",
    "interval": "区间",
    "{count} of {all} resamples had no variance and are left out": "{all} 次中 {count} 次未计入",
    "no {term} in the model: {reason}": "模型中没有{term}：{reason}",
    "{term} and {other} go together": "{term}与{other}无法区分",
    "card": "角色卡",
}
FEW, LEFT_OUT = Note("under_two_clusters"), Note("resamples_without_variance", count=3, all=2000).on(INTERVAL)
ALIASED = Note("terms_go_together", term=Note("card"), other=Note("counsellor"))


def calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    """Yield each code that stands in a call of Note or Undefined, with the call."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("Note", "Undefined"):
            yield from ((code, node) for code in codes(node.args[0]))


def codes(argument: ast.expr) -> Iterator[str]:
    if isinstance(argument, ast.IfExp):
        yield from (*codes(argument.body), *codes(argument.orelse))
    elif isinstance(argument, ast.Constant):
        yield str(argument.value)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_note_has_a_wording_and_a_value_for_each_of_its_places(path: Path) -> None:
    for code, call in calls(path):
        assert {keyword.arg for keyword in call.keywords} == places_of(code), f"{path.name}:{call.lineno}"


def test_every_wording_is_used() -> None:
    nodes = [node for path in SOURCES for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    literals = {node.value for node in nodes if isinstance(node, ast.Constant)}
    assert WORDINGS.keys() - literals == {"of_another_version"}  # what `Note.from_json` makes


def test_no_two_codes_have_one_wording() -> None:
    assert len(set(WORDINGS.values())) == len(WORDINGS)


@pytest.mark.parametrize(("code", "values"), [("few_clusters", {}), ("one_pair", {"count": 3})])
def test_values_that_do_not_fit_the_wording_are_refused(code: str, values: dict[str, int]) -> None:
    with pytest.raises(TypeError, match=code):
        Note(code, **values)
    with pytest.raises(KeyError, match="no_such_note"):
        Note("no_such_note")


@pytest.fixture
def catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notes, "gettext", lambda message: CATALOGUE.get(message, message))


@pytest.mark.usefixtures("catalogue")
@pytest.mark.parametrize(
    ("cell", "english", "chinese"),
    [
        (Notes(FEW), "fewer than two clusters", "少于两个聚类"),
        (Notes(FEW.on("low", "high")), "low, high: fewer than two clusters", "low、high：少于两个聚类"),
        (
            Notes(FEW.on("p"), LEFT_OUT),
            "p: fewer than two clusters; interval: 3 of 2000 resamples had no variance and are left out",
            "p：少于两个聚类；区间：2000 次中 3 次未计入",
        ),
        (
            Notes(Note("without_term", term=Note("card"), reason=ALIASED)),
            "no card in the model: card and counsellor go together",
            "模型中没有角色卡：角色卡与counsellor无法区分",
        ),
        (Notes(), "", ""),
        ("care", "care", "care"),
    ],
)
def test_cell_is_in_english_in_files_and_in_the_language_of_a_report(cell: object, english: str, chinese: str) -> None:
    with speaking(CHINESE):
        assert (in_words(cell), in_english(cell)) == (chinese, english)


def test_notes_are_compared_by_code_values_and_columns() -> None:
    assert Note("few_clusters", count=3) == Note("few_clusters", count=3) != Note("few_clusters", count=4)
    assert FEW.on("p") != FEW == FEW.on("p").on()
    assert (Notes(FEW).has("under_two_clusters"), Notes(LEFT_OUT).has("under_two_clusters")) == (True, False)


@pytest.mark.parametrize(
    "note", [FEW, LEFT_OUT, FEW.on("p", INTERVAL), Note("without_term", term=Note("card"), reason=ALIASED)]
)
def test_note_goes_into_json_and_back(note: Note) -> None:
    assert Note.from_json(json.loads(json.dumps(note.as_json()))) == note


@pytest.mark.parametrize("data", [{"code": "unheard_of"}, {"code": "few_clusters", "values": {"number": 3}}])
def test_note_of_another_version_says_so(data: dict[str, Any]) -> None:
    note = Note.from_json({**data, "columns": ["p"]})
    assert str(note) == f"p: a note of another version of emostudy ({data['code']})"


def test_row_names_the_columns_of_a_reason_once_and_no_bounds_of_a_missing_estimate() -> None:
    row = Row()
    row.leave_out("r", "r_low", "r_high", because=FEW)
    row.leave_out("p", because=FEW)
    row.add_notes(LEFT_OUT)
    assert [*row.cells()["note"]] == [FEW.on("r", "p"), LEFT_OUT]


def test_undefined_statistic_leaves_its_reason() -> None:
    def statistic() -> float:
        raise Undefined("too_many_scores", most=50)

    row = Row()
    row.compute("alpha", statistic)
    assert str(row.cells()["note"]) == "alpha: more than 50 different scores"


def test_method_is_named_once() -> None:
    row, method = Row(), Note("cluster_bootstrap", interval=Note("bca"))
    row.add_methods(method.on("alpha"))
    row.add_methods(method.on("alpha"), method.on("kappa"))
    assert str(row.values["method"]) == "alpha: BCa cluster bootstrap; kappa: BCa cluster bootstrap"
