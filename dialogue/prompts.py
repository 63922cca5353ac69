"""Prompt files: what a supporter, a judge or a Thinker is told, and the version of it. Pure."""

from dataclasses import dataclass
from pathlib import Path

VERSION = "version:"


@dataclass(frozen=True)
class PromptFile:
    version: str  # "" where the file names none
    text: str


def read_prompt(path: Path) -> PromptFile:
    """A prompt file's text without its first line where that one is `version: …`."""
    text = path.read_text(encoding="utf-8-sig").strip()
    first, _, rest = text.partition("\n")
    if first.startswith(VERSION):
        return PromptFile(first.removeprefix(VERSION).strip(), rest.strip())
    return PromptFile("", text)
