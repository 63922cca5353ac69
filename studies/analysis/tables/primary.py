"""primary.csv: the contrasts that the study declared before its data were seen."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from studies.analysis.bootstrap import Bootstrap
from studies.analysis.declared import Declared
from studies.analysis.frames import Export
from studies.analysis.language import gettext_noop as _
from studies.analysis.measures.multiple import holm
from studies.analysis.notes import Note, Notes
from studies.analysis.rows import Row
from studies.analysis.tables import arm_pairs, strategy_tests
from studies.analysis.tables.table import Table

COLUMNS = [
    "contrast",
    "table",
    "raters",
    "judge",
    "instrument",
    "item",
    "moment",
    "a",
    "b",
    "estimate",
    "low",
    "high",
    "p",
    "p_holm",
    "n",
    "clusters",
    "note",
    "method",
    "seekers",
    "condition",
    "version",
    "declared_at",
]
METHODS = {
    "estimate": _(
        "a minus b: of strategies the difference of strategy_tests.csv, of arms that of arm_pairs.csv, with the "
        "interval, note and method of that table"
    ),
    "p": _("that table's: of strategies p, of arms wilcoxon_p"),
    "p_holm": _("Holm over the declared contrasts alone; one without p counts as p = 1"),
}

Found = dict[str, Any]


def primary(export: Export, bootstrap: Bootstrap) -> Iterator[tuple[str, list[Found]]]:
    """Yield (contrast, nothing) as it goes on, and all rows at its end.

    The rows are what the last version of the study file declares, in its order.
    """
    rows: list[Found] = []
    for declared in export.primary:
        if declared.withdrawn_in is None:
            rows.append(_row(declared, export, bootstrap))
            yield rows[-1]["contrast"], []
    yield "all rows", _adjust(rows)


def _row(declared: Declared, export: Export, bootstrap: Bootstrap) -> Found:
    of, of_arms = declared.as_columns(), bool(declared.contrast.arms)
    row = Row(contrast=_in_words(of), table="arm_pairs" if of_arms else "strategy_tests", **of, n=0, clusters=0)
    row.values |= {"version": declared.version, "declared_at": declared.declared_at}
    found = _of_arms(of, export, bootstrap) if of_arms else _of_strategies(of, export, bootstrap)
    row.values |= found
    if not found:
        row.leave_out("estimate", "low", "high", "p", because=_lacking(of, of_arms, export))
    else:
        row.add_notes(*found["note"])
    if not declared.before_first_answer:
        row.add_notes(Note("declared_late"))
    return row.cells()


def _lacking(of: Found, of_arms: bool, export: Export) -> Note:
    """Return why there is nothing to compare: what was declared may be misspelt."""
    arms = {str(arm) for arm in export.chats["arm"]}
    absent = [arm for arm in (of["a"], of["b"]) if arm not in arms] if of_arms else []
    if absent:
        return Note("no_such_arm", arms=" or ".join(absent))
    if of["raters"] not in set(export.ratings["rater_kind"]):
        return Note("no_such_raters", raters=of["raters"])
    return Note("no_scores")


def _in_words(of: dict[str, str]) -> str:
    """Describe the contrast for readers of the file alone."""
    if of["judge"]:
        return f"{of['judge']}, {of['a']} minus {of['b']}: agreement with {of['raters']} on {of['item']}"
    return f"{of['a']} minus {of['b']}: {of['item']} as rated by {of['raters']}"


def _of_strategies(of: dict[str, str], export: Export, bootstrap: Bootstrap) -> Found:
    """Return the row of two strategies; empty where there is no such row."""
    names = {"human": "raters", "strategy_b": "a", "strategy_a": "b"}
    for about, under_a, under_b in strategy_tests.comparisons(export.ratings):
        if all(value == of[names.get(name, name)] for name, value in about.items()):
            return _estimate_of(strategy_tests.row_of(about, under_a, under_b, export, bootstrap), "p")
    return {}


def _of_arms(of: dict[str, str], export: Export, bootstrap: Bootstrap) -> Found:
    """Return the row of two arms; empty where there is no such row."""
    arms = of["a"], of["b"]
    for item in arm_pairs.comparisons(export):
        if all(value == of[name] for name, value in item.of.items()) and set(arms) <= set(item.arms):
            return _estimate_of(arm_pairs.row_of(item, arms, bootstrap), "wilcoxon_p")
    return {}


def _estimate_of(row: Found, p: str) -> Found:
    same = {name: row[name] for name in ("low", "high", "n", "clusters", "note")}
    return same | {"estimate": row["difference"], "p": row[p], "method": row.get("method", Notes())}


def _adjust(rows: list[Found]) -> list[Found]:
    """Return the rows with p_holm over all that is declared: data must not decide how many tests there are."""
    adjusted = holm([1.0 if np.isnan(row["p"]) else row["p"] for row in rows])
    return [row | {"p_holm": np.nan if np.isnan(row["p"]) else p} for row, p in zip(rows, adjusted, strict=True)]


TABLES = (
    Table(
        "primary",
        primary,
        COLUMNS,
        METHODS,
        heading=_("Primary contrasts"),
        section="primary",
        empty=_("No primary contrast was declared, so all tests are exploratory."),
    ),
)
