"""Scores over turns become lines within the drawing, broken where a score is missing."""

import re
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from studies.board.emotion_line import BOTTOM, HEIGHT, LEFT, MARKS, RIGHT, TOP, WIDTH, Scale, chart, consecutive_runs

SCORES = st.dictionaries(st.integers(0, 60), st.integers(0, 100), min_size=1, max_size=20)
SOURCES = st.lists(SCORES, min_size=1, max_size=4).map(lambda known: dict(zip("abcd", known, strict=False)))


def points(parts):
    return [tuple(map(float, pair.split(","))) for part in parts for pair in part.split()]


def test_two_turns_from_the_worst_to_the_best_go_from_the_bottom_to_the_top():
    [line] = chart({"demo": {1: 0, 2: 100}}).lines

    middle = LEFT + (WIDTH - LEFT - RIGHT) / 2
    (x1, y1), (x2, y2) = points(line.parts)
    assert (y1, y2) == (HEIGHT - BOTTOM, TOP)
    assert x1 < middle < x2
    assert (line.first, line.last) == ((1, 0), (2, 100))


def test_another_scale_has_its_own_levels_and_is_drawn_over_the_same_height():
    drawn = chart({"file": {1: -1, 2: 0, 3: 1}}, Scale(-1, 1))

    assert [level for _y, level in drawn.levels] == [-1, 0, 1]
    assert [y for _x, y in points(drawn.lines[0].parts)] == [y for y, _level in drawn.levels]
    assert [drawn.levels[0][0], drawn.levels[2][0]] == [HEIGHT - BOTTOM, TOP]


def test_a_scale_of_one_level_is_a_line_in_the_middle():
    drawn = chart({"file": {1: 7, 2: 7}}, Scale(7, 7))

    middle = (TOP + HEIGHT - BOTTOM) / 2
    assert drawn.levels == [(middle, 7)]
    assert {y for _x, y in points(drawn.lines[0].parts)} == {middle}


def test_a_line_is_broken_where_a_turn_has_no_score():
    drawn = chart({"demo": {1: 10, 2: 20, 4: 40}, "seeker": {1: 5, 3: 5}})

    assert [len(line.parts) for line in drawn.lines] == [2, 2]
    assert [part.count(",") for part in drawn.lines[0].parts] == [2, 1]


def test_sources_differ_in_their_marks_and_come_round_again():
    lines = chart({str(number): {1: 50} for number in range(5)}).lines

    assert [line.style for line in lines] == [1, 2, 3, 4, 1]
    assert len({line.marks for line in lines}) == len(MARKS)


@given(SOURCES)
def test_every_score_is_drawn_once_within_the_drawing(scores):
    drawn = chart(scores)

    for line, known in zip(drawn.lines, scores.values(), strict=True):
        at = points(line.parts)
        assert len(at) == len(re.findall("M", line.marks)) == len(known)
        assert all(LEFT <= x <= WIDTH - RIGHT and TOP <= y <= HEIGHT - BOTTOM for x, y in at)
    assert 1 <= len(drawn.ticks) <= 10


@given(st.sets(st.integers(0, 100)))
def test_unbroken_runs_follow_one_another_and_leave_nothing_out(turns):
    runs = consecutive_runs(turns)

    assert [turn for run in runs for turn in run] == sorted(turns)
    assert all(b == a + 1 for run in runs for a, b in pairwise(run))
    assert all(b[0] > a[-1] + 1 for a, b in pairwise(runs))
