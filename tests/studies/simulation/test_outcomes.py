"""From the tables of an analysis to what a benchmark's page and command say of it."""

import json
from typing import Any

import pytest

from studies.simulation.outcomes import Figure, Outcomes, outcomes_of

BOUNDS = ("low", "high")


def standing(arm: str, average: float | None, worst_case: float | None, **changes: Any) -> dict[str, Any]:
    row = {"arm": arm, "item": "*", "average": average, "worst_case": worst_case, "difference": -0.5, "n": 4,
           "pairs": 2, "instrument": "emoharbor_10", "moment": "final", "seekers": "simulated",
           "raters": "simulated_seeker", **dict.fromkeys(BOUNDS, 1.0)}  # fmt: skip
    return row | changes


def share(arm: str, condition: str, turn: int, estimate: float, **changes: Any) -> dict[str, Any]:
    row = {"arm": arm, "condition": condition, "seekers": "simulated", "statistic": "open", "turn": turn,
           "estimate": estimate, "low": None, "high": None, "n": 3}  # fmt: skip
    return row | changes


@pytest.fixture
def read(tmp_path):
    def read(**tables: list[dict[str, Any]]) -> Outcomes:
        file = tmp_path / "results.json"
        file.write_text(json.dumps({"demonstration": True, "tables": tables}), encoding="utf-8")
        return outcomes_of(file)

    return read


def test_arms_stand_by_both_conditions_together(read):
    rows = [standing("low", 2.0, 1.0), standing("high", 4.0, 3.5), standing("middle", 4.0, 2.0)]
    of = {name: rows[1][name] for name in ("raters", "instrument", "moment", "item", "seekers")}
    mean = of | {"arm_a": "high", "statistic": "average", "low": 3.5, "high": 4.5}
    [board] = read(conditions=rows, sensitivity=[mean]).leaderboards
    assert [one.arm for one in board.standings] == ["high", "middle", "low"]
    assert (board.standings[0].average, board.standings[0].pairs) == (Figure(4.0, 3.5, 4.5, 4), 2)
    assert board.standings[1].average == Figure(4.0, None, None, 4)


def test_simulated_seekers_own_ratings_come_first(read):
    rows = [standing("a", 2.0, 1.0, raters="judge:standard"), standing("a", 2.0, 1.0)]
    assert [board.raters for board in read(conditions=rows).leaderboards] == ["simulated_seeker", "judge:standard"]


def test_single_items_and_people_are_left_to_the_report(read):
    rows = [standing("a", 2.0, 1.0, item="empathetic"), standing("a", 2.0, 1.0, seekers="person")]
    assert read(conditions=rows).leaderboards == []


def test_courses_are_in_the_order_of_turns_with_those_at_risk(read):
    rows = [share("a", "average", 2, 0.5), share("a", "average", 1, 1.0), share("a", "", 1, 1.0)]
    [course] = read(survival=[*rows, *STAY]).open["a"]
    assert [(point.turn, point.figure.value, point.figure.n) for point in course.points] == [(1, 1.0, 3), (2, 0.5, 3)]


STAY = [
    share("a", "average", 15, 7.5, statistic="restricted_mean_turns"),
    share("a", "average", 0, None, statistic="median_turns"),
]


def test_stay_without_a_median_has_none(read):
    [stay] = read(survival=STAY).stays
    assert (stay.mean.value, stay.horizon, stay.median.value) == (7.5, 15, None)


def test_where_no_seeker_left_there_is_no_stay(read):
    """The report has no restricted mean then."""
    assert read(survival=[share("a", "average", 0, 3.0, statistic="mean_turns")]).stays == []


def test_costs_are_those_of_all_calls_and_of_replies(read):
    row = {"arm": "a", "seekers": "simulated", "measure": "seconds", "low": None, "high": None, "n": 2}
    [costs] = read(costs=[{**row, "purpose": "*", "estimate": 9.0}, {**row, "purpose": "reply", "estimate": 4.0}]).costs
    assert (costs.whole["seconds"].value, costs.replies["seconds"].value) == (9.0, 4.0)


def test_all_arms_together_and_single_languages_are_left_to_the_report(read):
    row = {"seekers": "simulated", "low": None, "high": None, "n": 2}
    spent = row | {"purpose": "*", "measure": "seconds", "estimate": 9.0}
    costs = [{**spent, "arm": arm, "language": language} for arm in ("a", "*") for language in ("*", "en")]
    felt = row | {"arm": "a", "condition": "average", "source": "seeker", "item": "emotion_score", "statistic": "mean"}
    trends = [felt | {"turn": 1, "estimate": 5.0, "language": language} for language in ("*", "en")]
    outcomes = read(costs=costs, trends=trends)
    assert [costs.arm for costs in outcomes.costs] == ["a"]
    assert [len(course.points) for course in outcomes.emotion["a"]] == [1]


def test_analysis_of_people_alone_has_none_of_it(read):
    assert read(arms=[{"arm": "a", "raters": "seeker"}]).is_empty()
