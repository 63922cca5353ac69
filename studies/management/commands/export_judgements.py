import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from studies.exports.files import snapshot
from studies.exports.places import ExportRefused, refuse_other_study, refuse_unusable_file
from studies.exports.table import Filter
from studies.judging.samples import judged, samples
from studies.management.command import Command as Base
from studies.models import Study
from studies.training.files import private
from studies.training.rows import line


class Command(Base):
    help = (
        "Writes what judges were asked and answered, a line of JSON for each judged conversation, in the form of "
        "inspect_ai's samples; real people only unless told otherwise. See docs/judges.md."
    )

    def add(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY")
        parser.add_argument(
            "--out",
            type=Path,
            required=True,
            metavar="FILE.jsonl",
            help="a file that is not there yet, or an earlier one",
        )
        parser.add_argument(
            "--include-tests", action="store_true", help="with the data of bots and of researchers' tries"
        )

    def work(self, study: str, out: Path, include_tests: bool, **_options: Any) -> dict[str, Any]:
        found, only = self.study(study), Filter(include_tests)
        try:
            refuse_foreign(out, study)
            with self.progress(judged(found, only).count(), "export_judgements") as progress:
                rows = write(found, only, out, on_row=progress.step)
        except ExportRefused as refusal:
            self.refuse(str(refusal))
        except OSError as error:
            self.refuse(f"{out}: {error.strerror}")
        nothing = "not written, as no judge has answered; an earlier one is removed"
        self.say(f"{out}: {f'{rows} judged conversations' if rows else nothing}")
        return {"study": study, "out": str(out), "rows": rows}


def write(study: Study, only: Filter, out: Path, *, on_row: Callable[[], None]) -> int:
    """In place of an earlier export, all at once; returns how many rows. A file without rows, of which nobody could
    tell whose it is, is not written."""
    part, rows = out.with_name(f".{out.name}.part"), 0
    try:
        part.unlink(missing_ok=True)
        with private(part) as file, snapshot():
            for rows, sample in enumerate(samples(study, only), 1):  # noqa: B007 - the last number is told
                file.write(line(sample))
                on_row()
        if rows:
            part.replace(out)
        else:
            out.unlink(missing_ok=True)
    finally:
        part.unlink(missing_ok=True)
    return rows


def refuse_foreign(out: Path, study: str) -> None:
    """Only an earlier export of the same study is written over. Raises ExportRefused."""
    refuse_unusable_file(out)
    if not out.exists():
        return
    earlier = first_sample(out)
    if earlier is None:
        raise ExportRefused(f"{out}: is there already, and no earlier export of judgements. Name another file.")
    refuse_other_study(out, earlier["metadata"].get("study"), study, kind="file")


def first_sample(path: Path) -> dict[str, Any] | None:
    """None where it begins otherwise."""
    with path.open(encoding="utf-8", errors="replace") as file:
        first = file.readline()
    try:
        found = json.loads(first)
    except (ValueError, RecursionError):
        return None
    is_ours = isinstance(found, dict) and found.keys() >= {"id", "epoch", "scores"}
    return found if is_ours and isinstance(found.get("metadata"), dict) else None
