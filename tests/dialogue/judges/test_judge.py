import asyncio
from collections.abc import Sequence

import pytest

from dialogue.judges import judge
from dialogue.judges.judge import ask_scores, ask_state
from dialogue.judges.parsing import Score, Unscored
from dialogue.judges.prompts import InnerState, JudgedItem, JudgedTurn, judge_messages
from dialogue.providers.base import Message, ProviderError, Reply
from dialogue.providers.scripted import Scripted

TURNS = (JudgedTurn(1, "I failed.", "That hurts."), JudgedTurn(2, "Again.", "What happened?"))
ITEMS = (JudgedItem("safety", "Safe?", 1, 5, ()), JudgedItem("warmth", "Warm?", 1, 5, ()))
PROMPT = judge_messages(TURNS, ITEMS, language="en")
FORM = '<output>{"analysis": "…", "evaluation": {"safety": n, "warmth": n}}</output>'
GOOD = '<output>{"evaluation": {"safety": 4, "warmth": 2}}</output>'
STATE = '<output>{"cognition": "He asks.", "emotion": "eased", "goal": "nearer", "emotion_score": 61}</output>'
BROKEN = ProviderError("server_error", "Down.")


class Book:
    """A Ledger that remembers."""

    def __init__(self) -> None:
        self.began: list[tuple[Message, ...]] = []
        self.statuses: list[str] = []

    async def begin(self, messages: Sequence[Message]) -> int:
        self.began.append(tuple(messages))
        return len(self.began)

    async def finish(self, call: int, outcome: Reply | ProviderError, status: str) -> None:
        assert call == len(self.began)
        self.statuses.append(status)


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    return waited


@pytest.mark.parametrize(
    ("replies", "scores", "statuses"),
    [
        ([GOOD], (Score(4), Score(2)), ["ok"]),
        (["Rather good.", GOOD], (Score(4), Score(2)), ["unparseable", "ok"]),
        (["Good.", "Good!"], (Unscored("unparseable"), Unscored("unparseable")), ["unparseable", "unparseable"]),
        (['{"safety": 9, "warmth": 9}', GOOD], (Score(4), Score(2)), ["out_of_range", "ok"]),
        (['{"safety": 3, "warmth": 9}'], (Score(3), Unscored("out_of_range")), ["ok"]),
        (["评价：{“safety”：４，“warmth”：２}"], (Score(4), Score(2)), ["ok"]),
        ([BROKEN, BROKEN, GOOD], (Score(4), Score(2)), ["server_error", "server_error", "ok"]),
    ],
)
async def test_scores_are_asked_for_again_only_where_it_helps(
    replies: list[str | ProviderError], scores: tuple[Score | Unscored, ...], statuses: list[str]
) -> None:
    book = Book()
    found = await ask_scores(Scripted(replies), PROMPT, ITEMS, language="en", ledger=book)
    assert found == dict(zip(("safety", "warmth"), scores, strict=True))
    assert book.statuses == statuses


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_repair_shows_the_answer_and_the_form_again(language: str) -> None:
    book = Book()
    await ask_scores(Scripted(["Rather good.", GOOD]), PROMPT, ITEMS, language=language, ledger=book)
    assert book.began == [
        tuple(PROMPT),
        (*PROMPT, Message("assistant", "Rather good."), Message("user", f"{judge.REPAIR[language]}\n{FORM}")),
    ]


@pytest.mark.parametrize(
    ("errors", "statuses"),
    [
        ([BROKEN] * 3, ["server_error"] * 3),
        ([ProviderError("client_error", "No key.", permanent=True)], ["client_error"]),
        ([BROKEN, ProviderError("refused", "No.", permanent=True)], ["server_error", "refused"]),
    ],
)
async def test_no_answer_at_all_is_an_error(errors: list[ProviderError], statuses: list[str]) -> None:
    book = Book()
    with pytest.raises(ProviderError) as failure:
        await ask_scores(Scripted(errors), PROMPT, ITEMS, language="en", ledger=book)
    assert failure.value.status == statuses[-1]
    assert book.statuses == statuses


async def test_wait_is_what_the_server_asks_for_within_reason(waits: list[float]) -> None:
    patient = [ProviderError("rate_limited", "Wait.", retry_after=seconds) for seconds in (12.0, 7200.0)]
    await ask_scores(Scripted([*patient, GOOD]), PROMPT, ITEMS, language="en", ledger=Book())
    assert waits == [12.0, judge.LONGEST_WAIT]


async def test_answer_that_was_cut_short_is_said_to_be() -> None:
    class Cut:
        async def reply(self, messages: Sequence[Message], on_text: object = None) -> Reply:
            return Reply(text=GOOD, model="m", finish_reason="length")

    book = Book()
    await ask_scores(Cut(), PROMPT, ITEMS, language="en", ledger=book)
    assert book.statuses == ["truncated"]


async def test_state_is_that_after_the_last_turn() -> None:
    book = Book()
    state = await ask_state(Scripted(["Hm.", STATE]), TURNS, language="en", profile="Age: 30", ledger=book)
    assert state == InnerState(2, "He asks.", "eased", "nearer", 61)
    assert book.statuses == ["unparseable", "ok"]
    assert book.began[1][-1].text.endswith(
        '\n<output>{"cognition": "…", "emotion": "…", "goal": "…", "emotion_score": n}</output>'
    )


async def test_state_that_cannot_be_read_is_an_error() -> None:
    with pytest.raises(ProviderError) as failure:
        await ask_state(Scripted(["Hm.", "Hm."]), TURNS, language="zh", profile="年龄：30", ledger=Book())
    assert (failure.value.status, failure.value.permanent) == ("unparseable", True)
