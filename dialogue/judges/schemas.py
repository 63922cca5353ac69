"""The form of an answer as a JSON schema, for servers that let a model write nothing else (`response_format` in the
chat completions of OpenAI and others). Pure.

It has the parts of the form that stands in the prompt, in the same order: the reasons come before the scores.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dialogue.judges.prompts import JudgedItem
from dialogue.providers.base import Message, ModelSettings, ProviderError, Reply

VERSION = "1"  # part of what decides an answer
RESPONSE_FORMAT = "response_format"
WHAT_TO_CHANGE = (
    "The server does not take the JSON schema of the answer: leave out structured = true of this judge in the study "
    "file, or name a model that takes schemas."
)
OF_SCHEMA = re.compile(r"response[ _]format|json[ _]schema|structured[ _]output|guided[ _](?:json|decoding)", re.I)

Schema = Mapping[str, Any]


def build_scores_format(items: Sequence[JudgedItem]) -> Schema:
    """Return a format of exactly these items, each a whole number of its scale."""
    scores = {item.key: {"type": "integer", "enum": list(range(item.minimum, item.maximum + 1))} for item in items}
    return _format("scores", {"analysis": {"type": "string"}, "evaluation": _object(scores)})


def build_state_format() -> Schema:
    """Return the format of a Thinker's state. The reader checks 0–100: not every server knows bounds."""
    words = {key: {"type": "string"} for key in ("cognition", "emotion", "goal")}
    return _format("inner_state", {**words, "emotion_score": {"type": "integer"}})


def with_format(settings: ModelSettings, form: Schema) -> ModelSettings:
    return replace(settings, extra={**settings.extra, RESPONSE_FORMAT: form})


def _format(name: str, properties: Schema) -> Schema:
    schema = {"name": name, "strict": True, "schema": _object(properties)}
    return {"type": "json_schema", "json_schema": schema}


def _object(properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def is_refusal_of_schema(error: ProviderError) -> bool:
    return error.status == "client_error" and OF_SCHEMA.search(error.detail) is not None


class Explaining:
    """An Ask; where the server refuses the schema itself, the error also says what to change."""

    def __init__(self, ask: Callable[..., Any]) -> None:
        self.ask = ask

    async def __call__(
        self, messages: Sequence[Message], status_of: Callable[[Reply], str], *, longer: bool = False
    ) -> Reply:
        try:
            reply: Reply = await self.ask(messages, status_of, longer=longer)
        except ProviderError as error:
            if is_refusal_of_schema(error):
                error.detail = f"{WHAT_TO_CHANGE} It said: {error.detail}"
            raise
        return reply
