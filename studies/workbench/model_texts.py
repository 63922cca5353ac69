"""What models were sent and answered, as pages show it: long texts folded, secrets hidden."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

LONG = 1200  # characters; a longer text is folded
HIDDEN = "***"
SECRETS = ("key", "secret", "password", "authorization", "credential", "headers")


@dataclass(frozen=True)
class Text:
    """`role` is empty where it is no message."""

    text: str
    role: str = ""

    def is_long(self) -> bool:
        return len(self.text) > LONG

    def begins(self) -> str:
        return " ".join(self.text[:200].split())


def without_secrets(value: Any) -> Any:
    """A study file may carry a header or a key of its own in `extra`; no page shows it."""
    if isinstance(value, Mapping):
        return {name: HIDDEN if is_secret(str(name)) else without_secrets(part) for name, part in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [without_secrets(part) for part in value]
    return value


def is_secret(name: str) -> bool:
    """`max_tokens` is none, `token` is one."""
    plain = name.lower()
    return any(word in plain for word in SECRETS) or plain.endswith("token")
