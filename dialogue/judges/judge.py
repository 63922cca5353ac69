"""Asks a judge's or a Thinker's model, and asks again where that can help. What was asked goes to a Ledger."""

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any, Protocol, TypeVar

from dialogue.judges.parsing import Score, Unscored, parse_scores, parse_state
from dialogue.judges.prompts import InnerState, JudgedItem, JudgedTurn, thinker_messages
from dialogue.providers.base import ChatModel, Message, ProviderError, Reply

ATTEMPTS = 3
BACKOFF = 1.0  # seconds before the second attempt, doubled for the third, with jitter
LONGEST_WAIT = 60.0  # seconds, whatever Retry-After says
REPAIR = {
    "en": "Your answer could not be read. Write only this form, with a value in every place:",
    "zh": "您的回答无法读取。请只写下面的格式，并填好每一处：",
}

Scores = dict[str, Score | Unscored]
Found = TypeVar("Found")


class Ledger(Protocol):
    """Keeps each attempt: written before it is made and closed after it."""

    async def begin(self, messages: Sequence[Message]) -> int: ...

    async def finish(self, call: int, outcome: Reply | ProviderError, status: str) -> None: ...


async def ask_scores(
    model: ChatModel, messages: Sequence[Message], items: Sequence[JudgedItem], *, language: str, ledger: Ledger
) -> Scores:
    """One entry per item. Raises ProviderError where no answer could be had at all."""
    form = messages[-1].text.rpartition("\n")[2]
    repair = f"{REPAIR[language]}\n{form}"
    return await _asked(model, messages, lambda text: parse_scores(text, items), _why_no_score, repair, ledger)


async def ask_state(
    model: ChatModel, turns: Sequence[JudgedTurn], *, language: str, profile: str, ledger: Ledger
) -> InnerState:
    """What goes on in the seeker after the last of `turns`. Raises ProviderError, also where it cannot be read."""
    messages = thinker_messages(turns, language=language, profile=profile)
    form = messages[0].text.rpartition("\n")[2]
    state = await _asked(model, messages, parse_state, _why_no_state, f"{REPAIR[language]}\n{form}", ledger)
    if isinstance(state, Unscored):
        raise ProviderError("unparseable", f"The inner state cannot be read: {state.reason}.", permanent=True)
    return InnerState(turn=turns[-1].number, **state)


async def _asked(
    model: ChatModel,
    messages: Sequence[Message],
    read: Callable[[str], Found],
    why_nothing: Callable[[Found], str],
    repair: str,
    ledger: Ledger,
) -> Found:
    """Where nothing can be read in the answer, it is asked for once more."""
    reply, found = await _reached(model, messages, read, why_nothing, ledger)
    if not why_nothing(found):
        return found
    again = [*messages, Message("assistant", reply.text), Message("user", repair)]
    return (await _reached(model, again, read, why_nothing, ledger))[1]


async def _reached(
    model: ChatModel,
    messages: Sequence[Message],
    read: Callable[[str], Found],
    why_nothing: Callable[[Found], str],
    ledger: Ledger,
) -> tuple[Reply, Found]:
    for attempt in count(1):
        call = await ledger.begin(messages)
        try:
            reply = await model.reply(messages)
        except ProviderError as error:
            await ledger.finish(call, error, error.status)
            if error.permanent or attempt == ATTEMPTS:
                raise
            await asyncio.sleep(_wait(error, attempt))
        else:
            found = read(reply.text)
            await ledger.finish(call, reply, _status(reply, why_nothing(found)))
            return reply, found
    raise AssertionError("the loop above has no end")


def _wait(error: ProviderError, attempt: int) -> float:
    own: float = BACKOFF * 2 ** (attempt - 1) * random.uniform(0.7, 1.3)
    return min(LONGEST_WAIT, max(own, error.retry_after or 0.0))


def _status(reply: Reply, why_nothing: str) -> str:
    if why_nothing:
        return "out_of_range" if why_nothing == "out_of_range" else "unparseable"
    return "truncated" if reply.finish_reason == "length" else "ok"


def _why_no_score(scores: Mapping[str, Score | Unscored]) -> str:
    """Empty where at least one item has a score."""
    reasons = [score.reason for score in scores.values() if isinstance(score, Unscored)]
    return reasons[0] if len(reasons) == len(scores) else ""


def _why_no_state(state: Any) -> str:
    return state.reason if isinstance(state, Unscored) else ""
