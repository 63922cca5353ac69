"""Questions to a judge or a Thinker, and requests for the right form where the answer cannot all be read. Pure."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

from dialogue.judges.parsing import Score, Unscored, parse_scores, parse_state
from dialogue.judges.prompts import (
    InnerState,
    JudgedItem,
    JudgedTurn,
    repair_messages,
    thinker_messages,
)
from dialogue.prompts import DEFAULTS, Prompts
from dialogue.providers.base import Message, ProviderError, Reply

Scores = dict[str, Score | Unscored]
Reading = TypeVar("Reading")
Way = Literal["repair", "again"]  # in which a further answer was asked for
REPAIR: Way = "repair"
AGAIN: Way = "again"


class Ask(Protocol):
    """A function that gets an answer from one model. `status_of` says what the ledger calls it; `longer`: with room for
    more tokens. Raises ProviderError."""

    async def __call__(
        self, messages: Sequence[Message], status_of: Callable[[Reply], str], *, longer: bool = False
    ) -> Reply: ...


@dataclass(frozen=True)
class JudgeAnswers:
    """One entry of `scores` per item, and the further answers that were asked for."""

    scores: Scores
    ways: Sequence[Way]


async def ask_judgement(
    ask: Ask,
    messages: Sequence[Message],
    items: Sequence[JudgedItem],
    *,
    language: str,
    repair: Ask | None = None,
    prompts: Prompts = DEFAULTS,
) -> JudgeAnswers:
    """Return one score per item, and the further answers that were asked for.

    Raises ProviderError if no answer could be had at all.

    `repair`: who is asked to repair an answer, where it is not asked in the same way: a schema that knows no null would
    make it invent what the answer does not say.
    """
    scores, ways = await ask_and_repair(
        ask,
        messages,
        lambda text: parse_scores(text, items),
        _why_no_score,
        language,
        repair=repair,
        prompts=prompts,
        add=_more_scores,
        is_some=_has_score,
    )
    return JudgeAnswers(scores, ways)


async def ask_state(
    ask: Ask,
    turns: Sequence[JudgedTurn],
    *,
    language: str,
    profile: str,
    repair: Ask | None = None,
    prompts: Prompts = DEFAULTS,
) -> InnerState:
    """Return what goes on in the seeker after the last of `turns`. Raises ProviderError, also if it cannot be read."""
    messages = thinker_messages(turns, language=language, profile=profile, prompts=prompts)
    state, _ = await ask_and_repair(ask, messages, parse_state, _why_no_state, language, repair=repair, prompts=prompts)
    if isinstance(state, Unscored):
        raise ProviderError("unparseable", f"The inner state after turn {turns[-1].number} cannot be read.")
    return InnerState(turn=turns[-1].number, **state)


async def ask_until_readable(
    ask: Ask,
    messages: Sequence[Message],
    read: Callable[[str], Reading],
    why_nothing: Callable[[Reading], str],
    language: str,
    prompts: Prompts = DEFAULTS,
) -> Reading:
    """Return what a model answers, asked further where its first answer cannot be read. First for a repair, which sees
    nothing but that answer; then for a second answer, with a reminder of the form and more room."""
    return (await ask_and_repair(ask, messages, read, why_nothing, language, prompts=prompts))[0]


async def ask_and_repair(
    ask: Ask,
    messages: Sequence[Message],
    read: Callable[[str], Reading],
    why_nothing: Callable[[Reading], str],
    language: str,
    *,
    repair: Ask | None = None,
    prompts: Prompts = DEFAULTS,
    add: Callable[[Reading, Reading], Reading] = lambda _before, now: now,
    is_some: Callable[[Reading], bool] = lambda _result: False,
) -> tuple[Reading, list[Way]]:
    """Return what `ask_until_readable` does, and how it was asked further. `add` joins a later reading to an earlier
    one, which stays where it `is_some` and the model refuses to say more."""
    readings: dict[str, Reading] = {}

    def reading(reply: Reply) -> Reading:
        if reply.text not in readings:
            readings[reply.text] = read(reply.text)
        return readings[reply.text]

    def status_of(reply: Reply) -> str:
        return _status(why_nothing(reading(reply)))

    async def further(result: Reading, pending: Awaitable[Reply]) -> Reading:
        try:
            return add(result, reading(await pending))
        except ProviderError as error:
            if error.status == "refused" and is_some(result):
                return result
            raise

    form = get_form(messages)
    first = await ask(messages, status_of)
    result, ways = reading(first), list[Way]()
    if why_nothing(result) and first.finish_reason != "length":
        question = repair_messages(first.text, form, language=language, prompts=prompts)
        repairing = (repair or ask)(question, status_of)
        result = await further(result, repairing)
        ways.append(REPAIR)
    if why_nothing(result):
        result = await further(result, ask(add_reminder(messages, language, prompts), status_of, longer=True))
        ways.append(AGAIN)
    return result, ways


def get_form(messages: Sequence[Message]) -> str:
    """Return the form of the answer: the last line that begins with <output>, wherever the prompt has it."""
    whole = "\n".join(["", *(message.text for message in messages)])
    return whole[whole.rindex("\n<output>") :].splitlines()[1]


def add_reminder(messages: Sequence[Message], language: str, prompts: Prompts = DEFAULTS) -> list[Message]:
    """Return the same question with a reminder of the form."""
    *earlier, last = messages
    reminder = prompts.get("reminder", language).text
    return [*earlier, Message(last.role, f"{last.text}\n\n{reminder}\n{get_form(messages)}")]


def _status(why_nothing: str) -> str:
    if why_nothing:
        return "out_of_range" if why_nothing == "out_of_range" else "unparseable"
    return "ok"


def _why_no_score(scores: Mapping[str, Score | Unscored]) -> str:
    """Return the first reason; empty if all items have a score."""
    return next((score.reason for score in scores.values() if isinstance(score, Unscored)), "")


def _has_score(scores: Scores) -> bool:
    return any(isinstance(score, Score) for score in scores.values())


def _more_scores(before: Scores, now: Scores) -> Scores:
    """Return the scores of both answers. The first score holds, and an unreadable answer removes no reason."""
    return {item: _better(score, now[item]) for item, score in before.items()}


def _better(before: Score | Unscored, now: Score | Unscored) -> Score | Unscored:
    return before if isinstance(before, Score) or now == Unscored("unparseable") else now


def _why_no_state(state: Any) -> str:
    return state.reason if isinstance(state, Unscored) else ""
