"""Estimates what a job would ask and cost, before anything is asked. It builds the real prompts for a few items, and
replaces each answer by a text as long as earlier answers of its kind."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from math import ceil

from django.db import transaction
from django.db.models import Avg, Count
from django.db.models.functions import Length

from dialogue.jobs.calls import Caller, Question
from dialogue.judges.prompts import items_of_form
from dialogue.languages import get_language
from dialogue.models import Call, Job, JobItem
from dialogue.providers.base import ModelSettings, Reply
from dialogue.providers.prices import FREE, LATIN_CHARACTERS, WIDE_CHARACTERS, Prices, estimate_tokens
from dialogue.providers.registry import is_free

MOST_ITEMS = 3
ASSUMED = {  # tokens of an answer where none is in the ledger
    Call.Purpose.REPLY: 120,
    Call.Purpose.SEEKER: 40,  # with the Thinker's, about the 2000 a dialogue of EmoHarbor, Table 4
    Call.Purpose.THINKER: 80,
    Call.Purpose.JUDGE: 200,
    Call.Purpose.EVALUATOR: 200,
    Call.Purpose.REVIEWER: 60,
}
IN_EVERY_SCALE = 1


@contextmanager
def discard_changes() -> Iterator[None]:
    """Roll back everything that is stored within."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


@dataclass(frozen=True)
class Load:
    """Calls for one purpose to one model. The numbers are expectations, so they need not be whole. `in_batch` means the
    provider's price for batches."""

    purpose: str
    settings: ModelSettings
    calls: float = 1
    input_tokens: float = 0
    output_tokens: float = 0
    in_batch: bool = False

    def times(self, factor: float) -> "Load":
        return replace(
            self,
            calls=self.calls * factor,
            input_tokens=self.input_tokens * factor,
            output_tokens=self.output_tokens * factor,
        )


@dataclass(frozen=True)
class Typical:
    """The mean answer of one kind: its characters, and its tokens as charged. `calls` counts those in the ledger."""

    characters: float
    tokens: float
    calls: int = 0


@dataclass(frozen=True)
class Typicals:
    """Lengths of answers by purpose, kind and name of the model, and language of the conversation."""

    in_ledger: Mapping[tuple[str, str, str, str | None], Typical]

    @classmethod
    def read(cls) -> "Typicals":
        rows = (
            Call.objects.filter(status="ok")
            .values_list("purpose", "kind", "model", "conversation__language")
            .annotate(characters=Avg(Length("response")), tokens=Avg("output_tokens"), calls=Count("pk"))
            .order_by()
        )
        return cls({row[:4]: make_typical(*row[4:], language=row[3]) for row in rows})

    def of(self, question: Question) -> Typical:
        settings = question.settings
        place = (question.purpose, settings.kind, settings.model, question.language)
        return self.in_ledger.get(place) or assume_typical(question.purpose, question.language)


def make_typical(characters: float, tokens: float | None, calls: int, *, language: str | None) -> Typical:
    return Typical(characters, characters / characters_per_token(language or "") if tokens is None else tokens, calls)


def assume_typical(purpose: str, language: str) -> Typical:
    tokens = ASSUMED[Call.Purpose(purpose)]
    return Typical(tokens * characters_per_token(language), tokens)


def characters_per_token(language: str) -> float:
    return LATIN_CHARACTERS if get_language(language).spaces else WIDE_CHARACTERS


@dataclass
class DryCaller(Caller):
    """Asks no model, and records what it should have asked. `lengths` holds those of the answers by purpose, model and
    language."""

    typicals: Typicals
    loads: list[Load] = field(default_factory=list)
    lengths: dict[tuple[str, str, str], Typical] = field(default_factory=dict)

    def take_loads(self) -> list[Load]:
        """Return the calls recorded since the last time, and forget them."""
        loads, self.loads = self.loads, []
        return loads

    async def ask(self, question: Question, status_of: Callable[[Reply], str] = lambda _: "ok") -> Reply:
        length = self.typicals.of(question)
        self.lengths[question.purpose, question.settings.model, question.language] = length
        tokens = estimate_tokens(question.messages)
        self.loads.append(Load(question.purpose, question.settings, 1, tokens, length.tokens))
        return Reply(text_for(question, length), question.settings.model)


def text_for(question: Question, length: Typical) -> str:
    """Return an answer of this length in the form that was asked for."""
    words = filler_text(length.characters, question.language)
    if question.purpose == Call.Purpose.THINKER:
        return json.dumps({"cognition": words, "emotion": "-", "goal": "-", "emotion_score": 50})
    if question.purpose in (Call.Purpose.JUDGE, Call.Purpose.EVALUATOR):
        items = items_of_form(message.text for message in question.messages)
        return json.dumps({"evaluation": dict.fromkeys(items, IN_EVERY_SCALE)})
    return '{"faults": []}' if question.purpose == Call.Purpose.REVIEWER else words


def filler_text(characters: float, language: str) -> str:
    return "word " * ceil(characters / 5) if get_language(language).spaces else "字" * ceil(characters)


def scale_loads(samples: Sequence[Sequence[Load]], items: float) -> list[Load]:
    """Return the loads of that many items like the samples."""
    factor = items / len(samples) if samples else 0
    return [load.times(factor) for load in sum_loads(load for sample in samples for load in sample)]


def sample_items(job: Job, role: str) -> list[JobItem]:
    """Return up to `MOST_ITEMS` unfinished items, evenly spread from the first to the last."""
    items = list(job.items.unfinished().filter(role=role).order_by("pk"))
    if len(items) <= MOST_ITEMS:
        return items
    last = len(items) - 1
    return [items[round(last * n / (MOST_ITEMS - 1))] for n in range(MOST_ITEMS)]


def sum_loads(loads: Iterable[Load]) -> list[Load]:
    """Return one load for each purpose and model."""
    sums: dict[str, Load] = {}
    for load in loads:
        place = repr((load.purpose, load.settings))
        before = sums.get(place, Load(load.purpose, load.settings, 0))
        sums[place] = replace(
            before,
            calls=before.calls + load.calls,
            input_tokens=before.input_tokens + load.input_tokens,
            output_tokens=before.output_tokens + load.output_tokens,
        )
    return list(sums.values())


@dataclass(frozen=True)
class Cost:
    """An amount of money. `unpriced` names models without a price, which are not in `amount`; `at_usual_price` those
    without a price for batches."""

    amount: Decimal
    currency: str
    unpriced: tuple[str, ...]
    at_usual_price: tuple[str, ...] = ()


def cost_of(loads: Iterable[Load], prices: Prices, on: date) -> Cost:
    amount, unpriced, at_usual_price = Decimal(0), [], []
    for load in loads:
        settings = load.settings
        price = FREE if is_free(settings.kind) else prices.price_of(settings.model, settings.base_url, on)
        if price is None:
            unpriced.append(settings.model)
            continue
        if load.in_batch and price.batch is None:
            at_usual_price.append(settings.model)
        price = price.in_batch() if load.in_batch else price
        amount += price.cost(ceil(load.input_tokens), ceil(load.output_tokens)) or Decimal(0)
    return Cost(amount, prices.currency, unique(unpriced), unique(at_usual_price))


def unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


# What a run takes as a whole


@dataclass(frozen=True)
class Turns:
    """The mean number of turns of `count` earlier conversations; without any, the largest number allowed."""

    condition: str
    number: int
    count: int


@dataclass
class Estimate:
    """The work that is left, and its expected calls. `profiles` is None where none are built. `lengths` holds those of
    answers by purpose, model and language."""

    conversations: int = 0
    judgements: int = 0
    held_before: int = 0
    profiles: int | None = None
    loads: list[Load] = field(default_factory=list)
    turns: list[Turns] = field(default_factory=list)
    lengths: dict[tuple[str, str, str], Typical] = field(default_factory=dict)

    @property
    def calls(self) -> int:
        return round(sum(load.calls for load in self.loads))

    @property
    def input_tokens(self) -> int:
        return round(sum(load.input_tokens for load in self.loads))

    @property
    def output_tokens(self) -> int:
        return round(sum(load.output_tokens for load in self.loads))

    def answers(self) -> list["Answers"]:
        purposes = sorted({load.purpose for load in self.loads})
        return [self.answers_for(purpose) for purpose in purposes]

    def answers_for(self, purpose: str) -> "Answers":
        loads = [load for load in self.loads if load.purpose == purpose]
        counts = [length.calls for (each, *_), length in self.lengths.items() if each == purpose]
        calls = sum(load.calls for load in loads)
        return Answers(purpose, round(sum(load.output_tokens for load in loads) / calls), sum(counts), not all(counts))


@dataclass(frozen=True)
class Answers:
    """The mean tokens of answers for one purpose, from `calls` calls of the ledger; `assumed` where some have none."""

    purpose: str
    tokens: int
    calls: int
    assumed: bool
