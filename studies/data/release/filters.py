"""The rules for whose conversations may be published, and which of them. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from dialogue.safety.screening import screen_message

BOX = "share_deidentified"  # of the consent form: de-identified data may be shared with other researchers
GRAVE = 3  # from this level on a person may be in danger


class LeftOut(StrEnum):
    """The reasons why a conversation is not published, in the order in which they are asked."""

    TEST = "test_data"
    IMPORTED = "imported"
    SIMULATED = "simulated"
    WITHDRAWN = "withdrawn"
    EXCLUDED = "person_excluded"
    INVALID = "conversation_not_valid"
    NOT_AGREED = "not_agreed"
    DANGER = "held_or_in_danger"
    OPEN = "still_open"
    NO_TURN = "without_a_reply"


@dataclass(frozen=True)
class Facts:
    is_test: bool
    is_withdrawn: bool
    is_excluded: bool
    is_valid: bool
    agrees: bool
    in_danger: bool
    is_closed: bool
    has_turns: bool


def why_left_out(facts: Facts) -> LeftOut | None:
    reasons = {
        LeftOut.TEST: facts.is_test,
        LeftOut.WITHDRAWN: facts.is_withdrawn,
        LeftOut.EXCLUDED: facts.is_excluded,
        LeftOut.INVALID: not facts.is_valid,
        LeftOut.NOT_AGREED: not facts.agrees,
        LeftOut.DANGER: facts.in_danger,
        LeftOut.OPEN: not facts.is_closed,
        LeftOut.NO_TURN: not facts.has_turns,
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def is_asked(boxes: Mapping[str, Any] | None) -> bool:
    return boxes is not None and BOX in boxes


def agrees_to_sharing(boxes: Mapping[str, Any] | None) -> bool:
    """Return whether the consent that was signed last allows sharing.

    `boxes` are those of that consent; None where none was signed. An older form did not ask: that is a no.
    """
    return boxes is not None and boxes.get(BOX) is True


def is_grave(text: str) -> bool:
    """Return whether today's screen finds grave danger, which may be more than was found when the text was stored."""
    return screen_message(text).level >= GRAVE
