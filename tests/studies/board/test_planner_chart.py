"""Where lines and words of a precision chart lie."""

from itertools import pairwise

import pytest

from studies.board import planner_chart as charts

CELLS = [
    {"more": more, "second": second, "corrected_half_width": width}
    for more, widths in ((0.0, (0.2, 0.15)), (1.0, (0.14, 0.10)))
    for second, width in zip((0.0, 1.0), widths, strict=True)
]


def test_a_line_for_each_share_from_left_to_right():
    chart = charts.chart(CELLS)
    assert [line.share for line in chart.lines] == [0.0, 1.0]
    assert [x for x, _y in chart.lines[0].marks] == [charts.LEFT, charts.WIDTH - charts.RIGHT]
    assert chart.lines[0].points == " ".join(f"{x},{y}" for x, y in chart.lines[0].marks)
    assert [place for _x, place in chart.ticks] == [0.0, 1.0]


def test_what_is_narrower_lies_lower_and_nothing_lies_at_the_foot():
    wide, narrow = charts.chart(CELLS).lines
    assert all(above < below for (_x, above), (_x2, below) in zip(wide.marks, narrow.marks, strict=True))
    assert charts.chart(CELLS).levels[0] == (charts.HEIGHT - charts.BOTTOM, 0)


@pytest.mark.parametrize(
    ("highest", "levels"),
    [
        (0.2, [0, 0.05, 0.1, 0.15, 0.2]),
        (0.24, [0, 0.05, 0.1, 0.15, 0.2, 0.25]),
        (0.26, [0, 0.1, 0.2, 0.3]),
        (0.01, [0, 0.05]),
    ],
)
def test_levels_reach_the_highest(highest, levels):
    assert charts.levels_to(highest) == levels


@pytest.mark.parametrize("heights", [[50, 50, 50, 50], [50, 49, 51, 48], [170, 172, 171], [10, 100], [60]])
def test_words_stand_apart_in_the_order_of_their_lines(heights):
    moved = charts.separate_heights(heights)
    placed = [moved[place] for place in sorted(range(len(heights)), key=lambda place: heights[place])]
    assert all(below - above >= charts.APART for above, below in pairwise(placed))
    assert max(placed) <= charts.HEIGHT - charts.BOTTOM
