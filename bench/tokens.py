"""What the mock's tokens tell: when each left it, and whether any is lost, repeated, out of order or another's."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

TOKEN = re.compile(r"w(\d+)@(\d+) ")
FIRST = re.compile(r"w0@(\d+)<(\d+)#([^ ]*) ")
ANY = re.compile(r"w(\d+)@(\d+)(?:<\d+#[^ ]*)? ")
LONGEST = 60  # characters of a token


@dataclass(frozen=True)
class Answer:
    """Milliseconds, see chat_load.py."""

    up: float
    down: float
    tokens: Sequence[float]
    tail: float

    @classmethod
    def of(cls, pieces: Sequence[tuple[int, str]], *, sent: int, end: int, not_before: float = 0) -> "Answer | None":
        """`None` where there is no first token. All times in microseconds of the one monotonic clock. No token
        counts as sent earlier than `not_before` milliseconds after the request: a second line may answer later."""
        seen = list(arrivals(pieces))
        first = FIRST.search("".join(piece for _, piece in pieces))
        if first is None or not seen:
            return None
        left, received = int(first[1]), int(first[2])
        earliest = received + int(1000 * not_before)
        seen = [(at, max(emitted, earliest)) for at, emitted in seen]
        up, down = (received - sent) / 1000, (seen[0][0] - max(left, earliest)) / 1000
        return cls(up, down, [(at - emitted) / 1000 for at, emitted in seen], (end - seen[-1][1]) / 1000)


def arrivals(pieces: Sequence[tuple[int, str]]):
    """(seen, emitted) of each token, when its last character came; a token may be cut into several pieces."""
    rest = ""
    for at, piece in pieces:
        rest += piece
        end = 0
        for match in ANY.finditer(rest):
            yield at, int(match[2])
            end = match.end()
        rest = rest[end:]


def damage(text: str, expected: int, nonce: str) -> Counter[str]:
    """How often each kind of harm is in one answer of `expected` tokens."""
    numbers = [int(match[1]) for match in ANY.finditer(text)]
    first = FIRST.search(text)
    return Counter(
        lost=len(set(range(expected)) - set(numbers)),
        repeated=len(numbers) - len(set(numbers)),
        misordered=int(numbers != sorted(numbers)),
        strayed=int(first is not None and first[3] != nonce),
        empty=int(first is None),
    )


def quantiles(values: Sequence[float]) -> dict[str, float] | None:
    ordered = sorted(values)
    if not ordered:
        return None
    cuts = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
    return {name: ordered[min(len(ordered) - 1, int(cut * len(ordered)))] for name, cut in cuts.items()} | {
        "max": ordered[-1]
    }
