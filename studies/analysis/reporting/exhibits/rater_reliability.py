"""The agreement of people who rated the same conversations with each other."""

from collections.abc import Iterator, Sequence

import pandas as pd  # noqa: TID253

from studies.analysis.language import gettext as _
from studies.analysis.language import join_with_semicolons
from studies.analysis.pooling import ALL_ITEMS
from studies.analysis.reporting.estimates import in_item_order, say_method
from studies.analysis.reporting.excerpts import notes_of, with_intervals
from studies.analysis.reporting.main_rows import main_rows
from studies.analysis.reporting.naming import instrument_name, raters_name
from studies.analysis.reporting.numbers import LEVEL, decimal, span
from studies.analysis.reporting.parts import Excerpt, Exhibit, join_sentences
from studies.analysis.results import Results

SHOWN = ("icc_1_1", "icc_a_1", "icc_a_k", "alpha_ordinal")
BY_CONVERSATION = "conversation"
NAMED = ("ICC", "ICC(1,·)", "ICC(A,·)", "alpha")  # in the notes on methods


def rater_reliability(results: Results) -> Exhibit | None:
    rows = _rows(results.table("reliability"))
    if rows.empty:
        return None
    names = {"raters": raters_name(rows["raters"].iloc[0]), "scale": instrument_name(str(rows["instrument"].iloc[0]))}
    columns = [name for name in SHOWN if rows[name].notna().any()]
    ordered = in_item_order(rows, str(rows["instrument"].iloc[0]))
    frame = with_intervals(ordered, columns)[["item", "n", "k", *columns]]
    table = Excerpt(
        "main-reliability",
        _("Reliability of the ratings of {raters} on {scale}, with {level} intervals").format(level=LEVEL, **names),
        frame,
        join_sentences([_explain(), say_method(rows, *NAMED), _lacking(rows, columns), _warn(rows)]),
    )
    return Exhibit("reliability", _("Reliability of people"), list(_describe(rows)), table, rows)


def _explain() -> str:
    return _(
        "1: raters agree perfectly; 0: no better than by chance. n: rated conversations; k: ratings of each, on "
        "average. ICC(1,1): one rater's scores, if each conversation has raters of its own; ICC(A,1): one rater's "
        "scores, if the same raters rate all conversations and strictness is an error; ICC(A,k): likewise, the mean "
        "of k raters; α: Krippendorff's for ordered categories."
    )


def _rows(table: pd.DataFrame) -> pd.DataFrame:
    if table.empty:
        return table
    people = table[~table["raters"].str.startswith("judge") & (table["item"] != ALL_ITEMS)]
    with_value = people[people[[*SHOWN]].notna().any(axis=1)]
    rows = with_value[with_value["unit"] == BY_CONVERSATION]
    return main_rows(with_value if rows.empty else rows, "raters")


def _lacking(rows: pd.DataFrame, columns: Sequence[str]) -> str:
    """Return a sentence where an estimate or its interval is missing, which the title promises."""
    if not any(rows[f"{name}_low"].isna().any() for name in columns):
        return ""
    return _("Estimates or intervals that are not shown could not be computed: reliability.csv says why.")


def _warn(rows: pd.DataFrame) -> str:
    """Say that there are too few raters for the intervals of ICC(A,·), where a row has that note."""
    found = dict.fromkeys(
        note.text() for notes in notes_of(rows) for note in notes if note.code == "few_raters_of_many"
    )
    return _("Keep in mind: {notes}.").format(notes=join_with_semicolons(found)) if found else ""


def _describe(rows: pd.DataFrame) -> Iterator[str]:
    name, title = ("icc_a_1", "ICC(A,1)") if rows["icc_a_1"].notna().any() else ("icc_1_1", "ICC(1,1)")
    icc = rows[name].dropna().astype(float)
    if len(icc):
        text = decimal(icc.min()) if len(icc) == 1 else f"{decimal(icc.min())}–{decimal(icc.max())}"
        yield _("A single rating of {raters} has a reliability of {values} ({title}); {k} raters each.").format(
            raters=raters_name(rows["raters"].iloc[0]), values=text, title=title, k=span(rows["k"])
        )
