"""Many requests handed over as one file, to be answered within a day at a lower price: OpenAI's Batch API, and servers
that have the same."""

import json
import os
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, Final

from dialogue.providers.addresses import DEFAULT_BASE_URL
from dialogue.providers.base import Message, ModelSettings, ProviderError, Reply
from dialogue.providers.completions import request_body, whole_reply
from dialogue.providers.openai_client import get_client, translate_failures
from dialogue.providers.recorded import REPLAY, unusable
from dialogue.providers.registry import api_key
from dialogue.providers.server_errors import RefusedError, ServerFailure, Told, failed_status, status_named, told_in

if TYPE_CHECKING:
    from dialogue.providers.openai_client import Client

ENDPOINT: Final = "/v1/chat/completions"
WINDOW: Final = "24h"  # OpenAI knows no other
ENDED = ("completed", "failed", "expired", "cancelled")
TOO_MUCH_AT_ONCE = "token_limit_exceeded"  # what waits in all batches together is over what the account may have
NEVER_RUN = {"batch_expired": "timeout", "batch_cancelled": "stopped"}
LOOKED_THROUGH = 1000  # batches of the account, the newest first
ERRORS_TOLD = 3
# Escaped, though JSON need not: who splits lines at them would cut a request in two.
LINE_ENDS = {ord(sign): f"\\u{ord(sign):04x}" for sign in "\x85\u2028\u2029"}


UNKNOWN = (404, 405, 410, 501)  # what is asked for, or that it can be asked for at all


class Gone(ProviderError):
    """The server does not know, or no longer, what is asked for."""


class NotRun(ProviderError):
    """The provider has not worked on it, and asks nothing for it."""


@dataclass(frozen=True)
class Standing:
    """How far a batch is. `state` in the provider's words; `total`, `answered` and `failed` count requests.

    `files`: those with answers and those with errors, where there are any. `error`: why it was refused.
    """

    id: str
    state: str
    total: int = 0
    answered: int = 0
    failed: int = 0
    files: tuple[str, ...] = ()
    error: str = ""
    too_much: bool = False

    @property
    def ended(self) -> bool:
        return self.state in ENDED


def request_line(name: str, settings: ModelSettings, messages: Sequence[Message]) -> bytes:
    """One request of a file; `name` comes back with its answer."""
    body = request_body(settings, messages)
    request = {"custom_id": name, "method": "POST", "url": ENDPOINT, "body": body}
    return json.dumps(request, ensure_ascii=False).translate(LINE_ENDS).encode() + b"\n"


class Batches:
    """The batches of one account at one server. All methods raise ProviderError; Gone, where the server does not know
    what is asked for."""

    def __init__(self, settings: ModelSettings, *, api_key: str) -> None:
        self._settings, self._key = settings, api_key
        self._base_url = settings.base_url or DEFAULT_BASE_URL

    @asynccontextmanager
    async def _client(self) -> "AsyncIterator[Client]":
        if os.environ.get(REPLAY):
            raise unusable("Nothing is sent to a provider while REPLAY names a file of recorded answers.")
        client = await get_client(self._base_url, self._key)
        try:
            with translate_failures():
                yield client
        except ServerFailure as failure:
            error = failure.as_provider_error(self._base_url, hide=self._key)
            if isinstance(failure, RefusedError) and failure.status in UNKNOWN:
                raise Gone(error.status, error.detail, permanent=True) from None
            raise error from None

    async def upload(self, lines: IO[bytes]) -> str:
        """The number of the file. Read from `lines` piece by piece."""
        async with self._client() as client:
            file = await client.files.create(file=("requests.jsonl", lines), purpose="batch")
        return str(file.id)

    async def begin(self, file: str, told: Mapping[str, str]) -> Standing:
        """Has an uploaded file answered. `told` is kept with the batch, for people who look at it there."""
        async with self._client() as client:
            batch = await client.batches.create(
                input_file_id=file, endpoint=ENDPOINT, completion_window=WINDOW, metadata=dict(told)
            )
        return standing(batch)

    async def submit(self, lines: IO[bytes], told: Mapping[str, str]) -> str:
        return (await self.begin(await self.upload(lines), told)).id

    async def find(self, file: str) -> Standing | None:
        """The batch that was begun with this file. Servers keep the file's number; not all keep what they were told."""
        async with self._client() as client:
            seen = 0
            async for batch in client.batches.list(limit=100):
                seen += 1
                if batch.input_file_id == file:
                    return standing(batch)
                if seen == LOOKED_THROUGH:
                    break
        return None

    async def state(self, batch: str) -> Standing:
        async with self._client() as client:
            return standing(await client.batches.retrieve(batch))

    async def results(self, file: str) -> AsyncGenerator[tuple[str, Reply | ProviderError], None]:
        """Names of requests, in whatever order, and what came of each. Nothing but a line at a time is kept."""
        async with (
            self._client() as client,
            client.files.with_streaming_response.content(file) as response,
            aclosing(lines_of(response.iter_bytes())) as lines,
        ):
            async for line in lines:
                if result := read_line(line, self._settings.model):
                    yield result

    async def cancel(self, batch: str) -> Standing:
        """What has been answered by then is paid for, and to be had."""
        async with self._client() as client:
            return standing(await client.batches.cancel(batch))

    async def delete(self, file: str) -> None:
        async with self._client() as client:
            await client.files.delete(file)


def batches_of(settings: ModelSettings, environ: Mapping[str, str] = os.environ) -> Batches:
    """Raises a permanent ProviderError where the key is missing."""
    return Batches(settings, api_key=api_key(settings.api_key_env, environ))


def standing(batch: Any) -> Standing:
    counts, errors = batch.request_counts, (batch.errors and batch.errors.data) or []
    told = [f"{error.message} ({error.code})" for error in errors]
    return Standing(
        id=str(batch.id),
        state=str(batch.status),
        total=counts.total if counts else 0,
        answered=counts.completed if counts else 0,
        failed=counts.failed if counts else 0,
        files=tuple(file for file in (batch.output_file_id, batch.error_file_id) if file),
        error=" ".join(told[:ERRORS_TOLD]),
        too_much=any(error.code == TOO_MUCH_AT_ONCE for error in errors),
    )


async def lines_of(chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """Ended by line feeds only: text may hold U+2028 and such, at which `splitlines` would cut it."""
    rest: list[bytes] = []
    async for chunk in chunks:
        first, *others = chunk.split(b"\n")
        rest.append(first)
        for other in others:
            yield b"".join(rest)
            rest = [other]
    yield b"".join(rest)


def read_line(line: bytes, model: str) -> tuple[str, Reply | ProviderError] | None:
    """One request's name and outcome; `None` where not even the name can be read."""
    try:
        result = json.loads(line.decode())
        name = result["custom_id"]
    except (ValueError, TypeError, KeyError):
        return None
    try:
        return str(name), reply_in(result, model)
    except ProviderError as error:
        return str(name), error
    except (AttributeError, KeyError, TypeError, ValueError):
        return str(name), ProviderError("server_error", "The result has an unknown form.")


def reply_in(result: Mapping[str, Any], model: str) -> Reply:
    response, error = result.get("response") or {}, result.get("error") or {}
    if error:
        raise line_error(str(error.get("code") or ""), str(error.get("message") or ""))
    status, body = int(response["status_code"]), response["body"]
    if status >= 400:
        told = told_in(body) or Told(f"HTTP {status}")
        raise failed_status(status, told.message, code=told.code)
    return whole_reply(body, model)


def line_error(code: str, message: str) -> ProviderError:
    detail = f"{message} ({code})" if code else message
    if code in NEVER_RUN:
        return NotRun(NEVER_RUN[code], detail)
    return failed_status(status_named(code) or 500, detail, code=code)
