"""Prompts of one's own, and the files beside a study file that hold them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.http import QueryDict
from django.utils.translation import gettext as _

from dialogue.prompts import PLACEHOLDERS
from studies.builder.document import StudyDocument
from studies.builder.fields import LINE, Field, faults_at
from studies.builder.sections import PROMPTS
from studies.models import StudyDraft

FILE_NAME = re.compile(r"([A-Za-z0-9][\w-]{0,40}/)?[A-Za-z0-9][\w-]{0,80}(\.[a-z]{2})?\.(txt|json)", re.ASCII)
LONGEST_TEXT = 200_000  # characters of a prompt or of a file of role cards
MOST_FILES = 100


@dataclass(frozen=True)
class BesideFile:
    """A file beside the study file."""

    name: str
    text: str

    @property
    def rows(self) -> int:
        """Return how many lines it gets on the page."""
        return min(20, self.text.count("\n") + 3)


def prompt_fields(document: StudyDocument, faults: Mapping[str, Sequence[str]]) -> list[Field]:
    """Return a field for each prompt that a study can word itself, and for those that the file has besides."""
    named = document.get((PROMPTS,))
    names = dict.fromkeys([*PLACEHOLDERS, *(named if isinstance(named, Mapping) else ())])
    return [
        Field(
            (PROMPTS, name),
            LINE,
            describe_prompt(name),
            document.get((PROMPTS, name)),
            faults=faults_at(faults, (PROMPTS, name)),
        )
        for name in names
    ]


def describe_prompt(name: str) -> str:
    """Return the sentence that lists the placeholders of a prompt."""
    names = PLACEHOLDERS.get(name, PLACEHOLDERS["judge"])
    if not names:
        return _("File with your own text. It has no placeholders.")
    listed = ", ".join(f"{{{one}}}" for one in names)
    return _("File with your own text. Its placeholders: %(placeholders)s.") % {"placeholders": listed}


def list_files(draft: StudyDraft) -> list[BesideFile]:
    return [BesideFile(name, text) for name, text in sorted(draft.files.items())]


def save_file(draft: StudyDraft, posted: QueryDict) -> str:
    """Take a file over into the draft, or remove it; return what is wrong with it, else an empty text."""
    name, text = posted.get("name", "").strip(), posted.get("text", "").replace("\r\n", "\n")
    if posted.get("act") == "remove":
        draft.change(files={other: content for other, content in draft.files.items() if other != name})
        return ""
    if not FILE_NAME.fullmatch(name):
        return _("A file needs a name of letters, digits, _ and - that ends in .txt or .json, as supporter.en.txt.")
    if len(text) > LONGEST_TEXT:
        return _("This text is too long: a file has at most 200,000 characters.")
    if name not in draft.files and len(draft.files) >= MOST_FILES:
        return _("There are 100 files already. Remove one first.")
    draft.change(files={**draft.files, name: text})
    return ""
