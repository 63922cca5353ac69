"""The tables of results that stand beside a paper's numbers, without the figures and the report of a whole analysis."""

from pathlib import Path

from studies.analysis import compute, load
from studies.analysis.output_folder import FILES, listing_of, new_folder, replace_results
from studies.replication.papers import Paper


def write_tables(folder: Path, out: Path, paper: Paper, *, bootstrap: int, seed: int) -> None:
    tables = compute(load(folder), tables=paper.tables(), bootstrap=bootstrap, seed=seed)
    files = {f"{name}.csv": table.to_csv(index=False, lineterminator="\n").encode() for name, table in tables.items()}
    with new_folder(out):
        replace_results(files | {FILES: listing_of(files)}, out)
