"""The contrasts that the study declared that it would compare, apart from all that is exploratory."""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd  # noqa: TID253

from studies.analysis.language import gettext as _
from studies.analysis.language import gettext_noop, ngettext
from studies.analysis.reporting.estimates import records
from studies.analysis.reporting.main_rows import declared_rows
from studies.analysis.reporting.naming import contrast_name
from studies.analysis.reporting.parts import Excerpt, Part, listing, prose, section
from studies.analysis.results import Results
from studies.analysis.tables.primary import PRIMARY


@section("primary", gettext_noop("Primary contrasts"), "primary")
def primary(whole: pd.DataFrame, _results: Results) -> Iterator[Part]:
    table = declared_rows(whole)
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
        yield Excerpt(
            "primary-contrasts", _("Declared contrasts and results"), _select_results(whole[whole["estimate"].notna()])
        )
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
    numbers = rows[["estimate", "low", "high", "p", "p_holm", "n", "clusters"]]
    named = numbers.assign(**{_("declared on"): rows["declared_at"].str[:10]})
    named.insert(0, _("contrast"), [_name(row) for row in records(rows)])
    return named


def _name(row: Mapping[str, Any]) -> str:
    name = contrast_name(row)
    return name if row["analysis"] == PRIMARY else _("{contrast} (sensitivity: Wilcoxon)").format(contrast=name)
