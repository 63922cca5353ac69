"""What people script against is told where they look for it."""

import re
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest
from django.core.management import get_commands

from dialogue.frames import ErrorCode, Outgoing
from studies.data.exports.tables import TABLES
from studies.data.imports import comparisons, ratings

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCS = README + "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md"))
INTERNAL = {"run_task"}


def settings_read() -> set[str]:
    source = (ROOT / "emostudy" / "settings.py").read_text(encoding="utf-8")
    return set(re.findall(r'env\.env\w+\("([A-Z_]+)"', source))


@pytest.mark.parametrize("name", sorted(settings_read() - {"REDIS_PREFIX"}))
def test_setting_is_in_the_readme(name):
    assert f"`{name}`" in README


@pytest.mark.parametrize(
    "name", sorted(n for n, app in get_commands().items() if app == "studies" and n not in INTERNAL)
)
def test_command_is_in_the_docs(name):
    assert f"{name}" in DOCS


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_exported_file_is_in_the_codebook_guide(table):
    assert f"`{table.file}`" in (ROOT / "docs" / "codebook.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "target", re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
)
def test_make_target_is_in_the_docs(target):
    assert f"make {target}" in DOCS or target == "browser"


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)#]+)\)", README))
def test_link_of_the_readme_leads_somewhere(link):
    assert link.startswith("http") or (ROOT / link).exists()


INTERFACES = (ROOT / "docs" / "interfaces.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("frame", Outgoing.__subclasses__(), ids=lambda frame: frame.type)
def test_frame_of_the_server_is_in_the_docs(frame):
    names = ["type", *(field.name for field in fields(frame))]
    documented = re.search(rf'`(\{{"type":"{frame.type}"[^`]*)`', INTERFACES.split("| from the server |")[1])
    assert re.findall(r'"(\w+)":', documented[1]) == names


@pytest.mark.parametrize("word", ["resume", "message", "retry", "seen", "end", *get_args(ErrorCode)])
def test_frame_of_the_browser_and_error_are_in_the_docs(word):
    assert f'"{word}"' in INTERFACES or f"`{word}`" in INTERFACES


@pytest.mark.parametrize(
    "column", sorted({*ratings.NEEDED, *ratings.OPTIONAL, *comparisons.NEEDED, *comparisons.OPTIONAL})
)
def test_column_of_an_import_is_in_the_docs(column):
    assert f"`{column}`" in INTERFACES.split("Files that come in")[1]
