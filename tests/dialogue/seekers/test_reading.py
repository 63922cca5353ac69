"""Thoughts and utterances as models write them."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dialogue.seekers.reading import END_PHRASES, LABEL, Thought, Unread, Utterance, read_thought, read_utterance

STATE = '{"cognition": "Fits a bit.", "emotion": "softer", "goal": "nearer", "emotion_score": 61}'
THOUGHT = Thought("Fits a bit.", "softer", "nearer", 61)


@pytest.mark.parametrize(
    "text",
    [
        f"<output>{STATE}</output>",
        f"```json\n{STATE}\n```",
        STATE.replace("61}", "61,}"),
        STATE.replace(" 61", ' "６１"'),
        f"First {STATE.replace('61', '3')} and then {STATE}",
    ],
)
def test_thought_is_read(text: str) -> None:
    assert read_thought(text) == THOUGHT


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("I feel fine.", "unparseable"),
        ("", "unparseable"),
        (STATE.replace("61", "101"), "out_of_range"),
        (STATE.replace("61", '"some"'), "not_an_integer"),
        (STATE.replace("softer", ""), "missing"),
    ],
)
def test_thought_that_cannot_be_read_says_why(text: str, reason: str) -> None:
    assert read_thought(text) == Unread(reason)


ENDS = [(language, end, phrase) for language, typed in END_PHRASES.items() for end in typed for phrase in typed[end]]


@pytest.mark.parametrize(("language", "end", "phrase"), ENDS)
def test_phrase_alone_on_the_last_line_ends(language: str, end: str, phrase: str) -> None:
    for text in (phrase, f"Enough.\n{phrase}.", f"  {phrase} \n", f"So.\n\n**{phrase.upper()}！**", f"“{phrase}”"):
        assert read_utterance(text, language) == Utterance(text.strip().strip("“”"), end)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("我再见到他的时候，什么都说不出来", "zh"),
        ("他说了再见就走了。", "zh"),
        ("她最后说：\n“再见”", "zh"),
        ("就这样吧，我也不知道。", "zh"),
        ("I said goodbye to him and left", "en"),
        ("that's all I know about it", "en"),
        ("I don't want to continue living with them", "en"),
        ('He wrote:\n"Bye"', "en"),
        ("", "en"),
    ],
)
def test_phrase_within_a_sentence_ends_nothing(text: str, language: str) -> None:
    assert read_utterance(text, language) == Utterance(text, "", False)


@pytest.mark.parametrize(
    ("text", "language", "end"),
    [
        ("Okay then. Bye.", "en", ""),
        ("Goodbye\nOne more thing, though.", "en", ""),
        ("Bye\nGoodbye", "en", "satisfied"),
        ("Goodbye\nThat’s all", "en", "walked_out"),
        ("好吧。再见。", "zh", ""),
        ("再见\n不过还有一件事", "zh", ""),
    ],
)
def test_phrase_in_a_wrong_place_is_misuse(text: str, language: str, end: str) -> None:
    assert read_utterance(text, language) == Utterance(text, end, True)


def test_curly_apostrophe_ends_as_well() -> None:
    assert read_utterance("I don’t want to continue.", "en").end == "walked_out"


@pytest.mark.parametrize(
    "text",
    ["……", "...", "…", "。。。", "——", "（沉默）", "[silence]", "*long pause*", "（沉默了很久）", "(says nothing)"],
)
def test_silence_is_allowed_and_kept(text: str) -> None:
    assert read_utterance(text, "en") == Utterance(text)
    assert read_utterance(text, "en").silent


@pytest.mark.parametrize("text", ["", "？", "ok", "嗯", "silence is all I get", "(sighs) fine", "🙂"])
def test_something_said_or_nothing_at_all_is_no_silence(text: str) -> None:
    assert not read_utterance(text, "en").silent


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Seeker: I am tired.", "I am tired."),
        ("[4] Seeker: I am tired.", "I am tired."),
        ("来访者：我累了", "我累了"),
        ('Seeker: "I am tired."', "I am tired."),
        ("“我累了。”", "我累了。"),
        ("*I look at you and say nothing new*", "I look at you and say nothing new"),
        ("（我不知道）", "我不知道"),
        ("“「我累了」”", "我累了"),
    ],
)
def test_label_and_marks_around_all_of_it_are_taken_off(text: str, said: str) -> None:
    assert read_utterance(text, "en").text == said


@pytest.mark.parametrize(
    "text",
    [
        '"No" is what he said, and then "yes"',
        "(sighs) I can't. (shrugs)",
        "*sighs* I can't *shrugs*",
        "“累”和“烦”",
        "Seeker:",
        "I told him: Seeker: no",
        "“Unclosed",
    ],
)
def test_marks_within_the_text_stay(text: str) -> None:
    assert read_utterance(text, "en").text == text


PIECES = st.sampled_from([*'ab 1:.“”"*()（）[]…\n\u2028', "Seeker: ", "来访者：", "Goodbye", "再见"])
AROUND = re.compile(r"""^[\s“”"*()（）[\]…]+|[\s“”"*()（）[\]…]+$""")
WRITTEN = st.lists(PIECES, max_size=12).map("".join)


@given(text=WRITTEN | st.text(), language=st.sampled_from(["en", "zh"]))
@example(text="Seeker: (Seeker: a)", language="en")
@example(text="Seeker: “", language="en")
@example(text="\u2028Seeker: a", language="en")
def test_no_word_is_ever_lost(text: str, language: str) -> None:
    read = read_utterance(text, language)
    words, kept = ("".join(filter(str.isalnum, each)) for each in (text, read.text))
    assert words.endswith(kept)
    if LABEL.search(AROUND.sub("", text) + "x") is None:  # a label may stand before such marks alone
        assert words == kept
    assert read_utterance(read.text, language).text == read.text
