"""The places where an export may be written: never over anything else than an earlier one of the same study, of which
the manifest names the files."""

import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

MANIFEST = "manifest.json"


class ExportRefused(Exception):
    """The refusal of an export: nothing was written, and the message says why."""


def refuse_unusable_folder(out: Path) -> None:
    """Raise ExportRefused if the folder cannot be written. A missing folder is made, with those around it."""
    there = [path for path in (out, *out.parents) if os.path.lexists(path)]
    if not there[0].is_dir():
        raise ExportRefused(f"{there[0]}: is a file, not a folder.")
    around = next((path for path in there if path != out), out.parent)
    try:
        TemporaryDirectory(dir=around).cleanup()  # permissions alone do not tell: root has them for all
    except OSError as error:
        raise ExportRefused(f"{out}: nothing can be written in {around}: {error.strerror}.") from error


def refuse_unusable_file(out: Path) -> None:
    """Raise ExportRefused if the folder is missing, which is a typing error, or if a device or a pipe would be lost."""
    if not out.parent.is_dir():
        raise ExportRefused(f"{out}: there is no folder {out.parent}.")
    if out.exists() and not out.is_file():
        raise ExportRefused(f"{out}: is there already and is no ordinary file. Name another file.")


def refuse_other_study(out: Path, holds: object, study: str, *, kind: str) -> None:
    if holds != study:
        raise ExportRefused(f"{out}: holds an export of the study {holds!r}. Name another {kind}.")


def read_earlier_manifest(folder: Path) -> dict[str, Any] | None:
    """Return the manifest of an export; None where a folder holds none."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return manifest if isinstance(manifest, dict) and isinstance(manifest.get("files"), dict) else None


def remove_export(path: Path) -> bool:
    """Remove a file, or of a folder what its manifest names: what others put beside an export is not ours."""
    if not path.is_dir():
        existed = path.exists()
        path.unlink(missing_ok=True)
        return existed
    manifest = read_earlier_manifest(path)
    if manifest is None:
        return False
    for name in (*manifest["files"], MANIFEST):
        (path / name).unlink(missing_ok=True)
    for folder in (*sorted((each for each in path.rglob("*") if each.is_dir()), reverse=True), path):
        if not any(folder.iterdir()):
            folder.rmdir()
    return True
