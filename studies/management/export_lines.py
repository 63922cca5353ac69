"""The base of commands that write one file of a study, a row of JSON a line."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from studies.data.exports.columns import Filter
from studies.data.exports.destinations import ExportRefused
from studies.data.exports.export_records import recorded_export
from studies.data.exports.lines import Row, refuse_foreign, write_lines
from studies.management.command import Command, Progress
from studies.models import Study
from studies.workbench.labels import one_or_more


class ExportLines(Command):
    """The base class. Subclasses name what they write (`one`, `more`), and give `count`, `rows`, `study_of` (see
    `refuse_foreign`) and `why_nothing`."""

    one: str
    more: str

    def count(self, study: Study, only: Filter) -> int:
        raise NotImplementedError

    def rows(self, study: Study, only: Filter) -> Iterable[Row]:
        raise NotImplementedError

    def study_of(self, row: Row) -> str | None:
        raise NotImplementedError

    def why_nothing(self, study: Study) -> str:
        """Return a sentence for a study in which there is nothing to write, with test data or without."""
        raise NotImplementedError

    def add(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY")
        parser.add_argument(
            "--out",
            type=Path,
            required=True,
            metavar="FILE.jsonl",
            help="a new file, or an earlier export",
        )
        parser.add_argument("--include-tests", action="store_true", help="include test data: of bots and of test links")

    def work(self, study: str, out: Path, include_tests: bool, **_options: Any) -> dict[str, Any]:
        study_row, only = self.study(study), Filter(include_tests)
        try:
            refuse_foreign(out, study, what=self.more, study_of=self.study_of)
            self.hint_at_tests(study_row, only, out)
            with self.progress(self.count(study_row, only), out.name) as progress:
                had_file = out.exists()
                with recorded_export(study_row, [out], include_tests=include_tests):
                    rows = write_lines(out, stepping(self.rows(study_row, only), progress))
        except ExportRefused as refusal:
            self.refuse(str(refusal))
        except OSError as error:
            self.refuse(f"{out}: {error.strerror}")
        if rows:
            self.say(f"{out}: {rows} {one_or_more(rows, self.one, self.more)}")
        else:
            outcome = "the earlier file was removed" if had_file else "not written"
            self.say(f"{out}: {outcome}. {self.why_nothing(study_row)}")
        return {"study": study, "out": str(out), "rows": rows}

    def hint_at_tests(self, study: Study, only: Filter, out: Path) -> None:
        if only.include_tests or self.count(study, only):
            return
        if number := self.count(study, Filter(include_tests=True)):
            sentence = f"{number} {one_or_more(number, self.one, self.more)}, all of test data."
            self.hint_at_test_data(sentence, out=out)


def stepping(rows: Iterable[Row], progress: Progress) -> Iterator[Row]:
    for row in rows:
        yield row
        progress.step()
