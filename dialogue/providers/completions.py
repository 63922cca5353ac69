"""Chat completions in OpenAI's form: the request, and the answer, streamed or in one piece. Pure: any client may bring
the bytes."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import orjson

from dialogue.providers.base import Message, ModelSettings, OnText, ProviderError, Reply
from dialogue.providers.characters import clean_text, split_first_half
from dialogue.providers.event_stream import BYTE_ORDER_MARK, Event, EventStream
from dialogue.providers.server_errors import (
    ServerFailure,
    ServerReport,
    error_for_no_completion,
    error_for_report,
    find_report,
    hide_key,
)
from dialogue.providers.thoughts import Thoughts

LARGEST = 2**24  # bytes of an answer that comes in one piece
BROKE_OFF = "The stream broke off."
THOUGHTS = ("thinking", "reasoning", "reasoning_content")  # kinds of parts that are not the answer's text


class Piece(NamedTuple):
    """The text, reasoning and facts that one event of a stream adds to an answer."""

    text: str = ""
    reasoning: str = ""
    refusal: str = ""
    finish_reason: str = ""
    model: str = ""
    usage: Mapping[str, Any] | None = None
    done: bool = False


def request_body(settings: ModelSettings, messages: Sequence[Message]) -> dict[str, Any]:
    """Return the body of a request, without the options of streaming."""
    return {
        "model": settings.model,
        "messages": [{"role": message.role, "content": message.text} for message in messages],
        **{name: value for name, value in settings.parameters().items() if value is not None},
        **settings.request_options(),
    }


# Reading


class UnreadableError(ServerFailure):
    """An answer that cannot be read to its end. Asking again may help."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail

    def as_provider_error(self, base_url: str, *, hide: str, partial: str = "") -> ProviderError:
        return ProviderError("network", hide_key(self.detail, hide), partial=partial)


class ReportedError(UnreadableError):
    """An answer in which the server reports a failure. `otherwise` is the HTTP status where the report names none."""

    def __init__(self, report: ServerReport, *, otherwise: int) -> None:
        super().__init__(report.message)
        self.report, self.otherwise = report, otherwise

    def as_provider_error(self, base_url: str, *, hide: str, partial: str = "") -> ProviderError:
        return error_for_report(self.report, otherwise=self.otherwise, hide=hide, partial=partial)


class NoCompletionError(UnreadableError):
    """An answer that is no completion. `detail` names what came instead, such as `a web page`."""

    def as_provider_error(self, base_url: str, *, hide: str, partial: str = "") -> ProviderError:
        return error_for_no_completion(base_url, self.detail)


def is_cut_off(error: Exception) -> bool:
    """Return whether JSON could be read up to where it ends, so that the rest of it is missing."""
    if isinstance(error, UnicodeDecodeError):
        return error.reason == "unexpected end of data"
    if not isinstance(error, json.JSONDecodeError):
        return False
    return error.msg.startswith("Unterminated string") or error.pos >= len(error.doc.rstrip())


class CompletionReader:
    """A reader of an answer that hands each piece to `take`. Raises UnreadableError.

    The body may be a stream, or one JSON document from a server that does not stream. Its first character decides,
    because headers are not reliable.
    """

    def __init__(self, take: Callable[[Piece], None]) -> None:
        self._take = take
        self._unread = b""  # what has come, as long as nothing of it tells
        self._document: bytearray | None = None
        self._stream: EventStream | None = None
        self._is_done = False

    def read(self, chunk: bytes) -> None:
        if self._stream is not None:
            self._read_events(self._stream.take(chunk))
        elif self._document is not None:
            self._document += chunk
            if len(self._document) > LARGEST:
                raise NoCompletionError("a document without an end")
        else:
            self._recognise(self._unread + chunk)

    def end(self) -> None:
        """Read what is left when nothing more comes."""
        if self._document is not None:
            self._read_document(bytes(self._document))
            return
        if self._stream is not None:
            self._read_events(self._stream.end())
            if not self._stream.has_fields:
                raise NoCompletionError("a text that is no completion")
        if not self._is_done:
            raise UnreadableError(BROKE_OFF)

    def _recognise(self, unread: bytes) -> None:
        first = unread.removeprefix(BYTE_ORDER_MARK).lstrip()[:1]
        if first == b"<":
            raise NoCompletionError("a web page")
        if first in (b"{", b"["):
            self._document = bytearray(unread.removeprefix(BYTE_ORDER_MARK))
        elif first and not (len(unread) < len(BYTE_ORDER_MARK) and BYTE_ORDER_MARK.startswith(unread)):
            self._stream = EventStream()
            self._read_events(self._stream.take(unread))
        else:
            self._unread = unread

    def _read_document(self, document: bytes) -> None:
        try:
            content = json.loads(document)
        except (ValueError, RecursionError) as error:
            if is_cut_off(error):
                raise UnreadableError(BROKE_OFF) from None
            content = None
        if report := find_report(content):
            raise ReportedError(report, otherwise=400)
        if not (isinstance(content, dict) and content.get("choices")):
            raise NoCompletionError("JSON that is no completion")
        self._take(_get_piece(content))

    def _read_events(self, events: Sequence[Event]) -> None:
        for event in events:
            if (piece := read_event(event)) is None:
                continue
            if not piece.done:
                self._take(piece)
            # Some servers leave out [DONE]; a finish reason says as much.
            self._is_done = self._is_done or piece.done or bool(piece.finish_reason)


def read_event(event: Event) -> Piece | None:
    """Return the piece, or None for an event that carries nothing. Raises UnreadableError."""
    data = event.data.strip()
    if not data:
        return None
    if data == b"[DONE]":
        return Piece(done=True)
    chunk = _read_json(data)
    if not isinstance(chunk, dict):
        raise UnreadableError("The stream holds JSON that is no object.")
    if "choices" not in chunk or chunk.get("error"):
        _refuse_error(event, chunk)
    return _get_piece(chunk)


def _refuse_error(event: Event, chunk: Mapping[str, Any]) -> None:
    report = find_report(chunk)
    if report is None and event.name == b"error":
        report = ServerReport("The server says that it failed, and not why.")
    if report is not None:
        raise ReportedError(report, otherwise=500)


def _read_json(data: bytes) -> Any:
    """Parse JSON with orjson, and with json where orjson refuses half a character or NaN."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        pass
    try:
        return json.loads(data.decode())
    except (ValueError, RecursionError):
        raise UnreadableError("The stream holds broken JSON.") from None


def _get_piece(chunk: Mapping[str, Any]) -> Piece:
    try:
        return _piece(chunk)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise UnreadableError("The stream holds a chunk of an unknown form.") from None


def _piece(chunk: Mapping[str, Any]) -> Piece:
    choices = chunk.get("choices")
    choice = choices[0] if choices else {}  # the chunk with the token counts has none
    delta = choice.get("delta") or choice.get("message") or {}  # an answer that came whole has a message
    content = delta.get("content")
    text, thought, refusal = _parts(content) if isinstance(content, list) else (_text(content), "", "")
    return Piece(
        text=text,
        reasoning=_text(delta.get("reasoning_content") or delta.get("reasoning")) + thought,
        refusal=_text(delta.get("refusal")) + refusal,
        finish_reason=_text(choice.get("finish_reason")),
        model=_text(chunk.get("model")),
        usage=dict(chunk["usage"]) if chunk.get("usage") else None,
    )


def _parts(content: Sequence[Any]) -> tuple[str, str, str]:
    """Return text, thought and refusal of a content that is a list of parts, each of which names its kind."""
    text = thought = refusal = ""
    for part in content:
        kind = part.get("type", "text")
        words = _text_of_part(part, kind)
        if kind in THOUGHTS:
            thought += words
        elif kind == "refusal":
            refusal += words
        else:
            text += words
    return text, thought, refusal


def _text_of_part(part: Mapping[str, Any], kind: str) -> str:
    """Return the text of a part, which stands under its kind's name or as text; a thought may have parts of its own."""
    content = part.get(kind) or part.get("text")
    return "".join(_parts(content)) if isinstance(content, list) else _text(content)


def _text(value: Any) -> str:
    if not value:
        return ""
    if not isinstance(value, str):
        raise TypeError("no text")
    return value.replace("\0", "") if "\0" in value else value


@dataclass
class Answer:
    """An answer while it arrives."""

    on_text: OnText | None
    started: float = field(default_factory=time.monotonic)
    thoughts: Thoughts = field(default_factory=Thoughts)
    texts: list[str] = field(default_factory=list)
    reasonings: list[str] = field(default_factory=list)
    refused: str = ""
    finish_reason: str = ""
    model: str = ""
    usage: Mapping[str, Any] = field(default_factory=dict)
    half: str = ""  # of a character, whose other half is in the next piece
    first_token_ms: int | None = None

    def take(self, piece: Piece) -> None:
        text, reasoning, refusal, finish_reason, model, usage, _done = piece
        if reasoning:
            self.reasonings.append(reasoning)
        self.refused += refusal
        self.finish_reason = finish_reason or self.finish_reason
        self.model = model or self.model
        self.usage = usage or self.usage
        if self.half or not text.isascii():
            text, self.half = split_first_half(self.half + text)
            text = clean_text(text)
        if text and self.thoughts.over:
            self._take_text(text)
        elif text:
            self._take_parts(*self.thoughts.take(text))

    def _take_parts(self, thought: str, text: str) -> None:
        if thought:
            self.reasonings.append(thought)
        if text:
            self._take_text(text)

    def _take_text(self, text: str) -> None:
        if self.first_token_ms is None:
            self.first_token_ms = self._count_milliseconds()
        self.texts.append(text)
        if self.on_text:
            self.on_text(text)

    def _count_milliseconds(self) -> int:
        return round((time.monotonic() - self.started) * 1000)

    def text(self) -> str:
        return "".join(self.texts)

    def reply(self, model: str) -> Reply:
        self._take_parts(*self.thoughts.take(clean_text(self.half)))
        self._take_parts(*self.thoughts.end())
        text = self.text()
        if self.refused or self.finish_reason == "content_filter":
            raise ProviderError("refused", clean_text(self.refused) or "Content filter.", permanent=True, partial=text)
        if not text.strip():
            raise ProviderError("empty", f"No text came (finish reason: {self.finish_reason or 'none'}).")
        return Reply(
            text=text,
            model=clean_text(self.model) or model,
            finish_reason=self.finish_reason or "stop",
            first_token_ms=self.first_token_ms,
            total_ms=self._count_milliseconds(),
            input_tokens=_count(self.usage.get("prompt_tokens")),
            output_tokens=_count(self.usage.get("completion_tokens")),
            reasoning=clean_text("".join(self.reasonings)),
            cached_tokens=_cached_tokens(self.usage),
            reasoning_tokens=_detail(self.usage, "completion_tokens_details", "reasoning_tokens"),
        )


def whole_reply(completion: Mapping[str, Any], model: str) -> Reply:
    """Return a reply that came in one piece, without times. Raises ProviderError where it is no answer."""
    answer = Answer(on_text=None)
    try:
        answer.take(_get_piece(completion))
    except UnreadableError:
        raise ProviderError("server_error", "The answer has an unknown form.") from None
    return replace(answer.reply(model), first_token_ms=None, total_ms=None)


def _cached_tokens(usage: Mapping[str, Any]) -> int | None:
    count = _detail(usage, "prompt_tokens_details", "cached_tokens")
    return _count(usage.get("prompt_cache_hit_tokens")) if count is None else count  # the latter is DeepSeek's


def _detail(usage: Mapping[str, Any], group: str, name: str) -> int | None:
    details = usage.get(group)
    return _count(details.get(name)) if isinstance(details, dict) else None


def _count(value: Any) -> int | None:
    """Return the number, or None where it is none or too large to store."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return int(value) if is_number and 0 <= value < 2**31 else None
