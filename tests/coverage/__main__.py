"""`python -m tests.coverage`: how often the intervals of the analysis hold what was planted.

Thousands of studies are simulated for each cell of tests/coverage/cells.py. The share whose interval of 95 % holds the
planted value stands with its Wilson interval. Where there are 50 clusters or more it must itself lie in 94 to 96 % for
correlations and their differences of one kind of clusters, else this ends with 1. Others are met from 93.5 to 96.5 %,
and those outside are named.
"""

import argparse
import csv
import os
import sys
from pathlib import Path

from tqdm import tqdm

from tests.coverage.cells import CELLS, Cell, from_draws
from tests.coverage.run import HEADER, Counted, as_markdown, count_all, merged, rows_of

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs" / "developers" / "coverage.md"
TABLE = "| cell |"  # how the table there begins


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.coverage", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--replicates", type=int, metavar="N", help="simulated studies of each cell (default: its own)")
    parser.add_argument("--cells", nargs="+", metavar="CELL", help="these alone, or all whose name begins so")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), metavar="N")
    parser.add_argument("--out", type=Path, default=ROOT / "var" / "coverage.csv", metavar="FILE")
    parser.add_argument("--docs", action="store_true", help="write the cells into docs/developers/coverage.md")
    parser.add_argument("--truths", action="store_true", help="only print the planted values that have no formula")
    return parser.parse_args()


def wanted(names: list[str] | None) -> list[Cell]:
    return [cell for cell in CELLS if names is None or cell.key.startswith(tuple(names))]


def keep(found: list[Counted], out: Path) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(HEADER)
        writer.writerows(rows_of(found))


def put_into_docs(found: list[Counted]) -> None:
    """Into the table that is there, which ends the file; cells that were not run stay as they are."""
    text, head, rest = DOCS.read_text(encoding="utf-8").partition(TABLE)
    DOCS.write_text(text + merged(head + rest, found), encoding="utf-8")


def main() -> int:
    given = arguments()
    if given.truths:
        print(from_draws(1_000_000))
        return 0
    cells = wanted(given.cells)
    total = sum(given.replicates or cell.family.studies for cell in cells)
    with tqdm(total=total, desc="studies", file=sys.stderr) as bar:
        found = count_all(cells, given.replicates, given.processes, bar.update)
    print(as_markdown(found))
    keep(found, given.out)
    if outside := [one.key for one in found if one.verdict() in ("outside", "NOT MET")]:
        print(f"outside: {', '.join(outside)}")
    if given.docs:
        put_into_docs(found)
    return int(any(one.verdict() == "NOT MET" for one in found))


if __name__ == "__main__":
    sys.exit(main())
