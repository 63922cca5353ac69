"""Pacing: show a growing reply in pieces, at an even pace, without the model's own name. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from dialogue.chat import self_identification

# replies at once for longer, so that up to a hundred of them take no more than a sixth of its time.
WINDOW, LONGEST_WINDOW = 0.08, 0.25
WINDOW_FOR_EACH = 0.0025


@dataclass(frozen=True)
class Pacing:
    """The common pace of all partners of a study.

    `floor`: seconds before the first character; `rate`: characters a second (None: as they come); `names`: the study's
    own names, hidden if `mask`.
    """

    floor: float = 0.0
    rate: float | None = None
    mask: bool = False
    names: Sequence[str] = ()

    def visible_text(self, text: str) -> str:
        """Return what the person reads of a whole reply."""
        return self_identification.mask(text, self.names) if self.mask else text

    def is_paced(self) -> bool:
        return bool(self.floor or self.rate)


def window_among(replies: int) -> float:
    """Return the window where so many replies are shown at once."""
    return min(LONGEST_WINDOW, max(WINDOW, replies * WINDOW_FOR_EACH))


class Pace:
    """The schedule of one reply and all attempts at it. Times are seconds of a monotonic clock."""

    def __init__(self, pacing: Pacing, asked_at: float) -> None:
        self.rate = pacing.rate
        self.next_at = asked_at + pacing.floor
        self.window = WINDOW

    def take(self, waiting: int, now: float) -> int:
        """Return how many of the `waiting` characters may be shown now.

        Unused time of a slow model is not saved up, or the text would burst after a stall.
        """
        if not waiting or now < self.next_at:
            return 0
        count = waiting if self.rate is None else min(waiting, max(1, round(self.rate * self.window)))
        spent = self.window if self.rate is None else count / self.rate
        self.next_at = max(self.next_at, now - self.window) + spent
        return count


class PacedReply:
    """One attempt at a reply.

    `text`: what has come; `visible_text`: what may be read of it; `sent`: how many characters of that are sent.
    """

    def __init__(self, pacing: Pacing, pace: Pace) -> None:
        self.pacing = pacing
        self.pace = pace
        self.text = self.visible_text = ""
        self.sent = 0
        self.whole = 0  # code points of `text` in whole sentences

    def add(self, piece: str) -> None:
        self.text += piece
        if not self.pacing.mask:
            self.visible_text = self.text
        elif (whole := self_identification.whole_sentences(self.text)) > self.whole:
            self.whole = whole
            self.visible_text = self.pacing.visible_text(self.text[:whole])

    def finish(self) -> None:
        """Make the last sentence visible, because nothing more comes."""
        self.visible_text = self.pacing.visible_text(self.text)

    def waits(self) -> bool:
        return self.sent < len(self.visible_text)

    def out(self) -> str:
        return self.visible_text[: self.sent]

    def take(self, now: float) -> str:
        """Return the next piece that may be shown; empty if it is too soon or nothing is there."""
        start = self.sent
        self.sent += self.pace.take(len(self.visible_text) - start, now)
        return self.visible_text[start : self.sent]
