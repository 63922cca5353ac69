"""Simulated studies, counted: in how many does the interval hold what was planted?"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass

from scipy.stats import binomtest  # noqa: TID253
from threadpoolctl import threadpool_limits

from tests.coverage.cells import CELLS, WANTED, Cell

AT_ONCE = 50  # studies that a process is given
REPLICATES = 2_000  # of each bootstrap

Tell = Callable[[int], None]


@dataclass(frozen=True)
class Counted:
    """`without`: studies that gave no interval."""

    key: str  # of the cell
    held: int
    missed: int
    without: int

    @property
    def studies(self) -> int:
        return self.held + self.missed

    @property
    def coverage(self) -> float:
        return self.held / self.studies

    def interval(self) -> tuple[float, float]:
        """Wilson's, of 95 %."""
        found = binomtest(self.held, self.studies).proportion_ci(method="wilson")
        return float(found.low), float(found.high)

    def is_right(self) -> bool:
        """The coverage itself, not only its interval, lies where it should."""
        low, high = cell_of(self.key).family.wanted
        return low <= self.coverage <= high

    def verdict(self) -> str:
        cell = cell_of(self.key)
        if not cell.is_judged():
            return "few clusters"
        if self.is_right():
            return "met"
        return "outside" if cell.family.wanted == WANTED else "NOT MET"


def count_all(cells: Sequence[Cell], studies: int | None, processes: int, tell: Tell) -> list[Counted]:
    """`studies`: of each cell, None for its own number; `tell` hears of every so many studies that are done."""
    parts: dict[str, list[Counted]] = {cell.key: [] for cell in cells}
    with ProcessPoolExecutor(processes) as pool:
        spans = [(cell.key, *span) for cell in cells for span in spans_of(studies or cell.family.studies)]
        for done in as_completed([pool.submit(count_span, *span) for span in spans]):
            part = done.result()
            parts[part.key].append(part)
            tell(part.studies + part.without)
    return [sum_of(found) for found in parts.values()]


def spans_of(studies: int) -> Iterator[tuple[int, int]]:
    for first in range(0, studies, AT_ONCE):
        yield first, min(first + AT_ONCE, studies)


def count_span(key: str, first: int, last: int, replicates: int = REPLICATES) -> Counted:
    """Studies of these numbers, the last left out."""
    cell = cell_of(key)
    with threadpool_limits(1):
        found = [cell.holds(study, replicates) for study in range(first, last)]
    return Counted(key, found.count(True), found.count(False), found.count(None))


def cell_of(key: str) -> Cell:
    (cell,) = (one for one in CELLS if one.key == key)
    return cell


def sum_of(parts: list[Counted]) -> Counted:
    held, missed, without = (sum(getattr(part, name) for part in parts) for name in ("held", "missed", "without"))
    return Counted(parts[0].key, held, missed, without)


HEADER = ("cell", "interval of", "clusters", "planted", "studies", "coverage", "low", "high", "without", "verdict")


def rows_of(counted: list[Counted]) -> Iterator[tuple[str, ...]]:
    for one in counted:
        cell = cell_of(one.key)
        about = (
            one.key,
            cell.family.what,
            " × ".join(map(str, cell.kinds())),
            f"{cell.family.truth:.4f}",
            str(one.studies),
        )
        yield *about, *(f"{share:.3f}" for share in (one.coverage, *one.interval())), str(one.without), one.verdict()


def merged(table: str, counted: list[Counted]) -> str:
    """A table as `as_markdown` gives it, with these in the place of what it said of them; in the order of CELLS."""
    lines = {line.split(" | ")[0].removeprefix("| "): line for line in table.splitlines()}
    head, rule, *found = as_markdown(counted).splitlines()
    lines |= {line.split(" | ")[0].removeprefix("| "): line for line in found}
    return "\n".join([head, rule, *(lines[cell.key] for cell in CELLS if cell.key in lines)]) + "\n"


def as_markdown(counted: list[Counted]) -> str:
    lines = [HEADER, ("---", "---", *["---:"] * 7, "---"), *rows_of(counted)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
