"""The counsellors' ratings of the systems, as Table 3 of Yang et al."""

from collections.abc import Iterator

from studies.analysis.language import gettext as _
from studies.analysis.language import ngettext
from studies.analysis.reporting.markup import tag
from studies.analysis.reporting.naming import instrument_name
from studies.analysis.reporting.numbers import span
from studies.analysis.reporting.parts import Excerpt, Part, Section, prose
from studies.analysis.results import Results
from studies.analysis.tables import experts

OF_THE_PAPER = "emoharbor_10"  # the instrument whose items are columns of its table


def expert_table(results: Results) -> Section | None:
    if results.table("expert_table").empty:
        return None
    return Section("expert-table", _("How counsellors rated the systems"), list(_tables(results)))


def _tables(results: Results) -> Iterator[Part]:
    whole = results.table("expert_table")
    mapped = whole["item"].isin(experts.SHORT[OF_THE_PAPER]) & (whole["instrument"] == OF_THE_PAPER)
    yield prose(
        _("Means of counsellors' final ratings, one line for each system."),
        _(
            "The columns of the ten dimensions follow Table 3 of Yang et al. (2026, arXiv:2605.28228), which prints "
            "no average. Per. is response appropriateness, Help. problem resolution."
        )
        if mapped.any()
        else "",
    )
    for instrument, rows in whole.groupby("instrument"):
        table, given = experts.printed_table(rows), rows["n"]
        yield prose(
            ngettext(
                "{systems} systems, each rated by {each} counsellor.",
                "{systems} systems, each rated by {each} counsellors.",
                int(given.max()),
            ).format(systems=len(table), each=span(given))
        )
        counted = table.assign(n=table["Model"].map(rows.groupby("arm")["n"].agg(span)))
        yield Excerpt(f"experts-{instrument}", instrument_name(str(instrument)), counted)
        yield tag("details", tag("summary", "LaTeX"), tag("pre", experts.latex(table)))
