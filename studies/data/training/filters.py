"""The rules for which conversations, and which of their turns, may become training data. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from dialogue.safety.screening import screen_message, screen_reply
from studies.data.training.talk import Exchange

BOX = "training"  # of the consent form: the person's texts may be used to train models
RISK = 2  # from this level of a message on there is a risk event


class LeftOut(StrEnum):
    """The reasons why a conversation is not used, in the order in which they are asked."""

    TEST = "test_data"
    OPEN = "still_open"
    WITHDRAWN = "withdrawn"
    EXCLUDED = "person_excluded"
    INVALID = "conversation_not_valid"
    IMPORTED = "imported"
    NO_CONSENT = "no_consent_to_training"
    SAFETY = "ended_for_safety"
    NO_TURN = "no_usable_turn"
    NO_ARM = "supporter_unknown"
    NO_SCORE = "no_score"
    LOW_SCORE = "below_min_score"
    SAME = "exact_duplicate"
    ALIKE = "near_duplicate"


class Cut(StrEnum):
    """The reasons why the turns of a conversation end where they do."""

    UNANSWERED = "unanswered"
    EMPTY = "empty"
    MASKED = "masked_or_withheld"
    RISK = "risk"
    FAULT = "fault_of_the_simulated_seeker"
    AFTER = "after_one_of_these"


@dataclass(frozen=True)
class Facts:
    is_test: bool
    is_closed: bool
    is_withdrawn: bool
    is_excluded: bool
    is_valid: bool
    is_imported: bool
    may_train: bool
    ended_for_safety: bool


@dataclass(frozen=True)
class StoredTurn:
    number: int
    seeker: str
    supporter: str
    is_answered: bool
    is_masked: bool  # something else was shown than what the model said
    has_risk: bool  # a sign of danger was recorded
    has_fault: bool  # a simulated seeker fell out of its part
    opening: str = ""  # of the first turn: what the supporter had said before it


def why_left_out(facts: Facts, *, include_tests: bool, include_imported: bool) -> LeftOut | None:
    reasons = {
        LeftOut.TEST: facts.is_test and not include_tests,
        LeftOut.OPEN: not facts.is_closed,
        LeftOut.WITHDRAWN: facts.is_withdrawn,
        LeftOut.EXCLUDED: facts.is_excluded,
        LeftOut.INVALID: not facts.is_valid,
        LeftOut.IMPORTED: facts.is_imported and not include_imported,
        LeftOut.NO_CONSENT: not facts.may_train,
        LeftOut.SAFETY: facts.ended_for_safety,
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def consents_to_training(boxes: Mapping[str, Any] | None) -> bool:
    """Return whether the consent that was signed last allows training.

    `boxes` are those of that consent; None where none was signed. An older form did not ask: that is a no.
    """
    return boxes is not None and boxes.get(BOX) is True


def usable(turns: Sequence[StoredTurn]) -> tuple[tuple[Exchange, ...], Mapping[Cut, int]]:
    """Return the turns before the first that may not be used, and how many were left out for what."""
    first = next(((place, cut) for place, turn in enumerate(turns) if (cut := why_cut(turn))), None)
    if first is None:
        return exchanges(turns), {}
    place, cut = first
    after = len(turns) - place - 1
    return exchanges(turns[:place]), {cut: 1, Cut.AFTER: after} if after else {cut: 1}


def exchanges(turns: Iterable[StoredTurn]) -> tuple[Exchange, ...]:
    return tuple(Exchange(turn.number, turn.seeker, turn.supporter, turn.opening) for turn in turns)


def why_cut(turn: StoredTurn) -> Cut | None:
    if turn.has_risk:
        return Cut.RISK
    if not turn.is_answered:
        return Cut.UNANSWERED
    if turn.is_masked:
        return Cut.MASKED
    if not turn.seeker.strip() or not turn.supporter.strip():
        return Cut.EMPTY
    if turn.has_fault:
        return Cut.FAULT
    return Cut.RISK if is_risky(turn) else None


def is_risky(turn: StoredTurn) -> bool:
    """Return whether today's screen finds danger, which may be more than was found when the turn was stored."""
    return screen_message(turn.seeker).level >= RISK or screen_reply(turn.supporter) is not None
