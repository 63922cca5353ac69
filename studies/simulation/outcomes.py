"""Outcomes of a benchmark, from an analysis's results.json: who stands where, how long seekers stayed, how they felt,
what it took. Only simulated seekers. Pure."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from studies.analysis.notes import Note, read_notes

CONDITIONS = ("average", "worst_case")
SIMULATED = "simulated"
EVERYTHING = "*"  # all items, all purposes, all languages, all arms
OWN_THINKER = "seeker"
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Figure:
    """An estimate with its 95 % interval; None where it could not be computed. `n`: conversations behind it."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0


@dataclass(frozen=True)
class Standing:
    """The means of one arm by condition. `difference` is worst case minus average, over `pairs` of twins."""

    arm: str
    average: Figure
    worst_case: Figure
    difference: Figure
    pairs: int
    notes: Sequence[Note]

    def overall(self) -> float:
        return sum(figure.value or 0 for figure in (self.average, self.worst_case))


@dataclass(frozen=True)
class Leaderboard:
    """Means over an instrument's items, as one group of raters gave them; the best arm first."""

    raters: str
    instrument: str
    standings: Sequence[Standing]


@dataclass(frozen=True)
class Point:
    turn: int
    figure: Figure


@dataclass(frozen=True)
class Course:
    """The course of a figure over the turns, in one condition."""

    condition: str
    points: Sequence[Point]


@dataclass(frozen=True)
class Stay:
    """The time that seekers stayed with an arm: mean turns up to turn `horizon`, median turns."""

    arm: str
    condition: str
    mean: Figure
    median: Figure
    horizon: int


@dataclass(frozen=True)
class Costs:
    """The costs of a conversation with this arm, by measure: all its calls, and the arm's replies alone."""

    arm: str
    whole: Mapping[str, Figure]
    replies: Mapping[str, Figure]


@dataclass(frozen=True)
class Outcomes:
    """All outcomes that the pages show. `open` and `emotion` have by arm a course for each condition."""

    demonstration: bool
    leaderboards: Sequence[Leaderboard]
    open: Mapping[str, Sequence[Course]]
    emotion: Mapping[str, Sequence[Course]]
    stays: Sequence[Stay]
    costs: Sequence[Costs]

    def is_empty(self) -> bool:
        return not (self.leaderboards or self.open or self.emotion or self.costs)


def outcomes_of(file: Path) -> Outcomes:
    results = json.loads(file.read_text(encoding="utf-8"))
    tables = {
        name: [row for row in rows if row.get("seekers") == SIMULATED] for name, rows in results["tables"].items()
    }
    survival = tables.get("survival", [])
    feelings = [row for row in tables.get("trends", []) if is_own_feeling(row) and pools_languages(row)]
    return Outcomes(
        demonstration=results["demonstration"],
        leaderboards=leaderboards(with_bounds(tables.get("conditions", []), tables.get("sensitivity", []))),
        open=courses(survival, "open"),
        emotion=courses(feelings, "mean"),
        stays=stays(survival),
        costs=costs(row for row in tables.get("costs", []) if row["arm"] != EVERYTHING and pools_languages(row)),
    )


def is_own_feeling(row: Row) -> bool:
    return row["source"] == OWN_THINKER and row["item"] == "emotion_score"


def pools_languages(row: Row) -> bool:
    """Return whether a row pools the languages; results of before they were told apart all do."""
    return row.get("language", EVERYTHING) == EVERYTHING


def with_bounds(rows: Iterable[Row], others: Iterable[Row]) -> Iterator[Row]:
    """Yield the rows of conditions.csv with the bounds of both means, which are rows of sensitivity.csv."""
    key = ("raters", "instrument", "item")
    bounds = {(*(row[name] for name in key), row["arm_a"], row["statistic"]): row for row in others}
    for row in rows:
        place = *(row[name] for name in key), row["arm"]
        by_condition = {condition: bounds.get((*place, condition), {}) for condition in CONDITIONS}
        yield {f"{name}_{end}": one.get(end) for name, one in by_condition.items() for end in ("low", "high")} | {**row}


def leaderboards(rows: Iterable[Row]) -> list[Leaderboard]:
    """Return a leaderboard for each group of raters and instrument; the simulated seekers' own comes first."""
    by_raters: dict[tuple[str, str], list[Standing]] = {}
    for row in rows:
        if row["item"] == EVERYTHING and row["arm"] != EVERYTHING:
            by_raters.setdefault((row["raters"], row["instrument"]), []).append(standing(row))
    boards = [
        Leaderboard(*place, sorted(standings, key=lambda one: (-one.overall(), one.arm)))
        for place, standings in by_raters.items()
    ]
    return sorted(boards, key=lambda board: (board.raters != "simulated_seeker", board.raters, board.instrument))


def standing(row: Row) -> Standing:
    average, worst_case = (figure(row, condition, f"{condition}_") for condition in CONDITIONS)
    return Standing(row["arm"], average, worst_case, figure(row, "difference", ""), row["pairs"] or 0, read_notes(row))


def figure(row: Row, value: str, bounds: str) -> Figure:
    return Figure(row[value], row[f"{bounds}low"], row[f"{bounds}high"], row["n"] or 0)


def courses(rows: Iterable[Row], statistic: str) -> dict[str, list[Course]]:
    by_place: dict[tuple[str, str], list[Point]] = {}
    for row in rows:
        if row["statistic"] == statistic and row["condition"] in CONDITIONS:
            point = Point(row["turn"], Figure(row["estimate"], row["low"], row["high"], row["n"]))
            by_place.setdefault((row["arm"], row["condition"]), []).append(point)
    by_arm: dict[str, list[Course]] = {}
    for (arm, condition), points in sorted(by_place.items()):
        by_arm.setdefault(arm, []).append(Course(condition, sorted(points, key=lambda point: point.turn)))
    return by_arm


def stays(survival: Iterable[Row]) -> list[Stay]:
    """Return how long seekers stayed, for each arm and condition in which one left."""
    by_place: dict[tuple[str, str], dict[str, Row]] = {}
    for row in survival:
        if row["condition"] in CONDITIONS:
            by_place.setdefault((row["arm"], row["condition"]), {})[row["statistic"]] = row
    return [
        Stay(
            *place,
            figure(rows["restricted_mean_turns"], "estimate", ""),
            figure(rows["median_turns"], "estimate", ""),
            rows["restricted_mean_turns"]["turn"],
        )
        for place, rows in sorted(by_place.items())
        if rows.keys() >= {"restricted_mean_turns", "median_turns"}
    ]


def costs(rows: Iterable[Row]) -> list[Costs]:
    by_arm: dict[str, dict[str, dict[str, Figure]]] = {}
    for row in rows:
        by_arm.setdefault(row["arm"], {}).setdefault(row["purpose"], {})[row["measure"]] = figure(row, "estimate", "")
    return [
        Costs(arm, figures.get(EVERYTHING, {}), figures.get("reply", {})) for arm, figures in sorted(by_arm.items())
    ]
