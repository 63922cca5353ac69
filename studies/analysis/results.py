"""The results of a run, as values and as bytes that do not change from run to run."""

import hashlib
import json
import math
import platform
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from typing import Any

import pandas as pd  # noqa: TID253

from dialogue.languages import LANGUAGES
from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import Export
from studies.analysis.language import speaking
from studies.analysis.notes import CODES, NOTE, in_english
from studies.analysis.reporting.limits import limits_of
from studies.analysis.tables.file_tables import build_file_tables
from studies.analysis.tables.table import METHOD, Table

PACKAGES = ("numpy", "pandas", "scipy", "statsmodels", "pingouin", "krippendorff", "matplotlib")
_FORMULA = re.compile(r"'*[=+\-@\t\r]")  # as in an export
DIGITS = 12  # significant; below lies what differs between processors


@dataclass(frozen=True)
class Results:
    """The results of a run: `tables` by name with all their columns, in the order of `computed`."""

    export: Export
    bootstrap: Bootstrap
    tables: dict[str, pd.DataFrame]
    computed: Sequence[Table]

    def table(self, name: str) -> pd.DataFrame:
        """Return a table, without rows and columns where nothing computes it."""
        return self.tables.get(name, pd.DataFrame())

    @cached_property
    def file_tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables as their files have them."""
        return build_file_tables(self.tables, self.computed, self.export.roles)

    def methods(self) -> dict[str, dict[str, str]]:
        """Return, for each table, column or statistic → how it is computed."""
        return {table.name: dict(table.methods) for table in self.computed}

    def as_json(self) -> bytes:
        text = json.dumps(_plain(self._content()), ensure_ascii=False, indent=1, allow_nan=False)
        return (text + "\n").encode()

    def versions(self) -> dict[str, str]:
        return {"python": platform.python_version()} | {name: version(name) for name in PACKAGES}

    def data_hash(self) -> str:
        """Return one SHA-256 over the names and hashes of all files that were read."""
        listed = "".join(f"{name} {digest}\n" for name, digest in sorted(self.export.hashes.items()))
        return hashlib.sha256(listed.encode()).hexdigest()

    def counts(self) -> dict[str, int]:
        participants = set(self.export.conversations["participant"]) - {""}
        return {
            "ratings": len(self.export.ratings),
            "conversations": len(self.export.conversations),
            "participants": len(participants),
            "raters": int(self.export.ratings.groupby(["rater_kind", "rater"], observed=True).ngroups),
        }

    def exclusions(self) -> dict[str, Any]:
        """Return the numbers of what is left out.

        The ratings without a score and those of the two kinds that are left out are in no other figure.
        """
        return {
            "ratings_without_score": self.export.missing,
            "ratings_of_ablations": len(self.export.ablated),
            "repeated_ratings_averaged": self.export.repeated,
            "excluded_participants": len(self.export.excluded),
            "invalid_conversations": self.export.invalid_conversations,
            "ratings_left_out_for_them": len(self.export.left_out),
            "conversations_without_arm": int((self.export.conversations["arm"] == "").sum()),
        }

    def limits(self) -> list[str]:
        """Return what a reader must keep in mind, by rules; one sentence each."""
        return limits_of(self.export, self.tables, self.bootstrap)

    def _limits_in_other_languages(self) -> dict[str, list[str]]:
        """Return the same sentences in the same order, for the pages of a site that speaks these languages."""
        found = {}
        for language in LANGUAGES[1:]:
            with speaking(language.html):
                found[f"limits_{language.code}"] = self.limits()
        return found

    def _content(self) -> dict[str, Any]:
        files = {name: {"sha256": digest, "rows": self.export.rows.get(name)} for name, digest in self._hashes()}
        return {
            "schema": "emostudy-results/1",
            "demonstration": self.export.demonstration,
            "settings": {
                "bootstrap": self.bootstrap.replicates,
                "seed": self.bootstrap.seed,
                "correlations": "bootstrap" if self.bootstrap.draws_r else "jackknife",
                "level": 0.95,
            },
            "versions": self.versions(),
            "data_hash": self.data_hash(),
            "files": files,
            "absent": list(self.export.absent),
            "counts": self.counts(),
            "exclusions": self.exclusions(),
            "limits": self.limits(),
            **self._limits_in_other_languages(),
            "methods": self.methods(),
            "tables_without_rows": {table.name: table.empty for table in self.computed if self.table(table.name).empty},
            "tables": {name: _records(self._with_method(name)) for name in self.file_tables},
        }

    def _with_method(self, name: str) -> pd.DataFrame:
        """Return a table with how each row was computed, of which some files have no column."""
        rows, all_columns = self.file_tables[name], self.table(name)
        return rows if METHOD in rows or METHOD not in all_columns else rows.assign(**{METHOD: all_columns[METHOD]})

    def _hashes(self) -> list[tuple[str, str]]:
        return sorted(self.export.hashes.items())


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows; beside the English text of its notes, each has their codes, to be worded in any language."""
    rows = table.to_dict("records")
    return [row | {CODES: [note.as_json() for note in row[NOTE]]} if NOTE in row else row for row in rows]


def to_csv(table: pd.DataFrame) -> bytes:
    """Return a table as a file that a spreadsheet opens without running its texts."""
    text: str = table.map(_guard_cell).to_csv(index=False, float_format=f"%.{DIGITS}g", lineterminator="\r\n")
    return text.encode()


def _plain(value: Any) -> Any:
    """Return a value for JSON: floats at `DIGITS` digits, notes in English, null for what is missing."""
    value = in_english(value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
    return None if value is pd.NA else value


def _guard_cell(value: Any) -> Any:
    """Return a cell of a file; a text that a spreadsheet would run gets a leading apostrophe, as in an export."""
    value = in_english(value)
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value
