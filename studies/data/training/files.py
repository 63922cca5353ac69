"""FILE.jsonl, its two parts and its card: put in place together, or not at all."""

import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from studies.data.exports.destinations import ExportRefused, refuse_other_study, refuse_unusable_file
from studies.data.exports.files import sha256
from studies.data.exports.lines import format_line, open_private
from studies.data.training.rows import Row
from studies.data.training.split import SIDES

SUFFIX = ".jsonl"
ALL = ""  # stands for both sides together


@dataclass(frozen=True)
class Places:
    out: Path

    def rows(self) -> dict[str, Path]:
        """Return the files of rows by side.

        Every row is in FILE.jsonl and once more in FILE.train.jsonl or FILE.test.jsonl.
        """
        return {ALL: self.out, **{side: self.out.with_suffix(f".{side}{SUFFIX}") for side in SIDES}}

    @property
    def card(self) -> Path:
        return self.out.with_suffix(".card.json")

    def all(self) -> list[Path]:
        return [*self.rows().values(), self.card]


def refuse_foreign(out: Path, study: str) -> None:
    """Raise ExportRefused unless only an earlier export of the same study is written over."""
    if out.suffix != SUFFIX:
        raise ExportRefused(f"{out}: name a file that ends in {SUFFIX}.")
    places = Places(out)
    for path in places.all():
        refuse_unusable_file(path)
    there = [path for path in places.all() if path.exists()]
    earlier = earlier_card(places.card) if there else None
    if there and earlier is None:
        raise ExportRefused(f"{there[0]}: is there already and has no card of an earlier export. Name another file.")
    if earlier is not None:
        refuse_other_study(out, earlier.get("study"), study, kind="file")


def earlier_card(path: Path) -> dict[str, Any] | None:
    try:
        card = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return card if isinstance(card, dict) and "files" in card else None


class Writer:
    """A writer of rows into files of a folder that only this account can open."""

    def __init__(self, folder: Path, places: Places, stack: ExitStack) -> None:
        self.folder, self.places = folder, places
        self.files: dict[str, TextIO] = {
            side: stack.enter_context(open_private(folder / path.name)) for side, path in places.rows().items()
        }
        self.rows = dict.fromkeys(self.files, 0)

    def add(self, row: Row) -> None:
        text = format_line(row)
        for side in (ALL, row["split"]):
            self.files[side].write(text)
            self.rows[side] += 1

    def close(self) -> dict[str, dict[str, Any]]:
        """Close the files and return, by name, how many rows each has and its SHA-256. No row can be added after it."""
        for file in self.files.values():
            file.close()
        return {
            path.name: {"rows": self.rows[side], "sha256": sha256(self.folder / path.name)}
            for side, path in self.places.rows().items()
        }

    def put_in_place(self, card: Mapping[str, Any]) -> None:
        """Write the card and move all files to their places, the card first.

        After a crash between two of them its hashes tell which file is not of this export.
        """
        with open_private(self.folder / self.places.card.name) as file:
            file.write(json.dumps(card, ensure_ascii=False, indent=2) + "\n")
        for path in reversed(self.places.all()):
            (self.folder / path.name).replace(path)


@contextmanager
def writing(out: Path) -> Iterator[Writer]:
    folder = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    try:
        with ExitStack() as stack:
            yield Writer(folder, Places(out), stack)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
