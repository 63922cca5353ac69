"""The parts of a walk that are done, in a file of its folder, so that a continued walk does not begin them again.

Most commands leave out what is there already, but a judge would also judge what later parts have added.
"""

from dataclasses import dataclass
from pathlib import Path

from studies.judging.settings import digest
from studies.replication.walks import Part

NAME = "done.txt"


@dataclass(frozen=True)
class FinishedParts:
    """The finished parts. `terms`: what else must be the same, as the study's version and the number of profiles."""

    folder: Path
    terms: tuple[object, ...]

    def __contains__(self, part: Part) -> bool:
        path = self.folder / NAME
        return path.exists() and self.sign(part) in path.read_text(encoding="utf-8").split()

    def add(self, part: Part) -> None:
        with (self.folder / NAME).open("a", encoding="utf-8") as file:
            file.write(f"{self.sign(part)}\n")

    def sign(self, part: Part) -> str:
        return digest([*self.terms, *part.line])
