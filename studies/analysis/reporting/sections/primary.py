"""The contrasts that the study declared that it would compare, apart from all that is exploratory."""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd  # noqa: TID253

from studies.analysis.language import gettext as _
from studies.analysis.language import ngettext
from studies.analysis.reporting.estimates import records
from studies.analysis.reporting.naming import contrast_name
from studies.analysis.reporting.numbers import bounds, p_value, with_sign
from studies.analysis.reporting.parts import Excerpt, Part, Section, listing, prose
from studies.analysis.results import Results


def primary(results: Results) -> Section | None:
    table = results.table("primary")
    if table.empty:
        return None
    return Section("primary", _("Primary contrasts"), list(_parts(table)))


def _parts(table: pd.DataFrame) -> Iterator[Part]:
    known = table["estimate"].notna()
    yield prose(
        ngettext(
            "The study file declares {count} primary contrast.",
            "The study file declares {count} primary contrasts; p_holm is p after Holm's correction over these alone.",
            len(table),
        ).format(count=len(table)),
        _("All other comparisons in this report are exploratory."),
    )
    if known.any():
        yield Excerpt("primary-contrasts", _("Declared contrasts and results"), _select_results(table[known]))
        yield prose(
            _(
                "The estimate is the first one named minus the second: for strategies the difference in Pearson's "
                "r, for arms the difference in points."
            )
        )
    if not known.all():
        yield prose(_("Declared, but not computed; the column note of primary.csv says why:"))
        yield listing(map(contrast_name, records(table[~known])))


def _select_results(rows: pd.DataFrame) -> pd.DataFrame:
    numbers = rows[["estimate", "low", "high", "p", "p_holm", "n", "clusters", "version"]]
    named = numbers.assign(**{_("declared on"): rows["declared_at"].str[:10]})
    named.insert(0, _("contrast"), [contrast_name(row) for row in records(rows)])
    return named


def primary_findings(results: Results) -> Iterator[str]:
    """Yield a sentence for each contrast that has an estimate."""
    table = results.table("primary")
    for row in records(table[table["estimate"].notna()]) if len(table) else ():
        yield _("Declared as primary: {contrast}: {estimate}.").format(
            contrast=contrast_name(row), estimate=_with_tests(row, len(table))
        )


def _with_tests(row: Mapping[str, Any], declared: int) -> str:
    said = [with_sign(row["estimate"]), bounds(row["low"], row["high"])]
    if pd.notna(row["p"]):
        said.append(p_value(row["p"]))
    if pd.notna(row["p_holm"]) and declared > 1:
        said.append(_("{p} after Holm's correction over {count}").format(p=p_value(row["p_holm"]), count=declared))
    return ", ".join(filter(None, said))
