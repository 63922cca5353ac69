"""Any server that speaks OpenAI's chat completions, asked over aiohttp itself: OpenAI's client with its layers took
more time for a call than all else that is done for it."""

import asyncio
import atexit
import json
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple, Self
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import orjson

from dialogue.providers.base import Message, ModelSettings, OnText, ProviderError, Reply
from dialogue.providers.characters import whole, without_first_half
from dialogue.providers.thoughts import Thoughts

NO_KEY = "none"  # what a server that asks for no key is sent
DEFAULT_BASE_URL = "https://api.openai.com/v1"
CONNECT_TIMEOUT = 10.0
ROOM = 64 * 1024  # bytes that are read at once
GAP_TIMEOUT = 30.0
TOTAL_TIMEOUT = 120.0
LONGEST_DETAIL = 500
LOOPBACK = ("127.0.0.1", "localhost", "::1")
FILTERED = ("content_filter", "content_policy", "data_inspection")


class Piece(NamedTuple):
    """What one line of the stream adds."""

    text: str = ""
    reasoning: str = ""
    refusal: str = ""
    finish_reason: str = ""
    model: str = ""
    usage: Mapping[str, Any] | None = None
    done: bool = False


class OpenAICompatible:
    """A model behind an OpenAI-compatible server.

    `settings.extra` goes into the request body, but for `gap_timeout` and `total_timeout` (seconds): how long the
    next piece, and the whole answer, may take; and for the budgets per minute, which are kept by who calls.
    """

    def __init__(self, settings: ModelSettings, *, api_key: str) -> None:
        self._gap = float(settings.extra.get("gap_timeout", GAP_TIMEOUT))
        self._total = float(settings.extra.get("total_timeout", TOTAL_TIMEOUT))
        self._settings = settings
        self._key = api_key

    async def reply(self, messages: Sequence[Message], on_text: OnText | None = None) -> Reply:
        answer = _Answer(on_text)
        try:
            async with asyncio.timeout(self._total) as limit:
                with _Watch(self._gap, limit) as watch:
                    await self._ask(self._body(messages), watch.each(answer.take))
        except aiohttp.ClientError as error:
            raise failed_connection(error, hide=self._key, partial=answer.text()) from None
        except TimeoutError:
            if not limit.expired():  # raised by `on_text`
                raise
            raise ProviderError("timeout", self._too_slow(watch.silent), partial=answer.text()) from None
        except RefusedError as error:
            raise error.as_provider_error(hide=self._key) from None
        except _BadStreamError as error:
            raise error.as_provider_error(answer.text(), hide=self._key) from None
        return answer.reply(self._settings.model)

    def _body(self, messages: Sequence[Message]) -> dict[str, Any]:
        return {"stream": True, "stream_options": {"include_usage": True}, **request_body(self._settings, messages)}

    async def _ask(self, body: dict[str, Any], take: Callable[[Piece], None]) -> None:
        server = _server(self._settings.base_url or DEFAULT_BASE_URL, self._key)
        try:
            async with await server.post(body) as response:
                await _read(response.content.iter_any(), take)
        except RefusedError as error:
            if "stream_options" not in body or not error.is_of_stream_options():
                raise
            await self._ask({name: value for name, value in body.items() if name != "stream_options"}, take)

    def _too_slow(self, silent: bool) -> str:
        if silent:
            return f"Nothing came for {self._gap:g} s."
        return f"The answer was not complete after {self._total:g} s."


def request_body(settings: ModelSettings, messages: Sequence[Message]) -> dict[str, Any]:
    """What is asked, but for how the answer is to come."""
    chosen = {"temperature": settings.temperature, "max_tokens": settings.max_tokens}
    return {
        "model": settings.model,
        "messages": [{"role": message.role, "content": message.text} for message in messages],
        **{name: value for name, value in chosen.items() if value is not None},
        **settings.said_to_model(),
    }


class _Watch:
    """Ends `limit` once nothing has come for `gap` seconds. One timer looks when the last piece came: to set it anew
    for each piece cost more than to read the piece."""

    def __init__(self, gap: float, limit: asyncio.Timeout) -> None:
        self.silent = False
        self._gap, self._limit = gap, limit
        self._loop = asyncio.get_running_loop()

    def __enter__(self) -> Self:
        self._heard_at = self._loop.time()
        self._timer = self._loop.call_later(self._gap, self._look)
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def each(self, take: Callable[["Piece"], None]) -> Callable[["Piece"], None]:
        def heard(piece: Piece) -> None:
            self._heard_at = self._loop.time()
            take(piece)

        return heard

    def _look(self) -> None:
        now, due = self._loop.time(), self._heard_at + self._gap
        if now < due:
            self._timer = self._loop.call_at(due, self._look)
        else:
            self.silent = True
            self._limit.reschedule(now)


# Reading the stream.


class _BadStreamError(Exception):
    """The stream says that it failed, or is no stream. `http_status` is what the server names, where it does."""

    def __init__(self, detail: str, *, http_status: int | None = None, code: str = "") -> None:
        super().__init__(detail)
        self.detail, self.http_status, self.code = detail, http_status, code

    def as_provider_error(self, partial: str, *, hide: str) -> ProviderError:
        if self.http_status is None:
            return ProviderError("network", hidden(self.detail, hide), partial=partial)
        return failed_status(self.http_status, hidden(self.detail, hide), code=self.code, partial=partial)


def parse_line(line: bytes) -> Piece | None:
    """One line of a server-sent stream; `None` for what carries nothing: comments, blank lines, other fields."""
    if not line.startswith(b"data:"):
        return None
    data = line[5:].strip()
    if data == b"[DONE]":
        return Piece(done=True)
    chunk = _read_json(data)
    if not isinstance(chunk, dict):
        raise _BadStreamError("The stream holds JSON that is no object.")
    if chunk.get("error"):
        raise _stream_error(chunk["error"])
    try:
        return _piece(chunk)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise _BadStreamError("The stream holds a chunk of an unknown form.") from None


def _read_json(data: bytes) -> Any:
    """As orjson reads it; else as json does, which also takes half a character, or NaN."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        pass
    try:
        return json.loads(data.decode())
    except (ValueError, RecursionError):
        raise _BadStreamError("The stream holds broken JSON.") from None


def _piece(chunk: Mapping[str, Any]) -> Piece:
    choices = chunk.get("choices")
    choice = choices[0] if choices else {}  # the chunk with the token counts has none
    delta = choice.get("delta") or choice.get("message") or {}  # an answer that came whole has a message
    return Piece(
        text=_text(delta.get("content")),
        reasoning=_text(delta.get("reasoning_content") or delta.get("reasoning")),
        refusal=_text(delta.get("refusal")),
        finish_reason=_text(choice.get("finish_reason")),
        model=_text(chunk.get("model")),
        usage=dict(chunk["usage"]) if chunk.get("usage") else None,
    )


def _text(value: Any) -> str:
    if not value:
        return ""
    if not isinstance(value, str):
        raise TypeError("no text")
    return value.replace("\0", "") if "\0" in value else value


def _stream_error(error: Any) -> _BadStreamError:
    if not isinstance(error, dict):
        return _BadStreamError(str(error), http_status=500)
    code = f"{error.get('code')} {error.get('type')}"
    if isinstance(error.get("code"), int):
        status = error["code"]
    else:
        status = 429 if "rate_limit" in code else 500
    return _BadStreamError(str(error.get("message", "")), http_status=status, code=code)


async def _read(chunks: AsyncIterator[bytes], take: Callable[[Piece], None]) -> None:
    """Hand each piece to `take` until the stream is done.

    Lines end at line feeds only: text may hold U+2028 and such, at which `splitlines` would cut it.
    """
    rest, done = b"", False
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in filter(None, lines):
            done = _take_line(line, take) or done
    if not (_take_line(rest, take) or done):
        raise _BadStreamError("The stream broke off.")


def _take_line(line: bytes, take: Callable[[Piece], None]) -> bool:
    piece = parse_line(line)
    if piece is None:
        return False
    if not piece.done:
        take(piece)
    # Some servers leave out [DONE]; a finish reason says as much.
    return piece.done or bool(piece.finish_reason)


@dataclass
class _Answer:
    """What has come so far."""

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
            text, self.half = without_first_half(self.half + text)
            text = whole(text)
        if text and self.thoughts.over:
            self._take_text(text)
        elif text:
            self._take_told_apart(*self.thoughts.take(text))

    def _take_told_apart(self, thought: str, text: str) -> None:
        if thought:
            self.reasonings.append(thought)
        if text:
            self._take_text(text)

    def _take_text(self, text: str) -> None:
        if self.first_token_ms is None:
            self.first_token_ms = self._elapsed()
        self.texts.append(text)
        if self.on_text:
            self.on_text(text)

    def _elapsed(self) -> int:
        return round((time.monotonic() - self.started) * 1000)

    def text(self) -> str:
        return "".join(self.texts)

    def reply(self, model: str) -> Reply:
        self._take_told_apart(*self.thoughts.take(whole(self.half)))
        self._take_told_apart(*self.thoughts.end())
        text = self.text()
        if self.refused or self.finish_reason == "content_filter":
            raise ProviderError("refused", whole(self.refused) or "Content filter.", permanent=True, partial=text)
        if not text.strip():
            raise ProviderError("empty", f"No text came (finish reason: {self.finish_reason or 'none'}).")
        return Reply(
            text=text,
            model=whole(self.model) or model,
            finish_reason=self.finish_reason or "stop",
            first_token_ms=self.first_token_ms,
            total_ms=self._elapsed(),
            input_tokens=_count(self.usage.get("prompt_tokens")),
            output_tokens=_count(self.usage.get("completion_tokens")),
            reasoning=whole("".join(self.reasonings)),
            cached_tokens=_cached_tokens(self.usage),
            reasoning_tokens=_detail(self.usage, "completion_tokens_details", "reasoning_tokens"),
        )


def whole_reply(completion: Mapping[str, Any], model: str) -> Reply:
    """An answer that came whole. Nobody measured how long it took. Raises ProviderError where it is none."""
    answer = _Answer(on_text=None)
    try:
        answer.take(_piece(completion))
    except (AttributeError, KeyError, TypeError, ValueError):
        raise ProviderError("server_error", "The answer has an unknown form.") from None
    return replace(answer.reply(model), first_token_ms=None, total_ms=None)


def _cached_tokens(usage: Mapping[str, Any]) -> int | None:
    told = _detail(usage, "prompt_tokens_details", "cached_tokens")
    return _count(usage.get("prompt_cache_hit_tokens")) if told is None else told  # the latter is DeepSeek's


def _detail(usage: Mapping[str, Any], group: str, name: str) -> int | None:
    details = usage.get(group)
    return _count(details.get(name)) if isinstance(details, dict) else None


def _count(told: Any) -> int | None:
    """None for what is no number, or none that can be stored."""
    is_number = isinstance(told, int | float) and not isinstance(told, bool)
    return int(told) if is_number and 0 <= told < 2**31 else None


# What went wrong, in the terms of base.STATUSES.


class RefusedError(Exception):
    """The server answered with an error: its status, what it says of it, and when to come again."""

    def __init__(self, status: int, headers: Mapping[str, str], body: str) -> None:
        super().__init__(status)
        self.status = status
        self.retry_after = retry_after(headers, datetime.now(UTC))
        self.message, self.code = _told(status, body)

    def is_of_stream_options(self) -> bool:
        text = self.message
        return self.status in (400, 422) and ("stream_options" in text or "include_usage" in text)

    def as_provider_error(self, *, hide: str) -> ProviderError:
        return failed_status(self.status, hidden(self.message, hide), code=self.code, retry_after=self.retry_after)


def _told(status: int, body: str) -> tuple[str, str]:
    """The message, and code and type together, of an error's body in OpenAI's form; else the body as it is."""
    try:
        error = json.loads(body)["error"]
        return str(error["message"]), f"{error.get('code')} {error.get('type')}"
    except (ValueError, TypeError, LookupError, AttributeError):
        return f"HTTP {status}: {body}", ""


def failed_connection(error: BaseException, *, hide: str, partial: str = "") -> ProviderError:
    status = "timeout" if isinstance(error, TimeoutError) else "network"
    return ProviderError(status, hidden(f"{type(error).__name__}: {error}", hide), partial=partial)


def failed_status(
    http_status: int, detail: str, *, code: str = "", retry_after: float | None = None, partial: str = ""
) -> ProviderError:
    if any(word in code for word in FILTERED):
        return ProviderError("refused", detail, permanent=True, partial=partial)
    if http_status in (401, 403):
        # The server's own words may quote the key.
        return ProviderError("client_error", f"The server refused the key ({http_status}).", permanent=True)
    if http_status == 429:
        spent = "insufficient_quota" in code
        return ProviderError("rate_limited", detail, permanent=spent, retry_after=retry_after, partial=partial)
    if http_status == 408:
        return ProviderError("timeout", detail, retry_after=retry_after, partial=partial)
    if http_status < 500:
        return ProviderError("client_error", detail, permanent=True, partial=partial)
    return ProviderError("server_error", detail, retry_after=retry_after, partial=partial)


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds the server asks to wait: a number or a date; `None` where it says nothing readable."""
    value = headers.get("retry-after", "").strip()
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(value) - now).total_seconds())
    except (TypeError, ValueError):
        return None


def hidden(text: str, key: str) -> str:
    return whole(text if key == NO_KEY else text.replace(key, "***"))[:LONGEST_DETAIL]


# One session, and so one pool of connections, for each server and key within one event loop: connections made in one
# loop fail in another. A session holds its loop, so weak keys would never let go; closed loops are dropped instead.

_servers: dict[asyncio.AbstractEventLoop, dict[tuple[str, str], "_Server"]] = {}


@dataclass(frozen=True)
class _Server:
    session: aiohttp.ClientSession
    url: str
    proxy: "_Proxy"

    async def post(self, body: Mapping[str, Any]) -> aiohttp.ClientResponse:
        """The answer's head; its body is still to be read. Raises RefusedError for a status from 400 on."""
        content = orjson.dumps(body)
        try:
            response = await self.session.post(self.url, data=content, **self.proxy._asdict())
        except ValueError:  # whose text may hold the key
            raise ProviderError(
                "client_error", "The key or the address fits into no request.", permanent=True
            ) from None
        if response.status < 400:
            _read_less_at_once(response)
            return response
        async with response:
            raise RefusedError(response.status, response.headers, await response.text(errors="replace"))


def _read_less_at_once(response: aiohttp.ClientResponse) -> None:
    """asyncio makes room for 256 KiB before it reads a piece of a stream. So much memory comes from the system and goes
    back to it each time, which takes longer than all else that is done for the piece."""
    transport = response.connection and response.connection.transport
    if transport and hasattr(transport, "max_size"):  # not where the connection is encrypted: that keeps its room
        transport.max_size = ROOM


def _server(base_url: str, key: str) -> _Server:
    loop = asyncio.get_running_loop()
    _let_go([other for other in list(_servers) if other.is_closed()])
    servers = _servers.setdefault(loop, {})
    if (base_url, key) not in servers:
        servers[base_url, key] = _new_server(base_url, key)
    return servers[base_url, key]


def _let_go(loops: Iterable[asyncio.AbstractEventLoop]) -> None:
    """Of loops that run no more, in which nothing can be closed."""
    for loop in loops:
        for server in _servers.pop(loop, {}).values():
            server.session.detach()


atexit.register(lambda: _let_go(list(_servers)))


def _new_server(base_url: str, key: str) -> _Server:
    proxy = proxy_for(base_url)
    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0),  # whoever asks has a limit of its own
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT),
        headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json", "User-Agent": "emostudy"},
        cookie_jar=aiohttp.DummyCookieJar(),
    )
    return _Server(session, f"{base_url.rstrip('/')}/chat/completions", proxy)


class _Proxy(NamedTuple):
    """What aiohttp's request takes."""

    proxy: str | None = None
    proxy_headers: Mapping[str, str] | None = None


def proxy_for(base_url: str) -> _Proxy:
    """Of HTTPS_PROXY and the like, looked up once: aiohttp would do so in a thread for every request, and read the
    passwords of ~/.netrc. A server on this machine has none, for no proxy can reach it."""
    host = host_of(base_url)
    if host in LOOPBACK or proxy_bypass(host):
        return _Proxy()
    known = getproxies()
    found = urlsplit(known.get(urlsplit(base_url).scheme) or known.get("all", ""))
    if not found.hostname:
        return _Proxy()
    if found.scheme not in ("http", "https"):
        raise ProviderError("client_error", f"A {found.scheme} proxy cannot be used, only http.", permanent=True)
    address = found._replace(netloc=found.netloc.rpartition("@")[2]).geturl()
    if not found.username:
        return _Proxy(address)
    login = aiohttp.encode_basic_auth(unquote(found.username), unquote(found.password or ""))
    return _Proxy(address, {"Authorization": login})


def host_of(base_url: str) -> str:
    """Raises a permanent ProviderError where it is no web address, or holds a password."""
    try:
        url = urlsplit(base_url)
        host = url.hostname if url.scheme in ("http", "https") and url.port != 0 else None  # `port` may raise too
    except ValueError:
        host = None
    if not host:
        raise ProviderError("client_error", f"{base_url} is no web address.", permanent=True)
    if url.username is not None:
        # Addresses are stored and exported, keys are not.
        raise ProviderError("client_error", f"The address of {host} holds a password: use api_key_env.", permanent=True)
    return host


async def close_clients() -> None:
    """Close the connections of the running event loop; to be awaited before the loop ends."""
    for server in _servers.pop(asyncio.get_running_loop(), {}).values():
        await server.session.close()
