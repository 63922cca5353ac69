"""Requests and answers of models for pages: long texts folded, secrets hidden."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

LONG = 1200  # characters; a longer text is folded
HIDDEN = "***"
SECRETS = ("key", "secret", "password", "authorization", "credential", "headers")


@dataclass(frozen=True)
class Text:
    """A text to show. `role` is empty if it is not a message."""

    text: str
    role: str = ""

    def is_long(self) -> bool:
        return len(self.text) > LONG

    def begins(self) -> str:
        return " ".join(self.text[:200].split())


def without_secrets(value: Any) -> Any:
    """Return a value with secrets replaced, because a study file may carry a header or a key in `extra`."""
    if isinstance(value, Mapping):
        return {name: HIDDEN if is_secret(str(name)) else without_secrets(part) for name, part in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [without_secrets(part) for part in value]
    return value


def is_secret(name: str) -> bool:
    """Return whether a name is that of a secret: `token` is, `max_tokens` is not."""
    plain = name.lower()
    return any(word in plain for word in SECRETS) or plain.endswith("token")
