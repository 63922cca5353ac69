from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from studies.data.exports.columns import Filter, has_test_data_alone
from studies.data.exports.files import ExportIncomplete, export
from studies.data.exports.places import ExportRefused
from studies.data.exports.tables import TABLES
from studies.management.command import PART_FAILED, describe_left_out_tests
from studies.management.command import Command as Base


class Command(Base):
    help = (
        "Writes a study as CSV files with a codebook and a manifest; test data only with --include-tests. People who "
        "have been away longer than the study's gone_after_days are first set to timed_out."
    )

    def add(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY")
        parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="a new folder, or an earlier export")
        parser.add_argument(
            "--include-tests", action="store_true", help="include test data: of bots and of links for trying out"
        )

    def work(self, study: str, out: Path, include_tests: bool, **_options: Any) -> dict[str, Any]:
        found = self.study(study)
        if not include_tests and has_test_data_alone(found):
            self.hint_at_test_data(f"The study {study} has only test data.", out=out)
        with self.progress(len(TABLES) + 1, "export") as progress:
            try:
                manifest = export(found, out, only=Filter(include_tests), on_file=lambda _name, _rows: progress.step())
            except ExportRefused as error:
                self.refuse(str(error))
            except ExportIncomplete as error:
                raise CommandError(str(error), returncode=PART_FAILED) from error
            except OSError as error:
                self.refuse(f"{error.filename or out}: {error.strerror}")
        rows = {name: file["rows"] for name, file in manifest["files"].items()}
        self.say("\n".join(f"{out / name}: {count} rows" for name, count in rows.items()))
        if not rows.get("conversations.csv") and (hint := describe_left_out_tests(found, include_tests=include_tests)):
            self.say(hint)
        return {"study": study, "out": str(out), "demonstration": manifest["demonstration"], "rows": rows}
