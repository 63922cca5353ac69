"""Asks models for jobs: a row of the ledger for each attempt, nothing paid twice, no more at once than the endpoint
bears, and no more spent than was allowed."""

import asyncio
import hashlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from decimal import Decimal
from enum import Enum, auto
from itertools import count
from math import ceil
from typing import Any

import orjson
from django.conf import settings
from django.db import connection, transaction
from django.db.models import F, Q
from django.utils import timezone

from dialogue.compiled_sql import insert_numbered, update_plain
from dialogue.jobs.group_commit import GroupCommit, in_database
from dialogue.jobs.reasons import Reason
from dialogue.jobs.store import today
from dialogue.judges.judge import Ask
from dialogue.models import Call, Job, JobItem, Spending
from dialogue.providers.base import BUDGETS, Message, ModelSettings, ProviderError, Reply
from dialogue.providers.limits import Limit, PausedTooLongError, get_limit
from dialogue.providers.prices import FREE, Price, Prices, estimate_tokens, load_prices
from dialogue.providers.registry import answering_kind, is_free, is_replayed, model_for
from dialogue.providers.retrying import LONGEST_TRY, Retries

ANSWERED = ("ok", "truncated", "unparseable", "out_of_range")  # paid for, and an answer as it is
MAY_COST = ("timeout", "stopped", "refused", "empty")  # failed, and the provider may ask its price all the same
REASONERS_LIMIT = "max_completion_tokens"  # OpenAI's reasoning models take this for max_tokens
SEED = "seed"  # in a model's `extra`
MARGIN = 1.5  # on estimated tokens: real tokenizers may differ by a third
LOOK_AGAIN = 0.25  # seconds, where a call that is under way decides
LONGEST_CALL = timedelta(minutes=15)


class BudgetReached(Exception):
    """Another call might cost more than is left."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.code)
        self.reason = reason


class CallsStopped(Exception):
    """No further call is made: the job has ended, or this process is about to."""


class WaitReason(Enum):
    """Reasons why an attempt has to wait for calls under way."""

    SAME_QUESTION = auto()
    BUDGET = auto()  # they hold a part of it that may come back


@dataclass(frozen=True)
class Question:
    """One question to a model, and its purpose.

    `replicate` separates answers to the same question. `who` names the model in a failure (arm amber). The ledger keeps
    `noted` with the parameters; it is not sent.
    """

    purpose: str
    messages: tuple[Message, ...]
    settings: ModelSettings
    provider: str = ""
    who: str = ""
    language: str = "en"
    prompt_version: str = ""
    conversation: int | None = None
    turn: int | None = None
    item: int | None = None
    job: int | None = None
    replicate: int = 1
    noted: Mapping[str, Any] = field(default_factory=dict)

    def settings_to_send(self) -> ModelSettings:
        """Return the settings with a seed for each replicate: a server that honours seeds would repeat its answer."""
        seed = self.settings.extra.get(SEED)
        if self.replicate == 1 or not isinstance(seed, int):
            return self.settings
        return replace(self.settings, extra={**self.settings.extra, SEED: seed + self.replicate - 1})

    def key(self) -> str:
        """Return a hash that is equal for equal words to the same model with the same settings."""
        model = self.settings
        who = [*model.identity(), model.request_options()]
        messages = [[message.role, message.text] for message in self.messages]
        whole = orjson.dumps([who, messages, self.replicate], option=orjson.OPT_SORT_KEYS)
        return hashlib.sha256(whole).hexdigest()


@dataclass(frozen=True)
class Attempt:
    """A call about to be made. `price` is None where the table has no price for the model."""

    question: Question
    key: str
    number: int
    price: Price | None
    tokens: int  # of the prompt, estimated

    def reserve(self) -> Decimal:
        """Return the amount to set aside for it."""
        if self.price is None:
            return Decimal(0)
        model = self.question.settings
        return self.price.reserve(ceil(self.tokens * MARGIN), model.max_tokens or model.extra.get(REASONERS_LIMIT))


@dataclass(frozen=True)
class OpenCall:
    """A row of the ledger whose call is under way."""

    call: int
    attempt: Attempt
    reserved: Decimal
    day: date


@dataclass(frozen=True)
class Closing:
    opened: OpenCall
    outcome: Reply | ProviderError
    status: str
    sent: bool = True

    def cost(self) -> Decimal | None:
        """Return the cost of the answer. Without token counts, and after a failure halfway, it is the amount set
        aside."""
        price = self.opened.attempt.price
        if price is None:
            return None
        if not self.sent:
            return Decimal(0)
        if isinstance(self.outcome, ProviderError):
            may_cost = self.outcome.partial or self.outcome.status in MAY_COST
            return self.opened.reserved if may_cost else Decimal(0)
        amount = price.cost(self.outcome.input_tokens, self.outcome.output_tokens, self.outcome.cached_tokens or 0)
        return self.opened.reserved if amount is None else amount


class Caller:
    """The one that asks models for jobs; one for each event loop.

    `at_once` is the most calls in flight at one endpoint. `commit` is shared with others that store in the same thread.
    """

    def __init__(self, *, at_once: int, prices: Prices | None = None, commit: GroupCommit | None = None) -> None:
        self.at_once = at_once
        self.prices = prices or load_prices(settings.PRICES)
        commit = commit or GroupCommit()
        self.close = commit.writer_for(close_attempts)
        self.open = commit.writer_for(open_attempts, take_back=self.take_back)
        self.closing_tasks: set[asyncio.Task[None]] = set()
        self.under_way: dict[str, asyncio.Future[Reply]] = {}
        self.ended: set[int] = set()  # jobs for which nothing is asked any more
        self.stopping = False

    async def ask(self, question: Question, status_of: Callable[[Reply], str] = lambda _: "ok") -> Reply:
        """Return the answer, from the ledger where it was given before. Raises ProviderError, BudgetReached or Stopped.

        `status_of` returns the status of an answer for the ledger.
        """
        key = question.key()
        while same := self.under_way.get(key):  # two items may need the same answer at once
            await asyncio.wait([same])
        mine = self.under_way[key] = asyncio.get_running_loop().create_future()
        try:
            return await self.ask_until_answered(question, key, status_of)
        finally:
            del self.under_way[key]
            mine.cancel()

    def bind(self, question: Question) -> Ask:
        """Return a function that asks `question` with messages given later."""

        async def ask(messages: Sequence[Message], status_of: Callable[[Reply], str], *, longer: bool = False) -> Reply:
            settings = double_token_limit(question.settings) if longer else question.settings
            return await self.ask(replace(question, messages=tuple(messages), settings=settings), status_of)

        return ask

    async def ask_until_answered(self, question: Question, key: str, status_of: Callable[[Reply], str]) -> Reply:
        retries = Retries()
        for number in count(1):
            opened = await self.open_call(self.attempt(question, key, number))
            if isinstance(opened, Reply):
                return await self.reuse_answer(opened, key, status_of(opened))
            try:
                return await self.make_call(opened, status_of)
            except ProviderError as error:
                wait = retries.next_wait(error)
                if (error.retry_after or 0) > LONGEST_TRY:
                    error.detail = f"{error.detail} {PausedTooLongError(error.retry_after or 0)}"
                    raise GivenUp(error, "pause", question) from error
                if wait is None:
                    raise GivenUp(error, retries.given_up_because, question) from error
            await self.wait(0 if is_replayed(question.settings.kind) else wait, question)
        raise AssertionError("the loop above has no end")

    async def wait(self, seconds: float, question: Question) -> None:
        """Wait before the next attempt, but no longer than something may be asked for this job."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        while (left := until - loop.time()) > 0:
            self.refuse_when_stopped(question)
            await asyncio.sleep(min(left, LOOK_AGAIN))

    def attempt(self, question: Question, key: str, number: int) -> Attempt:
        model = question.settings
        price = FREE if is_free(model.kind) else self.prices.price_of(model.model, model.base_url, today())
        return Attempt(question, key, number, price, estimate_tokens(question.messages))

    async def open_call(self, attempt: Attempt) -> OpenCall | Reply:
        while True:
            self.refuse_when_stopped(attempt.question)
            opened = await self.open(attempt)
            if isinstance(opened, BudgetReached):
                raise opened
            if not isinstance(opened, WaitReason):
                return opened
            await asyncio.sleep(LOOK_AGAIN)

    def take_back(self, opened: Any) -> None:
        """Close the row of a call that no one waits for, which is not made. Left open, it would block the item's next
        owner."""
        if isinstance(opened, OpenCall):
            not_sent = ProviderError("stopped", "Whoever asked was stopped before it was sent.")
            task = asyncio.create_task(self.close(Closing(opened, not_sent, not_sent.status, sent=False)))
            self.closing_tasks.add(task)
            task.add_done_callback(self.closing_tasks.discard)

    async def reuse_answer(self, reply: Reply, key: str, status: str) -> Reply:
        """Return an answer of the ledger. One that came in a batch is read here first, so its status is stored."""
        if status != "ok":
            await in_database(Call.objects.filter(key=key, batch__isnull=False, status="ok").update, status=status)
        return reply

    def refuse_when_stopped(self, question: Question) -> None:
        if self.stopping or question.job in self.ended:
            raise CallsStopped

    async def make_call(self, opened: OpenCall, status_of: Callable[[Reply], str]) -> Reply:
        try:
            outcome, status = await self.get_outcome(opened.attempt, status_of)
        except PausedTooLongError as pause:
            not_sent = ProviderError("stopped", str(pause))
            await self.close(Closing(opened, not_sent, not_sent.status, sent=False))
            raise ProviderError("rate_limited", "Not asked.", retry_after=pause.seconds) from pause
        except (asyncio.CancelledError, CallsStopped) as stop:
            cut_off = ProviderError("stopped", "Whoever asked was stopped before the answer came.")
            await self.close(Closing(opened, cut_off, cut_off.status, sent=not isinstance(stop, CallsStopped)))
            raise
        await self.close(Closing(opened, outcome, status))
        if isinstance(outcome, ProviderError):
            raise outcome
        return outcome

    async def get_outcome(
        self, attempt: Attempt, status_of: Callable[[Reply], str]
    ) -> tuple[Reply | ProviderError, str]:
        question = attempt.question
        model = model_for(
            question.settings_to_send(),
            language=question.language,
            pace=0.0,  # no one looks on
            replicate=question.replicate,
            attempt=attempt.number,
        )
        async with self.limit(question.settings).slot(attempt.tokens) as slot:
            self.refuse_when_stopped(question)
            try:
                reply = await model.reply(question.messages)
            except ProviderError as error:
                slot.report_failure(error.status, error.retry_after)
                return error, error.status
            slot.report_success(total_tokens(reply))
        return reply, status_of(reply)

    def limit(self, model: ModelSettings) -> Limit:
        if is_replayed(model.kind):
            return Limit(ceiling=1)  # of its own: there is no server to spare
        budgets = {name: model.extra.get(name) for name in BUDGETS}
        return get_limit(
            (model.base_url or model.kind, model.model, model.api_key_env), ceiling=self.at_once, **budgets
        )


class GivenUp(ProviderError):
    """No answer came, and no further attempt is made.

    `because` is permanent, attempts, time or identical; or pause, where the server asks for a longer wait than a call
    has time for.
    """

    def __init__(self, last: ProviderError, because: str, question: Question) -> None:
        super().__init__(last.status, last.detail, permanent=last.permanent, partial=last.partial)
        self.because, self.question = because, question


def double_token_limit(settings: ModelSettings) -> ModelSettings:
    if limit := settings.extra.get(REASONERS_LIMIT):
        return replace(settings, extra={**settings.extra, REASONERS_LIMIT: 2 * limit})
    return replace(settings, max_tokens=2 * settings.max_tokens) if settings.max_tokens else settings


def total_tokens(reply: Reply) -> int | None:
    if reply.input_tokens is None or reply.output_tokens is None:
        return None
    return reply.input_tokens + reply.output_tokens


# The ledger's rows, many at a time

OPENED = ("purpose", "conversation_id", "turn", "item_id", "key", "replicate", "attempt", "kind", "provider", "model",
          "parameters", "prompt_version", "request", "status", "cost", "prices", "created_at",
          "model_returned", "finish_reason", "response", "reasoning", "error")  # fmt: skip
NOTHING_YET = ("", "", "", "", "")  # of the last five


@transaction.atomic(savepoint=False)
def open_attempts(attempts: Sequence[Attempt]) -> list[OpenCall | Reply | WaitReason | BudgetReached]:
    """Write a row for each attempt before its call. Return the stored answer where the same was asked before."""
    purse = Purse(attempts)
    answers = get_known_answers({attempt.key for attempt in attempts})
    outcomes: list[Any] = [answers.get(attempt.key) or purse.take(attempt) for attempt in attempts]
    purse.close()
    granted = {n: amount for n, amount in enumerate(outcomes) if isinstance(amount, Decimal)}
    now = connection.ops.adapt_datetimefield_value(timezone.now())
    numbers = insert_numbered(Call, OPENED, [row_for(attempts[n], amount, now) for n, amount in granted.items()])
    for (n, amount), number in zip(granted.items(), numbers, strict=True):
        outcomes[n] = OpenCall(number, attempts[n], amount, purse.today)
    return outcomes


def get_known_answers(keys: set[str]) -> dict[str, Reply | WaitReason]:
    """Return the first answer to each key, or that another process is asking it now."""
    rows = list(Call.objects.filter(Q(status__in=ANSWERED) | under_way(), key__in=keys).order_by("-pk"))
    waiting = {row.key: WaitReason.SAME_QUESTION for row in rows}
    return waiting | {row.key: row.as_reply() for row in rows if row.status != "started"}


def under_way() -> Q:
    """Return the filter for calls whose item is worked on, or that a batch has. Calls of a dead worker are closed when
    its item is taken up."""
    now = timezone.now()
    alive = Q(item__state=JobItem.State.WORKING, item__lease_until__gt=now) & Q(created_at__gt=now - LONGEST_CALL)
    in_batch = Q(batch__isnull=False, batch__ended_at=None)
    return Q(status="started") & (alive | in_batch)


def row_for(attempt: Attempt, reserved: Decimal, now: Any) -> tuple[Any, ...]:
    """Return the columns OPENED in the database's own form, for a statement that Django does not build."""
    question, model = attempt.question, attempt.question.settings_to_send()
    parameters = {**model.parameters(), **model.extra, **question.noted}
    return (
        question.purpose,
        question.conversation,
        question.turn,
        question.item,
        attempt.key,
        question.replicate,
        attempt.number,
        answering_kind(model.kind),
        question.provider,
        model.model,
        as_json(parameters),
        question.prompt_version,
        as_json([{"role": message.role, "text": message.text} for message in question.messages]),
        "started",
        money(None if attempt.price is None else reserved),
        "" if attempt.price is None else attempt.price.version,
        now,
        *NOTHING_YET,
    )


def as_json(value: Any) -> str:
    return orjson.dumps(value).decode()


def money(amount: Decimal | None) -> Any:
    return connection.ops.adapt_decimalfield_value(amount, 12, 6)


class Purse:
    """The money that jobs and a day may still spend, locked until the transaction ends.

    The lock also keeps others from opening a call of the same job, so that two never ask the same at once.
    """

    def __init__(self, attempts: Sequence[Attempt]) -> None:
        jobs = {attempt.question.job for attempt in attempts if attempt.question.job}
        self.jobs = {
            job.pk: job for job in Job.objects.select_for_update(no_key=True).filter(pk__in=jobs).order_by("pk")
        }
        self.today = today()
        costly = any(attempt.reserve() for attempt in attempts)
        self.day = spending_on(self.today) if costly else None
        self.lent: set[int | None] = set()  # jobs for whose calls something is set aside just now

    def take(self, attempt: Attempt) -> Decimal | WaitReason | BudgetReached:
        """Return the amount set aside for the call, or why it is not granted."""
        amount = attempt.reserve()
        job = self.jobs.get(attempt.question.job or 0)
        of_job, of_day = job and job.budget, settings.DAILY_BUDGET
        if attempt.price is None and not (of_job is None and of_day is None):
            return BudgetReached(
                Reason.of("no_price", model=attempt.question.settings.model, file=str(settings.PRICES))
            )
        if job and of_job is not None and job.spent + amount > of_job:
            waits = job.pk in self.lent or may_come_back(Q(item__job=job))
            return WaitReason.BUDGET if waits else BudgetReached(Reason.of("job_budget"))
        if self.day and of_day is not None and self.day.amount + amount > of_day:
            waits = bool(self.lent) or may_come_back(Q(item__isnull=False))
            return WaitReason.BUDGET if waits else BudgetReached(Reason.of("day_budget"))
        self.spend(job, amount)
        return amount

    def spend(self, job: Job | None, amount: Decimal) -> None:
        if amount:
            self.lent.add(job and job.pk)
        if self.day:
            self.day.amount += amount
        if job:
            job.spent += amount

    def close(self) -> None:
        if self.day:
            self.day.save(update_fields=["amount"])
            for job in self.jobs.values():
                job.save(update_fields=["spent"])


def may_come_back(whose: Q) -> bool:
    """Return True where calls under way may release money: most cost less than was set aside."""
    return Call.objects.filter(whose, under_way(), cost__gt=0).exists()


def spending_on(day: date) -> Spending:
    Spending.objects.get_or_create(day=day)
    return Spending.objects.select_for_update().get(day=day)


CLOSED = ("status", "error", "response", "reasoning", "model_returned", "finish_reason", "first_token_ms",
          "total_ms", "input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens")  # fmt: skip


@transaction.atomic(savepoint=False)
def close_attempts(closings: Sequence[Closing]) -> list[None]:
    costs = [(closing, closing.cost()) for closing in closings]
    rows = [(*closing_values(closing), money(cost), closing.opened.call) for closing, cost in costs]
    update_plain(Call, (*CLOSED, "cost"), rows)
    settle(costs)
    return [None] * len(closings)


def closing_values(closing: Closing) -> list[Any]:
    """Return the columns CLOSED."""
    fields = Call.closing(closing.outcome, closing.status)
    return [fields[name] for name in CLOSED]


def settle(costs: Sequence[tuple[Closing, Decimal | None]]) -> None:
    """Give back what was set aside and not spent, to the day from which it was taken."""
    by_job: dict[int, Decimal] = defaultdict(Decimal)
    by_day: dict[date, Decimal] = defaultdict(Decimal)
    for closing, cost in costs:
        difference = (cost or Decimal(0)) - closing.opened.reserved
        by_job[closing.opened.attempt.question.job or 0] += difference
        by_day[closing.opened.day] += difference
    for job in sorted(job for job, difference in by_job.items() if difference):
        Job.objects.filter(pk=job).update(spent=F("spent") + by_job[job])
    for day in sorted(day for day, difference in by_day.items() if difference):
        Spending.objects.filter(day=day).update(amount=F("amount") + by_day[day])
