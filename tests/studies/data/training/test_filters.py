"""Whose conversations may be used, and how far."""

from dataclasses import replace

import pytest

from studies.data.training.filters import Cut, Facts, LeftOut, StoredTurn, consents_to_training, usable, why_left_out

GOOD = Facts(
    is_test=False,
    is_closed=True,
    is_withdrawn=False,
    is_excluded=False,
    is_valid=True,
    is_imported=False,
    may_train=True,
    ended_for_safety=False,
)
TURN = StoredTurn(
    1, "I feel low.", "What happened?", is_answered=True, is_masked=False, has_risk=False, has_fault=False
)


def why(*, include_tests: bool = False, include_imported: bool = False, **changes: bool) -> LeftOut | None:
    facts = replace(GOOD, **changes)
    return why_left_out(facts, include_tests=include_tests, include_imported=include_imported)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, None),
        ({"is_test": True}, LeftOut.TEST),
        ({"is_closed": False}, LeftOut.OPEN),
        ({"is_withdrawn": True}, LeftOut.WITHDRAWN),
        ({"is_excluded": True}, LeftOut.EXCLUDED),
        ({"is_valid": False}, LeftOut.INVALID),
        ({"is_imported": True}, LeftOut.IMPORTED),
        ({"may_train": False}, LeftOut.NO_CONSENT),
        ({"ended_for_safety": True}, LeftOut.SAFETY),
        ({"is_test": True, "may_train": False, "include_tests": True}, LeftOut.NO_CONSENT),
        ({"is_test": True, "include_tests": True}, None),
        ({"is_imported": True, "include_imported": True}, None),
    ],
)
def test_each_fact_leaves_a_conversation_out(changes, reason):
    assert why(**changes) is reason


@pytest.mark.parametrize(
    ("boxes", "may"),
    [
        ({"training": True, "adult": True}, True),
        ({"training": False}, False),
        ({"share_deidentified": True}, False),
        ({}, False),
        (None, False),
    ],
)
def test_only_the_box_itself_is_a_yes(boxes, may):
    assert consents_to_training(boxes) is may


@pytest.mark.parametrize(
    ("changes", "cut"),
    [
        ({"has_risk": True}, Cut.RISK),
        ({"is_answered": False}, Cut.UNANSWERED),
        ({"is_masked": True}, Cut.MASKED),
        ({"has_fault": True}, Cut.FAULT),
        ({"seeker": " "}, Cut.EMPTY),
        ({"supporter": ""}, Cut.EMPTY),
        ({"seeker": "I want to kill myself"}, Cut.RISK),
        ({"supporter": "You should kill yourself."}, Cut.RISK),
    ],
)
def test_turns_end_before_the_first_that_may_not_be_used(changes, cut):
    turns = [replace(TURN, number=1), replace(TURN, number=2, **changes), replace(TURN, number=3)]
    kept, left_out = usable(turns)
    assert [turn.number for turn in kept] == [1]
    assert left_out == {cut: 1, Cut.AFTER: 1}


def test_all_turns_are_kept_where_nothing_is_wrong():
    kept, left_out = usable([replace(TURN, number=number) for number in (1, 2, 3)])
    assert ([turn.number for turn in kept], left_out) == ([1, 2, 3], {})
