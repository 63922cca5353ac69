"""primary.csv: the contrasts that the study declared before its data were seen."""

import numpy as np

from studies.analysis.bootstrap import Array, Bootstrap
from studies.analysis.declared import Declared
from studies.analysis.frames import Export
from studies.analysis.language import gettext_noop as _
from studies.analysis.measures.paired import ROUNDED
from studies.analysis.measures.ranks import hodges_lehmann, pseudomedian
from studies.analysis.notes import Note, Notes
from studies.analysis.rows import Cells, Labels, Row
from studies.analysis.tables import arm_pairs, strategy_tests
from studies.analysis.tables.families import adjust
from studies.analysis.tables.table import Parts, Table

COLUMNS = [
    "contrast",
    "raters",
    "judge",
    "instrument",
    "item",
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
    "declared_at",
]
FURTHER = SHIFT = ("hodges_lehmann", "hodges_lehmann_low", "hodges_lehmann_high")
AMONG = ("moment", "seekers", "condition")  # said in `contrast`
ASIDE = ("method", "wilcoxon_p", *AMONG)
METHODS = {
    "estimate": _(
        "a minus b: of strategies the difference of strategy_tests.csv, of arms that of arm_pairs.csv, with the "
        "interval, note and method of that table"
    ),
    "p": _("that table's p, of the test that belongs to the interval"),
    "p_holm": _("Holm over the declared contrasts alone; one without p counts as p = 1"),
    "hodges_lehmann": _("of two arms: the Hodges–Lehmann shift with the interval of Wilcoxon's signed-rank test"),
}


def primary(export: Export, bootstrap: Bootstrap) -> Parts:
    """Yield (contrast, nothing) as it goes on, and all rows at its end.

    The rows are what the last version of the study file declares, in its order.
    """
    rows: list[Cells] = []
    for declared in export.primary:
        if declared.withdrawn_in is None:
            rows.append(_row(declared, export, bootstrap))
            yield rows[-1]["contrast"], []
    # All that is declared is one family: data must not decide how many tests there are.
    yield "all rows", adjust(rows, lambda row: 0, undecided=lambda row: True)


def _row(declared: Declared, export: Export, bootstrap: Bootstrap) -> Cells:
    labels, of_arms = declared.as_columns(), bool(declared.contrast.arms)
    row = Row(contrast=_in_words(labels), **labels, declared_at=declared.declared_at, n=0, clusters=0)
    item = _compared_arms(labels, export) if of_arms else None
    arms = labels["a"], labels["b"]
    pair = arm_pairs.row_of(item, arms) if item else {}
    results = _estimate_of(pair) if pair else {} if of_arms else _of_strategies(labels, export, bootstrap)
    row.values |= results
    if not results:
        row.leave_out("estimate", "low", "high", "p", because=_lacking(labels, of_arms, export))
    else:
        row.add_notes(*results["note"])
    if not declared.before_first_answer:
        row.add_notes(Note("declared_late"))
    if item:
        row.values["wilcoxon_p"] = pair["wilcoxon_p"]
        _add_shift(row, arm_pairs.differences(arm_pairs.scores_of_pair(item, arms)))
    return row.cells()


def _lacking(labels: Cells, of_arms: bool, export: Export) -> Note:
    """Return why there is nothing to compare: what was declared may be misspelt."""
    arms = {str(arm) for arm in export.chats["arm"]}
    absent = [arm for arm in (labels["a"], labels["b"]) if arm not in arms] if of_arms else []
    if absent:
        return Note("no_such_arm", arms=" or ".join(absent))
    if labels["raters"] not in set(export.ratings["rater_kind"]):
        return Note("no_such_raters", raters=labels["raters"])
    return Note("no_scores")


def _in_words(labels: Labels) -> str:
    """Describe the contrast for readers of the file alone."""
    judge, raters, item, a, b = (labels[name] for name in ("judge", "raters", "item", "a", "b"))
    among = ", ".join(filter(None, (labels[name] for name in AMONG)))
    if judge:
        return f"{judge}, {a} minus {b}: agreement with {raters} on {item} ({among})"
    return f"{a} minus {b}: {item} as rated by {raters} ({among})"


def _of_strategies(labels: Labels, export: Export, bootstrap: Bootstrap) -> Cells:
    """Return the row of two strategies; empty where there is no such row."""
    names = {"human": "raters", "strategy_b": "a", "strategy_a": "b"}
    for about, under_a, under_b in strategy_tests.comparisons(export.ratings):
        if all(value == labels[names.get(name, name)] for name, value in about.items()):
            return _estimate_of(strategy_tests.row_of(about, under_a, under_b, export, bootstrap))
    return {}


def _compared_arms(labels: Labels, export: Export) -> arm_pairs.Compared | None:
    """Return the scores from which arm_pairs.csv has the row of two arms; None where there is no such row."""
    for item in arm_pairs.comparisons(export):
        same = all(value == labels[name] for name, value in item.labels.items())
        if same and {labels["a"], labels["b"]} <= set(item.arms):
            return item
    return None


def _estimate_of(row: Cells) -> Cells:
    same = {name: row[name] for name in ("low", "high", "p", "n", "clusters", "note")}
    return same | {"estimate": row["difference"], "method": row.get("method", Notes())}


def _add_shift(row: Row, differences: Array) -> None:
    """Add the estimate that belongs to Wilcoxon's test, which does not ask for the mean."""
    rounded = np.round(differences, ROUNDED)
    row.values["hodges_lehmann"] = pseudomedian(rounded) if len(rounded) else np.nan
    row.compute_all(SHIFT[1:], lambda: hodges_lehmann(rounded)[1:])
    row.add_methods(Note("wilcoxon_and_shift").on("hodges_lehmann"))


TABLE = Table(
    "primary",
    primary,
    COLUMNS,
    METHODS,
    heading=_("Primary contrasts"),
    empty=_("No primary contrast was declared, so all tests are exploratory."),
    further=FURTHER,
    aside=ASIDE,
)
