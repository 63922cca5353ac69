"""How a study pays its people, and what one of them is owed. Pure."""

from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal
from math import ceil
from typing import Annotated, Any, Literal

from pydantic import AfterValidator
from pydantic.dataclasses import dataclass

from dialogue.documents import translate as _
from dialogue.schema import KNOWN_KEYS_ONLY, Number, Rule, Whole, about

CENT = Decimal("0.01")
MOST = 1_000_000  # of a currency, for one person


def check_currency(text: str) -> str:
    """Return the text where it is three capital letters."""
    if len(text) != 3 or not (text.isascii() and text.isalpha() and text.isupper()):
        raise ValueError(_('three capital letters (ISO 4217), as "EUR"'))
    return text


@dataclass(frozen=True, kw_only=True, config=KNOWN_KEYS_ONLY)
class PaymentSpec:
    """What people are paid ([payments](payments.md)). Either `per_hour` or `amount`."""

    currency: Annotated[str, AfterValidator(check_currency), about("Three capital letters (ISO 4217).", "EUR")]
    per_hour: Annotated[
        Number | None,
        about("Paid for each hour spent on the study. A started minute counts in full.", 12.5, gt=0, le=MOST),
    ] = None
    amount: Annotated[Number | None, about("Paid for the whole study.", 10.0, gt=0, le=MOST)] = None
    most_minutes: Annotated[
        Whole | None, about("With `per_hour`: minutes beyond these are not paid.", 90, ge=1, le=100_000)
    ] = None
    bonus: Annotated[
        Number, about("In addition, for people who complete the study and are not excluded.", 2.0, ge=0, le=MOST)
    ] = 0.0
    withdrawn: Annotated[
        Literal["full", "part", "none"],
        about(
            "People who leave early or are timed out get the whole amount, the part of it for the steps that they "
            "did, or nothing. With `per_hour`, both `full` and `part` pay for the minutes spent.",
            "full",
        ),
    ] = "part"
    screened_out: Annotated[Number, about("Paid to people who are screened out.", 1.0, ge=0, le=MOST)] = 0.0

    def broken_rules(self, _around: Any) -> Iterator[Rule]:
        """Return what is given twice, or not at all."""
        if (self.per_hour is None) == (self.amount is None):
            yield ("per_hour",), _("give either per_hour or amount")
        if self.most_minutes is not None and self.per_hour is None:
            yield ("most_minutes",), _("only with per_hour")

    def get_rate(self) -> Decimal | None:
        """Return what an hour is paid; None where the whole is."""
        return None if self.per_hour is None else exact(self.per_hour)

    def get_whole(self, minutes: int) -> Decimal:
        """Return what is paid for these minutes, or for the whole study."""
        rate = self.get_rate()
        if rate is None:
            return exact(self.amount or 0)
        paid = minutes if self.most_minutes is None else min(minutes, self.most_minutes)
        return round_to_cents(rate * paid / 60)


def exact(value: float) -> Decimal:
    """Return the number as it stands in the file, in cents."""
    return round_to_cents(Decimal(str(value)))


def round_to_cents(value: Decimal) -> Decimal:
    return value.quantize(CENT, rounding=ROUND_HALF_UP)


def count_minutes(seconds: int) -> int:
    """Return the minutes, the last one counted whole."""
    return ceil(seconds / 60)


def get_owed(spec: PaymentSpec, *, status: str, minutes: int, share: float) -> Decimal:
    """Return what a person is owed without the bonus. `share`: of their steps that they did, 0 to 1.

    People who were stopped for safety, or whose part the team ended, get what they would have got for completing.
    """
    if status in ("completed", "stopped", "ended"):
        return spec.get_whole(minutes)
    if status == "screened_out":
        return exact(spec.screened_out)
    if status not in ("withdrawn", "timed_out") or spec.withdrawn == "none":
        return Decimal(0)
    if spec.withdrawn == "full" or spec.per_hour is not None:
        return spec.get_whole(minutes)
    return round_to_cents(spec.get_whole(minutes) * Decimal(str(share)))
