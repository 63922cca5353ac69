"""What people script against is told where they look for it."""

import re
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest
from django.core.management import get_commands

from dialogue.chat.chat_frames import ErrorCode, Outgoing
from studies.access.roles_page import build_roles_page
from studies.analysis.tables import registry
from studies.data.exports.columns_page import build_columns_page
from studies.data.exports.tables import TABLES
from studies.data.imports import comparisons, ratings

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
DOCS = "".join(path.read_text(encoding="utf-8") for path in PAGES)
INTERNAL = {"makemessages", "run_task", "walk_paper", "write_docs"}


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


def test_page_of_columns_is_what_make_docs_writes():
    assert (ROOT / "docs" / "columns.md").read_text(encoding="utf-8") == build_columns_page()


def test_page_of_roles_is_what_make_docs_writes():
    assert (ROOT / "docs" / "roles.md").read_text(encoding="utf-8") == build_roles_page()


@pytest.mark.parametrize(
    "target", re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
)
def test_make_target_is_in_the_docs(target):
    assert f"make {target}" in DOCS or target == "browser"


@pytest.mark.parametrize("table", registry.TABLES, ids=lambda table: table.name)
@pytest.mark.parametrize("page", ["analysis.md", "analysis_reference.md"])
def test_table_of_the_analysis_is_in_the_guide_and_in_the_reference(page, table):
    assert f"`{table.file_name()}`" in (ROOT / "docs" / page).read_text(encoding="utf-8")


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_of_a_page_lead_somewhere(page):
    links = re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8"))
    targets = [link.partition("#") for link in links if not link.startswith("http")]
    missing = [path for path, _, _ in targets if not (page.parent / path).exists()]
    assert missing == []
    pages = [((page.parent / path if path else page), anchor) for path, _, anchor in targets if anchor]
    assert [anchor for target, anchor in pages if anchor not in anchors(target)] == []


def test_readme_is_short_enough_to_be_read():
    assert len(README.splitlines()) <= 150


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


def named_in(folder: str) -> set[str]:
    """Return the words in backticks in the folder's README that name a file, a folder, or a function of a module."""
    words = re.findall(r"`([a-z_./]+\w*)`", (ROOT / folder / "README.md").read_text(encoding="utf-8"))
    return {word for word in words if re.search(r"\.py$|/", word) and not word.startswith("var/")}


@pytest.mark.parametrize(
    ("folder", "name"), [(folder, name) for folder in ("studies", "dialogue") for name in sorted(named_in(folder))]
)
def test_what_the_readme_of_an_app_names_exists(folder, name):
    module, _, attribute = name.rpartition(".")
    if attribute == "py" or name.endswith("/"):
        assert (ROOT / folder / name).exists() or (ROOT / name).exists()
    else:
        source = (ROOT / folder / f"{module}.py").read_text(encoding="utf-8")
        assert re.search(rf"^(async )?(def|class) {attribute}\b", source, re.MULTILINE)
