"""Small tables of results: names for keys, and below them what has no value and why."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial

import pandas as pd  # noqa: TID253

from studies.analysis.language import gettext as _
from studies.analysis.language import join_with_semicolons, ngettext, spoken_language
from studies.analysis.notes import Note, Notes
from studies.analysis.reporting.estimates import BOUNDED
from studies.analysis.reporting.naming import (
    column_name,
    condition_name,
    contestant_name,
    instrument_name,
    item_name,
    moment_name,
    of_all,
    raters_name,
    role_name,
    seekers_name,
    strategy_name,
)
from studies.analysis.reporting.numbers import amount, count, with_bounds
from studies.analysis.reporting.parts import Excerpt, Part, join_sentences, prose

_BOUND = re.compile("_(low|high)$")
ESTIMATE = ("estimate",)
SCALED = ("item", "question")  # columns with items of the instrument beside them
# Columns that say what a row is of, and on how much it rests.
ABOUT = {
    *("raters", "human", "humans", "judge", "strategy", "role", "seekers", "source", "language"),
    *("instrument", "moment", "condition", "turn", "unit", "question"),
    *("n", "k", "clusters", "users", "models", "pairs", "numerator_df"),
}
APART = ("instrument", "moment", "seekers", "condition")  # what else may tell two rows apart
NAMES: Mapping[str, Callable[[str], str]] = {  # by column
    "raters": raters_name,
    "human": raters_name,
    "humans": raters_name,
    "strategy": strategy_name,
    "role": role_name,
    "strategy_a": strategy_name,
    "strategy_b": strategy_name,
    "condition": lambda key: condition_name(key) if key else "",
    "seekers": lambda key: seekers_name(key) if key else "",
    "instrument": instrument_name,
    "moment": moment_name,
    "contestant_a": contestant_name,
    "contestant_b": contestant_name,
    "contestant": contestant_name,
}


def with_names(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows with names in the place of keys, in the columns that have such in every table."""
    instruments = rows["instrument"] if "instrument" in rows else [""] * len(rows)
    items = {
        column: [_name(partial(item_name, one), item) for one, item in zip(instruments, rows[column], strict=True)]
        for column in SCALED
        if column in rows
    }
    others = {column: [_name(name, key) for key in rows[column]] for column, name in NAMES.items() if column in rows}
    return rows.assign(**items, **others)


def _name(name: Callable[[str], str], key: object) -> object:
    return name(key) if isinstance(key, str) else key


def excerpt(
    name: str, caption: str, rows: pd.DataFrame, columns: Sequence[str], values: Sequence[str] = ESTIMATE
) -> Part:
    """Return the rows that have one of `values`, in these `columns` and in those that tell rows apart.

    Below them stand how many rows have none, and what else is missing, with the reasons of the column `note`. Without a
    row that has a value, only these sentences are returned.
    """
    with_value = rows[rows[list(values)].notna().any(axis=1)]
    if with_value.empty:
        return without_table(caption, rows, values)
    heads = columns_that_differ(columns, with_value)
    frame = with_names(with_value)[heads].dropna(axis=1, how="all")
    return Excerpt(
        name, caption, frame, join_sentences([remark_on_empty_rows(rows, values), remark_on_gaps(with_value, columns)])
    )


def without_table(caption: str, rows: pd.DataFrame, values: Sequence[str] = ESTIMATE) -> Part:
    """Return, in place of a table of rows none of which has these values, why there is none."""
    return prose(caption + spoken_language().colon + remark_on_empty_rows(rows, values))


def with_intervals(rows: pd.DataFrame, columns: Iterable[str]) -> pd.DataFrame:
    """Return each of these columns as text with its bounds, empty where there is no value; `k` may be a mean."""
    amounts = {"k": rows["k"].map(amount)} if "k" in rows else {}
    texts = {name: with_interval(rows, (name, f"{name}_low", f"{name}_high")) for name in columns}
    return rows.assign(**amounts, **texts)


def with_interval(rows: pd.DataFrame, names: tuple[str, str, str] = BOUNDED) -> "pd.Series[str]":
    """Return an estimate and its interval as one text, in each row that has an estimate."""
    numbers = rows.reindex(columns=list(names)).astype(float)  # some estimates have no bounds
    texts = pd.Series([with_bounds(*three) for three in numbers.itertuples(index=False)], rows.index, object)
    return texts.where(rows[names[0]].notna())


def without_repetition(frame: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Return a table without the columns that have one value in every row or none in any, and a sentence that says what
    they say. Estimates stay, and so does a table of one row."""
    if len(frame) < 2:
        return frame.loc[:, [_has_a_value(frame[name]) for name in frame]], ""
    blank = [name for name in frame if not _has_a_value(frame[name])]
    repeated = [
        name
        for name in frame
        if name in ABOUT and name not in blank and frame[name].notna().all() and frame[name].astype(str).nunique() == 1
    ]
    columns = [name for name in frame if name not in (*blank, *repeated)]
    if not columns:
        return frame, ""
    facts = [f"{column_name(str(name))} {frame[name].iloc[0]}" for name in repeated]
    return frame[columns], _("Throughout: {facts}.").format(facts=join_with_semicolons(facts)) if facts else ""


def _has_a_value(column: pd.Series) -> bool:
    return any(str(value) not in ("", "–") for value in column.dropna())


def heads_of(frame: pd.DataFrame) -> list[str]:
    return [column_name(str(column)) for column in frame.columns]


def columns_that_differ(columns: Sequence[str], rows: pd.DataFrame) -> list[str]:
    """Return `columns` and, before the item, other columns in which the rows differ."""
    more = [name for name in APART if name in rows and name not in columns and rows[name].nunique() > 1]
    place = next((columns.index(name) for name in SCALED if name in columns), len(columns))
    return [*columns[:place], *more, *columns[place:]]


def remark_on_empty_rows(rows: pd.DataFrame, values: Sequence[str] = ESTIMATE) -> str:
    """Say how many rows have none of these values, and why; empty where all have one."""
    lacking = rows[rows[list(values)].isna().all(axis=1)]
    if lacking.empty:
        return ""
    return ngettext(
        "{count} row has no value and is left out: {reasons}.",
        "{count} rows have no value and are left out: {reasons}.",
        len(lacking),
    ).format(
        count=count(len(lacking)),
        reasons=reasons_in_words(lacking, values) or _("the table does not say why"),
    )


def remark_on_intervals(rows: pd.DataFrame) -> str:
    """Say how many of these rows have no interval, and why; empty where no note gives a reason."""
    why = reasons_in_words(rows[rows["low"].isna()], ["low"])
    return _("Without an interval: {reasons}.").format(reasons=why) if why else ""


def reasons_in_words(rows: pd.DataFrame, columns: Sequence[str]) -> str:
    """Return why these rows have no value in these columns."""
    why = Counter(reason for notes in notes_of(rows) for reason in dict.fromkeys(reasons(notes, columns)))
    return _with_counts({note.text(): number for note, number in why.items()})


def remark_on_gaps(rows: pd.DataFrame, columns: Sequence[str]) -> str:
    """Say what is missing in single columns, and why; empty where no note gives a reason."""
    gaps: dict[Note, Counter[str]] = {}
    for column in (name for name in columns if name in rows and rows[name].isna().any()):
        lacking = rows[rows[column].isna()]
        for reason in (reason for notes in notes_of(lacking) for reason in dict.fromkeys(reasons(notes, [column]))):
            gaps.setdefault(reason, Counter())[column] += 1
    counts = {reason.on(*map(column_name, names)).text(): max(names.values()) for reason, names in gaps.items()}
    return _("Without a value: {gaps}.").format(gaps=_with_counts(counts)) if counts else ""


def notes_of(rows: pd.DataFrame) -> Iterator[Notes]:
    return (notes for notes in rows.get("note", []) if isinstance(notes, Notes))


def reasons(notes: Notes, columns: Collection[str]) -> Iterator[Note]:
    """Yield why these columns have no value; a note does not name bounds whose estimate is missing too."""
    names = {*columns, *(_BOUND.sub("", column) for column in columns)}
    return (note.on() for note in notes if names & {*note.columns})


def _with_counts(texts: Mapping[str, int]) -> str:
    """Return the texts, each with its number of rows."""
    return join_with_semicolons(of_all([f"{text} ({count(number)})" for text, number in texts.items()]))
