"""Until when people can have their data deleted, and what becomes of a study's data after a day. Pure."""

from collections.abc import Iterator
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import AfterValidator
from pydantic.dataclasses import dataclass

from dialogue.languages import CODES
from dialogue.schema import KNOWN_KEYS_ONLY, Rule, about

ANONYMISE, DELETE = "anonymise", "delete"
DAYS = ("delete_until", "contacts_until", "keep_until")
DATE_LENGTH = len("2027-12-31")


def check_day(text: str) -> str:
    """Return the text where it is a day as YYYY-MM-DD."""
    try:
        if len(text) != DATE_LENGTH:
            raise ValueError
        date.fromisoformat(text)
    except ValueError:
        raise ValueError('must be a day as YYYY-MM-DD, as "2027-12-31"') from None
    return text


Day = Annotated[str, AfterValidator(check_day)]


@dataclass(frozen=True, kw_only=True, config=KNOWN_KEYS_ONLY)
class RetentionSpec:
    """How long data are kept ([retention](running.md#retention)). Days end at midnight UTC."""

    delete_until: Annotated[
        Day | None, about("The last day on which people can have their data deleted.", "2027-06-30")
    ] = None
    contacts_until: Annotated[
        Day | None, about("The last day on which contact data (Prolific IDs) are kept.", "2027-09-30")
    ] = None
    keep_until: Annotated[Day | None, about("The last day on which the study's data are kept.", "2036-12-31")] = None
    then: Annotated[
        Literal["anonymise", "delete"],
        about(
            "After `keep_until`: `anonymise` takes out identifiers and free text, `delete` deletes the data of all "
            "people.",
            "anonymise",
        ),
    ] = "anonymise"

    def broken_rules(self, _around: Any) -> Iterator[Rule]:
        """Return days that contradict each other."""
        for name in ("delete_until", "contacts_until"):
            day = getattr(self, name)
            if day and self.keep_until and day > self.keep_until:
                yield (name,), f"is after keep_until ({self.keep_until})"
        if self.then == DELETE and not self.keep_until:
            yield ("then",), "only with keep_until"

    def get_day(self, name: str) -> date | None:
        """Return the day that a key names; None where it is not given."""
        text = getattr(self, name)
        return date.fromisoformat(text) if text else None


def write_day(day: date) -> dict[str, str]:
    """Return a day as people read it, by language."""
    words = {"en": f"{day.day} {day:%B} {day.year}", "zh": f"{day.year} 年 {day.month} 月 {day.day} 日"}
    return {code: words.get(code, day.isoformat()) for code in CODES}
