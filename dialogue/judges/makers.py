"""Makers of models, found by what a model is called. Pure; the names are in fixtures/makers.json."""

import json
import re
from functools import cache
from pathlib import Path

MAKERS = Path(__file__).resolve().parents[2] / "fixtures" / "makers.json"


def maker_of(model: str) -> str:
    """Return the maker; the first if there are names of several, as in a distilled model; empty if none is known."""
    match = _pattern().search(model.lower())
    return _makers()[match[0]] if match else ""


def known_names() -> set[str]:
    """Return the names of makers, and those that their models bear."""
    return {*_makers(), *_makers().values()}


@cache
def _makers() -> dict[str, str]:
    """Return the makers by each name that their models bear."""
    by_maker = json.loads(MAKERS.read_text(encoding="utf-8"))["makers"]
    return {name: maker for maker, names in by_maker.items() for name in names}


@cache
def _pattern() -> re.Pattern[str]:
    """Return the pattern of all names. A name is never part of a longer word, but a version may follow it: qwen2.5."""
    names = sorted(_makers(), key=len, reverse=True)
    return re.compile("|".join(rf"(?<![a-z0-9]){re.escape(name)}{_end(name)}" for name in names))


def _end(name: str) -> str:
    return "(?![a-z])" if name[-1].isalnum() else ""
