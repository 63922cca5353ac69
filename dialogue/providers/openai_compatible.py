"""Any server that speaks OpenAI's chat completions, asked over aiohttp itself: OpenAI's client with its layers took
more time for a call than all else that is done for it."""

import asyncio
import atexit
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import orjson

from dialogue.providers.addresses import DEFAULT_BASE_URL, LOOPBACK, endpoint, host_of
from dialogue.providers.base import Message, ModelSettings, OnText, ProviderError, Reply
from dialogue.providers.completions import Answer, CompletionReader, UnreadableError, request_body
from dialogue.providers.server_errors import RefusedError, failed_connection

CONNECT_TIMEOUT = 10.0
ROOM = 64 * 1024  # bytes that are read at once
GAP_TIMEOUT = 30.0
TOTAL_TIMEOUT = 120.0


class OpenAICompatible:
    """A model behind an OpenAI-compatible server.

    `settings.extra` goes into the request body, but for `gap_timeout` and `total_timeout` (seconds): how long the
    server may be silent, and how long the whole answer may take; and for the budgets per minute, which are kept by who
    calls.
    """

    def __init__(self, settings: ModelSettings, *, api_key: str) -> None:
        self._gap = float(settings.extra.get("gap_timeout", GAP_TIMEOUT))
        self._total = float(settings.extra.get("total_timeout", TOTAL_TIMEOUT))
        self._settings = settings
        self._base_url = settings.base_url or DEFAULT_BASE_URL
        self._key = api_key

    async def reply(self, messages: Sequence[Message], on_text: OnText | None = None) -> Reply:
        answer = Answer(on_text)
        try:
            async with asyncio.timeout(self._total) as limit:
                with _Watch(self._gap, limit) as watch:
                    await self._ask(self._body(messages), answer, watch)
        except aiohttp.ClientError as error:
            raise failed_connection(error, self._base_url, hide=self._key, partial=answer.text()) from None
        except TimeoutError:
            if not limit.expired():  # raised by `on_text`
                raise
            raise ProviderError("timeout", self._too_slow(watch.silent), partial=answer.text()) from None
        except RefusedError as error:
            raise error.as_provider_error(self._base_url, hide=self._key) from None
        except UnreadableError as error:
            raise error.as_provider_error(self._base_url, hide=self._key, partial=answer.text()) from None
        return answer.reply(self._settings.model)

    def _body(self, messages: Sequence[Message]) -> dict[str, Any]:
        return {"stream": True, "stream_options": {"include_usage": True}, **request_body(self._settings, messages)}

    async def _ask(self, body: dict[str, Any], answer: Answer, watch: "_Watch") -> None:
        server = _server(self._base_url, self._key)
        try:
            async with await server.post(body) as response:
                reader = CompletionReader(answer.take)
                async for chunk in response.content.iter_any():
                    watch.hear()
                    reader.read(chunk)
                reader.end()
        except RefusedError as error:
            if "stream_options" not in body or not error.is_of_stream_options():
                raise
            await self._ask({name: value for name, value in body.items() if name != "stream_options"}, answer, watch)

    def _too_slow(self, silent: bool) -> str:
        if silent:
            return f"Nothing came for {self._gap:g} s."
        return f"The answer was not complete after {self._total:g} s."


class _Watch:
    """Ends `limit` once the server has been silent for `gap` seconds; a comment in the stream is a sign of life too.
    One timer looks when something came last: to set it anew for each piece cost more than to read the piece."""

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

    def hear(self) -> None:
        self._heard_at = self._loop.time()

    def _look(self) -> None:
        now, due = self._loop.time(), self._heard_at + self._gap
        if now < due:
            self._timer = self._loop.call_at(due, self._look)
        else:
            self.silent = True
            self._limit.reschedule(now)


# One session, and so one pool of connections, for each server and key within one event loop: connections made in one
# loop fail in another. A session holds its loop, so weak keys would never let go; closed loops are dropped instead.

_servers: dict[asyncio.AbstractEventLoop, dict[tuple[str, str], "_Server"]] = {}


@dataclass(frozen=True)
class _Server:
    session: aiohttp.ClientSession
    url: str
    proxy: "_Proxy"

    async def post(self, body: Mapping[str, Any]) -> aiohttp.ClientResponse:
        """The answer's head; its body is still to be read. Raises RefusedError for any status but success. No redirect
        is followed: it would take people's words to a server that nobody has named."""
        content = orjson.dumps(body)
        try:
            response = await self.session.post(self.url, data=content, allow_redirects=False, **self.proxy._asdict())
        except aiohttp.ClientConnectorCertificateError:
            raise  # though it is a ValueError
        except ValueError:  # whose text may hold the key
            raise ProviderError(
                "client_error", "The key or the address fits into no request.", permanent=True
            ) from None
        if response.status < 300:
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
    return _Server(session, endpoint(base_url, "chat/completions"), proxy)


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


async def close_clients() -> None:
    """Close the connections of the running event loop; to be awaited before the loop ends."""
    for server in _servers.pop(asyncio.get_running_loop(), {}).values():
        await server.session.close()
