"""Questionnaires of this site as files: stored, replaced and removed, each time with an entry of the audit log."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from tempfile import mkstemp
from typing import Any

from django.db import transaction

from dialogue.documents import check_size
from studies.audit.chain import INSTALLATION, record
from studies.instruments.loading import LARGEST_FILE, SITE, read_object
from studies.models import AuditEntry


class IdTaken(Exception):
    """Another questionnaire has this id; it may have been made a moment ago."""


class ChangedMeanwhile(Exception):
    """Someone else has changed or deleted the questionnaire that was to be replaced."""


def get_folder() -> Path:
    """Return the folder, which is made with the first questionnaire."""
    if SITE.folder is None:
        raise RuntimeError("the folder of instruments is set when Django starts")
    SITE.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return SITE.folder


@transaction.atomic
def store(instrument_id: str, data: Mapping[str, Any], *, replaces: str | None = None) -> None:
    """Store a questionnaire in one step, so that no process reads half of it.

    `replaces`: the version that it takes the place of; None for a new one. Raise IdTaken, ChangedMeanwhile and
    DocumentError.
    """
    content = json.dumps(data, ensure_ascii=False, indent=2).encode()
    check_size(content, f"{instrument_id}.json", limit=LARGEST_FILE)
    folder = get_folder()
    path = folder / f"{instrument_id}.json"
    number, name = mkstemp(dir=folder, prefix=".new-")
    try:
        with os.fdopen(number, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(number)
        record_change(instrument_id)  # from here on, everyone else who stores one waits for the chain of the log
        if replaces is None:
            link_new(Path(name), path)
        elif not path.exists() or read_object(path)["version"] != replaces:
            raise ChangedMeanwhile
        else:
            Path(name).replace(path)
    finally:
        Path(name).unlink(missing_ok=True)
    SITE.look_again()


def link_new(file: Path, path: Path) -> None:
    """Give the file its name. Unlike renaming, this overwrites nothing."""
    try:
        path.hardlink_to(file)
    except FileExistsError as error:
        raise IdTaken from error


@transaction.atomic
def remove(instrument_id: str) -> None:
    record_change(instrument_id)
    (get_folder() / f"{instrument_id}.json").unlink()
    SITE.look_again()


def record_change(instrument_id: str) -> None:
    record(INSTALLATION, AuditEntry.Act.CHANGED, AuditEntry.Thing.QUESTIONNAIRE, instrument_id)
