"""The Chinese catalogue says everything that the pages say, with the same placeholders, and is compiled."""

import ast
import gettext
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

ROOT = Path(__file__).resolve().parents[1]
FOLDER = Path("locale") / "zh_Hans" / "LC_MESSAGES"
PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|%%|\{\w*\}|</?\w+[^>]*>")


@dataclass
class Entry:
    """One message of a .po file. `plural` is the English plural, empty where there is none."""

    flags: set[str] = field(default_factory=set)
    msgid: str = ""
    plural: str = ""
    msgstr: str = ""

    def slots(self) -> list[str]:
        """The placeholders a translation has to carry: with one plural form, those of the English plural."""
        return sorted(PLACEHOLDER.findall(self.plural or self.msgid))


PARTS = {"msgid": "msgid", "msgid_plural": "plural", "msgstr": "msgstr", "msgstr[0]": "msgstr"}


def read(path: Path) -> list[Entry]:
    """The messages without the header. Chinese has one plural form and no text needs a context; others are refused."""
    blocks = re.split(r"\n{2,}", path.read_text(encoding="utf-8").strip())
    return [entry for entry in map(entry_of, blocks) if entry.msgid]


def entry_of(block: str) -> Entry:
    entry, part = Entry(), ""
    for line in block.splitlines():
        if line.startswith("#,"):
            entry.flags |= {flag.strip() for flag in line[2:].split(",")}
        elif not line.startswith("#"):
            if not line.startswith('"'):
                word, line = line.split(" ", 1)
                part = PARTS[word]
            setattr(entry, part, getattr(entry, part) + ast.literal_eval(line))
    return entry


CATALOGUE = read(ROOT / FOLDER / "django.po")


def test_every_message_is_translated():
    assert [entry.msgid for entry in CATALOGUE if not entry.msgstr] == []


def test_no_translation_is_doubtful():
    assert [entry.msgid for entry in CATALOGUE if "fuzzy" in entry.flags] == []


def test_a_translation_has_the_placeholders_of_its_message():
    assert {entry.msgid: sorted(PLACEHOLDER.findall(entry.msgstr)) for entry in CATALOGUE} == {
        entry.msgid: entry.slots() for entry in CATALOGUE
    }


def test_a_translation_begins_and_ends_its_lines_as_its_message():
    assert [entry.msgid for entry in CATALOGUE if edges(entry.msgid) != edges(entry.msgstr)] == []


def edges(text: str) -> tuple[str, str]:
    return text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]


def test_no_translation_shouts():
    assert [entry.msgid for entry in CATALOGUE if re.search("[!！]", entry.msgstr)] == []


def test_the_compiled_catalogue_is_the_written_one():
    with (ROOT / FOLDER / "django.mo").open("rb") as file:
        compiled = gettext.GNUTranslations(file)
    texts = {key: text for key, text in compiled._catalog.items() if key}
    written = {(entry.msgid, 0) if entry.plural else entry.msgid: entry.msgstr for entry in CATALOGUE}
    assert texts == written


def test_making_the_messages_again_changes_nothing(tmp_path, monkeypatch, settings):
    missing = [tool for tool in ("xgettext", "msguniq", "msgmerge", "msgattrib") if not shutil.which(tool)]
    if missing:
        pytest.skip(f"no gettext here ({', '.join(missing)}): whether new texts are in the catalogue is not checked")
    again = make_messages(tmp_path, monkeypatch, settings)
    assert {entry.msgid: entry for entry in again} == {entry.msgid: entry for entry in CATALOGUE}


def make_messages(folder: Path, monkeypatch: pytest.MonkeyPatch, settings: Any) -> list[Entry]:
    """What `make messages` would write now. It leaves work files beside what it reads, so it reads a copy."""
    for part in ("dialogue", "emostudy", "locale", "studies", "templates"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    settings.LOCALE_PATHS = [folder / "locale"]
    monkeypatch.chdir(folder)
    call_command("makemessages", locale=["zh_Hans"], no_obsolete=True, verbosity=0)
    return read(folder / FOLDER / "django.po")
