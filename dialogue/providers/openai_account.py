"""OpenAI's own client, for what an account has beside chats: files and batches, moderations. The only file that imports
openai."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from importlib import import_module
from typing import TYPE_CHECKING

from dialogue.providers.addresses import DEFAULT_BASE_URL, LOOPBACK, address_of, host_of
from dialogue.providers.base import ModelSettings, ProviderError
from dialogue.providers.openai_compatible import CONNECT_TIMEOUT
from dialogue.providers.recorded import REPLAY, unusable
from dialogue.providers.server_errors import RefusedError, failed_connection, hidden

if TYPE_CHECKING:
    import openai

SILENCE = 60.0  # seconds without a byte
UNKNOWN = (404, 405, 410, 501)  # what is asked for, or that it can be asked for at all


class Gone(ProviderError):
    """The server does not know, or no longer, what is asked for."""


@asynccontextmanager
async def openai_client(settings: ModelSettings, *, api_key: str) -> "AsyncIterator[openai.AsyncOpenAI]":
    """Its failures come out as ProviderErrors; Gone is one of them."""
    _refuse_replay()
    base_url = settings.base_url or DEFAULT_BASE_URL
    with _provider_errors(base_url, api_key):
        async with _new_client(base_url, api_key) as client:
            yield client


_kept: "dict[asyncio.AbstractEventLoop, dict[tuple[str, str], openai.AsyncOpenAI]]" = {}


@asynccontextmanager
async def kept_openai_client(settings: ModelSettings, *, api_key: str) -> "AsyncIterator[openai.AsyncOpenAI]":
    """The same client, and so the same connections, for each server and key within one event loop: a person waits for
    these calls. Failures come out as from `openai_client`."""
    _refuse_replay()
    base_url = settings.base_url or DEFAULT_BASE_URL
    await asyncio.to_thread(import_module, "openai")  # takes a second, in which nobody's chat may stand still
    with _provider_errors(base_url, api_key):
        for loop in [loop for loop in _kept if loop.is_closed()]:
            del _kept[loop]
        clients = _kept.setdefault(asyncio.get_running_loop(), {})
        if (base_url, api_key) not in clients:
            clients[base_url, api_key] = _new_client(base_url, api_key)
        yield clients[base_url, api_key]


async def close_kept_clients() -> None:
    """Close the connections of the running event loop; to be awaited before the loop ends."""
    for client in _kept.pop(asyncio.get_running_loop(), {}).values():
        await client.close()


def _refuse_replay() -> None:
    if os.environ.get(REPLAY):
        raise unusable("Nothing is sent to a provider while REPLAY names a file of recorded answers.")


@contextmanager
def _provider_errors(base_url: str, api_key: str) -> Iterator[None]:
    import httpx2
    import openai  # takes a second and 30 MB, which whoever only chats is spared

    try:
        yield
    except openai.APIStatusError as error:
        raise _refused(error, base_url, api_key) from None
    except (openai.APIConnectionError, httpx2.HTTPError) as error:
        raise failed_connection(_first_cause(error), base_url, hide=api_key) from None
    except openai.APIError as error:
        raise ProviderError("server_error", hidden(f"{type(error).__name__}: {error}", api_key)) from None


def _new_client(base_url: str, key: str) -> "openai.AsyncOpenAI":
    import httpx2
    import openai

    timeout = httpx2.Timeout(SILENCE, connect=CONNECT_TIMEOUT)
    http = openai.DefaultAioHttpClient(
        timeout=timeout,
        trust_env=host_of(base_url) not in LOOPBACK,
        follow_redirects=False,  # it would take people's words to a server that nobody has named
    )
    url, query = address_of(base_url)
    return openai.AsyncOpenAI(
        base_url=url, default_query=query, api_key=key, max_retries=0, timeout=timeout, http_client=http
    )


def _refused(error: "openai.APIStatusError", base_url: str, key: str) -> ProviderError:
    answer = error.response
    refused = RefusedError(answer.status_code, answer.headers, answer.text).as_provider_error(base_url, hide=key)
    if answer.status_code in UNKNOWN:
        return Gone(refused.status, refused.detail, permanent=True)
    return refused


def _first_cause(error: BaseException) -> BaseException:
    """The transport calls a server that hangs up a connect timeout; only the first cause tells them apart."""
    return _first_cause(error.__cause__) if error.__cause__ else error
