"""The one seam between emostudy and any language model. Pure: no Django models, no settings."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Literal, Protocol

from dialogue.schema import Line, Needed, Number, OneOf, Variable, WebAddress, Whole, about

Role = Literal["system", "user", "assistant"]
OnText = Callable[[str], None]
BUDGETS = ("requests_per_minute", "tokens_per_minute")
KINDS = ["openai_compatible", "scripted"]  # of models; a package that brings a kind adds its name
WHICH = ("kind", "model", "base_url", "api_key_env", "extra")  # settings that are no parameter of an answer
MOST_TOKENS = 2**31 - 1  # what the database has room for
NOT_SENT = ("gap_timeout", "total_timeout", *BUDGETS)  # of `extra`: never sent


@dataclass(frozen=True)
class Message:
    role: Role
    text: str


@dataclass(frozen=True)
class ModelSettings:
    """Say which model answers and how: the one list of these settings, also for study files and rows."""

    kind: Annotated[
        str,
        OneOf(KINDS),
        Needed(),
        about(
            "`openai_compatible`: a server with OpenAI's interface. `scripted`: a script that comes with emostudy and "
            "needs no network.",
            "openai_compatible",
        ),
    ]
    model: Annotated[
        Line, about("The model's name on its server, or the name of the script.", "gpt-4o", max_length=200)
    ] = ""
    base_url: Annotated[WebAddress, about("The server's address.", "https://api.openai.com/v1")] = ""
    api_key_env: Annotated[
        Variable, about("The environment variable with the key, never the key itself.", "OPENAI_API_KEY")
    ] = ""
    temperature: Annotated[
        Number | None, about("The sampling temperature; by default the server's own.", 0.7, ge=0, le=2)
    ] = None
    max_tokens: Annotated[
        Whole | None, about("The longest answer, in tokens; by default the server's own.", 400, ge=1, le=MOST_TOKENS)
    ] = None
    extra: Annotated[
        Mapping[str, Any],
        about("Further parameters, sent as they are. For its own keys see [models](models.md).", {"top_p": 0.9}),
    ] = field(default_factory=dict)

    def parameters(self) -> dict[str, Any]:
        """Return how the model is to answer, by name: what the ledger keeps, None where the server decides."""
        return {name: getattr(self, name) for name in PARAMETERS}

    def explicit_parameters(self) -> dict[str, float]:
        """Return the parameters that have a value; the server decides the others.

        Hashes are made of these alone, so a parameter that is added later changes no hash of settings without it. All
        are floats, so 1 and 1.0 give one hash.
        """
        return {name: float(value) for name, value in self.parameters().items() if value is not None}

    def identity(self) -> list[Any]:
        """Return what tells one model with its settings from another, without `extra` and the name of the key."""
        return [self.kind, self.base_url, self.model, self.explicit_parameters()]

    def request_options(self) -> dict[str, Any]:
        """Return the part of `extra` that goes into the request: all but our own time-outs and budgets."""
        return {name: value for name, value in self.extra.items() if name not in NOT_SENT}


PARAMETERS = tuple(each.name for each in fields(ModelSettings) if each.name not in WHICH)


def copy_settings(source: Any, **changes: Any) -> ModelSettings:
    """Return the settings that an arm, a row or a file has, field by field by name, with changes."""
    return ModelSettings(**{each.name: getattr(source, each.name) for each in fields(ModelSettings)} | changes)


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
KEY_UNSET = "key_unset"
KEY_UNLISTED = "key_unlisted"  # no study may name its variable (MODEL_KEYS)
KEY_REFUSED = "key_refused"
QUOTA_SPENT = "quota_spent"
REGION_REFUSED = "region_refused"
WRONG_ADDRESS = "wrong_address"
BAD_CERTIFICATE = "bad_certificate"
WITHOUT_KEY = (KEY_UNSET, KEY_UNLISTED)  # this process has no key, so nothing is asked
# Every question ends in these until somebody changes the settings or the account; `client_error` is the rest of them.
OF_SETTINGS = (*WITHOUT_KEY, KEY_REFUSED, QUOTA_SPENT, REGION_REFUSED, WRONG_ADDRESS, BAD_CERTIFICATE)


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
    *OF_SETTINGS,
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
