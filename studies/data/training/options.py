"""The options of an export of training data. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from studies.instruments.definitions import Item

SFT, PREFERENCE = "sft", "preference"
FORMATS = (SFT, PREFERENCE)
FINAL, TURN = "final", "turn"
SCORE_OF = {FINAL: "conversation", TURN: "reply"}
MARGIN = 0.5  # points: on a scale of 1 to 5 half the way from one anchor to the next
TEST_SHARE = 0.1


@dataclass(frozen=True)
class Measure:
    """The scores that count: whose, and of which items.

    They are the mean of `items` of `instrument`, about the conversation or about each reply.
    """

    instrument: str
    items: Mapping[str, Item | None]  # None of an instrument that we do not have
    moment: str = FINAL
    rater_kind: str = "judge"
    rater: str = ""  # one of them alone
    strategy: str = ""  # of a judge; empty for all
    role: str = ""  # as whom judges rate, as in exported files; empty for people

    def as_json(self) -> dict[str, Any]:
        return {**vars(self), "items": list(self.items)}


@dataclass(frozen=True)
class Options:
    format: str
    measure: Measure | None = None  # None: no score is needed
    min_score: float | None = None
    margin: float = MARGIN
    test_share: float = TEST_SHARE
    seed: int = 1
    include_tests: bool = False
    include_imported: bool = False

    def as_json(self) -> dict[str, Any]:
        values = {**vars(self), "measure": self.measure.as_json() if self.measure else None}
        return values if self.format == PREFERENCE else {name: values[name] for name in values if name != "margin"}

    def by_reply(self) -> bool:
        return self.measure is not None and self.measure.moment == TURN
