"""Which replies were given to the very same words."""

from dataclasses import replace

import pytest

from studies.data.training.contexts import Contexts
from studies.data.training.talk import WHOLE, About, Exchange, Talk

SEEKER = About(
    conversation="c",
    seeker="profile:p1",
    seeker_kind="simulated",
    arm="a",
    model="",
    condition="average",
    profile="p1",
    setup="",
    language="en",
    is_test=False,
)
OPENING = "I feel low."


def talk(run: int, arm: str, *turns: tuple[str, str], **about: object) -> Talk:
    said = tuple(Exchange(number, *both) for number, both in enumerate(turns or [(OPENING, f"I am {arm}.")], 1))
    of = replace(SEEKER, **{"arm": arm, "conversation": f"c{run}", **about})
    return Talk(run, of, said, {WHOLE: {"j": float(run)}, 1: {"j": 9.0}})


def shared(*talks: Talk, by_reply: bool = False) -> list[list[tuple[int, int]]]:
    with Contexts() as contexts:
        for one in talks:
            contexts.add(one, by_reply=by_reply)
        return [[(candidate.run, candidate.turn) for candidate in context] for context in contexts.list_shared()]


def test_two_supporters_share_the_first_message_and_not_what_follows_other_replies():
    first = talk(1, "a", (OPENING, "What happened?"), ("My job.", "Oh."))
    second = talk(2, "b", (OPENING, "That is hard."), ("My job.", "I see."))
    assert shared(first, second) == [[(1, 1), (2, 1)]]


def test_what_follows_the_same_reply_is_shared_too():
    first = talk(1, "a", (OPENING, "What happened?"), ("My job.", "Oh."))
    second = talk(2, "b", (OPENING, "What happened?"), ("My job.", "I see."))
    assert shared(first, second) == [[(1, 1), (2, 1)], [(1, 2), (2, 2)]]


@pytest.mark.parametrize(
    "other",
    [
        {"seeker": "profile:p2"},
        {"condition": "worst_case"},
        {"setup": "without resistance"},
        {"language": "zh"},
        {"is_test": True},
        {"arm": "a"},
    ],
)
def test_another_seeker_condition_or_language_or_the_same_supporter_is_no_pair(other):
    assert shared(talk(1, "a"), talk(2, **{"arm": "b", **other})) == []


def test_one_letter_makes_another_context():
    assert shared(talk(1, "a", (OPENING, "x")), talk(2, "b", (OPENING.lower(), "y"))) == []


@pytest.mark.parametrize(("by_reply", "scores"), [(False, [{"j": 1.0}, {"j": 2.0}]), (True, [{"j": 9.0}, {"j": 9.0}])])
def test_scores_are_of_the_conversation_or_of_the_reply(by_reply, scores):
    with Contexts() as contexts:
        for one in (talk(1, "a"), talk(2, "b")):
            contexts.add(one, by_reply=by_reply)
        (candidates,) = contexts.list_shared()
    assert [candidate.scores for candidate in candidates] == scores


def test_prompt_and_origin_come_back():
    first = talk(1, "a", (OPENING, "What happened?"), ("My job.", "Oh."))
    second = talk(2, "b", (OPENING, "What happened?"), ("My job.", "I see."))
    with Contexts() as contexts:
        contexts.add(first, by_reply=False)
        contexts.add(second, by_reply=False)
        _opening, later = contexts.list_shared()
        assert contexts.count() == 2
        assert [message["content"] for message in contexts.prompt(later[1])] == [OPENING, "What happened?", "My job."]
        assert contexts.about(2) == second.about


def test_openings_are_part_of_the_context():
    def opened(run: int, arm: str, opening: str) -> Talk:
        plain = talk(run, arm, (OPENING, "What happened?"), ("My job.", f"I am {arm}."))
        first, *rest = plain.turns
        return replace(plain, turns=(replace(first, opening=opening), *rest))

    assert shared(opened(1, "a", "Hello!"), opened(2, "b", "Welcome.")) == []
    assert shared(opened(1, "a", "Hello!"), opened(2, "b", "")) == []
    with Contexts() as contexts:
        for one in (opened(1, "a", "Hello!"), opened(2, "b", "Hello!")):
            contexts.add(one, by_reply=False)
        _, later = contexts.list_shared()
        assert [message["content"] for message in contexts.prompt(later[1])] == [
            "Hello!",
            OPENING,
            "What happened?",
            "My job.",
        ]
