"""Analysis of an export folder, for the command line and for notebooks.

    from studies.analysis import analyse, compute, load

    export = load(Path("data"))
    export.ratings                                   # one row per score
    tables = compute(export, tables=["agreement"])   # DataFrames by name
    analyse(Path("data"), Path("results"))           # files and report

Neither a database nor settings are needed, and importing this costs no pandas. docs/analysis_reference.md tells
what each table and column is.
"""

from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from studies.analysis.garbage import collect_rarely
from studies.analysis.notes import in_english

if TYPE_CHECKING:
    from pandas import DataFrame

    from studies.analysis.frames import Export

Progress = Callable[[int, int, str], None]


class AnalysisError(Exception):
    """The input cannot be analysed: one line that names file, line and column where there are such."""


@dataclass(frozen=True)
class Summary:
    """The numbers of what a run read and wrote; `files` are relative to `out`."""

    ratings: int
    conversations: int
    participants: int
    rows: dict[str, int]
    files: list[str]
    warnings: list[str]
    demonstration: bool

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def load(folder: Path | str) -> "Export":
    """Read an exported folder.

    Parameters
    ----------
    folder : Path or str
        Holds `ratings.csv`, and what else the export wrote.

    Returns
    -------
    Export
        Typed tables: `ratings` (one row per score), `conversations`, `chats`, `replies`, and what was left out.

    Raises
    ------
    AnalysisError
        Begins ``FILE:LINE:COLUMN:`` where a cell is at fault.
    """
    from studies.analysis.frames import load

    return load(Path(folder))


@collect_rarely()  # also while the packages are imported
def compute(
    export: "Export",
    *,
    tables: Collection[str] = (),
    bootstrap: int = 2000,
    seed: int = 1,
    correlations: str = "jackknife",
    on_progress: Progress | None = None,
) -> "dict[str, DataFrame]":
    """Compute tables of results.

    Parameters
    ----------
    export : Export
        What `load` gave.
    tables : collection of str, optional
        Names without ``.csv``, as in ``["agreement", "arms"]``; without them, all.
    bootstrap : int, optional
        Replicates for each interval.
    seed : int, optional
        Of the replicates.
    correlations : str, optional
        Where intervals and p of correlations and their differences come from: "jackknife" or "bootstrap".
    on_progress : callable, optional
        Called as ``on_progress(done, total, what)`` before each part.

    Returns
    -------
    dict of str to DataFrame
        One row per estimate; what could not be computed is nan with its reason in `note`. Statistics that files have
        as rows of sensitivity.csv are columns of their own tables here.

    Raises
    ------
    AnalysisError
        No such table, or odd settings.
    """
    from studies.analysis.run import compute, settings

    results = compute(export, settings(bootstrap, seed, correlations), on_progress or _silent, tables)
    return {name: table.map(in_english) for name, table in results.tables.items()}


@collect_rarely()
def analyse(
    folder: Path | str,
    out: Path | str,
    *,
    bootstrap: int = 2000,
    seed: int = 1,
    correlations: str = "jackknife",
    on_progress: Progress | None = None,
) -> Summary:
    """Analyse an exported folder and write tables, figures, reports and results.json.

    The same folder, settings, machine and versions give the same bytes: linear algebra runs in one thread.

    Parameters
    ----------
    folder : Path or str
        The export; nothing is written into it, so `out` may be neither it nor inside or around it.
    out : Path or str
        Where the results go; it is made where it is not there. What an earlier run wrote there is removed.
    bootstrap : int, optional
        Replicates for each interval.
    seed : int, optional
        Of the replicates.
    correlations : str, optional
        Where intervals and p of correlations and their differences come from: "jackknife" or "bootstrap".
    on_progress : callable, optional
        Called as ``on_progress(done, total, what)`` before each part.

    Returns
    -------
    Summary
        Counts, files and warnings.

    Raises
    ------
    AnalysisError
        Before anything is written.
    """
    from studies.analysis.run import run, settings

    tell = on_progress or _silent
    resampling = settings(bootstrap, seed, correlations)
    return run(Path(folder), Path(out), resampling, on_progress=tell)


def _silent(done: int, total: int, what: str) -> None:
    pass
