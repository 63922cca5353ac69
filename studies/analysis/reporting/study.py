"""What the export says of its study beside the ratings: its name, and what CHART asks for."""

import json
from typing import Any

import pandas as pd  # noqa: TID253

from studies.analysis.frames import Export, read_table
from studies.analysis.language import CHINESE, spoken
from studies.analysis.language import gettext as _


def title_of(export: Export) -> str:
    title = manifest_of(export).get("title")
    if isinstance(title, dict):
        title = title.get("zh" if spoken() == CHINESE else "en") or next(iter(title.values()), "")
    return str(title or manifest_of(export).get("study") or _("A study's ratings"))


def manifest_of(export: Export) -> dict[str, Any]:
    """Empty where the export has none; reading the export has looked whether it is JSON."""
    path = export.folder / "manifest.json"
    found = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return found if isinstance(found, dict) else {}


def column_of(export: Export, name: str, column: str) -> pd.Series:
    """A column of a file of the export as text; empty where the file or column is not there."""
    path = export.folder / name
    return read_table(path, (), (column,))[column].astype(str) if path.is_file() else pd.Series([], dtype=str)


def values_of(export: Export, name: str, column: str) -> list[str]:
    return sorted(set(column_of(export, name, column)) - {""})
