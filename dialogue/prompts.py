"""Prompt files of supporters, judges and Thinkers, with their versions. Pure."""

from dataclasses import dataclass
from pathlib import Path

VERSION = "version:"


@dataclass(frozen=True)
class PromptFile:
    version: str  # "" where the file names none
    text: str


def read_prompt(path: Path) -> PromptFile:
    """Read a prompt file; a first line `version: …` is its version and not part of the text."""
    text = path.read_text(encoding="utf-8-sig").strip()
    first, _, rest = text.partition("\n")
    if first.startswith(VERSION):
        return PromptFile(first.removeprefix(VERSION).strip(), rest.strip())
    return PromptFile("", text)
