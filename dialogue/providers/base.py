"""The one seam between emostudy and any language model. Pure: no Django models, no settings."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Role = Literal["system", "user", "assistant"]
OnText = Callable[[str], None]
BUDGETS = ("requests_per_minute", "tokens_per_minute")
NOT_SENT = ("gap_timeout", "total_timeout", *BUDGETS)  # of `extra`: never sent


@dataclass(frozen=True)
class Message:
    role: Role
    text: str


@dataclass(frozen=True)
class ModelSettings:
    """Which model answers and how. `api_key_env` names the variable that holds the key."""

    kind: str
    model: str = ""
    base_url: str = ""
    api_key_env: str = ""
    temperature: float | None = None
    max_tokens: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    def request_options(self) -> dict[str, Any]:
        """Return the part of `extra` that goes into the request: all but our own time-outs and budgets."""
        return {name: value for name, value in self.extra.items() if name not in NOT_SENT}


@dataclass(frozen=True)
class Reply:
    """A whole answer. Times are milliseconds from the start of the call, `None` where they were not measured. Token
    counts are `None` where the server does not give them.

    `cached_tokens` is the part of `input_tokens` that the server had read before, `reasoning_tokens` the part of
    `output_tokens` that was thought.
    """

    text: str
    model: str
    finish_reason: str = "stop"
    first_token_ms: int | None = None
    total_ms: int | None = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning: str = ""
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


TOO_LONG = "too_long"
OF_QUESTION = ("refused", TOO_LONG)  # failures of the question alone: the next one may be answered


class ProviderError(Exception):
    """No usable answer. `status` is a key of STATUSES; `permanent` means that asking again cannot help.

    `retry_after` is in seconds where the server named one; `partial` is what had come before it broke.
    """

    def __init__(
        self,
        status: str,
        detail: str,
        *,
        permanent: bool = False,
        retry_after: float | None = None,
        partial: str = "",
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.permanent = permanent
        self.retry_after = retry_after
        self.partial = partial


STATUSES = (
    "started",  # the call was under way when the process died, or still is
    "ok",
    "refused",
    "too_long",  # for this model: it takes no text of that length, whatever is in it
    "truncated",
    "empty",
    "unparseable",
    "out_of_range",
    "timeout",
    "rate_limited",
    "client_error",
    "server_error",
    "network",
    "stopped",  # ended by us: the safety screen, or a cancelled task
)


class ChatModel(Protocol):
    async def reply(self, messages: Sequence[Message], on_text: OnText | None = None) -> Reply:
        """Answer `messages`. Each piece of text is handed to `on_text` as it comes.

        What `on_text` raises ends the call and is raised here; every other failure is a ProviderError.
        """
        ...
