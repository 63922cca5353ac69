"""Two study files side by side. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

AROUND = 2  # lines of context before and after a change


@dataclass(frozen=True)
class Line:
    """A line of both versions. `kind`: same, changed, removed, added, or gap, where equal lines are left out."""

    kind: str
    before: str = ""
    after: str = ""


def compare(before: str, after: str) -> Iterator[Line]:
    """Yield the lines of two texts side by side, as far as they differ, with some lines around each change."""
    old, new = before.splitlines(), after.splitlines()
    last = 0
    for group in SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(AROUND):
        if group[0][1] > last:
            yield Line("gap")
        for kind, low, high, new_low, new_high in group:
            yield from pair(kind, old[low:high], new[new_low:new_high])
        last = group[-1][2]
    if last < len(old):
        yield Line("gap")


def pair(kind: str, old: Sequence[str], new: Sequence[str]) -> Iterator[Line]:
    """Yield the lines of one block; where one side is longer, its last lines stand alone."""
    if kind == "equal":
        yield from (Line("same", line, line) for line in old)
        return
    both = min(len(old), len(new))
    yield from (Line("changed", *lines) for lines in zip(old[:both], new[:both], strict=True))
    yield from (Line("removed", line) for line in old[both:])
    yield from (Line("added", after=line) for line in new[both:])
