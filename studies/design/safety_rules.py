"""The rules of a study about danger: `[safety]` of its file, checked by its types. Pure."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Annotated, Any, Literal
from zoneinfo import available_timezones

from pydantic import AfterValidator, TypeAdapter
from pydantic.dataclasses import dataclass

from dialogue.documents import translate as _
from dialogue.schema import (
    KNOWN_KEYS_ONLY,
    Email,
    Line,
    NeededLine,
    Number,
    Rule,
    Truth,
    Variable,
    WebAddress,
    Whole,
    about,
)

MOST_CONTACTS = 20
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
DAY = f"({'|'.join(DAYS)})"
HOURS = re.compile(rf"(?:{DAY}(?:-{DAY})? )?([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-4]):([0-5]\d)")


def check_hours(text: str) -> str:
    """Return `text` where it reads as hours of a week, "mon-fri 09:00-17:00" or "22:00-06:00"."""
    if not HOURS.fullmatch(text.lower()):
        raise ValueError(_('must read as "mon-fri 09:00-17:00", "sat 10:00-14:00" or "22:00-06:00"'))
    return text.lower()


@cache
def get_time_zones() -> frozenset[str]:
    """Return the names of the IANA list. They are read once, for they lie in hundreds of files."""
    return frozenset(available_timezones())


def check_time_zone(text: str) -> str:
    """Return `text` where it names a time zone of the IANA list."""
    if text not in get_time_zones():
        raise ValueError(_('"%(text)s" is not a time zone: write one such as Europe/Berlin', text=text))
    return text


@dataclass(frozen=True, kw_only=True, config=KNOWN_KEYS_ONLY)
class OnCall:
    """One contact on call. The file's order is the order in which they are alarmed."""

    name: Annotated[NeededLine, about("The person's name, as colleagues know it.", "Dr. Lee", max_length=100)]
    email: Annotated[Email, about("Their mail address.", "lee@example.org")] = ""
    webhook: Annotated[
        WebAddress, about("An address that gets each alarm as a POST.", "https://ntfy.example.org/duty")
    ] = ""
    form: Annotated[Literal["json", "slack", "ntfy"], about("What the webhook's receiver reads.", "ntfy")] = "json"
    secret_env: Annotated[
        Variable, about("The environment variable with the key that signs the webhook.", "DUTY_KEY")
    ] = ""
    hours: Annotated[
        tuple[Annotated[str, AfterValidator(check_hours)], ...],
        about("When they can be reached, for example mon-fri 09:00-17:00; empty: always.", ["mon-fri 09:00-17:00"]),
    ] = ()


@dataclass(frozen=True, kw_only=True, config=KNOWN_KEYS_ONLY)
class SecondLine:
    """A classifier that reads each message beside the first line."""

    kind: Annotated[
        Literal["openai_moderation", "openai_compatible", "scripted"],
        about("The moderation endpoint of openai, or a chat model with emostudy's own prompt.", "openai_moderation"),
    ]
    base_url: Annotated[WebAddress, about("The server's address.", "https://api.openai.com/v1")] = ""
    model: Annotated[Line, about("The model's name on that server.", "omni-moderation-latest", max_length=200)] = ""
    api_key_env: Annotated[Variable, about("The environment variable with the key.", "OPENAI_API_KEY")] = ""
    provider: Annotated[
        Line, about("The company that gets the text, as the consent form names it.", "OpenAI", max_length=200)
    ] = ""
    when_unreachable: Annotated[
        Literal["open", "hold"],
        about('No answer within the limit: "open" shows the reply, "hold" withholds it and tries again.', "hold"),
    ] = "open"
    seconds: Annotated[Number, about("How long a reply waits for it at most.", 2.0, gt=0, le=10)] = 2.0


@dataclass(frozen=True, kw_only=True, config=KNOWN_KEYS_ONLY)
class StoppingRule:
    """When an arm is paused by itself."""

    count: Annotated[
        Literal["events", "worsening", "withheld"],
        about(
            "Events of level 3 or 4, people who felt much worse afterwards, or replies that ended a conversation.",
            "events",
        ),
    ]
    at_least: Annotated[Whole, about("The number that pauses the arm.", 3, ge=1, le=10_000)]
    share: Annotated[
        Number | None,
        about(
            "In addition, the lower limit of their share (95 per cent interval) must be above this.", 0.1, gt=0, lt=1
        ),
    ] = None


@dataclass(frozen=True, kw_only=True, config=KNOWN_KEYS_ONLY)
class SafetyRules:
    """What a study does about danger ([safety](safety.md))."""

    oncall: Annotated[
        tuple[OnCall, ...],
        about("Whom an alarm reaches, in this order; without it oncall_email.", None, max_length=MOST_CONTACTS),
    ] = ()
    ack_minutes: Annotated[
        Whole,
        about("Minutes until the next contact is alerted if no one has acknowledged.", 10, ge=1, le=1440),
    ] = 10
    time_zone: Annotated[
        str,
        AfterValidator(check_time_zone),
        about("The zone of hours and of times on the safety desk.", "Europe/Berlin"),
    ] = "UTC"
    officer_email: Annotated[Email, about("The safety officer; told of each paused arm.", "officer@example.org")] = ""
    second_line: Annotated[SecondLine | None, about("A second classifier; none by default.", None)] = None
    after_safe: Annotated[
        Literal["wait", "continue"],
        about(
            'What happens after "Yes, I am safe" at level 3: the conversation waits for a person on call, or '
            "continues after a short check.",
            "continue",
        ),
    ] = "wait"
    ask_where: Annotated[Truth, about('Offer "tell us where you are" to someone who is not safe.', True)] = False
    worse_by: Annotated[
        Whole | None,
        about("How many points the mood (1 to 9) must fall over a conversation to count as much worse.", 3, ge=1, le=8),
    ] = None
    serious_report_hours: Annotated[
        Whole, about("Hours until a serious adverse event must have been reported.", 24, ge=1, le=24 * 90)
    ] = 24
    report_days: Annotated[
        Whole, about("Days until any other adverse event must have been reported.", 15, ge=1, le=365)
    ] = 15
    stopping_rules: Annotated[
        tuple[StoppingRule, ...], about("Rules that pause an arm automatically.", None, max_length=20)
    ] = ()

    def broken_rules(self, _around: Any) -> Iterator[Rule]:
        """Return the contacts that cannot be reached or have the name of another."""
        for number, contact in enumerate(self.oncall):
            if not (contact.email or contact.webhook):
                yield ("oncall", number), _("needs an email or a webhook")
            if contact.name in [other.name for other in self.oncall[:number]]:
                yield ("oncall", number, "name"), _('"%(value)s" is listed twice', value=contact.name)


RULES = TypeAdapter(SafetyRules)
