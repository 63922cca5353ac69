"""Server-sent events, as the HTML standard has them (section 9.2.6), read from bytes however they are cut. Pure.

It departs from the standard once: an event whose blank line is missing at the end of the stream counts, since some
servers leave that line out.
"""

from typing import NamedTuple

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
FIELDS = (b"", b"data", b"event", b"id", b"retry")  # a comment is a line whose field has no name


class Event(NamedTuple):
    """One event. `name` is the value of its `event:` line, empty where there is none."""

    data: bytes
    name: bytes = b""


class EventStream:
    """A splitter of bytes into events, however they are cut. Comments and the fields `id` and `retry` are left out.

    `has_fields` is True once a line of an event stream has come. Until then it may be any text.
    """

    def __init__(self) -> None:
        self.has_fields = False
        self._rest: bytes = b""  # of a line that has not ended yet
        self._data: list[bytes] = []
        self._name = b""
        self._has_started = self._ended_in_cr = False

    def take(self, chunk: bytes) -> list[Event]:
        """Return the events that end in the chunk."""
        if not self._has_started:
            first = self._without_mark(chunk)
            if first is None:
                return []
            chunk = first
        if self._ended_in_cr and chunk:  # CR alone ends a line, so the LF of a CRLF that was cut is none of its own
            chunk, self._ended_in_cr = chunk.removeprefix(b"\n"), False
        if b"\r" in chunk:
            self._ended_in_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        return self._events(lines)

    def end(self) -> list[Event]:
        """Return the event that was cut off, where there is one."""
        rest, self._rest = self._rest, b""
        return self._events([rest, b""])

    def _without_mark(self, chunk: bytes) -> bytes | None:
        """Return the chunk without a byte order mark, or None as long as it may still be one."""
        first, self._rest = self._rest + chunk, b""
        if len(first) < len(BYTE_ORDER_MARK) and BYTE_ORDER_MARK.startswith(first):
            self._rest = first
            return None
        self._has_started = True
        return first.removeprefix(BYTE_ORDER_MARK)

    def _events(self, lines: list[bytes]) -> list[Event]:
        events = []
        for line in lines:
            if line.startswith(b"data:"):
                self._data.append(line[6:] if line.startswith(b"data: ") else line[5:])
            elif line:
                self._take_field(line)
            else:
                if self._data:
                    self.has_fields = True
                    events.append(Event(b"\n".join(self._data), self._name))
                self._data, self._name = [], b""
        return events

    def _take_field(self, line: bytes) -> None:
        field, _, value = line.partition(b":")
        self.has_fields = self.has_fields or field in FIELDS
        if field == b"data":
            self._data.append(b"")
        elif field == b"event":
            self._name = value.removeprefix(b" ")
