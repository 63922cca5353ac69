"""What a study does about danger: `[safety]` of its file, checked by its types. Pure."""

import re
from typing import Annotated, Literal
from zoneinfo import available_timezones

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter
from pydantic.dataclasses import dataclass

KNOWN_KEYS_ONLY = ConfigDict(extra="forbid")
MOST_CONTACTS = 20
LONGEST_ADDRESS = 500  # characters
EMAIL = r"[^@\s,;<>]+@[^@\s,;<>]+"
VARIABLE = r"[A-Z_][A-Z0-9_]*"
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
DAY = f"({'|'.join(DAYS)})"
HOURS = re.compile(rf"(?:{DAY}(?:-{DAY})? )?([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-4]):([0-5]\d)")


def check_hours(text: str) -> str:
    """Return `text` where it reads as hours of a week, "mon-fri 09:00-17:00" or "22:00-06:00"."""
    if not HOURS.fullmatch(text.lower()):
        raise ValueError('must read as "mon-fri 09:00-17:00", "sat 10:00-14:00" or "22:00-06:00"')
    return text.lower()


def check_time_zone(text: str) -> str:
    """Return `text` where it names a time zone of the IANA list."""
    if text not in available_timezones():
        raise ValueError(f'"{text}" is no time zone, as Europe/Berlin is')
    return text


def check_web_address(text: str) -> str:
    """Return `text` where it is empty or an address of the web without a password in it."""
    if text and not text.startswith(("http://", "https://")):
        raise ValueError("must begin with http:// or https://")
    if "@" in text.partition("://")[2].partition("/")[0]:
        raise ValueError("must hold no user and no password")
    return text


WebAddress = Annotated[str, Field(max_length=LONGEST_ADDRESS), AfterValidator(check_web_address)]
KeyVariable = Annotated[str, Field(pattern=rf"^({VARIABLE})?$", max_length=100)]


@dataclass(frozen=True, kw_only=True, config=KNOWN_KEYS_ONLY)
class OnCall:
    """One contact on call. The file's order is the order in which they are alarmed."""

    name: Annotated[str, Field(min_length=1, max_length=100, description="Who it is, as colleagues know them.")]
    email: Annotated[str, Field(pattern=rf"^({EMAIL})?$", max_length=254, description="Where the mail goes.")] = ""
    webhook: Annotated[WebAddress, Field(description="An address that gets each alarm as a POST.")] = ""
    form: Annotated[Literal["json", "slack", "ntfy"], Field(description="What the webhook's receiver reads.")] = "json"
    secret_env: Annotated[
        KeyVariable, Field(description="The environment variable with the key that signs the webhook.")
    ] = ""
    hours: Annotated[
        tuple[Annotated[str, AfterValidator(check_hours)], ...],
        Field(description='When they can be reached, as "mon-fri 09:00-17:00"; empty: always.'),
    ] = ()


def check_contacts(contacts: tuple[OnCall, ...]) -> tuple[OnCall, ...]:
    """Return the contacts where each can be reached and has a name of their own."""
    for number, contact in enumerate(contacts, 1):
        if not (contact.email or contact.webhook):
            raise ValueError(f"contact {number} needs an email or a webhook")
    names = [contact.name for contact in contacts]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"two contacts have the name {min(twice)!r}")
    return contacts


@dataclass(frozen=True, kw_only=True, config=KNOWN_KEYS_ONLY)
class SecondLine:
    """A classifier that reads each message beside the first line."""

    kind: Annotated[
        Literal["openai_moderation", "openai_compatible", "scripted"],
        Field(description="The moderation endpoint of openai, or a chat model with emostudy's own prompt."),
    ]
    base_url: Annotated[WebAddress, Field(description="The server's address.")] = ""
    model: Annotated[str, Field(max_length=200, description="The model's name on that server.")] = ""
    api_key_env: Annotated[KeyVariable, Field(description="The environment variable with the key.")] = ""
    provider: Annotated[
        str, Field(max_length=200, description="The company that gets the text, as the consent form names it.")
    ] = ""
    when_unreachable: Annotated[
        Literal["open", "hold"],
        Field(description='No answer within the limit: "open" shows the reply, "hold" withholds it and tries again.'),
    ] = "open"
    seconds: Annotated[float, Field(gt=0, le=10, description="How long a reply waits for it at most.")] = 2.0


@dataclass(frozen=True, kw_only=True, config=KNOWN_KEYS_ONLY)
class StoppingRule:
    """When an arm is paused by itself."""

    count: Annotated[
        Literal["events", "worsening", "withheld"],
        Field(description="Events of level 3 or 4, people who felt much worse afterwards, or withheld replies."),
    ]
    at_least: Annotated[int, Field(ge=1, le=10_000, description="So many of them pause the arm.")]
    share: Annotated[
        float | None,
        Field(gt=0, lt=1, description="And only if the lower 95 % limit of their share is above this."),
    ] = None


@dataclass(frozen=True, kw_only=True, config=KNOWN_KEYS_ONLY)
class SafetyRules:
    """What a study does about danger. Every key may be left out."""

    oncall: Annotated[
        tuple[OnCall, ...],
        AfterValidator(check_contacts),
        Field(max_length=MOST_CONTACTS, description="Whom an alarm reaches, in this order; without it oncall_email."),
    ] = ()
    ack_minutes: Annotated[
        int, Field(ge=1, le=1440, description="Minutes until the next contact is alarmed if nobody has acknowledged.")
    ] = 10
    time_zone: Annotated[
        str, AfterValidator(check_time_zone), Field(description="The zone of hours and of times on the safety desk.")
    ] = "UTC"
    officer_email: Annotated[
        str, Field(pattern=rf"^({EMAIL})?$", max_length=254, description="The safety officer; told of each paused arm.")
    ] = ""
    second_line: Annotated[SecondLine | None, Field(description="A second classifier; none by default.")] = None
    after_safe: Annotated[
        Literal["wait", "continue"],
        Field(description='"Yes, I am safe" at level 3: wait for a person, or continue after a short check.'),
    ] = "wait"
    ask_where: Annotated[bool, Field(description='Offer "tell us where you are" to somebody who is not safe.')] = False
    worse_by: Annotated[
        int | None,
        Field(ge=1, le=100, description="So many points of mood lost over a conversation count as much worse."),
    ] = None
    serious_report_hours: Annotated[
        int, Field(ge=1, le=24 * 90, description="Hours until a serious adverse event must have been reported.")
    ] = 24
    report_days: Annotated[
        int, Field(ge=1, le=365, description="Days until any other adverse event must have been reported.")
    ] = 15
    stopping_rules: Annotated[
        tuple[StoppingRule, ...], Field(max_length=20, description="What pauses an arm by itself.")
    ] = ()


RULES = TypeAdapter(SafetyRules)
