"""Ask each model of a study one short question, to find out whether it answers. This counts as nothing: the ledger has
a row for each call, which belongs to no conversation."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import uuid4

from dialogue.jobs.calls import BudgetReached, Caller, Closing, Question
from dialogue.jobs.estimate import Load, cost_of
from dialogue.jobs.group_commit import in_database
from dialogue.jobs.store import today
from dialogue.models import Call
from dialogue.providers.base import WITHOUT_KEY, Message, ModelSettings, ProviderError, Reply, copy_settings
from dialogue.providers.openai_client import load_client
from dialogue.providers.prices import Prices, estimate_tokens
from dialogue.providers.registry import get_api_key, is_free, model_for
from dialogue.safety import second_line
from studies.design.spec import ArmSpec, StudySpec
from studies.setup.model_keys import models_of

ARM, JUDGE, SEEKER, EVALUATOR, SECOND_LINE = "arm", "judge", "seeker", "evaluator", "second line"
# By their names in options.
ROLES = {"arms": ARM, "judges": JUDGE, "seeker": SEEKER, "evaluator": EVALUATOR, "safety": SECOND_LINE}
AT_ONCE = 8  # models; each is asked one question
BEGINNING = 120  # characters of an answer that are shown
ANSWER_TOKENS = 30  # of one short sentence, for the estimate
SCRIPT = "script"  # the status of models that need no question, beside those of the ledger
GOOD = ("ok", "truncated", SCRIPT)
QUESTIONS = {
    "en": ("Answer in one short sentence.", "Hello! Can you read this?"),
    "zh": ("请用一句简短的话回答。", "你好！你能看到这句话吗？"),
}
HARMLESS = {  # what a second line is asked about
    "en": "I had a long day, and I look forward to the weekend.",
    "zh": "今天忙了一整天，很期待周末。",
}


class Candidate(NamedTuple):
    """A model that can be asked. `line` is there for the second line of the risk screen alone."""

    role: str
    key: str
    provider: str
    settings: ModelSettings
    line: second_line.SecondLine | None = None

    def question(self, study: str, language: str) -> Question:
        """Return the question as the ledger keeps it."""
        system, user = QUESTIONS[language]
        messages: tuple[Message, ...] = (Message("system", system), Message("user", user))
        if self.line:
            messages = self.inquiry(self.line, language).messages()
        return Question(
            purpose=Call.Purpose.CHECK,
            messages=messages,
            settings=self.settings,
            provider=self.provider,
            who=f"{self.role} {self.key}".strip(),
            language=language,
            noted={"study": study, "checked": f"{self.role} {self.key}".strip()},
        )

    def inquiry(self, line: second_line.SecondLine, language: str) -> second_line.Question:
        return second_line.question_about(line, HARMLESS[language], (), language)

    def needs_no_question(self) -> bool:
        """Return whether it is a script that reads only prompts of its own kind, so that a question says nothing."""
        return self.settings.kind == "scripted" and self.role in (JUDGE, SEEKER, EVALUATOR)


@dataclass(frozen=True)
class ModelCheck:
    """The outcome for one model. `status`: of the ledger, or `script`; `cost`: None where no price is known."""

    role: str
    key: str
    model: str
    base_url: str
    variable: str
    status: str
    detail: str = ""
    text: str = ""
    first_ms: int | None = None
    total_ms: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: str | None = None

    @property
    def answers(self) -> bool:
        return self.status in GOOD

    def as_json(self) -> dict[str, Any]:
        """Return the fields, and in words of programs whether the model answers and its key is set."""
        return {
            **asdict(self),
            "answers": self.answers,
            "key_set": bool(self.variable) and self.status not in WITHOUT_KEY,
        }


def candidates(spec: StudySpec, roles: Sequence[str] = tuple(ROLES.values())) -> list[Candidate]:
    """Return the models of a study that have one of these roles, each once for each role."""
    models = [Candidate(role, key, model.provider, settings_of(role, model)) for role, key, model in models_of(spec)]
    if rules := spec.safety.second_line:
        line = second_line.SecondLine.from_json(asdict(rules))
        assert line is not None  # noqa: S101 - there are rules
        models.append(Candidate(SECOND_LINE, "", line.provider, line.settings(), line))
    return [one for one in models if one.role in roles]


def settings_of(role: str, model: ArmSpec) -> ModelSettings:
    """Return the settings with which a model is asked. A judge's own keys are never sent."""
    return copy_settings(model, extra=model.extra_for_model()) if role == JUDGE else copy_settings(model)


@dataclass(frozen=True)
class CheckEstimate:
    """The expected calls and their cost in `currency`, without models that have no price (`unpriced`)."""

    calls: int
    input_tokens: int
    output_tokens: int
    cost: Decimal
    currency: str
    unpriced: tuple[str, ...]


def estimate_checks(models: Sequence[Candidate], language: str, prices: Prices) -> CheckEstimate:
    loads = list(expected_loads(models, language))
    cost = cost_of(loads, prices, today())
    input_tokens, output_tokens = (
        sum(getattr(load, name) for load in loads) for name in ("input_tokens", "output_tokens")
    )
    return CheckEstimate(
        len(loads), round(input_tokens), round(output_tokens), cost.amount, cost.currency, cost.unpriced
    )


def expected_loads(models: Sequence[Candidate], language: str) -> Iterator[Load]:
    """Yield a load for each call that is expected."""
    for one in models:
        if not one.needs_no_question() and not key_fault(one):
            tokens = estimate_tokens(one.question("", language).messages)
            yield Load(Call.Purpose.CHECK, one.settings, 1, tokens, ANSWER_TOKENS)


def key_fault(one: Candidate) -> ProviderError | None:
    """Return why this process has no key for the model; None where it has one, or where none is needed."""
    kind = one.settings.kind
    if kind == "scripted" if one.line else is_free(kind):
        return None
    try:
        get_api_key(one.settings.api_key_env, os.environ)
    except ProviderError as error:
        return error
    return None


Tell = Callable[[], Awaitable[None]]


def check_models(study: str, models: Sequence[Candidate], language: str, *, tell: Tell) -> list[ModelCheck]:
    """Ask each model one question, side by side. `tell` is awaited after each. Nothing is raised for a model that does
    not answer."""

    async def all_of_them() -> list[ModelCheck]:
        caller, slots = Caller(at_once=AT_ONCE), asyncio.Semaphore(AT_ONCE)
        if any(one.settings.kind != "scripted" and not key_fault(one) for one in models):
            await asyncio.to_thread(load_client)  # it takes seconds, which are no model's; a second line has only two

        async def one_of_them(one: Candidate) -> ModelCheck:
            async with slots:
                result = await check_model(caller, study, one, language)
            await tell()
            return result

        return await asyncio.gather(*map(one_of_them, models))

    return asyncio.run(all_of_them())


def try_model(one: Candidate, question: Question) -> ModelCheck:
    """Ask a model a question of a researcher's, and return the whole answer. Nothing is raised if none comes."""
    blank = blank_of(one)
    if fault := key_fault(one):
        return replace(blank, status=fault.status, detail=fault.detail)

    async def answer() -> ModelCheck:
        if one.settings.kind != "scripted":
            await asyncio.to_thread(load_client)
        try:
            return await ask(Caller(at_once=1), one, question, blank, most=None)
        except ProviderError as error:  # before anything was asked
            return replace(blank, status=error.status, detail=error.detail)
        except BudgetReached as reached:
            return replace(blank, status=reached.reason.code)

    return asyncio.run(answer())


def blank_of(one: Candidate) -> ModelCheck:
    settings = one.settings
    return ModelCheck(one.role, one.key, settings.model, settings.base_url, settings.api_key_env, SCRIPT)


async def check_model(caller: Caller, study: str, one: Candidate, language: str) -> ModelCheck:
    settings = one.settings
    blank = blank_of(one)
    if fault := key_fault(one):
        return replace(blank, status=fault.status, detail=fault.detail)
    try:
        if one.needs_no_question():
            if one.role == JUDGE:
                model_for(settings)
            return blank
        return await ask(caller, one, one.question(study, language), blank)
    except ProviderError as error:  # before anything was asked
        return replace(blank, status=error.status, detail=error.detail)
    except BudgetReached as reached:
        return replace(blank, status=reached.reason.code)


async def ask(
    caller: Caller, one: Candidate, question: Question, blank: ModelCheck, *, most: int | None = BEGINNING
) -> ModelCheck:
    """Return the result of one question. `most`: characters of the answer, in one line; None: all of it.

    The ledger's key is of this call alone, so no earlier answer is taken for it.
    """
    opened = await caller.open_call(caller.attempt(question, f"check-{uuid4().hex}", 1))
    assert not isinstance(opened, Reply)  # noqa: S101 - its key is new
    started = time.monotonic()
    if one.line:
        answer = await second_line.ask(one.inquiry(one.line, question.language))
        await caller.close(Closing(opened, answer.outcome, answer.status))
        outcome, status = answer.outcome, answer.status
    else:
        outcome, status = await reply_or_failure(caller, opened)
    took = round((time.monotonic() - started) * 1000)
    cost = await in_database(Call.objects.values_list("cost", flat=True).get, pk=opened.call)
    fields = Call.closing(outcome, status)
    return replace(
        blank,
        status=fields["status"],
        detail=fields["error"],
        text=fields["response"] if most is None else " ".join(fields["response"].split())[:most],
        first_ms=fields["first_token_ms"],
        total_ms=fields["total_ms"] or took,
        input_tokens=fields["input_tokens"],
        output_tokens=fields["output_tokens"],
        cost=None if cost is None else str(cost),
    )


async def reply_or_failure(caller: Caller, opened: Any) -> tuple[Reply | ProviderError, str]:
    try:
        return await caller.make_call(opened, lambda _reply: "ok"), "ok"
    except ProviderError as error:
        return error, error.status
