import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from studies.analysis.tables.registry import TABLES

RATINGS = """conversation,rater,rater_kind,instrument,item,score
C1,P1,seeker,ten,care,1
C1,J,judge,ten,care,2
C2,P2,seeker,ten,care,4
C2,J,judge,ten,care,4
C3,P3,seeker,ten,care,5
C3,J,judge,ten,care,3
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "ratings.csv").write_text(RATINGS)
    return folder


def test_analyse_command_ends_with_a_json_summary(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = folder.parent / "results"
    call_command("analyse", str(folder), "--out", str(out), "--bootstrap", "20", "--json")
    said = capsys.readouterr()
    summary = json.loads(said.out.splitlines()[-1])
    assert (summary["ratings"], summary["rows"]["agreement"]) == (6, 1)
    assert all((out / name).is_file() for name in summary["files"])
    lines = said.err.splitlines()
    steps = len(TABLES) + 1
    done = lines.index(f"done: {steps} of {steps}")
    assert done > 3
    assert all(line.endswith(f" of {steps}") for line in lines[:done])
    assert lines[done + 1 :] == summary["warnings"]


def test_analyse_command_refuses_bad_input_in_one_line_with_code_2(folder: Path) -> None:
    (folder / "ratings.csv").write_text(RATINGS.replace("care,5", "care,five"))
    with pytest.raises(CommandError) as raised:
        call_command("analyse", str(folder), "--out", str(folder.parent / "results"))
    assert raised.value.returncode == 2
    assert str(raised.value) == "ratings.csv:6:score: 'five' is not a number"
    assert not (folder.parent / "results").exists()


def test_analyse_command_refuses_a_place_for_results_in_one_line_with_code_2(folder: Path) -> None:
    (folder.parent / "mine").write_text("mine")
    out = folder.parent / "mine" / "results"
    with pytest.raises(CommandError) as raised:
        call_command("analyse", str(folder), "--out", str(out))
    assert raised.value.returncode == 2
    assert str(raised.value) == f"{out}: is no folder that can be written into (Not a directory)"
    assert (folder / "ratings.csv").read_text() == RATINGS


def test_analyse_command_can_be_repeated(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = folder.parent / "results"
    for _ in range(2):
        call_command("analyse", str(folder), "--out", str(out), "--bootstrap", "20")
    first, second = [line for line in capsys.readouterr().out.splitlines() if line]
    assert first == second == f"{out / 'report.html'}: 6 ratings, {len(list(out.rglob('*.*')))} files"


def test_one_rating_is_said_in_the_singular(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "ratings.csv").write_text("\n".join(RATINGS.splitlines()[:2]) + "\n")
    call_command("analyse", str(folder), "--out", str(folder.parent / "results"), "--bootstrap", "20")
    assert "report.html: 1 rating, " in capsys.readouterr().out
