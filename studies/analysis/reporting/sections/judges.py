"""Judges together, and what their scores hang on."""

import pandas as pd  # noqa: TID253

from studies.analysis.language import gettext as _
from studies.analysis.reporting.estimates import with_item_names
from studies.analysis.reporting.parts import Excerpt, Part, Section, prose
from studies.analysis.results import Results
from studies.analysis.tables.panels import BEST


def panels(results: Results) -> Section | None:
    table = results.table("panels")
    if table.empty:
        return None
    told = prose(
        _(
            "Do several judges together agree with people better than one? Members' replicates are averaged first. "
            "best_member is chosen by these same data, so it is too high."
        )
    )
    medians = medians_of(table)
    excerpt = Excerpt("panels", _("Pearson's r of panels and people: median over items"), medians)
    parts: list[Part] = [told, excerpt] if len(medians) else [told]
    return Section("panels", _("Judges as panels"), parts, ("panels",))


def medians_of(table: pd.DataFrame) -> pd.DataFrame:
    """Strategy × rule × kind of people, without the panels that leave a judge out."""
    known = table[(table["human"].fillna("") != "") & table["pearson"].notna()]
    known = known[(known["judge"].fillna("") == "") | (known["rule"] == BEST)]
    groups = known.groupby(["human", "strategy", "rule"])["pearson"].agg(["median", "min", "max", "size"])
    return groups.rename(columns={"size": "items"}).reset_index()


def probes(results: Results) -> Section | None:
    table = results.table("probes")
    if table.empty:
        return None
    told = prose(
        _(
            "A judge that is asked in another way should say the same. Differences are the variant minus the judge as "
            "it is; share_changed is how many of its scores are not the same."
        )
    )
    probed, over_all = table["variant"] + " " + table["statistic"], table["item"] == "*"
    over_items = table[over_all | ~probed.isin(probed[over_all])]
    shown = ["judge", "strategy", "variant", "item", "statistic", "estimate", "low", "high", "n", "share_changed"]
    excerpt = Excerpt("probes", _("Judges asked in other ways"), with_item_names(over_items)[shown])
    parts: list[Part] = [told, excerpt, *_fields(results.table("field_tests"))]
    return Section("probes", _("What judges' scores hang on"), parts, ("probes", "field_tests"))


def _fields(table: pd.DataFrame) -> list[Part]:
    if table.empty:
        return []
    told = prose(
        _(
            "A judge that was not told one field of the seeker is compared with the same judge that was told all, on "
            "the same conversations. Where r falls, the field helped; where its scores alone change, it moved them "
            "without bringing them nearer to people."
        )
    )
    shown = ["human", "judge", "strategy", "without", "item", "r_a", "r_b", "difference", "low", "high", "p_holm", "n"]
    return [
        told,
        Excerpt("field-tests", _("Pearson's r with people, with and without a field"), with_item_names(table)[shown]),
    ]
