"""Numbers as a reader sees them. English and Chinese write them alike: a point, and commas between thousands."""

import math
import re
from collections.abc import Iterable

NO_BREAK = "\u00a0"
LEVEL = f"95{NO_BREAK}%"
SMALL = ("cost",)  # columns where a fourth decimal tells something
_P = re.compile("p|p_.+|.+_p")  # columns
MINUS = "\u2212"
HUGE = 1e6  # as the upper bound of a variance of which next to nothing is known


def count(number: float) -> str:
    return f"{int(number):,}"


def amount(number: float) -> str:
    """Return a number of things, or a mean of such numbers with one digit."""
    return count(number) if float(number).is_integer() else decimal(number, 1)


def decimal(number: float, digits: int = 2) -> str:
    """Return a number as text with so many digits.

    It is a dash where the number is not known; no minus before what rounds to 0; a power of ten where digits are many.
    A minus is the sign of typography, as wide as a plus.
    """
    if math.isnan(number):
        return "–"
    if abs(number) >= HUGE:
        return f"{number:.0e}"
    text = f"{number:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text.replace("-", MINUS)


def with_sign(number: float) -> str:
    text = decimal(number)
    return f"+{text}" if number > 0 and text.strip("0.") else text


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def bounds(low: float, high: float) -> str:
    """Return an interval as text; empty where there is none."""
    return "" if math.isnan(low) or math.isnan(high) else f"[{decimal(low)}, {decimal(high)}]"


def with_bounds(number: float, low: float, high: float) -> str:
    return f"{decimal(number)} {bounds(low, high)}".rstrip()


def with_bounds_signed(number: float, low: float, high: float) -> str:
    return f"{with_sign(number)} {bounds(low, high)}".rstrip()


def p_alone(p: float) -> str:
    """Return a p as text for a column that says that it is p."""
    return "<.001" if p < 0.001 else f"{p:.3f}".removeprefix("0")


def in_column(column: str, number: float) -> str:
    """Return a number of a table of results as a cell."""
    return p_alone(number) if _P.fullmatch(column) else f"{number:.{4 if column in SMALL else 3}f}".replace("-", MINUS)


def p_value(p: float) -> str:
    return f"p{NO_BREAK}<{NO_BREAK}.001" if p < 0.001 else f"p{NO_BREAK}={NO_BREAK}{p_alone(p)}"


def span(counts: Iterable[float]) -> str:
    """Return one number where all are the same, else the lowest and the highest."""
    numbers = sorted(counts)
    ends = dict.fromkeys([numbers[0], numbers[-1]])
    return "–".join(dict.fromkeys(map(amount, ends)))
