import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.simulation import charts as charts
from studies.simulation.outcomes import Course, Figure, Leaderboard, Point, Standing


def board(*values: tuple[float, float], instrument: str = "emoharbor_10") -> Leaderboard:
    figures = [(Figure(average, average - 0.5, average + 0.5), Figure(worst)) for average, worst in values]
    nothing = Figure(None)
    return Leaderboard("judge", instrument, [Standing("a", *both, nothing, 1, "") for both in figures])


def test_dots_lie_on_the_whole_scale_of_the_instrument():
    plot = charts.dot_plot(board((3.0, 1.0)))
    middle = (charts.PLOT_LEFT + charts.PLOT_RIGHT) / 2
    [row] = plot.rows
    assert (row.average.x, row.worst_case.x) == (middle, charts.PLOT_LEFT)
    assert [value for _, value in plot.ticks] == [1, 2, 3, 4, 5]


def test_mean_without_an_interval_is_written_beside_its_dot():
    [row] = charts.dot_plot(board((3.0, 1.0))).rows
    assert (row.worst_case.low, row.worst_case.end) == (None, row.worst_case.x)
    assert row.average.end == row.average.high


@pytest.mark.parametrize(("mean", "is_before"), [(1.5, False), (3.0, False), (4.4, True)])
def test_name_of_a_condition_stands_where_a_phone_has_room_for_it(mean, is_before):
    [row] = charts.dot_plot(board((mean, 1.0))).rows
    assert row.average.has_name_before() == is_before


def test_words_at_the_upper_edge_are_not_cut():
    assert min(charts.apart([charts.TOP, charts.TOP])) >= charts.TOP


@pytest.mark.parametrize(("values", "ticks"), [((3.2, 1.4), [1, 2, 3, 4]), ((70.0, 20.0), list(range(20, 72, 6)))])
def test_scale_of_an_instrument_that_is_not_ours_is_around_its_values(values, ticks):
    plot = charts.dot_plot(board(values, instrument="imported"))
    assert [value for _, value in plot.ticks] == ticks


def test_arm_that_was_not_rated_in_a_condition_has_no_dot_there():
    standing = Standing("a", Figure(3.0), Figure(None), Figure(None), 0, "")
    [row] = charts.dot_plot(Leaderboard("judge", "emoharbor_10", [standing])).rows
    assert row.worst_case is None


def course(condition: str, *values: float | None) -> Course:
    return Course(condition, [Point(turn, Figure(value, value, value, n=9)) for turn, value in enumerate(values, 1)])


def test_small_charts_share_their_axes():
    longer, shorter = charts.small_charts(
        {"a": [course("average", 1, 0.5, 0)], "b": [course("average", 1)]}, highest=1, unit="%"
    )
    assert longer.ticks == shorter.ticks
    assert longer.curves[0].line == f"{charts.LEFT}.0,10.0 {(charts.LEFT + 260 - charts.RIGHT) / 2},71.0 194.0,132.0"
    assert [level for _, level in longer.levels] == ["0%", "50%", "100%"]


def test_turn_behind_which_nobody_is_counts_0():
    [chart] = charts.small_charts({"a": [course("average", 1, 1, 1), course("worst_case", 1)]}, highest=1, unit="%")
    assert [[number for _, number in curve.counts] for curve in chart.curves] == [[9, 9, 9], [9, 0, 0]]


def test_missing_mean_is_no_0():
    [chart] = charts.small_charts({"a": [course("average", 50, None)]}, highest=100, unit="")
    assert len(chart.curves[0].marks) == 1


@given(st.lists(st.floats(charts.TOP, charts.HEIGHT - charts.BOTTOM), min_size=2, max_size=2))
def test_words_never_stand_in_one_anothers_way(heights):
    one, other = charts.apart(heights)
    assert abs(one - other) >= charts.APART - 1e-9
    assert (one <= other) == (heights[0] <= heights[1])
    assert max(one, other) <= charts.HEIGHT - charts.BOTTOM + 1e-9


@given(st.integers(1, 200))
def test_turns_on_the_axis_are_few_and_begin_with_the_first(last):
    found = charts.turn_ticks(last)
    assert found[0] == 1
    assert found[-1] <= last
    assert len(found) <= charts.TICKS + 1
