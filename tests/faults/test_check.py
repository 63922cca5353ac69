"""The checks themselves: a whole story has no violation, and each damage to it is seen."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.faults.check import Around, Call, Response, Stored, Turn, violations
from tests.faults.client import Heard, Memory
from tests.faults.person import Walk
from tests.faults.schedule import Schedule

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATER = datetime(2026, 1, 1, 13, tzinfo=UTC)

Story = tuple[Walk, Stored, Around]


def heard(**frame: Any) -> Heard:
    return Heard(connection=1, after=0, frame=frame)


def story() -> Story:
    memory = Memory(sent={"a": "one", "b": "two"})
    for turn, identifier in enumerate("ab", 1):
        memory.heard += [
            heard(type="ack", id=identifier, turn=turn),
            heard(type="chunk", seq=10 * turn + 1, turn=turn, at=0, text="Yes, "),
            heard(type="chunk", seq=10 * turn + 2, turn=turn, at=5, text="tr"),
            heard(type="reply", seq=10 * turn + 3, turn=turn, text=f"Yes, true {turn}."),
        ]
    turns = [
        Turn(turn, identifier, text, "answered", 10 * turn, f"Yes, true {turn}.", 10 * turn + 3, attempts=1)
        for turn, identifier, text in [(1, "a", "one"), (2, "b", "two")]
    ]
    calls = [Call(turn, 1, "ok", f"Yes, true {turn}.", NOON) for turn in (1, 2)]
    responses = [Response("checkpoint", 2, {"q": 4.0}), Response("rating", 0, {"r": 2.0})]
    schedule = Schedule(1, "sqlite", "echo", paced=False, turns=2, faults=())
    walk = Walk(schedule, "P", memory, submitted={"checkpoint": [{"q": "3"}, {"q": "4"}], "rating": [{"r": "2"}]})
    stored = Stored(1, "closed", "finished", consents=1, turns=turns, calls=calls, responses=responses)
    return walk, stored, Around(asked={"one": 1, "two": 1})


def stored_with(**changes: Any) -> Callable[[Story], Story]:
    return lambda story: (story[0], replace(story[1], **changes), story[2])


def hearing(**frame: Any) -> Callable[[Story], Story]:
    def damaged(story: Story) -> Story:
        story[0].memory.heard.append(heard(**frame))
        return story

    return damaged


def turn(number: int, **changes: Any) -> Callable[[Story], Story]:
    def damaged(story: Story) -> Story:
        turns = [replace(one, **changes) if one.number == number else one for one in story[1].turns]
        return stored_with(turns=turns)(story)

    return damaged


def got_stuck(story: Story) -> Story:
    story[0].stuck = "turn 2: not through"
    return story


WHOLE = story()
ONE, TWO = WHOLE[1].turns
FIRST_CALL, SECOND_CALL = WHOLE[1].calls
CHECKPOINT, RATING = WHOLE[1].responses
DAMAGES = {
    "could not go on": got_stuck,
    "not one finished": stored_with(status="open", end_reason=""),
    "acknowledged and missing": stored_with(turns=[ONE]),
    "was said to be turn": hearing(type="ack", id="a", turn=2),
    "stored 2 times": stored_with(turns=[ONE, TWO, replace(TWO, number=3)]),
    "turns have the text": stored_with(turns=[ONE, TWO, replace(TWO, number=3, client_id="c")]),
    "sent was": turn(2, text="another text"),
    "turns are numbered": stored_with(turns=[ONE, replace(TWO, number=3)]),
    "stored in the order": stored_with(turns=[replace(TWO, number=1), replace(ONE, number=2)]),
    "turns are stored": stored_with(turns=[ONE, TWO, replace(TWO, number=3, client_id="c", text="three")]),
    "the reply to turn 1 was told": turn(1, reply="No."),
    "turn 1 was told": hearing(type="message", seq=40, turn=1, id="b", text="two"),
    "ended waiting": turn(2, state="waiting"),
    "number 11 was": hearing(type="chunk", seq=11, turn=2, at=0, text="Something else"),
    "came after": hearing(type="closed", seq=3),
    "there are only": hearing(type="chunk", seq=40, turn=2, at=99, text="late"),
    "the pieces made": lambda story: hearing(type="reply", seq=41, turn=2, text="Yes, true 2.")(
        hearing(type="chunk", seq=40, turn=2, at=0, text="No")(story)
    ),
    "form of turn 2 is stored 2 times": stored_with(responses=[CHECKPOINT, CHECKPOINT, RATING]),
    "consents and the forms": stored_with(responses=[CHECKPOINT]),
    "sent was one of": stored_with(responses=[replace(CHECKPOINT, answers={"q": 5.0}), RATING]),
    "attempts, the ledger has": turn(1, attempts=2),
    "the ledger's replies are": stored_with(calls=[replace(FIRST_CALL, response="No."), SECOND_CALL]),
    "rows in the ledger": lambda story: (story[0], story[1], Around(asked={"one": 2})),
    "was left open": stored_with(calls=[replace(FIRST_CALL, status="started"), SECOND_CALL]),
}


def test_whole_story_has_no_violation() -> None:
    assert violations(*story()) == []


@pytest.mark.parametrize("words", DAMAGES)
def test_damage_is_seen(words: str) -> None:
    found = violations(*DAMAGES[words](story()))
    assert [said for said in found if words in said], found


def test_attempt_may_stay_open_where_the_server_died_after_it_began() -> None:
    walk, stored, around = story()
    calls = [replace(FIRST_CALL, status="started"), replace(FIRST_CALL, attempt=2), SECOND_CALL]
    stored = replace(stored, turns=[replace(ONE, attempts=2), TWO], calls=calls)
    assert violations(walk, stored, replace(around, deaths=[LATER])) == []
