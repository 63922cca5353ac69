import pytest

from studies.instruments.loading import load
from studies.instruments.quiz import QuizResult, mark

QUIZ = load("comprehension_check")
RIGHT = {
    question["id"]: question["answer"] for part in ("questions", "expert_questions") for question in QUIZ.raw[part]
}


def without(*keys):
    return RIGHT | dict.fromkeys(keys, "c")


@pytest.mark.parametrize(
    ("track", "answers", "expected"),
    [
        ("participant", RIGHT, QuizResult(11, 11, (), True)),
        ("participant", without("c4", "c5"), QuizResult(9, 11, ("c4", "c5"), True)),
        ("participant", without("c4", "c5", "c7"), QuizResult(8, 11, ("c4", "c5", "c7"), False)),
        ("participant", without("c2"), QuizResult(10, 11, ("c2",), False)),
        ("participant", without("x1"), QuizResult(11, 11, (), True)),
        ("expert", RIGHT, QuizResult(13, 13, (), True)),
        # 9 of 11 is 81.8 %; of 13 that takes 11.
        ("expert", without("c4", "x2"), QuizResult(11, 13, ("c4", "x2"), True)),
        ("expert", without("c4", "c5", "x2"), QuizResult(10, 13, ("c4", "c5", "x2"), False)),
        ("expert", without("x3"), QuizResult(12, 13, ("x3",), False)),
        ("expert", without("c6", "c10"), QuizResult(13, 13, (), True)),
    ],
)
def test_mark_follows_the_pass_rule(track, answers, expected):
    assert mark(QUIZ, answers, track=track) == expected


@pytest.mark.parametrize(
    ("track", "view"),
    [
        ("participant", {"c6": "Mine: how it was for me"}),
        ("expert", {"x4": "Mine as a professional, looking back at the whole chat"}),
    ],
)
def test_each_track_is_asked_once_from_whose_view_it_rates_as_its_own_guide_says(track, view):
    asked = {item.key: item for item in QUIZ.items_for(track=track)}
    found = {key: asked[key].option(RIGHT[key]).text["en"] for key in asked if "point of view" in asked[key].text["en"]}
    assert found == view


def test_mark_takes_a_missing_answer_as_wrong():
    result = mark(QUIZ, {}, track="participant")
    assert (result.correct, len(result.wrong), result.passed) == (0, 11, False)
