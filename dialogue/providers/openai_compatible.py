"""A chat model behind any server that speaks OpenAI's chat completions."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from typing import Any

from dialogue.providers.addresses import DEFAULT_BASE_URL
from dialogue.providers.base import Message, ModelSettings, OnText, ProviderError, Reply
from dialogue.providers.completions import Answer, CompletionReader, request_body
from dialogue.providers.openai_client import get_client, stream_completion
from dialogue.providers.server_errors import ServerFailure, StatusError

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
        await get_client(self._base_url, self._key)  # its first import takes a second, which is no model's
        answer = Answer(on_text)
        try:
            async with asyncio.timeout(self._total) as limit:
                await self._ask(self._body(messages), answer)
        except TimeoutError:
            if not limit.expired():  # raised by `on_text`
                raise
            detail = f"The answer was not complete after {self._total:g} s."
            raise ProviderError("timeout", detail, partial=answer.text()) from None
        except ServerFailure as failure:
            raise failure.as_provider_error(self._base_url, hide=self._key, partial=answer.text()) from None
        return answer.reply(self._settings.model)

    def _body(self, messages: Sequence[Message]) -> dict[str, Any]:
        return {"stream": True, "stream_options": {"include_usage": True}, **request_body(self._settings, messages)}

    async def _ask(self, body: Mapping[str, Any], answer: Answer) -> None:
        try:
            await self._read(body, answer)
        except StatusError as error:
            if "stream_options" not in body or not error.is_about_stream_options():
                raise
            await self._read({name: value for name, value in body.items() if name != "stream_options"}, answer)

    async def _read(self, body: Mapping[str, Any], answer: Answer) -> None:
        reader = CompletionReader(answer.take)
        async with aclosing(stream_completion(self._base_url, self._key, body, silence=self._gap)) as chunks:
            async for chunk in chunks:
                reader.read(chunk)
        reader.end()
