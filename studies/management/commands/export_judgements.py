import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from studies.exports.files import snapshot
from studies.exports.table import Filter
from studies.judging.samples import judged, samples
from studies.management.command import Command as Base
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
        self.refuse_foreign(out)
        part, rows = out.with_name(f".{out.name}.part"), 0
        try:
            part.unlink(missing_ok=True)
            bar = self.progress(judged(found, only).count(), "export_judgements")
            with private(part) as file, snapshot(), bar as progress:
                for rows, sample in enumerate(samples(found, only), 1):  # noqa: B007 - the last number is told
                    file.write(line(sample))
                    progress.step()
            part.replace(out)
        except OSError as error:
            self.refuse(f"{error.filename or out}: {error.strerror}")
        finally:
            part.unlink(missing_ok=True)
        self.say(f"{out}: {rows} judged conversations")
        return {"study": study, "out": str(out), "rows": rows}

    def refuse_foreign(self, out: Path) -> None:
        if out.is_dir() or (out.exists() and not is_ours(out)):
            self.refuse(f"{out}: is there already, and no earlier export of judgements. Name another file.")


def is_ours(path: Path) -> bool:
    """Empty, or begins with a sample."""
    with path.open(encoding="utf-8", errors="replace") as file:
        first = file.readline()
    try:
        return not first or {"id", "epoch", "scores"} <= json.loads(first).keys()
    except (ValueError, AttributeError):
        return False
