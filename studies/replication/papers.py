"""The printed numbers of the papers (`fixtures/papers/PAPER.json`), and where the same is in our results."""

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any

from django.conf import settings

Row = Mapping[str, str]
Texts = Mapping[str, str]  # by language

OVER: Mapping[str, Callable[[list[float]], str]] = {
    "mean": lambda values: decimals(fmean(values)),
    "lowest": lambda values: decimals(min(values)),
    "highest": lambda values: decimals(max(values)),
    "range": lambda values: f"{decimals(min(values))} … {decimals(max(values))}",
    "whole": lambda values: f"{fmean(values):.0f}",
    "most": lambda values: f"{max(values):.0f}",
    "count": lambda values: str(len(values)),
}


@dataclass(frozen=True)
class Entry:
    """A table, figure or claim of a paper.

    `compare`: what decides whether our numbers can stand beside the paper's: `models`, `people`, `page` (there is no
    number in it) or `no` (emostudy does not offer it). `numbers`: each with `what`, `printed`, `source` and `ours`;
    `layouts`: tables to lay out as the paper does.
    """

    where: Texts
    shows: Texts
    command: str
    files: tuple[str, ...]
    compare: str
    why: Texts
    numbers: tuple[Mapping[str, Any], ...] = ()
    layouts: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True)
class Paper:
    title: str
    cite: str
    entries: tuple[Entry, ...]

    def tables(self) -> list[str]:
        """Return the names of the tables of results that its numbers are compared with."""
        queries = [number["ours"] for entry in self.entries for number in entry.numbers]
        queries += [layout for entry in self.entries for layout in entry.layouts]
        return sorted({query["table"] for query in queries if query})


def read_paper(name: str) -> Paper:
    node = json.loads((settings.FIXTURES / "papers" / f"{name}.json").read_text(encoding="utf-8"))
    entries = [
        Entry(
            **{key: entry[key] for key in ("where", "shows", "command", "compare", "why")},
            files=tuple(entry["files"]),
            numbers=tuple(entry.get("numbers", ())),
            layouts=tuple(entry.get("layouts", ())),
        )
        for entry in node["entries"]
    ]
    return Paper(node["title"], node["cite"], tuple(entries))


@dataclass(frozen=True)
class Results:
    """The results of a walk. `folder` is the one that holds `results/`."""

    folder: Path

    @cached_property
    def tables(self) -> dict[str, list[Row]]:
        return {}

    def rows(self, table: str, where: Mapping[str, str | Sequence[str]]) -> Iterator[Row]:
        """Yield the rows of a table with these values; a list of values means any of them."""
        if table not in self.tables:
            with (self.folder / "results" / f"{table}.csv").open(newline="", encoding="utf-8") as file:
                self.tables[table] = list(csv.DictReader(file))
        for row in self.tables[table]:
            if all(row[name] in ([value] if isinstance(value, str) else value) for name, value in where.items()):
                yield row

    def value(self, query: Mapping[str, Any] | None) -> str:
        """Return a number as text: of one row, or over several; empty where there is none."""
        if query is None:
            return ""
        values = [row[query["column"]] for row in self.rows(query["table"], query["where"])]
        numbers = [float(value) for value in values if value]
        return OVER[query.get("over", "mean")](numbers) if numbers else ""

    def names(self, patterns: Sequence[str]) -> list[str]:
        """Return the files that are there, a pattern with several by its first."""
        matches = [sorted(self.folder.glob(pattern)) for pattern in patterns]
        return [paths[0].relative_to(self.folder).as_posix() for paths in matches if paths]

    def laid_out(self, layout: Mapping[str, Any]) -> list[list[str]]:
        """Return lines of cells: the head, then one line for each row of the paper's layout."""
        values: dict[tuple[str, ...], dict[str, str]] = {}
        for row in self.rows(layout["table"], layout["where"]):
            line = values.setdefault(tuple(row[name] for name in layout["lines"]), {})
            line[row[layout["across"]]] = decimals(float(row[layout["column"]])) if row[layout["column"]] else "–"
        head = [*layout["lines"], *layout["order"].values()]
        return [head, *([*line, *(cells.get(key, "–") for key in layout["order"])] for line, cells in values.items())]


def decimals(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.2f}"
