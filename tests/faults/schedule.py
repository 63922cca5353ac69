"""What befalls one person in one conversation, drawn from a seed: the same seed, the same faults. Pure."""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Literal

MIN_TURNS = 3
CHECKPOINT = 2  # a rating is due after this turn
ROUND = 10  # schedules that share a server: seeds 1 to 10, 11 to 20, …
POSTGRES_EVERY = 3  # of the rounds, one in so many runs on PostgreSQL

Backend = Literal["sqlite", "postgres"]
Moment = Literal["send", "ack", "chunk", "reply"]
FormName = Literal["consent", "checkpoint", "rating"]

MODELS = (
    "counted-30",
    "flaky-1-status-429+counted-30",
    "flaky-1-status-500+counted-30",
    "flaky-3-status-500+counted-30",
    "flaky-1-status-400+counted-30",
    "flaky-1-stall+counted-30",
    "flaky-2-break+counted-30",
    "flaky-1-badjson+counted-30",
    "flaky-4-empty+counted-30",
    "flaky-1-streamerror+counted-30",
    "flaky-3-hangup+counted-30",
    "counted-120",
)

# How often each kind is drawn. A kill befalls all ten of its round, so there are few.
IN_TURN = ("cut",) * 4 + ("tab",) * 2 + ("database",) * 2 + ("dead", "slow", "kill", "twice")
AT_FORM = ("twice",) * 2 + ("two forms",) * 2 + ("cut",) * 2 + ("kill", "database")


@dataclass(frozen=True)
class InTurn:
    """When: as this turn's message is sent, is acknowledged, while its reply streams, or as it is there."""

    turn: int
    moment: Moment

    def __str__(self) -> str:
        return f"turn {self.turn}, {self.moment}"


@dataclass(frozen=True)
class AtForm:
    """When: as this form is sent."""

    form: FormName

    def __str__(self) -> str:
        return f"the {self.form} form"


When = InTurn | AtForm


@dataclass(frozen=True)
class Fault:
    when: When

    def __str__(self) -> str:
        details = [f"{one.name} {getattr(self, one.name)}" for one in fields(self) if one.name != "when"]
        return f"{self.when}: {type(self).__name__}" + (f" ({', '.join(details)})" if details else "")


@dataclass(frozen=True)
class Cut(Fault):
    """The connection breaks without a goodbye after so many seconds, in which what is sent upwards or downwards is
    lost, or only half of the next piece gets up."""

    losing: Literal["nothing", "upwards", "downwards", "half"]
    after: float


@dataclass(frozen=True)
class DeadLine(Fault):
    """From here on nothing gets through either way, and neither side is told."""


@dataclass(frozen=True)
class SlowLine(Fault):
    """Every piece takes so many seconds, both ways, until the next reply is there."""

    seconds: float


@dataclass(frozen=True)
class Kill(Fault):
    """The server dies so many seconds later, and is started again: by SIGKILL, or `politely` by SIGTERM."""

    after: float
    politely: bool


@dataclass(frozen=True)
class SecondTab(Fault):
    """The conversation is opened in a second tab; the person goes on there, or takes it back to the first."""

    takes_back: bool


@dataclass(frozen=True)
class SentTwice(Fault):
    """The same message, or the same form, twice at once."""


@dataclass(frozen=True)
class TwoForms(Fault):
    """The page of a form stood open in two tabs; both are sent at once, with different answers."""


@dataclass(frozen=True)
class DatabaseBusy(Fault):
    """Someone else holds the lock that writing needs."""

    seconds: float


@dataclass(frozen=True)
class DatabaseAway(Fault):
    """Every connection to the database is ended and none is let in. On PostgreSQL only."""

    seconds: float


@dataclass(frozen=True)
class Schedule:
    seed: int
    backend: Backend
    model: str
    paced: bool  # replies are shown at an even speed and without names, as in a study that asks for it
    turns: int  # messages that the person means to write
    faults: tuple[Fault, ...]

    def __str__(self) -> str:
        shown = "paced" if self.paced else "as it comes"
        head = f"seed {self.seed}: {self.backend}, model {self.model}, shown {shown}, {self.turns} turns"
        return "\n".join([head, *(f"  {fault}" for fault in self.faults)])


def schedule_for(seed: int) -> Schedule:
    draw = random.Random(f"faults {seed}")
    backend = backend_of(seed)
    turns = MIN_TURNS + draw.choice((0, 0, 1))
    model = MODELS[0] if draw.random() < 0.4 else draw.choice(MODELS[1:])
    count = draw.choice((2, 3, 3, 4))
    faults = dict.fromkeys(drawn_fault(draw, backend, turns) for _ in range(count))
    paced = draw.random() < 0.25
    return Schedule(seed, backend, model, paced, turns, tuple(sorted(faults, key=place_of)))


def backend_of(seed: int) -> Backend:
    return "postgres" if (seed - 1) // ROUND % POSTGRES_EVERY == 1 else "sqlite"


def drawn_fault(draw: random.Random, backend: Backend, turns: int) -> Fault:
    if draw.random() < 0.2:
        return at_a_form(draw, backend)
    when = InTurn(draw.randint(1, turns), draw.choice(("send", "ack", "chunk", "chunk", "reply")))
    return fault_in_turn(draw, draw.choice(IN_TURN), when, backend)


def fault_in_turn(draw: random.Random, kind: str, when: InTurn, backend: Backend) -> Fault:
    match kind:
        case "cut":
            return drawn_cut(draw, when)
        case "dead":
            return DeadLine(when)
        case "slow":
            return SlowLine(when, seconds=round(draw.uniform(0.05, 0.3), 2))
        case "kill":
            return drawn_kill(draw, when)
        case "tab":
            return SecondTab(when, takes_back=draw.random() < 0.4)
        case "twice":
            return SentTwice(InTurn(when.turn, "send"))
    return drawn_database_fault(draw, when, backend)


def at_a_form(draw: random.Random, backend: Backend) -> Fault:
    when = AtForm(draw.choice(("consent", "checkpoint", "checkpoint", "rating", "rating")))
    match draw.choice(AT_FORM):
        case "twice":
            return SentTwice(when)
        case "two forms":
            return TwoForms(when)
        case "cut":
            return drawn_cut(draw, when)
        case "kill":
            return Kill(when, after=round(draw.uniform(0, 0.1), 3), politely=False)
    return drawn_database_fault(draw, when, backend)


def drawn_cut(draw: random.Random, when: When) -> Fault:
    sending = isinstance(when, AtForm) or when.moment == "send"
    losing = draw.choice(("upwards", "downwards", "downwards", "half")) if sending else "nothing"
    return Cut(when, losing=losing, after=round(draw.uniform(0.02, 0.4), 2) if sending else 0.0)


def drawn_kill(draw: random.Random, when: InTurn) -> Fault:
    return Kill(when, after=round(draw.choice((0.0, draw.uniform(0, 1.0))), 3), politely=draw.random() < 0.2)


def drawn_database_fault(draw: random.Random, when: When, backend: Backend) -> Fault:
    if backend == "postgres" and draw.random() < 0.5:
        return DatabaseAway(when, seconds=round(draw.uniform(2, 4), 1))
    return DatabaseBusy(when, seconds=round(draw.uniform(1, 4), 1))


def place_of(fault: Fault) -> tuple[float, str]:
    """Where on the person's way it comes."""
    if isinstance(fault.when, AtForm):
        return {"consent": 0.0, "checkpoint": CHECKPOINT + 0.5, "rating": 99.0}[fault.when.form], ""
    return float(fault.when.turn), str(fault)


def rounds_of(seeds: Iterable[int], size: int = ROUND) -> Iterator[Sequence[int]]:
    """Seeds that share a server: at most `size`, all on the same kind of database."""
    by_backend: dict[Backend, list[int]] = {}
    for seed in sorted(set(seeds)):
        by_backend.setdefault(backend_of(seed), []).append(seed)
    rounds = [one[start : start + size] for one in by_backend.values() for start in range(0, len(one), size)]
    yield from sorted(rounds)


def companions(seed: int) -> Sequence[int]:
    """The seeds of its round: their kills and locks befall it too."""
    first = (seed - 1) // ROUND * ROUND + 1
    return range(first, first + ROUND)
