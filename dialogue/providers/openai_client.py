"""OpenAI's asynchronous client over its aiohttp transport: the one way to a model's server, for chats, judges, seekers
and batches. No other file imports openai.

Connections, proxies, certificates, authentication and time-outs are the client's. It makes one attempt for a call: the
ledger keeps a row for each, so who calls repeats them.
"""

import asyncio
import gc
import json
import os
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import orjson

from dialogue.providers.addresses import DEFAULT_BASE_URL, LOOPBACK, address_of, host_of
from dialogue.providers.base import WRONG_ADDRESS, ProviderError
from dialogue.providers.recorded import REPLAY, setup_error
from dialogue.providers.server_errors import LostConnectionError, ServerFailure, StatusError, causes

if TYPE_CHECKING:
    import httpx2
    import openai

    Client = openai.AsyncOpenAI
    ByServerAndKey = dict[tuple[str, str], Client]

CONNECT_TIMEOUT = 10.0
ABOUT_THIS_MACHINE = (
    "X-Stainless-Lang",
    "X-Stainless-Package-Version",
    "X-Stainless-OS",
    "X-Stainless-Arch",
    "X-Stainless-Runtime",
    "X-Stainless-Runtime-Version",
    "X-Stainless-Async",
)
UNKNOWN = (404, 405, 410, 501)  # what is asked for, or that it can be asked for at all
SILENCE = 60.0  # seconds without a byte, where the caller names no other time


async def stream_completion(
    base_url: str, key: str, body: Mapping[str, Any], *, silence: float
) -> AsyncGenerator[bytes, None]:
    """Yield the bytes of the answer to one request as they come. Raises ServerFailure and ProviderError.

    The typed `chat.completions.create` would check each message and build an object for each piece, which takes three
    times as long as the rest of the call.
    """
    client = await get_client(base_url, key)
    import httpx2

    with translate_failures(silence):
        answer = await client.post(
            "/chat/completions",
            cast_to=httpx2.Response,
            content=orjson.dumps(body),
            options={"timeout": _timeout(silence)},
            stream=True,
            stream_cls=_stream_class(),
        )
    response = cast("httpx2.Response", answer)  # `cast_to` comes before `stream_cls`: this is the response, unread
    try:
        with translate_failures(silence):
            async for chunk in response.aiter_bytes():
                yield chunk
    finally:
        await response.aclose()


class Gone(ProviderError):
    """The server does not know the file or batch, or knows it no longer."""


@asynccontextmanager
async def use_client(base_url: str, key: str) -> "AsyncIterator[Client]":
    """Yield the client for files, batches and moderations. Its failures are raised as ProviderError, of which Gone is
    one."""
    if os.environ.get(REPLAY):
        raise setup_error("Nothing is sent to a provider while REPLAY names a file of recorded answers.")
    base_url = base_url or DEFAULT_BASE_URL
    client = await get_client(base_url, key)
    try:
        with translate_failures():
            yield client
    except ServerFailure as failure:
        error = failure.as_provider_error(base_url, hide=key)
        if isinstance(failure, StatusError) and failure.status in UNKNOWN:
            raise Gone(error.status, error.detail, permanent=True) from None
        raise error from None


@contextmanager
def translate_failures(silence: float = SILENCE) -> Iterator[None]:
    """Raise the client's errors as ServerFailure or ProviderError, whose texts hold no key."""
    import aiohttp
    import httpx2
    import openai

    try:
        yield
    except openai.APIStatusError as error:
        answer = error.response
        raise StatusError(answer.status_code, answer.headers, answer.text) from None
    except (openai.APIConnectionError, httpx2.HTTPError, aiohttp.ClientError, ssl.SSLError) as error:
        cause = _cause_of(error)
        timed_out = isinstance(cause, aiohttp.SocketTimeoutError)
        raise LostConnectionError(cause, silence=silence if timed_out else None) from None
    except openai.APIError as error:
        raise ProviderError("server_error", f"The client cannot read the answer ({type(error).__name__}).") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ProviderError("unparseable", f"The answer is not JSON ({type(error).__name__}).") from None
    except (ValueError, httpx2.InvalidURL):
        detail = "The address, or that of its proxy, fits into no request."
        raise ProviderError(WRONG_ADDRESS, detail, permanent=True) from None


def _cause_of(error: BaseException) -> BaseException:
    """Return what aiohttp or the system says of it: the layers above call a server that hangs up a time-out."""
    import httpx2
    import openai

    above = (openai.OpenAIError, httpx2.HTTPError)
    return next((one for one in causes(error) if not isinstance(one, above)), error)


# One client, and so one pool of connections, for each server and key within one event loop: connections made in one
# loop fail in another.


class _Open(NamedTuple):
    clients: "ByServerAndKey"
    keeper: AsyncGenerator[None, None]


_open: dict[asyncio.AbstractEventLoop, _Open] = {}


async def get_client(base_url: str, key: str) -> "Client":
    """Return the client of this server and key in the running event loop. Raises a permanent ProviderError where no
    request can be made with them."""
    base_url = base_url or DEFAULT_BASE_URL
    loop = asyncio.get_running_loop()
    entry = _open.get(loop)
    if entry and (client := entry.clients.get((base_url, key))):
        return client
    await asyncio.to_thread(load_client)
    clients = (_open.get(loop) or await _begin(loop)).clients
    if (base_url, key) not in clients:  # another call may have been here meanwhile
        clients[base_url, key] = _new_client(base_url, key)
    return clients[base_url, key]


async def close_clients() -> None:
    """Close the connections of the running event loop."""
    if entry := _open.get(asyncio.get_running_loop()):
        await entry.keeper.aclose()


async def _begin(loop: asyncio.AbstractEventLoop) -> _Open:
    clients: ByServerAndKey = {}
    keeper = _keep_open(loop, clients)
    await anext(keeper)
    _open[loop] = _Open(clients, keeper)
    return _open[loop]


async def _keep_open(loop: asyncio.AbstractEventLoop, clients: "ByServerAndKey") -> AsyncGenerator[None, None]:
    """Close the clients when the loop ends, for `asyncio.run` then closes all generators that the loop has begun."""
    try:
        yield
    finally:
        _open.pop(loop, None)
        for client in clients.values():
            await client.close()


@cache
def load_client() -> None:
    """Import openai, which takes more than a second, and read the certificates. A server calls it before people come;
    else the first call does, in a thread."""
    import openai  # noqa: F401

    _certificates()
    gc.collect()
    gc.freeze()  # its 50,000 objects stay, and no search for cycles need look through them


@cache
def _certificates() -> ssl.SSLContext:
    """Read once in a process: each client would take 20 ms for it."""
    import httpx2

    return httpx2.create_ssl_context()


@cache
def _timeout(silence: float) -> "httpx2.Timeout":
    import httpx2

    return httpx2.Timeout(silence, connect=CONNECT_TIMEOUT, pool=None)


def _stream_class() -> Any:
    import openai

    return openai.AsyncStream


def _new_client(base_url: str, key: str) -> "Client":
    import httpx2
    import openai

    if not (key.isascii() and key.isprintable()):
        detail = "The key fits into no request: it has a line break, or a character beyond ASCII."
        raise ProviderError("client_error", detail, permanent=True)
    url, query = address_of(base_url)
    is_here = host_of(base_url) in LOOPBACK  # no proxy can reach this machine
    if not is_here:
        _refuse_socks(base_url)
    with translate_failures():
        http = openai.DefaultAioHttpClient(
            verify=_certificates(),
            trust_env=not is_here,
            follow_redirects=False,  # it would take people's words to a server that no one has named
            limits=httpx2.Limits(max_connections=0),  # none: whoever asks has a limit of its own
        )
    return openai.AsyncOpenAI(
        base_url=url,
        default_query=query,
        api_key=key,
        default_headers=_headers(url, key),
        max_retries=0,
        timeout=_timeout(SILENCE),
        http_client=http,
    )


def _refuse_socks(base_url: str) -> None:
    """Raise a permanent ProviderError for a SOCKS proxy: the transport would speak HTTP to it."""
    proxies = getproxies()
    proxy = proxies.get(urlsplit(base_url).scheme) or proxies.get("all", "")
    if proxy.startswith("socks") and not proxy_bypass(host_of(base_url)):
        raise ProviderError("client_error", "A SOCKS proxy cannot be used, only an HTTP proxy.", permanent=True)


def _headers(url: str, key: str) -> Mapping[str, Any]:
    """Return the headers that replace the client's own.

    No server gets what the environment holds for another: OPENAI_CUSTOM_HEADERS may name a key, and OPENAI_ORG_ID and
    OPENAI_PROJECT_ID an account at OpenAI. Nor is any told about this machine, which would also take time.
    """
    import openai

    headers: dict[str, Any] = {"Authorization": f"Bearer {key}", **dict.fromkeys(ABOUT_THIS_MACHINE, openai.Omit())}
    if host_of(url) != host_of(DEFAULT_BASE_URL):
        headers |= {"OpenAI-Organization": openai.Omit(), "OpenAI-Project": openai.Omit()}
    return headers
