"""Study files and everything that is imported from a file."""

import csv
import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import tomlkit
from django.conf import settings as ours
from django.core.management import CommandError, call_command
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from studies.management.command import BAD_INPUT, PART_FAILED
from studies.seeker_profiles.selection import DEMO_PROFILES
from tests import factories
from tests.fuzz.amount import get_amount
from tests.fuzz.hostile import NODES, VALUES, as_file, write_lines
from tests.fuzz.watch import Watch, watching
from tests.studies.data.imports import test_comparisons, test_conversations, test_ratings

pytestmark = pytest.mark.django_db
STUDY_FILE = tomllib.loads((ours.FIXTURES / "studies" / "demo.toml").read_text(encoding="utf-8")) | {"key": "hostile"}
PROFILES = json.loads(DEMO_PROFILES.read_text(encoding="utf-8"))["profiles"]


def write_toml(node: Any) -> str:
    """Write a study file; what TOML cannot say, such as nothing, is said as text."""
    return tomlkit.dumps(as_toml(node))


def as_toml(node: Any) -> Any:
    match node:
        case Mapping():
            return {str(key): as_toml(value) for key, value in node.items()}
        case list():
            return [as_toml(value) for value in node]
        case str() | bool() | float():
            return node
        case int() if abs(node) < 2**63:
            return node
        case _:
            return str(node)


def write_table(rows: Sequence[Mapping[str, str]]) -> str:
    text = StringIO()
    cells = [row if isinstance(row, Mapping) else {"conversation": str(row)} for row in rows]
    names = list(dict.fromkeys(name for row in cells for name in row))
    writer = csv.DictWriter(text, names, restval="")
    writer.writeheader()
    writer.writerows(cells)
    return text.getvalue()


class Good(NamedTuple):
    """A file that is accepted as it is: its content, and how that and what its parts are changed to are written."""

    command: tuple[str, ...]
    name: str
    write: Callable[[Any], str]
    content: Any
    values: st.SearchStrategy[Any] = NODES


OF_STUDY = Good(("load_study",), "study.toml", write_toml, STUDY_FILE)
IMPORTS = (
    Good(("import_ratings", "demo"), "ratings.csv", write_table, [test_ratings.OURS], VALUES),
    Good(("import_ratings", "demo", "--as-is"), "ratings.csv", write_table, [test_ratings.ONE], VALUES),
    Good(("import_pairs", "demo"), "pairs.csv", write_table, [test_comparisons.ONE], VALUES),
    Good(
        ("import_conversations", "demo"), "conversations.jsonl", write_lines, [{**test_conversations.ONE, "id": "new"}]
    ),
    Good(("import_profiles", "demo"), "profiles.jsonl", write_lines, PROFILES[:1]),
)


def is_done(told: str, *arguments: str) -> bool:
    """Return whether the command did what it was to do. Raises what is no plain refusal."""
    code, said = 0, "done"
    try:
        call_command(*arguments, verbosity=0, stdout=StringIO(), stderr=StringIO())
    except CommandError as refusal:
        code, said = refusal.returncode, str(refusal).strip()
    except SystemExit as end:
        code = int(end.code or 0)
    assert code in (0, PART_FAILED, BAD_INPUT), f"{told}: {code}"
    assert said, f"{told}: refused without a word"
    return code != BAD_INPUT


def fuzz(watch: Watch, good: Good, amount: int, folder: Path) -> None:
    path = folder / good.name

    def send(content: bytes) -> bool:
        path.write_bytes(content)
        told = f"{good.command[0]} {content!r:.300}"
        return watch.send(told, lambda: is_done(told, *good.command, str(path)))

    assert send(good.write(good.content).encode())

    @settings(max_examples=amount, phases=[Phase.generate], suppress_health_check=list(HealthCheck), database=None)
    @given(as_file(good.write, good.content, good.values))
    def send_bad(content: bytes) -> None:
        send(content)

    send_bad()


def test_no_study_file_breaks_its_loading(tmp_path: Path) -> None:
    with watching("study file") as watch:
        fuzz(watch, OF_STUDY, get_amount("study file"), tmp_path)


def test_no_file_breaks_an_import(tmp_path: Path) -> None:
    study = factories.study()
    factories.run_with_turns(study, external_id="c1")
    factories.run_with_turns(study, external_id="=c2", arm="birch")
    with watching("import") as watch:
        for good in IMPORTS:
            fuzz(watch, good, -(-get_amount("import") // len(IMPORTS)), tmp_path)
