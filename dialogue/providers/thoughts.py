"""Separates a model's thoughts from its text where the server sends both in one stream. Pure."""

from typing import Literal

OPEN, CLOSE = "<think>", "</think>"


class Thoughts:
    """A reader of `<think>…</think>` at the beginning of an answer, piece by piece, however the tags are cut.

    Later tags are text. What may still become a tag is held back, and the white space around the thought is dropped.
    """

    def __init__(self) -> None:
        self._state: Literal["before", "inside", "after", "over"] = "before"
        self._held = ""

    @property
    def over(self) -> bool:
        """Return True once everything that follows is text."""
        return self._state == "over"

    def take(self, piece: str) -> tuple[str, str]:
        """Return the thought and the text that the piece adds."""
        self._held += piece
        thought = ""
        if self._state == "before":
            self._look_for_beginning()
        if self._state == "inside":
            thought = self._look_for_end()
        if self._state == "after" and self._held.strip():
            self._held = self._held.lstrip()
            self._state = "over"
        return thought, self._rest() if self.over else ""

    def end(self) -> tuple[str, str]:
        """Return what was held back, as thought and as text. A thought that never ended is no text."""
        if self._state == "inside":
            return self._rest(), ""
        return "", self._rest()

    def _look_for_beginning(self) -> None:
        text = self._held.lstrip()
        if text.startswith(OPEN):
            self._held = text.removeprefix(OPEN)
            self._state = "inside"
        elif not OPEN.startswith(text):
            self._state = "over"

    def _look_for_end(self) -> str:
        thought, closed, rest = self._held.partition(CLOSE)
        if closed:
            self._held, self._state = rest, "after"
            return thought
        cut = len(self._held) - _half_written(self._held)
        thought, self._held = self._held[:cut], self._held[cut:]
        return thought

    def _rest(self) -> str:
        rest, self._held = self._held, ""
        return rest


def _half_written(text: str) -> int:
    """Return how many characters at the end of `text` begin the closing tag."""
    return next((size for size in range(len(CLOSE) - 1, 0, -1) if text.endswith(CLOSE[:size])), 0)
