"""All websocket frames, both directions (docs/interfaces.md). None names the supporter. Pure."""

import json
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

NEXT = "/study/"
MAX_CHARACTERS = 4000
MAX_SEQ = 2**53 - 1  # what JavaScript counts exactly
LONGEST_MS = 24 * 3600 * 1000  # a page may stand open over night

ErrorCode = Literal["bad_frame", "too_long", "empty", "busy", "paused", "held", "closed", "rate"]


@dataclass(frozen=True)
class Resume:
    after: int


@dataclass(frozen=True)
class Timing:
    """The timing of a message as the page measured it: milliseconds, a count, a truth value."""

    reading_ms: int
    typing_ms: int
    focus_losses: int
    pasted: bool


@dataclass(frozen=True)
class SeekerMessage:
    id: str
    text: str
    timing: Timing | None = None


@dataclass(frozen=True)
class Retry:
    pass


@dataclass(frozen=True)
class Seen:
    seq: int


@dataclass(frozen=True)
class End:
    early: bool


Incoming = Resume | SeekerMessage | Retry | Seen | End


class BadFrame(ValueError):
    """The frame is unknown or malformed; the text says what is wrong."""


def parse(text: str | None) -> Incoming:
    try:
        frame = json.loads(text or "")
    except (ValueError, RecursionError) as error:
        raise BadFrame("The frame is not JSON.") from error
    if not isinstance(frame, dict):
        raise BadFrame("The frame is not a JSON object.")
    match frame.get("type"):
        case "resume":
            return Resume(after=_number(frame, "after"))
        case "message":
            return SeekerMessage(id=_identifier(frame), text=_text(frame), timing=_timing(frame.get("timing")))
        case "retry":
            return Retry()
        case "seen":
            return Seen(seq=_number(frame, "seq"))
        case "end":
            return End(early=_truth(frame, "early"))
    raise BadFrame("The frame's type is not known.")


def _number(frame: dict[str, Any], key: str) -> int:
    value = frame.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MAX_SEQ:
        raise BadFrame(f"'{key}' must be a whole number from 0.")
    return value


def _truth(frame: dict[str, Any], key: str) -> bool:
    value = frame.get(key)
    if not isinstance(value, bool):
        raise BadFrame(f"'{key}' must be true or false.")
    return value


def _timing(timing: Any) -> Timing | None:
    if timing is None:
        return None
    if not isinstance(timing, dict):
        raise BadFrame("'timing' must be an object.")
    return Timing(
        reading_ms=min(_number(timing, "reading_ms"), LONGEST_MS),
        typing_ms=min(_number(timing, "typing_ms"), LONGEST_MS),
        focus_losses=min(_number(timing, "focus_losses"), LONGEST_MS),
        pasted=_truth(timing, "pasted"),
    )


def _identifier(frame: dict[str, Any]) -> str:
    value = frame.get("id")
    if not isinstance(value, str) or not 1 <= len(value) <= 64 or not value.isprintable():
        raise BadFrame("'id' must be a text of 1 to 64 characters, such as a UUID.")
    return value


def _text(frame: dict[str, Any]) -> str:
    """Return the message as it can be stored: databases accept neither NUL nor a lone surrogate."""
    value = frame.get("text")
    if not isinstance(value, str):
        raise BadFrame("'text' must be a text.")
    return value.replace("\x00", "").encode("utf-8", "replace").decode("utf-8")


class Outgoing:
    type: ClassVar[str]

    def encode(self) -> str:
        fields = {key: value for key, value in vars(self).items() if value is not None}
        return json.dumps({"type": self.type, **fields}, ensure_ascii=False)


@dataclass(frozen=True)
class Ack(Outgoing):
    type: ClassVar[str] = "ack"
    id: str
    turn: int


@dataclass(frozen=True)
class StoredMessage(Outgoing):
    type: ClassVar[str] = "message"
    seq: int
    turn: int
    id: str
    text: str
    sent_at: str | None = None  # UTC, to the minute, as the page tells it


@dataclass(frozen=True)
class Chunk(Outgoing):
    type: ClassVar[str] = "chunk"
    seq: int
    turn: int
    at: int
    text: str


@dataclass(frozen=True)
class StoredReply(Outgoing):
    type: ClassVar[str] = "reply"
    seq: int
    turn: int
    text: str
    sent_at: str | None = None  # when the whole reply was stored, likewise


@dataclass(frozen=True)
class Pause(Outgoing):
    type: ClassVar[str] = "pause"
    seq: int
    turn: int
    next: str = NEXT
    by: str | None = None  # "team", where no rating is due


@dataclass(frozen=True)
class Help(Outgoing):
    type: ClassVar[str] = "help"
    seq: int
    turn: int
    level: int


@dataclass(frozen=True)
class Held(Outgoing):
    type: ClassVar[str] = "held"
    seq: int
    turn: int
    next: str = NEXT


@dataclass(frozen=True)
class Failed(Outgoing):
    type: ClassVar[str] = "failed"
    seq: int
    turn: int


@dataclass(frozen=True)
class Closed(Outgoing):
    type: ClassVar[str] = "closed"
    seq: int
    next: str = NEXT


@dataclass(frozen=True)
class Superseded(Outgoing):
    type: ClassVar[str] = "superseded"


@dataclass(frozen=True)
class Error(Outgoing):
    type: ClassVar[str] = "error"
    code: ErrorCode
    detail: str


# Frames that are sent again on `resume`.
Numbered = StoredMessage | StoredReply | Help
