import os
import shutil
import subprocess
import sys
import tempfile
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from studies.design.reading import StudyFileError, read_study
from studies.instruments.loading import instrument_ids
from studies.management.command import BAD_INPUT, PART_FAILED
from studies.management.command import Command as Base
from studies.participation.consent import template_ids
from studies.replication.profiles import MOST
from studies.replication.walks import EXPORT, INVENTED, PAPERS, RESULTS, TRAINING
from studies.setup.addresses import words_of_addresses
from studies.workbench.tasks import TASK_VARIABLE

EACH, BOOTSTRAP = 6, 200
RESULT = (EXPORT, RESULTS, TRAINING, INVENTED, "profiles.json", "replication.md", "replication.zh.md")


class Command(Base):
    help = (
        "Walks the whole evaluation of a paper in small and writes its tables and figures beside the paper's numbers: "
        "EmoHarbor (emoharbor) or When Seekers Are Hard to Help (worst_case). By default it plays scripts, without "
        "network or costs, in two to four minutes on two slow processors; then no number says anything about a model, "
        "and people are invented. With --study it asks the models of your study file, and says first what that may "
        "cost. It has a database of its own, which it throws away: your studies are not touched. It does not collect "
        "people's ratings, does not play the papers' own profiles, which are not public, and trains no model. Two "
        "walks on scripts on one machine give equal files. See docs/papers.md."
    )
    requires_system_checks = []  # the walk has a database of its own

    def add(self, parser: CommandParser) -> None:
        parser.add_argument("paper", choices=PAPERS)
        parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="a new folder for everything")
        parser.add_argument(
            "--study", type=Path, metavar="FILE.toml", help="your own study file (default: scripts, fixtures/studies)"
        )
        parser.add_argument(
            "--profiles",
            type=int,
            default=EACH,
            metavar="N",
            help=f"profiles of each language (default {EACH}, at most {MOST}; the papers have 100)",
        )
        parser.add_argument(
            "--arm",
            default="",
            metavar="KEY",
            help="of worst_case: the arm with which behaviours are left out (default: the last of the study file)",
        )
        parser.add_argument(
            "--tables-only",
            action="store_true",
            help="compute only the tables that stand beside the paper's numbers; draw no figures and write no report",
        )
        parser.add_argument(
            "--bootstrap", type=int, default=BOOTSTRAP, help=f"resamples per interval (default {BOOTSTRAP})"
        )
        parser.add_argument("--seed", type=int, default=1, help="of the resamples (default 1)")
        parser.add_argument(
            "--concurrency", type=int, default=4, metavar="C", help="with --study: calls at once at one endpoint"
        )
        parser.add_argument("--budget", metavar="X", help="with --study: stop before more than X is spent")
        parser.add_argument("--yes", action="store_true", help="with --study: do not ask before paid work")

    def work(self, *, paper: str, out: Path, study: Path | None, **options: Any) -> dict[str, Any]:
        self.refuse_odd(options)
        self.refuse_used(out)
        own = study or settings.FIXTURES / "studies" / f"replicate_{paper}.toml"
        paid = self.refuse_unfit(own)
        folder = self.open_folder(out, paper if paid else "")
        is_new = not any(folder.iterdir())
        try:
            self.walk(paper, own, folder, {**options, "concurrency": options["concurrency"] if paid else 1})
            put_in_place(folder, out)
        except BaseException as error:
            if paid and not (is_new and getattr(error, "returncode", 0) == BAD_INPUT):
                self.stderr.write(f"What was asked is kept in {folder}. The same command continues there.")
            else:
                shutil.rmtree(folder, ignore_errors=True)
            raise
        shutil.rmtree(folder)
        self.say(str(out / "replication.md"))
        return {"paper": paper, "out": str(out)}

    def refuse_odd(self, options: dict[str, Any]) -> None:
        if not 1 <= options["profiles"] <= MOST:
            self.refuse(f"--profiles must be from 1 to {MOST}.")
        for name in ("bootstrap", "concurrency"):
            if options[name] < 1:
                self.refuse(f"--{name} must be at least 1.")
        if options["seed"] < 0:
            self.refuse("--seed must be at least 0.")
        if options["budget"] is not None and not is_amount(options["budget"]):
            self.refuse(f"--budget: {options['budget']!r} is not an amount. Give a number of 0 or more.")

    def refuse_used(self, out: Path) -> None:
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            self.refuse(f"{out}: is there already. Name a new folder, or remove it first.")

    def refuse_unfit(self, path: Path) -> bool:
        """Refuse a study file that could not be walked. Return whether it asks models."""
        prompts = settings.FIXTURES / "prompts"
        instruments = [*instrument_ids(), *template_ids()]
        try:
            spec = read_study(path, instruments=instruments, prompt_folder=prompts, reserved_keys=words_of_addresses())
        except StudyFileError as error:
            self.refuse("\n".join(f"{path}: {fault}" for fault in error.faults))
        except OSError as error:
            self.refuse(f"{path}: {error.strerror}")
        if spec.seeker is None:
            self.refuse(f"{path}: seeker: is missing. The walk needs a model that plays seekers (docs/simulation.md).")
        if not spec.judges:
            self.refuse(f"{path}: judges: are missing. The walk needs at least one (docs/judges.md).")
        return any(one.kind != "scripted" for one in (spec.seeker, *spec.arms, *spec.judges))

    def open_folder(self, out: Path, name: str) -> Path:
        """Return the folder of the walk, beside `out`. With `name`, it is the same in the next command."""
        try:
            out.parent.mkdir(parents=True, exist_ok=True)
            if not name:
                return Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent)).resolve()
            folder = (out.parent / f".{out.name}-{name}").resolve()
            folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            self.refuse(f"{error.filename or out}: {error.strerror}")
        return folder

    def walk(self, paper: str, study: Path, folder: Path, options: dict[str, Any]) -> None:
        """Walk in a process that knows another database, so that the user's own cannot be touched."""
        words = [sys.executable, str(settings.BASE_DIR / "manage.py"), "walk_paper", paper, "--folder", str(folder)]
        words += ["--study", str(study.resolve()), "--each", str(options["profiles"])]
        for name in ("arm", "bootstrap", "seed", "budget", "concurrency"):
            words += [f"--{name}", str(options[name])] if options[name] not in (None, "") else []
        words += [f"--{name.replace('_', '-')}" for name in ("yes", "tables_only") if options[name]]
        words += ["--verbosity", str(options["verbosity"])]
        with subprocess.Popen(words, env=own_environment(folder)) as child:  # noqa: S603 - our own command
            try:
                code = child.wait()
            except KeyboardInterrupt:  # the terminal has told it too
                code = child.wait() or PART_FAILED
        if code:
            raise CommandError("The walk was not finished.", returncode=max(code, PART_FAILED))


def is_amount(text: str) -> bool:
    try:
        amount = Decimal(text)
    except InvalidOperation:
        return False
    return amount.is_finite() and amount >= 0


def own_environment(folder: Path) -> dict[str, str]:
    var = folder / "var"
    own = {"DATABASE_URL": f"sqlite:///{var / 'walk.sqlite3'}", "VAR_DIR": str(var), "PYTHONHASHSEED": "0"}
    elsewhere = ("REDIS_URL", "CELERY_BROKER_URL", TASK_VARIABLE)
    return {name: value for name, value in os.environ.items() if name not in elsewhere} | own


def put_in_place(folder: Path, out: Path) -> None:
    """Give the finished results their name. What an earlier command was putting there when it was cut is replaced."""
    ready = folder / "ready"
    shutil.rmtree(ready, ignore_errors=True)
    ready.mkdir()
    for name in RESULT:
        if (folder / name).is_file() or any((folder / name).glob("*")):
            (folder / name).rename(ready / name)
    ready.rename(out)
