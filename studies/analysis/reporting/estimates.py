"""Rows of results as the lines and courses of figures."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253

from studies.analysis.language import gettext as _
from studies.analysis.language import join_with_semicolons
from studies.analysis.notes import Notes
from studies.analysis.reporting.curves import Course
from studies.analysis.reporting.dots import NOTHING, Estimate, Line
from studies.analysis.reporting.naming import in_order, item_name
from studies.analysis.reporting.numbers import decimal

BOUNDED = ("estimate", "low", "high")
HUMANS = ("seeker", "expert", "reviewer", "crowd", "simulated_seeker")  # whose word counts first
SIGNIFICANT = 0.05

Named = tuple[str, str, str]  # columns of an estimate and its bounds


def estimate_of(row: Mapping[str, Any], names: Named = BOUNDED) -> Estimate:
    value, low, high = (float(row[name]) for name in names)
    return value, low, high


def say_method(rows: pd.DataFrame, *columns: str) -> str:
    """Say how the intervals of these rows were computed; nothing where no row tells.

    `columns` are what the notes on methods call them; without any, those on the whole row count.
    """
    notes = [note for cell in rows["method"] if isinstance(cell, Notes) for note in cell]
    of_columns = [note for note in notes if ({*note.columns} & {*columns} if columns else not note.columns)]
    texts = dict.fromkeys(note.text() for note in of_columns)
    return _("Method of the intervals: {method}.").format(method=join_with_semicolons(texts)) if texts else ""


def by_item(rows: pd.DataFrame, instrument: str) -> dict[str, pd.DataFrame]:
    """Return the rows by name of the item, in the order of the questionnaire."""
    groups = dict(list(rows.groupby("item", observed=True)))
    return {item_name(instrument, item): groups[item] for item in in_order(instrument, map(str, groups))}


def in_item_order(rows: pd.DataFrame, instrument: str) -> pd.DataFrame:
    """Return the rows in the order of the questionnaire, with the name of each item in the place of its key."""
    ordered = sort_by_place(rows, "item", in_order(instrument, rows["item"]))
    return ordered.assign(item=[item_name(instrument, item) for item in ordered["item"]])


def sort_by_place(rows: pd.DataFrame, column: str, order: Iterable[str], within: Sequence[str] = ()) -> pd.DataFrame:
    """Return the rows with the values of `column` in this order, within the same values of other columns."""
    places = {value: place for place, value in enumerate(order)}
    return rows.sort_values(
        [*within, column], key=lambda values: values.map(places) if values.name == column else values, kind="stable"
    )


def with_item_names(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with the name of each item in the place of its key."""
    return rows.assign(item=[item_name(*key) for key in zip(rows["instrument"], rows["item"], strict=True)])


def panels_of(
    rows: pd.DataFrame, instrument: str, label: str, names: Named = BOUNDED, counted: str = "n"
) -> dict[str, list[Line]]:
    """Return the lines of each item, as `lines_of` makes them, by its name."""
    return {item: lines_of(of_item, label, names, counted) for item, of_item in by_item(rows, instrument).items()}


def lines_of(rows: pd.DataFrame, label: str, names: Named = BOUNDED, counted: str = "n") -> list[Line]:
    """Return one line for each row, in the order of the column `label`; beside it the estimate and, in brackets,
    `counted`."""
    lines = [Line(str(row[label]), [estimate_of(row, names)], _beside(row, names[0], counted)) for row in records(rows)]
    return sorted(lines, key=lambda line: line.label)


def records(rows: pd.DataFrame) -> list[dict[str, Any]]:
    names = list(map(str, rows.columns))
    columns = [column.tolist() for _name, column in rows.items()]
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def _beside(row: Mapping[str, Any], estimate: str, counted: str) -> str:
    if np.isnan(row[estimate]):
        return _("not computed")
    return f"{decimal(float(row[estimate]))} ({row[counted]})"


def lines_by_series(rows: pd.DataFrame, label: str, series: Sequence[str], column: str, names: Named) -> list[Line]:
    """Return one line for each value of `label`, in the order of the rows, with an estimate for each of `series`."""
    lines = []
    for name, group in rows.groupby(label, sort=False, observed=True):
        by_series = {str(row[column]): estimate_of(row, names) for row in records(group)}
        lines.append(Line(str(name), [by_series.get(one, NOTHING) for one in series]))
    return lines


def courses_of(rows: pd.DataFrame, along: str, counted: str, series: Sequence[str], column: str) -> list[Course]:
    """Return one course for each of `series` that `column` has."""
    groups = dict(list(rows.groupby(column, observed=True)))
    return [_course(groups[one], along, counted, number) for number, one in enumerate(series) if one in groups]


def _course(rows: pd.DataFrame, along: str, counted: str, number: int) -> Course:
    rows = rows.sort_values(along)
    places, counts = (rows[name].astype(int).tolist() for name in (along, counted))
    estimates, lows, highs = (rows[name].to_numpy(float) for name in BOUNDED)
    return Course(places, estimates, lows, highs, counts, number)


def first_humans(kinds: Iterable[str]) -> str:
    """Return the rater kind whose word counts first; empty where there are judges alone."""
    there = set(map(str, kinds))
    return next((kind for kind in HUMANS if kind in there), "")


def by_raters(rows: pd.DataFrame, column: str = "raters") -> list[tuple[str, pd.DataFrame]]:
    """Return the rows of each kind of raters: the kinds whose word counts first, then the others by name."""
    groups = [(str(raters), part) for raters, part in rows.groupby(column, observed=True)]
    place = {kind: number for number, kind in enumerate(HUMANS)}
    return sorted(groups, key=lambda pair: (place.get(pair[0], len(HUMANS)), pair[0]))


def count_below(rows: pd.DataFrame) -> int:
    """Return how many p stay below .05 after Holm's correction."""
    return int((rows["p_holm"] < SIGNIFICANT).sum())
