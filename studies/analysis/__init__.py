"""Analysis of an export folder: `analyse` and what it raises and returns. Importing this costs no pandas."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

Progress = Callable[[int, int, str], None]


class AnalysisError(Exception):
    """The input cannot be analysed: one line that names file, line and column where there are such."""


@dataclass(frozen=True)
class Summary:
    """What a run read and wrote; `files` are relative to `out`."""

    ratings: int
    conversations: int
    participants: int
    rows: dict[str, int]
    files: list[str]
    warnings: list[str]
    demonstration: bool

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def analyse(
    folder: Path, out: Path, *, bootstrap: int = 2000, seed: int = 1, on_progress: Progress | None = None
) -> Summary:
    """Analyse the export in `folder` and write tables, figures, report.html and results.json into `out`.

    `bootstrap` is the number of replicates; `on_progress(done, total, what)` is called before each part.
    The same folder, settings and versions give the same bytes. Raises `AnalysisError` before anything is written.
    """
    from studies.analysis.run import run

    return run(folder, out, bootstrap=bootstrap, seed=seed, on_progress=on_progress or _silent)


def _silent(done: int, total: int, what: str) -> None:
    pass
