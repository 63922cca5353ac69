"""How a growing reply comes onto the screen: in pieces, at an even pace, without the model's own name. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from dialogue import naming

WINDOW = 0.08  # seconds for which pieces are gathered before they are sent: a frame costs the server 0.2 ms


@dataclass(frozen=True)
class Evenness:
    """What makes all partners of a study alike: `floor` in seconds, `rate` in characters a second (None: as they
    come), and the study's own names, hidden where `mask` says so."""

    floor: float = 0.0
    rate: float | None = None
    mask: bool = False
    names: Sequence[str] = ()

    def shown(self, text: str) -> str:
        """What the person reads of a whole reply."""
        return naming.masked(text, self.names) if self.mask else text

    def is_paced(self) -> bool:
        return bool(self.floor or self.rate)


class Pace:
    """When how much may be shown, for one reply and all attempts at it. Times are seconds of a monotonic clock."""

    def __init__(self, evenness: Evenness, asked_at: float) -> None:
        self.rate = evenness.rate
        self.next_at = asked_at + evenness.floor

    def take(self, waiting: int, now: float) -> int:
        """How many of the `waiting` characters may be shown now. What a slow model leaves unused is not saved up, or
        the text would burst after a stall."""
        if not waiting or now < self.next_at:
            return 0
        count = waiting if self.rate is None else min(waiting, max(1, round(self.rate * WINDOW)))
        spent = WINDOW if self.rate is None else count / self.rate
        self.next_at = max(self.next_at, now - WINDOW) + spent
        return count


class Showing:
    """One attempt at a reply. `text` is what came, `shown` what may be read of it, `sent` how much of that is out."""

    def __init__(self, evenness: Evenness, pace: Pace) -> None:
        self.evenness = evenness
        self.pace = pace
        self.text = self.shown = ""
        self.sent = 0
        self.whole = 0  # code points of `text` in whole sentences

    def add(self, piece: str) -> None:
        self.text += piece
        if not self.evenness.mask:
            self.shown = self.text
        elif (whole := naming.whole_sentences(self.text)) > self.whole:
            self.whole = whole
            self.shown = self.evenness.shown(self.text[:whole])

    def finish(self) -> None:
        """Nothing more comes: the last sentence is whole, however it ends."""
        self.shown = self.evenness.shown(self.text)

    def waits(self) -> bool:
        return self.sent < len(self.shown)

    def out(self) -> str:
        return self.shown[: self.sent]

    def take(self, now: float) -> str:
        """The next piece that may be shown; empty where it is too soon or nothing is there."""
        begin = self.sent
        self.sent += self.pace.take(len(self.shown) - begin, now)
        return self.shown[begin : self.sent]
