"""A worker on jobs is killed, or sleeps past its leases: when, drawn from a seed, and what must hold then. Pure."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tests.faults.schedule import Backend
from tests.faults.site import Broker

MOST_CALLS = 40  # all the work takes some more
TURNS = 4  # of each simulated conversation
SLEEPERS = 1000  # above this seed the worker is not killed
SLEEP = 11.5  # seconds; others take up what it holds after 10


@dataclass(frozen=True)
class Kill:
    """One of two workers dies, or falls asleep, as soon as so many calls have begun: this one, or where it has none
    under way (as it may still be starting) the other."""

    seed: int
    backend: Backend  # SQLite with two runners, or PostgreSQL with two workers of Celery
    broker: Broker  # of Celery
    victim: int
    after: int

    @property
    def sleeps(self) -> bool:
        return self.seed > SLEEPERS

    def __str__(self) -> str:
        how = "two runners" if self.backend == "sqlite" else f"two workers of Celery, {self.broker}"
        what = "sleep" if self.sleeps else "kill"
        return f"{what} {self.seed} ({self.backend}, {how}): number {self.victim + 1} after {self.after} calls"


def kill_for(seed: int) -> Kill:
    draw = random.Random(f"kill {seed}")
    backend: Backend = "sqlite" if seed % 2 else "postgres"
    return Kill(seed, backend, "redis" if seed % 4 else "rabbitmq", draw.randrange(2), draw.randint(1, MOST_CALLS))


@dataclass(frozen=True)
class Dialogue:
    """A simulated conversation as it is stored."""

    status: str
    turns: Sequence[int]
    thoughts: Sequence[int]  # the turns that have an inner state of the seeker
    ratings: int


@dataclass(frozen=True)
class Seen:
    """What rows and model server tell when all is over. `requests`: how often each body was sent."""

    slept: bool = False  # the worker was not killed
    in_flight: int = 0  # calls of the worker at that moment
    seconds: float | None = None  # from then to the last result; None: it did not come to an end
    items: Mapping[tuple[str, str], int] = field(default_factory=dict)  # by role and state
    judged: Mapping[str, int] = field(default_factory=dict)  # responses by their place
    thoughts: Mapping[str, int] = field(default_factory=dict)  # inner states by conversation, turn and source
    dialogues: Sequence[Dialogue] = ()
    calls: Mapping[str, int] = field(default_factory=dict)  # rows of the ledger by status
    answers: Mapping[str, int] = field(default_factory=dict)  # rows of the ledger with an answer, by key
    requests: Mapping[str, int] = field(default_factory=dict)

    @property
    def repeats(self) -> int:
        return sum(times - 1 for times in self.requests.values())


def violations(seen: Seen) -> list[str]:
    return [*all_done(seen), *nothing_twice(seen), *whole_dialogues(seen), *nothing_paid_twice(seen)]


def all_done(seen: Seen) -> Iterator[str]:
    if seen.seconds is None:
        yield "the work did not come to its end"
    for (role, state), count in seen.items.items():
        if state != "done":
            yield f"{count} items of the role {role} are {state}"
    if not seen.items:
        yield "there are no items"


def nothing_twice(seen: Seen) -> Iterator[str]:
    for what, counted in (("response", seen.judged), ("inner state", seen.thoughts)):
        yield from (f"{times} times the {what} {place}" for place, times in counted.items() if times > 1)
    wanted = seen.items.get(("judge", "done"), 0)
    if len(seen.judged) != wanted:
        yield f"{wanted} items of judging are done, and {len(seen.judged)} responses are stored"


def whole_dialogues(seen: Seen) -> Iterator[str]:
    wanted = seen.items.get(("simulation", "done"), 0)
    if len(seen.dialogues) != wanted:
        yield f"{wanted} items of simulating are done, and {len(seen.dialogues)} conversations are stored"
    for dialogue in seen.dialogues:
        for what, numbers in (("turns", dialogue.turns), ("inner states", dialogue.thoughts)):
            if list(numbers) != list(range(1, TURNS + 1)):
                yield f"a conversation has the {what} {list(numbers)}"
        if (dialogue.status, dialogue.ratings) != ("closed", 1):
            yield f"a conversation is {dialogue.status} and has {dialogue.ratings} ratings"


def nothing_paid_twice(seen: Seen) -> Iterator[str]:
    if sum(seen.requests.values()) > sum(seen.calls.values()):
        yield f"{sum(seen.requests.values())} requests, {sum(seen.calls.values())} rows in the ledger"
    yield from asleep(seen) if seen.slept else killed(seen)


def killed(seen: Seen) -> Iterator[str]:
    if seen.repeats > seen.in_flight:
        yield f"{seen.repeats} requests were repeated, {seen.in_flight} were in flight at the kill"
    for key, times in seen.answers.items():
        if times > 1:
            yield f"{times} answers to the question {key}"
    if strange := seen.calls.keys() - {"ok", "stopped"}:
        yield f"the ledger has calls that are {', '.join(sorted(strange))}"


def asleep(seen: Seen) -> Iterator[str]:
    """It has the answers to what it had asked when it wakes, or has waited too long for them; and may ask once more for
    each item before it learns that another has it."""
    if seen.repeats > 2 * seen.in_flight:
        yield f"{seen.repeats} requests were repeated, {seen.in_flight} were in flight when it fell asleep"
    if strange := seen.calls.keys() - {"ok", "stopped", "timeout"}:
        yield f"the ledger has calls that are {', '.join(sorted(strange))}"
