"""A tiny walk of each paper: one profile, two scripts, tables alone."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

from tests.amounts import choose

ARMS = ("phrases", "attuned")


def study_file(folder: Path, paper: str) -> Path:
    """The shipped study in one language and with two of its arms."""
    text = (settings.FIXTURES / "studies" / f"replicate_{paper}.toml").read_text(encoding="utf-8")
    head, *arms = re.split(r"(?=^\[\[arms\]\])", text.replace('["en", "zh"]', '["zh"]'), flags=re.MULTILINE)
    *arms, last = arms
    last, rest = last[: last.index("\n\n") + 2], last[last.index("\n\n") + 2 :]
    kept = [arm for arm in (*arms, last) if any(f'key = "{key}"' in arm for key in ARMS)]
    assert len(kept) == len(ARMS)
    path = folder / f"{paper}.toml"
    path.write_text("".join([head, *kept, rest]), encoding="utf-8")
    return path


def walk(folder: Path, paper: str, name: str) -> Path:
    words = ["replicate", paper, "--study", str(study_file(folder, paper)), "--out", str(folder / name)]
    done = subprocess.run(
        [sys.executable, "manage.py", *words, "--profiles", "1", "--bootstrap", "5", "--tables-only"],
        cwd=settings.BASE_DIR,
        env={**os.environ, "DATABASE_URL": "sqlite:////nowhere/theirs.sqlite3", "VAR_DIR": str(folder / "var")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, f"{folder / name / 'replication.md'}\n"), done.stderr
    return folder / name


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def cells(folder: Path, heading: str) -> list[list[str]]:
    """Return the lines of the first table under a heading, without its head."""
    section = (folder / "replication.md").read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    first = lines[: next((at for at, line in enumerate(lines[2:], 2) if "---" in line), len(lines) + 1) - 1]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in first[2:]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("replication")


def test_walk_of_emoharbor_is_whole_and_gives_the_same_bytes_again(folder: Path) -> None:
    first = contents(walk(folder, "emoharbor", "a"))
    for name in choose(usual=[], full=["b"]):
        second = contents(walk(folder, "emoharbor", name))
        assert first.keys() == second.keys()
        assert [name for name in first if first[name] != second[name]] == []
    assert {name.split("/")[0] for name in first} == {
        *("export", "results", "invented", "profiles.json", "replication.md", "replication.zh.md")
    }
    assert not [path.name for path in folder.iterdir() if path.name.startswith(".")]
    told = {line[0]: line[1:] for line in cells(folder / "a", "Section 3.1, Appendix A")}
    assert told == {"conversations with people": ["183", "Section 3.1", "4"]}
    assert [line[1] for line in cells(folder / "a", "Table 2")] == ["0.745", "0.427", "112", "0.87"]


def test_walk_of_the_worst_case_has_a_number_for_each_behaviour_and_training_data(folder: Path) -> None:
    out = walk(folder, "worst_case", "c")
    gains = cells(out, "Table 4, Appendix F")
    assert len(gains) == 5
    assert all(re.fullmatch(r"-?\d\.\d\d", line[3]) for line in gains)
    assert cells(out, "Expert study, Appendix B") == [
        ["number of ratings of a system, as rated by counsellors", "3", "Table 3, inferred (docs/papers.md)", "3"]
    ]
    assert (out / "training" / "sft.jsonl").stat().st_size > 1000


def replicate(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", "replicate", "emoharbor", "--out", str(folder / "paid"), *arguments],
        cwd=settings.BASE_DIR,
        env={**os.environ, "VAR_DIR": str(folder / "var")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def test_walk_with_a_model_asks_first_and_keeps_what_it_has_where_it_fails(tmp_path: Path, server: str) -> None:
    text = study_file(tmp_path, "emoharbor").read_text(encoding="utf-8")
    elsewhere = f'kind = "openai_compatible"\nbase_url = "{server}"\nprovider = "Test Lab"\nmodel = "status-404"'
    own = tmp_path / "own.toml"
    own.write_text(
        text.replace('kind = "scripted"\nmodel = "attuned"', elsewhere).replace(
            "providers = []", 'providers = ["Test Lab"]'
        ),
        encoding="utf-8",
    )
    given = ("--study", str(own), "--profiles", "1", "--tables-only")

    asked = replicate(tmp_path, *given)
    assert (asked.returncode, asked.stdout.splitlines()[0].split(":")[0]) == (2, "6 conversations and 6 judgements")
    assert asked.stderr.splitlines()[0] == "This asks models, which may cost money. Add --yes to do it."
    assert not (tmp_path / ".paid-emoharbor").exists()

    failed = replicate(tmp_path, *given, "--yes")
    kept = tmp_path / ".paid-emoharbor"
    assert (failed.returncode, (tmp_path / "paid").exists()) == (1, False)
    assert failed.stderr.splitlines()[-2] == f"What was asked is kept in {kept}. The same command continues there."
    assert (kept / "var" / "walk.sqlite3").stat().st_size > 0
