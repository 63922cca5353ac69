"""OpenAI's Batch API, and servers that have the same: many requests in one file, answered within a day at a lower
price."""

import json
import os
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import IO, Any, Final

from dialogue.providers.base import Message, ModelSettings, ProviderError, Reply
from dialogue.providers.completions import request_body, whole_reply
from dialogue.providers.openai_client import use_client
from dialogue.providers.registry import get_api_key
from dialogue.providers.server_errors import (
    ServerReport,
    error_for_status,
    find_report,
    status_for_code,
)

ENDPOINT: Final = "/v1/chat/completions"
WINDOW: Final = "24h"  # OpenAI knows no other
ENDED = ("completed", "failed", "expired", "cancelled")
TOO_MUCH_AT_ONCE = "token_limit_exceeded"  # what waits in all batches together is over what the account may have
NEVER_RUN = {"batch_expired": "timeout", "batch_cancelled": "stopped"}
MOST_BATCHES = 1000  # batches of the account, the newest first
MOST_ERRORS = 3
# Escaped, though JSON need not: splitting lines at them would cut a request in two.
LINE_ENDS = {ord(sign): f"\\u{ord(sign):04x}" for sign in "\x85\u2028\u2029"}


class NotRun(ProviderError):
    """The provider did not work on the request, and charges nothing for it."""


@dataclass(frozen=True)
class Standing:
    """The progress of a batch. `state` is the provider's word; `total`, `answered` and `failed` count requests.

    `files` holds the file of answers and the file of errors, where they exist. `error` says why it was refused.
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
    def has_ended(self) -> bool:
        return self.state in ENDED


def request_line(name: str, settings: ModelSettings, messages: Sequence[Message]) -> bytes:
    """Return one request of a file. `name` comes back with its answer."""
    body = request_body(settings, messages)
    request = {"custom_id": name, "method": "POST", "url": ENDPOINT, "body": body}
    return json.dumps(request, ensure_ascii=False).translate(LINE_ENDS).encode() + b"\n"


class Batches:
    """The batches of one account at one server. All methods raise ProviderError, and Gone where the server does not
    know the file or batch."""

    def __init__(self, settings: ModelSettings, *, api_key: str) -> None:
        self._settings, self._key = settings, api_key

    async def upload(self, lines: IO[bytes]) -> str:
        """Upload a file, read from `lines` piece by piece, and return its number."""
        async with use_client(self._settings.base_url, self._key) as client:
            file = await client.files.create(file=("requests.jsonl", lines), purpose="batch")
        return str(file.id)

    async def start(self, file: str, notes: Mapping[str, str]) -> Standing:
        """Start a batch for an uploaded file. `notes` are kept with it, for people who look at it there."""
        async with use_client(self._settings.base_url, self._key) as client:
            batch = await client.batches.create(
                input_file_id=file, endpoint=ENDPOINT, completion_window=WINDOW, metadata=dict(notes)
            )
        return read_standing(batch)

    async def find(self, file: str) -> Standing | None:
        """Return the batch that was started with this file, or None. Not all servers keep the notes."""
        async with use_client(self._settings.base_url, self._key) as client:
            seen = 0
            async for batch in client.batches.list(limit=100):
                seen += 1
                if batch.input_file_id == file:
                    return read_standing(batch)
                if seen == MOST_BATCHES:
                    break
        return None

    async def state(self, batch: str) -> Standing:
        """Return how far a batch is."""
        async with use_client(self._settings.base_url, self._key) as client:
            return read_standing(await client.batches.retrieve(batch))

    async def results(self, file: str) -> AsyncGenerator[tuple[str, Reply | ProviderError], None]:
        """Yield the name and outcome of each request, in any order. Only one line at a time is kept."""
        async with (
            use_client(self._settings.base_url, self._key) as client,
            client.files.with_streaming_response.content(file) as response,
            aclosing(split_lines(response.iter_bytes())) as lines,
        ):
            async for line in lines:
                if result := read_line(line, self._settings.model):
                    yield result

    async def cancel(self, batch: str) -> Standing:
        """Cancel a batch. What has been answered by then is charged, and can be fetched."""
        async with use_client(self._settings.base_url, self._key) as client:
            return read_standing(await client.batches.cancel(batch))

    async def delete(self, file: str) -> None:
        """Delete a file at the provider."""
        async with use_client(self._settings.base_url, self._key) as client:
            await client.files.delete(file)


def get_batches(settings: ModelSettings, environ: Mapping[str, str] = os.environ) -> Batches:
    """Return the batches of an account. Raises a permanent ProviderError where the key is missing."""
    return Batches(settings, api_key=get_api_key(settings.api_key_env, environ))


def read_standing(batch: Any) -> Standing:
    counts, errors = batch.request_counts, (batch.errors and batch.errors.data) or []
    messages = [f"{error.message} ({error.code})" for error in errors]
    return Standing(
        id=str(batch.id),
        state=str(batch.status),
        total=counts.total if counts else 0,
        answered=counts.completed if counts else 0,
        failed=counts.failed if counts else 0,
        files=tuple(file for file in (batch.output_file_id, batch.error_file_id) if file),
        error=" ".join(messages[:MOST_ERRORS]),
        too_much=any(error.code == TOO_MUCH_AT_ONCE for error in errors),
    )


async def split_lines(chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """Yield the lines of a file. Only line feeds end them: text may hold U+2028, at which `splitlines` would cut."""
    rest: list[bytes] = []
    async for chunk in chunks:
        first, *others = chunk.split(b"\n")
        rest.append(first)
        for other in others:
            yield b"".join(rest)
            rest = [other]
    yield b"".join(rest)


def read_line(line: bytes, model: str) -> tuple[str, Reply | ProviderError] | None:
    """Return the name and outcome of one request; `None` where the name cannot be read."""
    try:
        result = json.loads(line.decode())
        name = result["custom_id"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    try:
        return str(name), read_reply(result, model)
    except ProviderError as error:
        return str(name), error
    except (AttributeError, KeyError, TypeError, ValueError):
        return str(name), ProviderError("server_error", "The result has an unknown form.")


def read_reply(result: Mapping[str, Any], model: str) -> Reply:
    response, error = result.get("response") or {}, result.get("error") or {}
    if error:
        raise read_line_error(str(error.get("code") or ""), str(error.get("message") or ""))
    status, body = int(response["status_code"]), response["body"]
    if status >= 400:
        report = find_report(body) or ServerReport(f"HTTP {status}")
        raise error_for_status(status, report.message, code=report.code)
    return whole_reply(body, model)


def read_line_error(code: str, message: str) -> ProviderError:
    detail = f"{message} ({code})" if code else message
    if code in NEVER_RUN:
        return NotRun(NEVER_RUN[code], detail)
    return error_for_status(status_for_code(code) or 500, detail, code=code)
