from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from studies.analysis import AnalysisError, Summary, analyse
from studies.management.command import PART_FAILED, Progress
from studies.management.command import Command as Base
from studies.workbench.labels import one_or_more


class Command(Base):
    help = (
        "Analyses an exported folder: agreement, reliability, arms, conditions, survival, trends and costs, as tables, "
        "figures and one report."
    )
    requires_system_checks = []  # reads files only

    def add(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, metavar="DIR", help="an exported folder; ratings.csv is enough")
        parser.add_argument("--out", type=Path, required=True, metavar="RESULTS", help="where the results go")
        parser.add_argument("--bootstrap", type=int, default=2000, help="resamples per interval (default 2000)")
        parser.add_argument("--seed", type=int, default=1, help="of the resamples (default 1)")
        parser.add_argument(
            "--correlations",
            choices=["jackknife", "bootstrap"],
            default="jackknife",
            help="where intervals and p of correlations and of their differences come from: people left out one by "
            "one, Student's t (default), or resamples",
        )

    def work(self, folder: Path, out: Path, **options: Any) -> dict[str, Any]:
        settings = {name: options[name] for name in ("bootstrap", "seed", "correlations")}
        try:
            summary = self.run_analysis(folder, out, **settings)
        except AnalysisError as error:
            self.refuse(str(error))
        except OSError as error:
            raise CommandError(str(error), returncode=PART_FAILED) from error
        for warning in summary.warnings:
            self.stderr.write(warning)
        ratings = f"{summary.ratings} {one_or_more(summary.ratings, 'rating', 'ratings')}"
        self.say(f"{out / 'report.html'}: {ratings}, {len(summary.files)} files")
        return summary.as_dict()

    def run_analysis(self, folder: Path, out: Path, **settings: Any) -> Summary:
        with self.progress(0, "analyse") as progress:
            return analyse(folder, out, **settings, on_progress=progress_callback(progress))


def progress_callback(progress: Progress) -> Any:
    def tell(done: int, total: int, what: str) -> None:
        progress.set(done, total, what)

    return tell
