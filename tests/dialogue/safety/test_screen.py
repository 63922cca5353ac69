import json
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dialogue.safety.screen import (
    LEXICON,
    REPLY_LEVEL,
    WINDOW,
    Verdict,
    level_in_context,
    load_lexicon,
    normalise,
    screen_message,
    screen_reply,
)

DATA: dict[str, Any] = json.loads(LEXICON.read_text(encoding="utf-8"))
# The lexicon's own notes call these two false alarms.
KNOWN_FALSE_ALARMS = {"no point in living so far from work", "i want to jump from job to job"}
HITS = [(entry["id"], entry["level"], hit) for entry in DATA["entries"] for hit in entry["hits"]]
MISSES = [(entry["id"], miss) for entry in DATA["entries"] for miss in entry["misses"]]
REPLY_HITS = [(entry["id"], hit) for entry in DATA["reply_screen"]["patterns"] for hit in entry["hits"]]
IDIOMS = [hit for modifier in DATA["modifiers"] if modifier["effect"] == "ignore_overlap" for hit in modifier["hits"]]


@pytest.mark.parametrize(("entry", "level", "text"), HITS)
def test_entry_fires_on_its_hits(entry: str, level: int, text: str) -> None:
    verdict = screen_message(text)
    assert entry in verdict.entries
    assert verdict.level >= min(level, 2)


@pytest.mark.parametrize(("entry", "text"), [case for case in MISSES if case[1] not in KNOWN_FALSE_ALARMS])
def test_entry_stays_silent_on_its_misses(entry: str, text: str) -> None:
    assert entry not in screen_message(text).entries


@pytest.mark.parametrize("text", IDIOMS)
def test_idiom_is_no_sign(text: str) -> None:
    assert screen_message(text) == Verdict(0)


# The first twenty are the reference cases of the lexicon's authors.
@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("I'm dying to see you", {0}),
        ("this homework is killing me", {0}),
        ("笑死我了", {0}),
        ("想死你了", {0}),
        ("今天累死了", {0}),
        ("I am not suicidal", {1, 2}),
        ("我没有想自杀", {1, 2}),
        ("my friend wants to die", {1, 2}),
        ("我朋友说想自杀", {1, 2}),
        ("I want to kill myself tonight", {4}),
        ("我今晚就去死", {4}),
        ("我不想活了", {3}),
        ("活着没意思，我就是家里的累赘", {3}),
        ("in the novel he wants to die", {1, 2}),
        ("我很累但还好", {0}),
        ("we talked about dinner", {0}),
        ("去年我自杀过", {2}),
        ("I don’t want to be here", {2}),
        ("我考试考砸了，心情很差", {0}),
        ("太绝望了", {1}),
        ("", {0}),
        ("I  WANT\n to\tdie", {3}),
        ("Ｉ want to ｄｉｅ", {3}),
        ("I can’t take this anymore!!!!", {1}),
        ("我 想 死", {3}),
        ("我想。。。死", {3}),
        ("我 没有 想 自杀", {2}),
        ("笑 死 我 了，太好玩", {0}),
        ("笑死我了。不过我真的想死", {3}),
        ("I would never kill myself", {2}),
        ("I am not well. I want to die.", {3}),
        ("She wants to die. I want to die too.", {3}),
        ("Years ago I tried to end my life. Now I want to die again.", {3}),
        ("去年我自杀过。现在我又想死", {3}),
        ("They would be better off without me, I started cutting myself", {3}),
        ("I will never do it but tonight I will end my life", {4}),
    ],
)
def test_message_has_its_level(text: str, levels: set[int]) -> None:
    assert screen_message(text).level in levels


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("my friend wants to die", Verdict(2, ("en_want_die",), ("active_ideation",), third_party=True)),
        ("我不想活了", Verdict(3, ("zh_not_live",), ("active_ideation",))),
        (
            "活着没意思，我就是家里的累赘",
            Verdict(3, ("zh_passive", "zh_burden"), ("burden", "passive_ideation")),
        ),
        ("my friend is late", Verdict(0)),
    ],
)
def test_verdict_says_what_fired(text: str, verdict: Verdict) -> None:
    assert screen_message(text) == verdict


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("  A  b\n", "a b"),
        ("Don’t!!!", "don't!"),
        ("……", "."),
        ("想，，死", "想,死"),
        ("？！？！", "?!?!"),
        ("aaa", "aaa"),
    ],
)
def test_text_is_normalised(text: str, normal: str) -> None:
    assert normalise(text) == normal


@pytest.mark.parametrize(
    ("level", "earlier", "in_context"),
    [
        (0, [], 0),
        (0, [2, 2, 2], 0),
        (1, [], 1),
        (1, [1], 1),
        (1, [1, 1], 2),
        (1, [1, 0, 1], 1),
        (1, [0, 1, 1], 2),
        (1, [1, 1, 2], 1),
        (1, [2, 2, 1, 1], 3),
        (2, [], 2),
        (2, [2], 2),
        (2, [2, 2], 3),
        (2, [2, 0, 1, 2], 3),
        (2, [3, 2], 3),
        (3, [], 3),
        (4, [2, 2], 4),
    ],
)
def test_level_follows_the_turns_before(level: int, earlier: list[int], in_context: int) -> None:
    assert level_in_context(Verdict(level), earlier) == in_context


# Replies.


@pytest.mark.parametrize(("entry", "text"), REPLY_HITS)
def test_reply_that_encourages_is_withheld(entry: str, text: str) -> None:
    verdict = screen_reply(f"Well, {text} then.")
    assert verdict is not None
    assert (verdict.level, entry in verdict.entries) == (REPLY_LEVEL, True)


@pytest.mark.parametrize(("entry", "level", "text"), [case for case in HITS if case[1] >= REPLY_LEVEL])
def test_reply_with_a_strong_entry_is_withheld(entry: str, level: int, text: str) -> None:
    verdict = screen_reply(text)
    assert verdict is not None
    assert entry in verdict.entries


@pytest.mark.parametrize(
    "text",
    [
        "",
        "It sounds hopeless to you right now, as if there were no way out.",
        "You feel like a burden, and you hate how it goes.",
        "You wrote “they would be better off without me”, and that you started hurting yourself.",
        "您觉得很绝望，好像撑不下去了。活着很累，也觉得自己是家里的累赘。",
        "I am glad that you are not suicidal.",
        "That deadline is killing me too, I'm dying to see it over.",
    ],
)
def test_empathic_reply_passes(text: str) -> None:
    assert screen_reply(text) is None


FILLER = {"en": "It is good that you say so. ", "zh": "您愿意说出来很好。"}


def first_alarm(text: str, size: int) -> int | None:
    """Where a growing reply is stopped when each call says how much has passed."""
    passed = 0
    for end in [*range(size, len(text), size), len(text)]:
        if screen_reply(text[:end], passed):
            return end
        passed = end
    return None


@pytest.mark.parametrize("size", [1, 3, 40, 1000])
@pytest.mark.parametrize(
    "hit",
    [
        "i want to kill myself tonight",
        "just kill yourself",
        "我写好了遗书",
        "你不如去死",
        "i am standing on the bridge and want to jump",
    ],
)
def test_growing_reply_is_stopped_where_a_whole_one_is(hit: str, size: int) -> None:
    filler = FILLER["en" if hit.isascii() else "zh"]
    text = filler * 20 + hit + "。" + filler * 20
    stopped = first_alarm(text, size)
    assert stopped is not None
    assert len(filler) * 20 < stopped < len(filler) * 20 + len(hit) + 1 + size


@given(
    parts=st.lists(
        st.sampled_from([*(hit for _, _, hit in HITS), *IDIOMS, *FILLER.values(), " ", ". ", "。"]), max_size=12
    ),
    size=st.integers(min_value=1, max_value=80),
)
def test_growing_screen_misses_nothing_that_the_whole_finds(parts: list[str], size: int) -> None:
    text = "".join(parts)
    if screen_reply(text):
        assert first_alarm(text, size) is not None


STRONG = [one.pattern for one in load_lexicon().entries if one.level >= REPLY_LEVEL]
STRONG += [one.pattern for one in load_lexicon().reply_entries]
WITHOUT_CUES = replace(load_lexicon(), cues=re.compile(""))


@settings(max_examples=60, deadline=None)
@pytest.mark.parametrize("pattern", STRONG, ids=lambda pattern: pattern.pattern[:20])
@given(data=st.data())
def test_all_that_a_pattern_finds_has_a_cue(pattern: re.Pattern[str], data: st.DataObject) -> None:
    text = data.draw(st.from_regex(pattern))
    assert screen_reply(text) == screen_reply(text, lexicon=WITHOUT_CUES)


HARMLESS = ["今天", "生活", "了", " ", "\u3000", "。", ", ", "!!", "I ", "ı", "Ｉ", "ſ", "my ", "’", "end", "It "]
PIECES = st.sampled_from([*(hit for _, _, hit in HITS), *(hit for _, hit in REPLY_HITS), *IDIOMS, *HARMLESS])


@settings(max_examples=300, deadline=None)
@given(
    parts=st.lists(PIECES.flatmap(lambda hit: st.sampled_from([hit, hit[:9], hit[-9:], hit.upper()])), max_size=9),
    gap=st.sampled_from(["", "", " ", "_", "，"]),
    screened=st.integers(min_value=0, max_value=200),
)
def test_cues_change_no_verdict(parts: list[str], gap: str, screened: int) -> None:
    text = gap.join("".join(parts)) if gap else "".join(parts)
    assert screen_reply(text, screened) == screen_reply(text, screened, WITHOUT_CUES)


def test_no_pattern_is_wider_than_the_window() -> None:
    # The longest text that each alternative of the widest patterns can take, written out.
    widest = [
        "tomorrow" + " " * 2 + "x" * 26 + " be gone for good",
        "i already have taken a whole bottle of of my sleeping pills",
        "standing on the ledge " + "x" * 38 + " jump",
        "ending my life " + "x" * 28 + " right now",
    ]
    for text in widest:
        verdict = screen_reply("y " * 300 + text, screened=2 * 300 + len(text) - 1)
        assert verdict is not None
        assert len(text) <= WINDOW


@pytest.mark.parametrize(
    "text",
    [
        "不" + "想要" * 2000,
        "没想过" + "想要真的想去" * 700,
        "not " * 1000,
        "not " + "!?" * 2000,
        "don't" + " a" * 2000,
        "i " * 2000,
        "我朋友" * 1300,
        "站在楼顶" * 1000,
        "tonight " * 500,
        "去年" * 2000,
        " " * 4000,
        "a" * 4000,
    ],
)
def test_long_repeats_do_no_harm(text: str) -> None:
    assert screen_message(text) == Verdict(0)
    assert screen_message(f"{text}。我不想活了").level >= 2
    assert screen_reply(text) is None


def test_no_starred_group_is_left_to_run_wild() -> None:
    lexicon = load_lexicon()
    patterns = [one.pattern.pattern for one in (*lexicon.entries, *lexicon.modifiers, *lexicon.reply_entries)]
    assert [pattern for pattern in patterns if ")*" in pattern or ")+" in pattern] == []
