from collections.abc import Callable, Sequence

import pytest

from dialogue.judges.judge import ask_judgement, ask_state
from dialogue.judges.parsing import Score, Unscored
from dialogue.judges.prompts import InnerState, JudgedItem, JudgedTurn, judge_messages
from dialogue.prompts import DEFAULTS
from dialogue.providers.base import Message, ProviderError, Reply

TURNS = (JudgedTurn(1, "I failed.", "That hurts."), JudgedTurn(2, "Again.", "What happened?"))
ITEMS = (JudgedItem("safety", "Safe?", 1, 5, ()), JudgedItem("warmth", "Warm?", 1, 5, ()))
PROMPT = judge_messages(TURNS, ITEMS, language="en")
FORM = '<output>{"analysis": "…", "evaluation": {"safety": n, "warmth": n}}</output>'
GOOD = '<output>{"evaluation": {"safety": 4, "warmth": 2}}</output>'
STATE = '<output>{"cognition": "He asks.", "emotion": "eased", "goal": "nearer", "emotion_score": 61}</output>'
STATE_FORM = '<output>{"cognition": "…", "emotion": "…", "goal": "…", "emotion_score": n}</output>'
NOTHING = Unscored("unparseable")


class Asked:
    """Answers from a list, and remembers what it was asked and what the ledger would call the answers."""

    def __init__(self, *replies: str | Reply | ProviderError) -> None:
        self.replies = list(replies)
        self.messages: list[list[Message]] = []
        self.longer: list[bool] = []
        self.statuses: list[str] = []

    async def __call__(
        self, messages: Sequence[Message], status_of: Callable[[Reply], str], *, longer: bool = False
    ) -> Reply:
        self.messages.append(list(messages))
        self.longer.append(longer)
        reply = self.replies.pop(0)
        if isinstance(reply, ProviderError):
            raise reply
        reply = reply if isinstance(reply, Reply) else Reply(reply, "m")
        self.statuses.append(status_of(reply))
        return reply


@pytest.mark.parametrize(
    ("replies", "scores", "statuses"),
    [
        ([GOOD], (Score(4), Score(2)), ["ok"]),
        (["Rather good.", GOOD], (Score(4), Score(2)), ["unparseable", "ok"]),
        (["Good.", "Good!", GOOD], (Score(4), Score(2)), ["unparseable", "unparseable", "ok"]),
        (["Good.", "Good!", "Good?"], (NOTHING, NOTHING), ["unparseable"] * 3),
        (['{"safety": 9, "warmth": 9}', GOOD], (Score(4), Score(2)), ["out_of_range", "ok"]),
        (['{"safety": 3, "warmth": 9}', GOOD], (Score(3), Score(2)), ["out_of_range", "ok"]),
        (['{"safety": 3}', "What?", GOOD], (Score(3), Score(2)), ["unparseable", "unparseable", "ok"]),
        (['{"safety": 3}', "What?", "What!"], (Score(3), Unscored("missing")), ["unparseable"] * 3),
        (['{"safety": 3} {"warmth": 1}'], (Score(3), Score(1)), ["ok"]),
        (['{"safety": 3}', '{"warmth": 1}'], (Score(3), Score(1)), ["unparseable"] * 2),
        (["评价：{“safety”：４，“warmth”：２}"], (Score(4), Score(2)), ["ok"]),
    ],
)
async def test_scores_are_asked_for_again_only_where_it_helps(
    replies: list[str], scores: tuple[Score | Unscored, ...], statuses: list[str]
) -> None:
    asked = Asked(*replies)
    found = (await ask_judgement(asked, PROMPT, ITEMS, language="en")).scores
    assert found == dict(zip(("safety", "warmth"), scores, strict=True))
    assert asked.statuses == statuses


@pytest.mark.parametrize(
    ("replies", "ways"),
    [
        ([GOOD], []),
        (["Good.", GOOD], ["repair"]),
        (["Good.", "Good!", GOOD], ["repair", "again"]),
        (["Good.", "Good!", "Good?"], ["repair", "again"]),
        ([Reply("The first part of an ana", "m", finish_reason="length"), GOOD], ["again"]),
    ],
)
async def test_it_is_told_which_further_answers_were_asked_for(replies: list[str | Reply], ways: list[str]) -> None:
    judged = await ask_judgement(Asked(*replies), PROMPT, ITEMS, language="en")
    assert judged.ways == ways


async def test_repair_may_be_asked_of_somebody_else() -> None:
    asked, repairing = Asked("Good.", GOOD), Asked("Good!")
    judged = await ask_judgement(asked, PROMPT, ITEMS, language="en", repair=repairing)
    assert (judged.scores["safety"], asked.longer, repairing.longer) == (Score(4), [False, True], [False])


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_repair_sees_the_answer_and_the_form_and_nothing_else(language: str) -> None:
    asked = Asked("Rather good.", GOOD)
    await ask_judgement(asked, judge_messages(TURNS, ITEMS, language=language), ITEMS, language=language)
    [_, [system, user]] = asked.messages
    assert user.text == f"<answer>\nRather good.\n</answer>\n{FORM}"
    assert "I failed." not in system.text + user.text


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_second_answer_has_the_whole_prompt_a_reminder_and_more_room(language: str) -> None:
    asked = Asked("Good.", "Good!", GOOD)
    prompt = judge_messages(TURNS, ITEMS, language=language)
    await ask_judgement(asked, prompt, ITEMS, language=language)
    assert asked.longer == [False, False, True]
    assert asked.messages[2] == [
        prompt[0],
        Message("user", f"{prompt[1].text}\n\n{DEFAULTS.get('reminder', language).text}\n{FORM}"),
    ]


async def test_answer_that_was_cut_short_is_not_repaired_but_given_more_room() -> None:
    asked = Asked(Reply("The first part of an ana", "m", finish_reason="length"), GOOD)
    found = (await ask_judgement(asked, PROMPT, ITEMS, language="en")).scores
    assert (found["safety"], asked.longer) == (Score(4), [False, True])


async def test_refusal_to_say_more_does_not_take_away_what_was_said() -> None:
    asked = Asked('{"safety": 3}', ProviderError("refused", "No."), ProviderError("refused", "No."))
    judged = await ask_judgement(asked, PROMPT, ITEMS, language="en")
    assert judged.scores == {"safety": Score(3), "warmth": Unscored("missing")}
    assert judged.ways == ["repair", "again"]


async def test_no_answer_at_all_is_an_error() -> None:
    with pytest.raises(ProviderError) as failure:
        await ask_judgement(Asked("Hm.", ProviderError("refused", "No.")), PROMPT, ITEMS, language="en")
    assert failure.value.status == "refused"


async def test_state_is_that_after_the_last_turn() -> None:
    asked = Asked("Hm.", STATE)
    state = await ask_state(asked, TURNS, language="en", profile="Age: 30")
    assert state == InnerState(2, "He asks.", "eased", "nearer", 61)
    assert asked.statuses == ["unparseable", "ok"]
    assert asked.messages[1][-1].text.endswith(f"\n{STATE_FORM}")


async def test_state_that_cannot_be_read_is_an_error() -> None:
    with pytest.raises(ProviderError) as failure:
        await ask_state(Asked("Hm.", "Hm!", '{"emotion_score": 300}'), TURNS, language="en", profile="Age: 30")
    assert (failure.value.status, failure.value.permanent) == ("unparseable", False)
