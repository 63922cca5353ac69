"""What the pages about reviews and those about pairs show alike of a plan."""

from dataclasses import dataclass


@dataclass(frozen=True)
class PlanRow:
    """A plan in the list of plans."""

    name: str
    url: str
    asked: str  # the scales, or the questions
    drawn: int
    wanted: int
    done: int
    is_open: bool
    is_test: bool


@dataclass(frozen=True)
class Figure:
    """A number at the head of a plan's page; one with an address that is not 0 wants to be looked at."""

    label: str
    value: int
    note: str = ""
    url: str = ""
