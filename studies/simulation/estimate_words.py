"""Words for the estimate of a run, as `--estimate` prints it."""

from collections.abc import Iterator
from typing import Any

from django.conf import settings

from dialogue.jobs import store
from dialogue.jobs.estimate import Answers, Cost, Estimate, cost_of
from dialogue.models import Call
from dialogue.providers.prices import format_amount, load_prices
from dialogue.providers.registry import has_key, is_free
from studies.workbench.labels import one_or_more

ROUGH = (
    "Tokens are counted from characters: real tokenizers may differ by a third. Repeated calls and repairs are not in "
    "it, nor what a provider takes off for text that it has read before."
)


def cost(estimate: Estimate) -> Cost:
    return cost_of(estimate.loads, load_prices(settings.PRICES), store.today())


def evaluator_cost(estimate: Estimate) -> Cost | None:
    """Return the cost of the evaluator's ratings; None where the study has no evaluator of its own."""
    loads = [load for load in estimate.loads if load.purpose == Call.Purpose.EVALUATOR]
    return cost_of(loads, load_prices(settings.PRICES), store.today()) if loads else None


def as_summary(estimate: Estimate) -> dict[str, Any]:
    price, of_evaluator = cost(estimate), evaluator_cost(estimate)
    return {
        "conversations": estimate.conversations,
        "held_before": estimate.held_before,
        "judgements": estimate.judgements,
        "profiles": estimate.profiles,
        "calls": estimate.calls,
        "input_tokens": estimate.input_tokens,
        "output_tokens": estimate.output_tokens,
        "cost": as_number(price),
        **({"evaluator_cost": as_number(of_evaluator)} if of_evaluator else {}),
        "currency": price.currency,
        "unpriced": list(price.unpriced),
        "at_usual_price": list(price.at_usual_price),
        "unset_keys": unset_keys(estimate),
        "turns": {turns.condition: turns.number for turns in estimate.turns},
        "assumed": list(assumptions(estimate)),
    }


def as_number(price: Cost) -> float | None:
    return None if price.unpriced else float(price.amount)


def lines(estimate: Estimate) -> Iterator[str]:
    yield describe_number(estimate)
    if not estimate.calls:
        return
    calls = one_or_more(estimate.calls, "call", "calls")
    yield f"{estimate.calls:,} {calls}, {estimate.input_tokens:,} input and {estimate.output_tokens:,} output tokens"
    price = cost(estimate)
    yield describe_cost(price)
    if of_evaluator := evaluator_cost(estimate):
        yield f"Of this, the evaluator: {describe_amount(of_evaluator)}"
    if price.at_usual_price:
        names = ", ".join(price.at_usual_price)
        yield f"{settings.PRICES} has no price for batches of {names}: the usual one was taken."
    for variable in unset_keys(estimate):
        yield f"The variable {variable} is not set here: set it before you start."
    yield from assumptions(estimate)
    yield ROUGH
    yield "Nothing was asked and nothing stored."


def unset_keys(estimate: Estimate) -> list[str]:
    """Return the variables without which the run itself cannot start."""
    models = [load.settings for load in estimate.loads if not is_free(load.settings.kind)]
    return sorted({model.api_key_env for model in models if not has_key(model.api_key_env)})


def describe_number(estimate: Estimate) -> str:
    if estimate.profiles is not None:
        return f"{estimate.profiles:,} {one_or_more(estimate.profiles, 'profile', 'profiles')}"
    judgements = one_or_more(estimate.judgements, "judgement", "judgements")
    parts = [
        describe_conversations(estimate.conversations, estimate.held_before),
        f"{estimate.judgements:,} {judgements}" if estimate.judgements else "",
    ]
    return ", ".join(filter(None, parts)) or "Nothing is left to ask."


def describe_conversations(number: int, held_before: int) -> str:
    if not number:
        held = one_or_more(held_before, "conversation has", "conversations have")
        return f"{held_before:,} {held} been held before" if held_before else ""
    before = f" ({held_before:,} more have been held)" if held_before else ""
    return f"{number:,} {one_or_more(number, 'conversation', 'conversations')}{before}"


def describe_cost(price: Cost) -> str:
    return f"Cost: {describe_amount(price)}"


def describe_amount(price: Cost) -> str:
    if price.unpriced:
        names = ", ".join(price.unpriced)
        return f"not known, as {settings.PRICES} has no price for {names}"
    return f"{format_amount(price.amount)} {price.currency}"


def assumptions(estimate: Estimate) -> Iterator[str]:
    for turns in estimate.turns:
        source = f"as in {turns.count} conversations held" if turns.count else "the most there may be; none is held yet"
        yield f"Turns of {turns.condition} seekers: {turns.number} ({source})"
    for answers in estimate.answers():
        yield f"Tokens of an answer, {answers.purpose}: {answers.tokens} ({describe_source(answers)})"


def describe_source(answers: Answers) -> str:
    if not answers.calls:
        return "assumed"
    partly = ", partly assumed" if answers.assumed else ""
    return f"as in {answers.calls} calls of the ledger{partly}"
