import os
import sys
from contextlib import redirect_stderr
from decimal import Decimal
from io import StringIO
from pathlib import Path
from typing import Any

from django.core.management import CommandError, call_command
from django.core.management.base import CommandParser

from studies.design.spec import StudySpec
from studies.management.command import BAD_INPUT, BUDGET_REACHED, PART_FAILED, Progress
from studies.management.command import Command as Base
from studies.models import PairPlan, Participation, Study
from studies.replication.finished_parts import FinishedParts
from studies.replication.folder_lock import FolderInUse, lock_folder
from studies.replication.invented_people import Talk, invent_counsellors, invent_participants, write_people
from studies.replication.papers import read_paper
from studies.replication.profiles import write_profiles
from studies.replication.replication_page import write_pages
from studies.replication.reproducibility import steady_database, steady_files
from studies.replication.tables import write_tables
from studies.replication.walks import EMOHARBOR, EXPORT, INVENTED, PAPERS, PLAN, PROFILES, RESULTS, TRAINING, Part, Walk
from studies.workbench.paid_work import Quote, parse_summary, summary_of

Track = Participation.Track
PEOPLE_FOR_A_PROFILE = 2  # so that a correlation with people rests on more than a handful
NOT_ESTIMATED = (
    "Not in the estimate: judgements after turns 5, 10 and 15, and pairs; both depend on the conversations. With "
    "--budget the walk stops before it spends more."
)


def invent(walk: Walk, each: int) -> list[Talk]:
    if walk.paper == EMOHARBOR:
        return list(invent_participants(walk.spec, each=PEOPLE_FOR_A_PROFILE * each))
    return list(invent_counsellors(walk.spec))


class Command(Base):
    help = "Walks a paper in the database of this process. `replicate` starts it with one of its own; you need not."

    def add(self, parser: CommandParser) -> None:
        parser.add_argument("paper", choices=PAPERS)
        parser.add_argument("--folder", type=Path, required=True, metavar="DIR")
        parser.add_argument("--study", type=Path, required=True, metavar="FILE.toml")
        parser.add_argument("--each", type=int, required=True, metavar="N", help="profiles of each language")
        parser.add_argument("--arm", default="", metavar="KEY")
        parser.add_argument("--bootstrap", type=int, required=True)
        parser.add_argument("--seed", type=int, required=True)
        parser.add_argument("--budget", type=Decimal, metavar="X")
        parser.add_argument("--concurrency", type=int, required=True)
        parser.add_argument("--tables-only", action="store_true")
        parser.add_argument("--yes", action="store_true")

    def work(self, *, folder: Path, **options: Any) -> dict[str, Any]:
        try:
            lock = lock_folder(folder)
        except FolderInUse as other:
            self.refuse(
                f"Process {other.process} is still walking in {folder}. Wait for its end or stop it, then repeat the "
                "command."
            )
        try:
            return self.work_alone(folder=folder, **options)
        finally:
            os.close(lock)

    def work_alone(self, *, paper: str, folder: Path, each: int, **options: Any) -> dict[str, Any]:
        call_command("migrate", verbosity=0, interactive=False)
        spec = self.load(options["study"])
        arm = self.arm(spec, options["arm"])
        walk = Walk(paper, spec, folder, arm, options["bootstrap"], options["seed"])
        write_profiles(folder / PROFILES, each=each)
        if not walk.is_scripted() and not options["yes"]:
            self.ask(walk)
        if walk.invents_people() and not (folder / INVENTED).exists():
            track = Track.PARTICIPANT if paper == EMOHARBOR else Track.COUNSELLOR
            write_people(folder / INVENTED, invent(walk, each), spec.chat.for_track(track).final_instruments)
        (folder / TRAINING).mkdir(exist_ok=True)
        try:
            self.walk(walk, FinishedParts(folder, (Study.objects.get().current().hash(), each)), options)
        except KeyboardInterrupt:
            raise CommandError("Stopped.", returncode=PART_FAILED) from None
        except CommandError as error:  # by now something may have been paid for: it is no bad input any more
            raise CommandError(
                str(error), returncode=PART_FAILED if error.returncode == BAD_INPUT else error.returncode
            ) from error
        write_pages(walk, read_paper(paper))
        return {"paper": paper, "study": spec.key}

    def load(self, path: Path) -> StudySpec:
        self.run_part(Part("load_study", ("load_study", str(path))))
        if Study.objects.count() > 1:
            keys = ", ".join(Study.objects.order_by("pk").values_list("key", flat=True))
            self.refuse(f"The unfinished walk is of another study ({keys}). Give its file, or remove the folder.")
        return Study.objects.get().current().spec()

    def arm(self, spec: StudySpec, key: str) -> str:
        """Return the arm with which behaviours are left out: the paper has one too."""
        keys = [arm.key for arm in spec.arms]
        if key and key not in keys:
            self.refuse(f"--arm: the study has no arm {key!r}. It has: {', '.join(keys)}.")
        return key or keys[-1]

    # Asking before paid work

    def ask(self, walk: Walk) -> None:
        quote = Quote()
        for part in walk.estimates():
            quote.add(summary_of([*part.line, "--estimate"])["estimate"])
        cost = "no price is known" if quote.cost is None else f"about {quote.cost:.2f} {quote.currency}"
        self.say(
            f"{quote.items['conversations']} conversations and {quote.items['judgements']} judgements: {quote.calls:,} "
            f"calls, {quote.input_tokens:,} input and {quote.output_tokens:,} output tokens, {cost}.\n{NOT_ESTIMATED}"
        )
        if quote.unset_keys:
            self.refuse(f"Set these variables first: {', '.join(quote.unset_keys)}.")
        if not sys.stdin.isatty():
            self.refuse("This asks models, which may cost money. Add --yes to do it.")
        if input("Continue? [y/N] ").strip().lower() not in ("y", "yes"):
            self.refuse("Nothing was asked.")

    # The parts

    def walk(self, walk: Walk, finished: FinishedParts, options: dict[str, Any]) -> None:
        parts, last = list(walk.parts()), list(walk.results())
        with self.progress(len(parts) + len(last) + 1, walk.paper) as progress:
            progress.quiet = True  # a line for each part says more than a tenth of them
            spent = Decimal(0)
            for number, part in enumerate(parts):
                self.tell(progress, number, part.label)
                if part in finished or (part.label == PLAN and PairPlan.objects.exists()):
                    continue  # by an earlier command, which this one continues
                spent += self.run_part(part, *self.terms(part, options, spent))
                finished.add(part)
            if walk.is_scripted():
                steady_database()
            for number, part in enumerate(last, len(parts)):
                self.tell(progress, number, part.label)
                self.run_part(part)
            if walk.is_scripted():
                for name in (TRAINING, EXPORT):
                    steady_files(walk.folder / name)
            self.tell(progress, progress.total - 1, "analyse")
            self.analyse(walk, options)
            self.tell(progress, progress.total, "done")

    def analyse(self, walk: Walk, options: dict[str, Any]) -> None:
        folders = walk.folder / EXPORT, walk.folder / RESULTS
        if options["tables_only"]:
            write_tables(*folders, read_paper(walk.paper), bootstrap=walk.bootstrap, seed=walk.seed)
            return
        draws = ("--bootstrap", str(walk.bootstrap), "--seed", str(walk.seed))
        self.run_part(Part("analyse", ("analyse", str(folders[0]), "--out", str(folders[1]), *draws)))

    def tell(self, progress: Progress, done: int, label: str) -> None:
        """Show how many parts are done, and which comes next."""
        if progress.bar is None and not self.quiet:
            sys.stderr.write(f"{done} of {progress.total} parts done: {label}\n")
        progress.set(done, progress.total, label)

    def terms(self, part: Part, options: dict[str, Any], spent: Decimal) -> list[str]:
        if not part.asks:
            return []
        left = [] if options["budget"] is None else ["--budget", str(max(options["budget"] - spent, Decimal(0)))]
        return ["--concurrency", str(options["concurrency"]), *left]

    def run_part(self, part: Part, *more: str) -> Decimal:
        """Run a command and return its cost. Stop, saying why, where it did not do all."""
        out, errors = StringIO(), StringIO()
        try:
            with redirect_stderr(errors):
                call_command(*part.line, *more, "--json", stdout=out, stderr=errors, verbosity=0)
        except CommandError as error:
            raise CommandError(f"{part.label}: {error}", returncode=error.returncode) from error
        except SystemExit as stop:  # how our commands say that a part failed
            self.stop(part, parse_summary(out.getvalue()), int(stop.code or 0))
        return Decimal(str(parse_summary(out.getvalue()).get("cost", 0)))

    def stop(self, part: Part, summary: dict[str, Any], code: int) -> None:
        if code == BUDGET_REACHED:
            raise CommandError(f"{part.label}: the budget is reached.", returncode=code)
        reasons = "; ".join(summary.get("failed_details", {}).values()) or "some of it failed"
        raise CommandError(f"{part.label}: {reasons}", returncode=PART_FAILED)
