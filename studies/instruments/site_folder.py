"""The instruments that were made on this site: files in a folder of its own, which every process reads again when they
change. Pure but for reading them."""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from dialogue.documents import DocumentError, Fault
from dialogue.documents import translate as _
from studies.instruments.definitions import Questionnaire

log = logging.getLogger(__name__)

LOOK_AGAIN = 1.0  # seconds; a file that is written in place does not change the time stamp of its folder
Stamp = tuple[int, ...]


@dataclass(frozen=True)
class SiteFile:
    """A file as it was read; None where it is faulty. The stamp tells whether it is still the same."""

    stamp: Stamp
    questionnaire: Questionnaire | None


@dataclass(frozen=True)
class Contents:
    """The files of the folder as they were found at one time, by the id that their names give."""

    folder_stamp: int
    looked_at: float
    files: Mapping[str, SiteFile] = field(default_factory=dict)
    instruments: Mapping[str, Questionnaire] = field(default_factory=dict)


NOTHING = Contents(folder_stamp=-1, looked_at=0.0)


class SiteFolder:
    """The folder. A faulty file is left out, and so is one whose id another instrument has."""

    def __init__(self, read: Callable[[Path], Questionnaire], is_taken: Callable[[str], bool]) -> None:
        self.read, self.is_taken = read, is_taken
        self.folder: Path | None = None
        self._contents = NOTHING

    def set_folder(self, folder: Path | None) -> None:
        """Read instruments from this folder, which need not exist yet."""
        self.folder = folder
        self.forget()

    def forget(self) -> None:
        """Read each file again when it is next asked for."""
        self._contents = NOTHING

    def look_again(self) -> None:
        """Look at the folder when it is next asked, even if its time stamp is the same: it can be a moment coarse."""
        self._contents = replace(self._contents, folder_stamp=-1)

    @property
    def instruments(self) -> Mapping[str, Questionnaire]:
        """Return the instruments by id."""
        return self._look().instruments

    def path_of(self, instrument_id: str) -> Path | None:
        """Return the file of an instrument; None if it is not from here."""
        return self.folder / f"{instrument_id}.json" if self.folder and instrument_id in self.instruments else None

    def find_faults(self) -> Mapping[str, DocumentError]:
        """Return what is wrong with the files that are left out, by the id that their names give."""
        faults = {}
        for id, file in self._look().files.items():
            if file.questionnaire is None and self.folder:
                try:
                    self._read_own(self.folder / f"{id}.json")
                except DocumentError as error:
                    faults[id] = error
        return faults

    def _look(self) -> Contents:
        """Return what the folder holds now. Most of the time this only asks for its time stamp."""
        try:
            stamp = self.folder.stat().st_mtime_ns if self.folder else -1
        except OSError:  # there is no such folder before the first instrument
            stamp = -1
        if self.folder is None or stamp == -1:
            return NOTHING
        known, now = self._contents, time.monotonic()
        if stamp != known.folder_stamp or now - known.looked_at > LOOK_AGAIN:
            paths = sorted(self.folder.glob("*.json"))
            files = {path.stem: self._read_anew(path, known.files.get(path.stem)) for path in paths}
            instruments = {id: file.questionnaire for id, file in files.items() if file.questionnaire}
            self._contents = known = Contents(stamp, now, files, instruments)
        return known

    def _read_anew(self, path: Path, known: SiteFile | None) -> SiteFile:
        """Return a file: the one that is known if it is still the same, so that there is one object of each."""
        stamp = self._stamp_of(path)
        if known and known.stamp == stamp:
            return known
        try:
            return SiteFile(stamp, self._read_own(path))
        except DocumentError as error:
            log.error("An instrument of this site is left out: %s", error)
            return SiteFile(stamp, None)

    def _stamp_of(self, path: Path) -> Stamp:
        try:
            status = path.stat()
        except OSError:  # it was removed just now, or is a link to nowhere
            return ()
        return (status.st_mtime_ns, status.st_size, status.st_ino, self.is_taken(path.stem))

    def _read_own(self, path: Path) -> Questionnaire:
        if self.is_taken(path.stem):
            raise DocumentError(path.name, [Fault("id", _("there is an instrument of this id already"))])
        return self.read(path)
