"""Boxes with a line for each question."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as some

from studies.questionnaires.document import OPEN, SCALE, YES_NO, Question
from studies.questionnaires.lines import LinesError, pair_lines, read_line, read_questions, write_lines

ONE_LINE = some.text(min_size=1).map(lambda text: " ".join(text.split())).filter(bool)


def test_lines_stand_side_by_side_and_empty_ones_count_as_none():
    boxes = {"en": "I felt calm\n\n  I slept well  \n", "zh": "我感到平静\n我睡得好"}
    assert read_questions(boxes) == [
        Question("q1", {"en": "I felt calm", "zh": "我感到平静"}),
        Question("q2", {"en": "I slept well", "zh": "我睡得好"}),
    ]


@pytest.mark.parametrize(
    ("en", "zh", "key", "answer", "is_reversed"),
    [
        ("I felt calm", "平静", "q1", SCALE, False),
        ("I felt calm (R)", "平静", "q1", SCALE, True),
        ("I felt calm", "平静（R）", "q1", SCALE, True),
        ("I felt calm (r)", "平静 (R)", "q1", SCALE, True),
        ("Why? (open)", "为什么？", "q1", OPEN, False),
        ("Slept? (yes/no)", "睡了吗？（YES/NO）", "q1", YES_NO, False),
        ("Slept?", "睡了吗？（是/否）", "q1", YES_NO, False),
        ("Slept?", "睡了吗？(是／否)", "q1", YES_NO, False),
        ("Why?", "为什么？（开放）", "q1", OPEN, False),
        ("I felt calm", "平静（反向）", "q1", SCALE, True),
        ("Why? (optional) (open)", "为什么？（选填）", "q1", OPEN, False),
        ("calm: I felt calm", "平静", "calm", SCALE, False),
        ("I felt calm (R)", "calm：平静", "calm", SCALE, True),
        ("Today: how was it?", "今天：怎么样？", "q1", SCALE, False),
    ],
)
def test_key_and_mark_may_stand_in_one_box(en, zh, key, answer, is_reversed):
    [question] = read_questions({"en": en, "zh": zh})
    assert (question.key, question.answer, question.is_reversed) == (key, answer, is_reversed)
    assert "(" not in question.text["en"] + question.text["zh"].replace("（", "(")


@pytest.mark.parametrize(
    ("en", "zh", "language", "message"),
    [
        ("a\nb\nc", "一", "zh", 'line 2 in English, "b", has no counterpart here'),
        ("a", "一\n二", "en", 'line 2 in 简体中文, "二", has no counterpart here'),
        ("calm: a\ncalm: b", "一\n二", "en", 'lines 1 and 2 have the same key, "calm"'),
        ("q2: a\nb", "一\n二", "en", 'lines 1 and 2 have the same key, "q2"'),
        ("calm: a", "quiet: 一", "zh", "line 1 has different keys: calm, quiet"),
        ("a (R) (open)", "一", "en", "line 1 has marks that exclude each other: (open), (R)"),
        ("a", "（R）", "zh", "line 1 has a mark, but no question"),
        (f"{'k' * 41}: a", "一", "en", "the key of line 1 has more than 40 characters"),
        ("a" * 1001, "一", "en", "line 1 has more than 1000 characters"),
        ("a\n" * 201, "一\n" * 201, "en", "has more than 200 questions"),
    ],
)
def test_what_is_wrong_names_the_line(en, zh, language, message):
    with pytest.raises(LinesError) as wrong:
        read_questions({"en": en, "zh": zh})
    assert (wrong.value.language, str(wrong.value)) == (language, message)


def test_labels_have_no_marks():
    assert pair_lines({"en": "Never (R)\nOften", "zh": "从不\n经常"})[0] == {"en": "Never (R)", "zh": "从不"}


@given(ONE_LINE)
@example("ſlept? (yeſ/no)")
def test_any_text_is_read(text):
    line = read_line(text)
    assert line.text in text
    assert read_line(line.text).marks == frozenset()


@given(some.lists(some.tuples(some.sampled_from([SCALE, OPEN, YES_NO]), some.booleans(), some.booleans()), max_size=6))
def test_what_is_written_is_read_again(answers):
    questions = [
        Question(
            f"k{number}", {"en": f"A {number}", "zh": f"甲 {number}"}, answer, turned and answer == SCALE, optional
        )
        for number, (answer, turned, optional) in enumerate(answers)
    ]
    boxes = {code: write_lines(questions, code, with_marks=code == "en") for code in ("en", "zh")}
    assert read_questions(boxes) == questions
