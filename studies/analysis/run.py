"""One analysis from folder to folder: everything is read before anything is computed, and computed before anything is
written."""

import gc
import os
import sys
import threading
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from multiprocessing import current_process, get_context
from numbers import Integral
from pathlib import Path
from typing import Any

import pandas as pd  # noqa: TID253
from threadpoolctl import threadpool_limits

from dialogue.languages import LANGUAGES
from studies.analysis import AnalysisError, Progress, Summary
from studies.analysis.bootstrap import Bootstrap
from studies.analysis.checking import check
from studies.analysis.frames import Export, load
from studies.analysis.language import ENGLISH, report_file, speaking
from studies.analysis.output_folder import (
    FILES,
    listing_of,
    new_folder,
    refuse_files_of_others,
    refuse_input_folder,
    replace_results,
)
from studies.analysis.reporting.page import page
from studies.analysis.reporting.paper import paper_of
from studies.analysis.reporting.parts import Section, figures_in
from studies.analysis.reporting.sections import sections_of
from studies.analysis.reporting.study import title_of
from studies.analysis.results import Results, to_csv
from studies.analysis.tables.registry import TABLES
from studies.analysis.tables.roles import fill_roles
from studies.analysis.tables.table import Table

JACKKNIFE, RESAMPLES = "jackknife", "bootstrap"  # where the intervals of correlations come from
REPORTS = {language.html: report_file(language) for language in LANGUAGES}


def run(folder: Path, out: Path, resampling: Bootstrap, *, on_progress: Progress) -> Summary:
    export = load(folder)
    check(folder)
    refuse_input_folder(folder, out)
    refuse_files_of_others(out, [*(table.file_name() for table in TABLES), *REPORTS.values(), "results.json", FILES])
    with new_folder(out):
        results = compute(export, resampling, on_progress)
        files = files_of(results, partial(on_progress, len(TABLES), len(TABLES) + 1))
        files |= {FILES: listing_of(files)}
        replace_results(files, out)
    on_progress(len(TABLES) + 1, len(TABLES) + 1, "done")
    return _summary(results, list(files))


def settings(bootstrap: int, seed: int, correlations: str = JACKKNIFE) -> Bootstrap:
    if not (isinstance(bootstrap, Integral) and isinstance(seed, Integral)):
        raise AnalysisError(f"bootstrap and seed must be whole numbers, not {bootstrap!r} and {seed!r}")
    if bootstrap < 1 or seed < 0:
        raise AnalysisError(f"bootstrap must be at least 1 and seed at least 0, not {bootstrap} and {seed}")
    if correlations not in (JACKKNIFE, RESAMPLES):
        raise AnalysisError(f"correlations must be {JACKKNIFE} or {RESAMPLES}, not {correlations!r}")
    return Bootstrap(bootstrap, seed, draws_r=correlations == RESAMPLES)


def compute(export: Export, bootstrap: Bootstrap, on_progress: Progress, names: Collection[str] = ()) -> Results:
    """Compute tables; without `names` all. Linear algebra has one thread, so that its sums keep their order."""
    if isinstance(names, str):
        raise AnalysisError(f"tables must be a list of names, as in [{names!r}], not a text")
    unknown = set(names) - {table.name for table in TABLES}
    if unknown:
        raise AnalysisError(f"there is no table {', '.join(sorted(unknown))}")
    selected = tuple(table for table in TABLES if not names or table.name in names)
    tables: dict[str, pd.DataFrame] = {}
    with threadpool_limits(limits=1), _beside((export, bootstrap)) as beside:
        alone = [table for table in selected if not table.reads_tables]
        # The copy begins with the last one. What it has not begun when its turn comes here is computed here.
        there = {table.name: beside.submit(_compute_there, table.name) for table in reversed(alone)} if beside else {}
        for place, table in enumerate(selected):
            tell = partial(on_progress, place, len(selected) + 1)
            if table.name in there and not there[table.name].cancel():
                tell(table.name)
                tables[table.name] = there[table.name].result()
                continue
            part = partial(table.compute, tables=dict(tables)) if table.reads_tables else table.compute
            tables[table.name] = _rows_of(replace(table, compute=part), export, bootstrap, tell)
    return Results(export, bootstrap, tables, selected)


def _compute_there(name: str) -> pd.DataFrame:
    table = next(table for table in TABLES if table.name == name)
    export, bootstrap = _held
    return _rows_of(table, export, bootstrap, lambda _part: None)


def _rows_of(table: Table, export: Export, bootstrap: Bootstrap, tell: Callable[[str], None]) -> pd.DataFrame:
    rows: list[dict[str, Any]] = []
    tell(table.name)
    for what, part in table.compute(export, bootstrap):
        rows += part
        tell(f"{table.name}: {what}")
    return pd.DataFrame(fill_roles(table, rows, export.roles), columns=table.all_columns())


def files_of(results: Results, tell: Callable[[str], None]) -> dict[str, bytes]:
    """Return the files by path under the folder of results. The files of the figures are in English."""
    translated = [language for language in REPORTS if language != ENGLISH]
    with _beside((results,)) as beside:
        others = {language: beside.submit(_report_there, language) for language in translated} if beside else {}
        plain = beside.submit(_plain_files_there) if beside else None
        sections = _sections(results, ENGLISH, tell)
        figures = {f"figures/{figure.name}.svg": figure.svg.encode() for figure in figures_in(sections)}
        with speaking(ENGLISH):
            paper = paper_of(sections, results, title_of(results.export))
        reports = {REPORTS[ENGLISH]: _page(results, sections, ENGLISH)}
        for language in translated:
            tell(REPORTS[language])
            report = others[language].result() if language in others else _report(results, language)
            reports[REPORTS[language]] = report
        tables, as_json = plain.result() if plain else _plain_files(results)
    return tables | figures | paper | {"results.json": as_json} | reports


def _plain_files(results: Results) -> tuple[dict[str, bytes], bytes]:
    """Return the tables by file, and results.json."""
    return {f"{name}.csv": to_csv(table) for name, table in results.file_tables.items()}, results.as_json()


def _plain_files_there() -> tuple[dict[str, bytes], bytes]:
    (results,) = _held
    return _plain_files(results)


def _report_there(language: str) -> bytes:
    (results,) = _held
    return _report(results, language)


_held: Any = ()  # what a copy of this process works on


def _hold(*things: Any) -> None:
    global _held
    _held = things


@contextmanager
def _beside(things: tuple[Any, ...]) -> Iterator[ProcessPoolExecutor | None]:
    """Give a copy of this process, which holds the things without being sent them.

    None where there is one processor, or where a copy is not allowed or not safe (other threads may hold locks).
    """
    if not _may_fork():
        yield None
        return
    with ProcessPoolExecutor(1, mp_context=get_context("fork"), initializer=_hold, initargs=things) as pool:
        gc.freeze()  # the search for garbage would write into memory that both share
        try:
            yield pool
        finally:
            pool.shutdown(cancel_futures=True)
            gc.unfreeze()


def _may_fork() -> bool:
    if sys.platform != "linux" or current_process().daemon or threading.active_count() > 1:
        return False
    return len(os.sched_getaffinity(0)) > 1


def _report(results: Results, language: str) -> bytes:
    return _page(results, _sections(results, language, lambda _section: None), language)


def _sections(results: Results, language: str, tell: Callable[[str], None]) -> list[Section]:
    with speaking(language):
        return sections_of(results, lambda section: tell(f"{REPORTS[language]}: {section}"))


def _page(results: Results, sections: list[Section], language: str) -> bytes:
    with speaking(language):
        others = {name: file for name, file in REPORTS.items() if name != language}
        return page(results, sections, others).encode()


def _summary(results: Results, files: list[str]) -> Summary:
    counts = results.counts()
    return Summary(
        ratings=counts["ratings"],
        conversations=counts["conversations"],
        participants=counts["participants"],
        rows={name: len(table) for name, table in results.file_tables.items()},
        files=files,
        warnings=results.limits(),
        demonstration=results.export.demonstration,
    )
