"""The contrasts that the study declared that it would compare, apart from all that is exploratory."""

from collections.abc import Iterator

import pandas as pd  # noqa: TID253

from studies.analysis.language import gettext as _
from studies.analysis.language import gettext_noop, ngettext
from studies.analysis.reporting.estimates import records
from studies.analysis.reporting.naming import contrast_name
from studies.analysis.reporting.parts import Excerpt, Part, listing, prose, section
from studies.analysis.results import Results
from studies.analysis.tables.primary import SHIFT


@section("primary", gettext_noop("Primary contrasts"), "primary")
def primary(table: pd.DataFrame, _results: Results) -> Iterator[Part]:
    is_estimated = table["estimate"].notna()
    yield prose(
        ngettext(
            "The study file declares {count} primary contrast.",
            "The study file declares {count} primary contrasts; p (Holm) is p after Holm's correction over these "
            "alone.",
            len(table),
        ).format(count=len(table)),
        _("All other comparisons in this report are exploratory."),
    )
    if is_estimated.any():
        yield Excerpt("primary-contrasts", _("Declared contrasts and results"), _select_results(table[is_estimated]))
        yield prose(
            _(
                "The estimate is the first one named minus the second: for strategies the difference in Pearson's "
                "r, for arms the difference in points."
            )
        )
    if not is_estimated.all():
        yield prose(_("Declared, but not computed; the column note of primary.csv says why:"))
        yield listing(map(contrast_name, records(table[~is_estimated])))


def _select_results(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the results of each contrast, and below one of two arms those without an assumption of normality."""
    numbers = ["estimate", "low", "high", "p", "p_holm", "n", "clusters"]
    found = []
    for row in records(rows):
        name, more = contrast_name(row), {_("declared on"): row["declared_at"][:10]}
        found.append({_("contrast"): name} | {number: row[number] for number in numbers} | more)
        if pd.notna(row["hodges_lehmann"]):
            by_ranks = dict(zip(numbers, (*(row[bound] for bound in SHIFT), row["wilcoxon_p"]), strict=False))
            again = {_("contrast"): _("{contrast} (sensitivity: Wilcoxon)").format(contrast=name)}
            found.append(found[-1] | again | by_ranks | {"p_holm": float("nan")})
    return pd.DataFrame(found)
