"""The tables of results that stand beside a paper's numbers, without the figures and the report of a whole analysis."""

from pathlib import Path

from studies.analysis import load
from studies.analysis.output_folder import FILES, listing_of, new_folder, replace_results
from studies.analysis.results import to_csv
from studies.analysis.run import compute, settings
from studies.analysis.tables.registry import TABLES
from studies.replication.papers import Paper


def write_tables(folder: Path, out: Path, paper: Paper, *, bootstrap: int, seed: int) -> None:
    names = [table.name for table in TABLES if (table.file or table.name) in paper.tables()]
    results = compute(load(folder), settings(bootstrap, seed), lambda *_: None, names)
    files = {f"{name}.csv": to_csv(table) for name, table in results.file_tables.items()}
    with new_folder(out):
        replace_results(files | {FILES: listing_of(files)}, out)
