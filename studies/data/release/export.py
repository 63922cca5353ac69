"""A study's conversations of those who agreed → a folder that can be published after someone has read it."""

import secrets
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from studies.data.exports.destinations import ExportRefused, refuse_unusable_folder
from studies.data.exports.export_records import recorded_export
from studies.data.exports.files import get_product_version, sha256, snapshot, write_json
from studies.data.exports.lines import format_line, open_private
from studies.data.release.card import WHY, Facts, PublishedCounts, write_card
from studies.data.release.check import CheckedRelease, check_release
from studies.data.release.reading import Counts, people_of, read_people
from studies.data.release.records import records_of
from studies.instruments.definitions import Questionnaire
from studies.instruments.loading import instrument_ids, load
from studies.models import Study

DIALOGUES, CARD, CHECK = "dialogues.jsonl", "README.md", "check.json"
FILES = (DIALOGUES, CARD, CHECK)
KEY_BYTES = 8


class NothingToRelease(Exception):
    """No one agreed, or nothing of those who did may be published; nothing was written."""


class ReleaseLeaks(Exception):
    """The second look found something of others; nothing was left behind."""


@dataclass(frozen=True)
class Release:
    counts: Counts
    published: PublishedCounts
    checked: CheckedRelease


def count_steps(study: Study) -> int:
    """Return the number of calls of `on_step`: one for each person, and one for the check."""
    return len(people_of(study)) + 1


def write_release(study: Study, out: Path, *, on_step: Callable[[], None] = lambda: None) -> Release:
    """Write the folder. Raises ExportRefused, NothingToRelease or ReleaseLeaks, and then there is none."""
    refuse_used(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    try:
        with recorded_export(study, [out / name for name in FILES], include_tests=False):
            counts, published = write_files(folder, study, on_step)
            checked = check_release(study, folder / DIALOGUES, folder / CARD)
            if checked.found:
                raise ReleaseLeaks("\n".join(checked.found))
            write_json(folder / CHECK, {**checked.as_json(), "files": hashes(folder)})
            on_step()
            folder.rename(out)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return Release(counts, published, checked)


def refuse_used(out: Path) -> None:
    refuse_unusable_folder(out)
    if out.exists() and any(out.iterdir()):
        raise ExportRefused(f"{out}: is not empty. Name a new folder: a release never replaces another.")


def write_files(folder: Path, study: Study, on_step: Callable[[], None]) -> tuple[Counts, PublishedCounts]:
    counts, published = Counts(), PublishedCounts()
    with snapshot(), open_private(folder / DIALOGUES) as file:
        for person in read_people(study, counts, on_step):
            keys = [secrets.token_hex(KEY_BYTES) for _ in person.dialogues]
            records, masked = records_of(person, keys, secrets.token_hex(KEY_BYTES))
            file.writelines(map(format_line, records))
            published.add(records, masked)
    if not published.dialogues:
        raise NothingToRelease(why_nothing(counts))
    with open_private(folder / CARD) as file:
        file.write(write_card(facts_of(study, counts), published, questionnaires(published)))
    return counts, published


def why_nothing(counts: Counts) -> str:
    if not counts.agreed:
        return f"No one agreed that de-identified data are shared: {counts.asked} of {counts.signed} people were asked."
    why = "; ".join(f"{WHY[reason]}: {count}" for reason, count in counts.left_out.items())
    return f"{counts.agreed} people agreed, but no conversation of theirs can be published ({why or 'there is none'})."


def facts_of(study: Study, counts: Counts) -> Facts:
    return Facts(
        study=study.key,
        title=study.current().design["title"],
        emostudy=get_product_version(),
        signed=counts.signed,
        asked=counts.asked,
        agreed=counts.agreed,
        people=counts.people,
        conversations=counts.conversations,
        left_out=counts.left_out,
    )


def questionnaires(published: PublishedCounts) -> list[Questionnaire]:
    return [load(key) for key, items in published.answered.items() if items and key in instrument_ids()]


def hashes(folder: Path) -> dict[str, Any]:
    return {name: {"sha256": sha256(folder / name)} for name in (DIALOGUES, CARD)}
