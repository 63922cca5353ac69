from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from studies.data.exports.columns import Filter, has_test_data_alone
from studies.data.exports.destinations import ExportRefused
from studies.data.exports.files import ExportIncomplete, export
from studies.data.exports.tables import TABLES
from studies.data.release.card import KINDS, WHY
from studies.data.release.export import NothingToRelease, Release, ReleaseLeaks, count_steps, write_release
from studies.management.command import PART_FAILED, describe_left_out_tests
from studies.management.command import Command as Base
from studies.models import Study

LEAKS = "Nothing was written: texts or codes of people who are not to be in the set were found. Please report this."


class Command(Base):
    help = (
        "Writes a study as CSV files with a codebook and a manifest; test data only with --include-tests. People who "
        "have been away longer than the study's gone_after_days are first set to timed_out. With --release it writes "
        "the de-identified conversations of those who agreed to sharing instead, with a data card; a person must read "
        "them before they are published."
    )

    def add(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY")
        parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="a new folder, or an earlier export")
        parser.add_argument("--include-tests", action="store_true", help="include test data: of bots and of test links")
        parser.add_argument(
            "--release",
            action="store_true",
            help="write the de-identified conversations of people who agreed to sharing (share_deidentified) instead: "
            "dialogues.jsonl, a data card and a check, in a new folder",
        )

    def work(self, study: str, out: Path, include_tests: bool, release: bool, **_options: Any) -> dict[str, Any]:
        study_row = self.study(study)
        if release:
            return self.release(study_row, out, include_tests=include_tests)
        if not include_tests and has_test_data_alone(study_row):
            self.hint_at_test_data(f"The study {study} has only test data.", out=out)
        with self.progress(len(TABLES) + 1, "export") as progress:
            try:
                manifest = export(
                    study_row, out, only=Filter(include_tests), on_file=lambda _name, _rows: progress.step()
                )
            except ExportRefused as error:
                self.refuse(str(error))
            except ExportIncomplete as error:
                raise CommandError(str(error), returncode=PART_FAILED) from error
            except OSError as error:
                self.refuse(f"{error.filename or out}: {error.strerror}")
        rows = {name: file["rows"] for name, file in manifest["files"].items()}
        self.say("\n".join(f"{out / name}: {count} row{'s' * (count != 1)}" for name, count in rows.items()))
        if not rows.get("conversations.csv") and (
            hint := describe_left_out_tests(study_row, include_tests=include_tests)
        ):
            self.say(hint)
        return {"study": study, "out": str(out), "demonstration": manifest["demonstration"], "rows": rows}

    def release(self, study: Study, out: Path, *, include_tests: bool) -> dict[str, Any]:
        if include_tests:
            self.refuse("--release publishes no test data: leave out --include-tests.")
        with self.progress(count_steps(study), "release") as progress:
            try:
                release = write_release(study, out, on_step=progress.step)
            except ExportRefused as error:
                self.refuse(str(error))
            except NothingToRelease as error:
                raise CommandError(str(error), returncode=PART_FAILED) from error
            except ReleaseLeaks as error:
                raise CommandError(f"{LEAKS}\n{error}", returncode=PART_FAILED) from error
            except OSError as error:
                self.refuse(f"{error.filename or out}: {error.strerror}")
        self.say("\n".join(describe_release(release, out)))
        return {"study": study.key, "out": str(out), **summarise_release(release)}


def describe_release(release: Release, out: Path) -> Iterator[str]:
    counts, published, checked = release.counts, release.published, release.checked
    yield f"{out}: {published.dialogues} conversations of {counts.people} people"
    yield f"People asked: {counts.asked}, agreed: {counts.agreed}."
    for reason, count in sorted(counts.left_out.items()):
        yield f"Left out, {WHY[reason]}: {count}"
    for kind, count in sorted(published.masked.items()):
        yield f"Masked, {KINDS[kind]}: {count}"
    yield f"Checked: none of {checked.codes} codes and {checked.texts} texts of others is in the files."
    yield "Masking is automatic and misses things: read every text before you publish it."


def summarise_release(release: Release) -> dict[str, Any]:
    counts = release.counts
    return {
        "asked": counts.asked,
        "agreed": counts.agreed,
        "people": counts.people,
        "dialogues": release.published.dialogues,
        "left_out": {reason.value: count for reason, count in counts.left_out.items()},
        "masked": dict(release.published.masked),
    }
