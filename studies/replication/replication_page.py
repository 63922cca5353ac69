"""`replication.md`: each table and figure of the paper, its numbers, ours, and whether they can be compared."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from django.conf import settings

from dialogue.languages import CODES
from studies.replication.papers import Entry, Paper, Results
from studies.replication.walks import Walk

NOTHING = "–"


def write_pages(walk: Walk, paper: Paper) -> None:
    """Write the page once for each language, into the folder of the walk."""
    words = json.loads((settings.FIXTURES / "papers" / "words.json").read_text(encoding="utf-8"))
    for language in CODES:
        text = "\n".join(Page(walk, paper, Results(walk.folder), language, words[language]).lines())
        (walk.folder / get_file(language)).write_text(text + "\n", encoding="utf-8")


def get_file(language: str) -> str:
    return "replication.md" if language == CODES[0] else f"replication.{language}.md"


class Page:
    def __init__(self, walk: Walk, paper: Paper, results: Results, language: str, words: Mapping[str, str]) -> None:
        self.walk, self.paper, self.results = walk, paper, results
        self.language, self.words = language, words

    def lines(self) -> Iterator[str]:
        yield f"# {self.words['title'].format(paper=self.paper.title)}"
        yield f"\n{self.paper.cite}\n"
        yield self.words["scripts" if self.walk.is_scripted() else "models"]
        yield f"\n{self.words['about']}\n"
        if self.results.names(["results/report.html"]):
            yield f"{self.words['report']}\n"
        head = [self.words[name] for name in ("where", "shows", "files", "comparable")]
        yield from table([head, *(self.index_line(entry) for entry in self.paper.entries)])
        for entry in self.paper.entries:
            yield from self.section(entry)

    def index_line(self, entry: Entry) -> list[str]:
        return [entry.where[self.language], entry.shows[self.language], self.files(entry), self.verdict(entry)]

    def section(self, entry: Entry) -> Iterator[str]:
        if not entry.numbers and not entry.layouts:
            return
        yield f"\n## {entry.where[self.language]}\n"
        yield f"{entry.shows[self.language]}\n"
        yield f"- {self.words['command']}: `{entry.command}`"
        yield f"- {self.words['comparable']}: {self.verdict(entry)}\n"
        if entry.numbers:
            head = [self.words[name] for name in ("number", "paper", "source", "ours")]
            yield from table([head, *(self.number(one) for one in entry.numbers)])
        for layout in entry.layouts:
            yield f"\n{layout['title'][self.language]}\n"
            yield from table(self.results.laid_out(layout))

    def number(self, one: Mapping[str, Any]) -> list[str]:
        printed = one["printed"] if isinstance(one["printed"], str) else one["printed"][self.language]
        return [self.what(one), printed, one["source"], self.results.value(one["ours"]) or NOTHING]

    def what(self, one: Mapping[str, Any]) -> str:
        """Return the name of a number and its kind of rater, because several kinds of raters rate an arm."""
        where = (one["ours"] or {}).get("where", {})
        named = self.words.get(f"by_{where.get('raters', where.get('human'))}", "{what}")
        return named.format(what=one["what"][self.language])

    def files(self, entry: Entry) -> str:
        return ", ".join(f"[{Path(name).name}]({name})" for name in self.results.names(entry.files)) or NOTHING

    def verdict(self, entry: Entry) -> str:
        """Return whether the numbers can be compared, with the reason."""
        reason = {"no": "not_offered", "page": "no_numbers"}.get(entry.compare)
        if reason is None and self.walk.is_scripted():
            reason = "people_are_scripts" if entry.compare == "people" else "in_form"
        reason = reason or ("needs_people" if entry.compare == "people" else "yes")
        return f"{self.words[reason]} {entry.why[self.language]}".strip()


def table(lines: Sequence[Sequence[str]]) -> Iterator[str]:
    head, *rest = lines
    for cells in (head, ["---"] * len(head), *rest):
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
