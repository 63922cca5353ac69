"""The tables of results that stand beside a paper's numbers, without the figures and the report of a whole analysis."""

from pathlib import Path

from studies.analysis import compute, load
from studies.replication.papers import Paper


def write_tables(folder: Path, out: Path, paper: Paper, *, bootstrap: int, seed: int) -> None:
    out.mkdir(exist_ok=True)
    found = compute(load(folder), tables=paper.tables(), bootstrap=bootstrap, seed=seed)
    for name, table in found.items():
        table.to_csv(out / f"{name}.csv", index=False, lineterminator="\n")
