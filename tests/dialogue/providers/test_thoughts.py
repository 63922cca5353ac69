from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialogue.providers.thoughts import Thoughts

SHARDS = ["<think>", "</think>", "<", "</", "think", ">", " ", "\n", "a", "你", "<b>"]


def told_apart(pieces: list[str]) -> tuple[str, str]:
    thoughts, thought, text = Thoughts(), "", ""
    for piece in pieces:
        more = thoughts.take(piece)
        thought, text = thought + more[0], text + more[1]
    more = thoughts.end()
    return thought + more[0], text + more[1]


@pytest.mark.parametrize(
    ("answer", "thought", "text"),
    [
        ("", "", ""),
        ("Hello.", "", "Hello."),
        ("<think>hm</think>Hello.", "hm", "Hello."),
        ("\n<think>\nhm, 你\n</think>\n\nHello. ", "\nhm, 你\n", "Hello. "),
        ("<think></think>\n\nHello.", "", "Hello."),
        ("  Hello.", "", "  Hello."),
        ("Hello <think>hm</think>", "", "Hello <think>hm</think>"),
        ("<think>a</think>b<think>c</think>", "a", "b<think>c</think>"),
        ("<think>a<think>b</think>c</think>", "a<think>b", "c</think>"),
        ("<think>a</thin b</think>c", "a</thin b", "c"),
        ("<think>a<</think>c", "a<", "c"),
        ("<think>cut in the mid", "cut in the mid", ""),
        ("<think>cut in the tag</thi", "cut in the tag</thi", ""),
        ("<thi", "", "<thi"),
        ("<thinking>aloud", "", "<thinking>aloud"),
        (" \n", "", " \n"),
        ("<think>a</think> \n", "a", " \n"),
        ("thought without a beginning</think>text", "", "thought without a beginning</think>text"),
    ],
)
def test_thought_is_told_from_text(answer: str, thought: str, text: str) -> None:
    assert told_apart([answer]) == (thought, text)
    assert told_apart(list(answer)) == (thought, text)


@given(st.lists(st.sampled_from(SHARDS)).map("".join), st.lists(st.integers(0, 60)))
def test_cuts_make_no_difference(answer: str, cuts: list[int]) -> None:
    places = [0, *sorted(min(cut, len(answer)) for cut in cuts), len(answer)]
    assert told_apart([answer[a:b] for a, b in pairwise(places)]) == told_apart([answer])


@given(st.lists(st.sampled_from(SHARDS)).map("".join))
def test_nothing_but_tags_and_white_space_is_lost(answer: str) -> None:
    thought, text = told_apart([answer])
    kept = "".join((thought + text).split())
    whole = "".join(answer.split())
    assert kept in (whole, whole.removeprefix("<think>"), whole.removeprefix("<think>").replace("</think>", "", 1))


def test_text_is_not_held_back_longer_than_needed() -> None:
    thoughts = Thoughts()
    assert [thoughts.take(piece) for piece in ("<", "b", "old>", "<think>")] == [
        ("", ""),
        ("", "<b"),
        ("", "old>"),
        ("", "<think>"),
    ]
    assert thoughts.over
