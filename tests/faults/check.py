"""What must hold, whatever befell the person: each function yields what does not, in words. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tests.faults.client import Heard
from tests.faults.person import Walk


@dataclass(frozen=True)
class Turn:
    number: int
    client_id: str
    text: str
    state: str
    seq: int
    reply: str
    reply_seq: int
    attempts: int


@dataclass(frozen=True)
class Call:
    turn: int
    attempt: int
    status: str
    response: str
    created_at: datetime


@dataclass(frozen=True)
class Response:
    form: str
    turn: int
    answers: Mapping[str, float]  # to the items on a scale


@dataclass(frozen=True)
class Stored:
    """What the database holds of one person when all is over."""

    conversations: int = 0
    status: str = ""
    end_reason: str = ""
    consents: int = 0
    turns: Sequence[Turn] = ()
    calls: Sequence[Call] = ()
    responses: Sequence[Response] = ()


@dataclass(frozen=True)
class Around:
    """What else is known: when the server died, and how often the model was asked each message."""

    deaths: Sequence[datetime] = ()
    asked: Mapping[str, int] = field(default_factory=dict)


def violations(walk: Walk, stored: Stored, around: Around) -> list[str]:
    return [
        *went_on(walk, stored),
        *kept_messages(walk, stored),
        *kept_order(walk, stored),
        *same_replies(walk, stored),
        *frame_numbers(walk.memory.heard),
        *pieces(walk.memory.heard),
        *forms(walk, stored),
        *ledger(stored, around),
    ]


def went_on(walk: Walk, stored: Stored) -> Iterator[str]:
    if walk.stuck:
        yield f"could not go on: {walk.stuck}"
    elif (stored.conversations, stored.status, stored.end_reason) != (1, "closed", "finished"):
        yield f"{stored.conversations} conversations, the last {stored.status} {stored.end_reason}, not one finished"


def kept_messages(walk: Walk, stored: Stored) -> Iterator[str]:
    """No acknowledged message is missing, none is there twice, none is another's."""
    by_id: dict[str, list[Turn]] = {}
    for turn in stored.turns:
        by_id.setdefault(turn.client_id, []).append(turn)
    for identifier, numbers in walk.memory.acknowledged().items():
        turns = by_id.get(identifier, [])
        text = walk.memory.sent.get(identifier)
        if not turns:
            yield f"acknowledged and missing: {text!r}, said to be turn {sorted(numbers)}"
        elif {turn.number for turn in turns} != numbers:
            yield f"{text!r} was said to be turn {sorted(numbers)} and is {[turn.number for turn in turns]}"
    for identifier, turns in by_id.items():
        if len(turns) > 1:
            yield f"stored {len(turns)} times: {turns[0].text!r}"
        if turns[0].text != walk.memory.sent.get(identifier):
            yield f"turn {turns[0].number} is {turns[0].text!r}, sent was {walk.memory.sent.get(identifier)!r}"
    for text, times in Counter(turn.text for turn in stored.turns).items():
        if times > 1:
            yield f"{times} turns have the text {text!r}"


def kept_order(walk: Walk, stored: Stored) -> Iterator[str]:
    numbers = [turn.number for turn in stored.turns]
    if numbers != list(range(1, len(numbers) + 1)):
        yield f"turns are numbered {numbers}"
    identifiers = [turn.client_id for turn in stored.turns]
    sent = [identifier for identifier in walk.memory.sent if identifier in identifiers]
    if identifiers != sent:
        yield f"stored in the order {[walk.memory.sent.get(one) for one in identifiers]}"
    if not walk.stuck and len(numbers) != walk.schedule.turns:
        yield f"{len(numbers)} turns are stored, {walk.schedule.turns} were written"


def same_replies(walk: Walk, stored: Stored) -> Iterator[str]:
    """Every reply that was told is the one that is stored, and every message has one."""
    turns = {turn.number: turn for turn in stored.turns}
    for frame in walk.memory.frames("reply"):
        turn = turns.get(frame["turn"])
        if turn is None or (frame["text"], frame["seq"]) != (turn.reply, turn.reply_seq):
            yield f"the reply to turn {frame['turn']} was told as {frame['text']!r} and is stored as {turn!r}"
    for frame in walk.memory.frames("message"):
        turn = turns.get(frame["turn"])
        if turn is None or (frame["id"], frame["text"], frame["seq"]) != (turn.client_id, turn.text, turn.seq):
            yield f"turn {frame['turn']} was told as {frame['text']!r} and is stored as {turn!r}"
    for turn in stored.turns:
        if not walk.stuck and (turn.state != "answered" or not turn.reply):
            yield f"turn {turn.number} ended {turn.state} with the reply {turn.reply!r}"


def frame_numbers(heard: Iterable[Heard]) -> Iterator[str]:
    """On one connection they rise; over all of them, none is used for two things."""
    used: dict[int, dict[str, Any]] = {}
    last: dict[int, int] = {}
    for one in heard:
        seq = one.frame.get("seq")
        if seq is None:
            continue
        if used.setdefault(seq, one.frame) != one.frame:
            yield f"number {seq} was {used[seq]} and then {one.frame}"
        if seq <= last.get(one.connection, one.after):
            yield f"number {seq} came after {last.get(one.connection, one.after)}: {one.frame}"
        last[one.connection] = seq


def pieces(heard: Iterable[Heard]) -> Iterator[str]:
    """On one connection the pieces leave no gap, and what they make is how the reply begins."""
    standing: dict[tuple[int, int], str] = {}
    for one in heard:
        frame, place = one.frame, (one.connection, one.frame.get("turn", 0))
        if frame["type"] == "chunk":
            so_far = standing.get(place, "")
            if frame["at"] > len(so_far):
                yield f"turn {frame['turn']}: a piece for {frame['at']}, but there are only {len(so_far)} characters"
            standing[place] = so_far[: frame["at"]] + frame["text"]
        elif frame["type"] == "reply" and not frame["text"].startswith(standing.get(place, "")):
            yield f"turn {frame['turn']}: the pieces made {standing[place]!r}, the reply is {frame['text']!r}"


def forms(walk: Walk, stored: Stored) -> Iterator[str]:
    """Each form is stored once, and whole: as it was sent one of the times, not mixed."""
    times = Counter((response.form, response.turn) for response in stored.responses)
    for place, count in times.items():
        if count > 1:
            yield f"the {place[0]} form of turn {place[1]} is stored {count} times"
    if not walk.stuck and (stored.consents, len(times)) != (1, 2):
        yield f"{stored.consents} consents and the forms {sorted(times)} are stored"
    for response in stored.responses:
        versions = [
            {item: float(answers[item]) for item in response.answers if item in answers}
            for answers in walk.submitted.get(response.form, ())
        ]
        if not response.answers or dict(response.answers) not in versions:
            yield f"the {response.form} form is stored as {dict(response.answers)}, sent was one of {versions}"


def ledger(stored: Stored, around: Around) -> Iterator[str]:
    """A row for each attempt, closed but where the server died; and no more requests than rows."""
    for turn in stored.turns:
        calls = [call for call in stored.calls if call.turn == turn.number]
        if [call.attempt for call in calls] != list(range(1, turn.attempts + 1)):
            yield f"turn {turn.number}: {turn.attempts} attempts, the ledger has {[call.attempt for call in calls]}"
        good = [call.response for call in calls if call.status == "ok"]
        if turn.state == "answered" and good != [turn.reply]:
            yield f"turn {turn.number}: the ledger's replies are {good}, shown was {turn.reply!r}"
        if around.asked.get(turn.text, 0) > len(calls):
            yield f"turn {turn.number}: {around.asked[turn.text]} requests, {len(calls)} rows in the ledger"
        for call in calls:
            if call.status == "started" and not any(death > call.created_at for death in around.deaths):
                yield f"turn {turn.number}: attempt {call.attempt} was left open, and the server did not die"
