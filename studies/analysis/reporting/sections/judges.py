"""Judges together, and what their scores hang on."""

import pandas as pd  # noqa: TID253

from studies.analysis.language import gettext as _
from studies.analysis.language import gettext_noop
from studies.analysis.reporting.excerpts import excerpt, remark_on_empty_rows, with_names
from studies.analysis.reporting.parts import Excerpt, Part, Section, prose
from studies.analysis.results import Results
from studies.analysis.tables.panels import AVERAGE, BEST, MAJORITY, MEAN, MEDIAN

WITHOUT = "without_"  # before the field that a judge was not told
RULES = {  # of panels
    MAJORITY: gettext_noop("majority"),
    MEDIAN: gettext_noop("median"),
    MEAN: gettext_noop("mean"),
    BEST: gettext_noop("best member"),
    AVERAGE: gettext_noop("mean over the members"),
}
VARIANTS = {  # of probes, other than without a field
    "repeat": gettext_noop("asked again"),
    "warm": gettext_noop("at a higher temperature"),
    "order_swap": gettext_noop("the pair turned round"),
    "length": gettext_noop("length of the replies"),
    "self_preference": gettext_noop("supporters of its own maker"),
}
STATISTICS = {
    "difference": gettext_noop("difference in score"),
    "within_sd": gettext_noop("spread of its replicates (SD)"),
    "share_consistent": gettext_noop("the same in both orders: share"),
    "first_bias": gettext_noop("for what stood first minus second"),
    "slope_per_100_characters": gettext_noop("points per 100 characters"),
    "interaction": gettext_noop("compared with judges of other makers"),
}


def panels(results: Results) -> Section | None:
    table = results.table("panels")
    if table.empty:
        return None
    told = prose(
        _(
            "Do several judges together agree better with people than one judge? Each member's replicates are "
            "averaged first. The best member is chosen from these same data, so its r is too high."
        )
    )
    medians = medians_of(table)
    medians = with_names(medians).assign(rule=[_(RULES.get(rule, rule)) for rule in medians["rule"]])
    lacking = remark_on_empty_rows(table, ["pearson"])
    caption = _("Pearson's r of panels and people: median over items")
    parts: list[Part] = [told, Excerpt("panels", caption, medians, lacking)] if len(medians) else [told, prose(lacking)]
    return Section("panels", _("Judges as panels"), parts)


def medians_of(table: pd.DataFrame) -> pd.DataFrame:
    """Return the medians of strategy × role × rule × kind of people, without the panels that leave a judge out."""
    known = table[(table["human"].fillna("") != "") & table["pearson"].notna()]
    known = known[(known["judge"].fillna("") == "") | (known["rule"] == BEST)]
    roles = ["role"] if known["role"].nunique() > 1 else []
    groups = known.groupby(["human", "strategy", *roles, "rule"])["pearson"].agg(["median", "min", "max", "size"])
    return groups.rename(columns={"size": "items"}).reset_index()


def probes(results: Results) -> Section | None:
    table = results.table("probes")
    if table.empty:
        return None
    told = prose(
        _(
            "A judge that is asked in a different way should say the same. Differences are the variant minus the "
            "unchanged judge. share_changed is the share of scores that are not the same."
        )
    )
    probed, over_all = table["variant"] + " " + table["statistic"], table["item"] == "*"
    over_items = table[over_all | ~probed.isin(probed[over_all])]
    shown = ["judge", "strategy", "variant", "item", "statistic", "estimate", "low", "high", "n", "share_changed"]
    words = over_items.assign(
        variant=over_items["variant"].map(_variant),
        statistic=[_(STATISTICS.get(key, key)) for key in over_items["statistic"]],
    )
    small = excerpt("probes", _("Judges asked in other ways"), words, shown, ["estimate", "share_changed"])
    parts: list[Part] = [told, small, *_fields(results.table("field_tests"))]
    return Section("probes", _("What influences judges' scores"), parts)


def _variant(key: str) -> str:
    field = key.removeprefix(WITHOUT)
    if field != key:
        return _("without {field}").format(field=field.replace("_", " "))
    return _(VARIANTS[key]) if key in VARIANTS else key


def _fields(table: pd.DataFrame) -> list[Part]:
    if table.empty:
        return []
    told = prose(
        _(
            "A judge without one field about the seeker is compared with the same judge with all fields, on the "
            "same conversations. If r falls, the field helped. If only the scores change, the field moved them "
            "without bringing them closer to people."
        )
    )
    shown = ["human", "judge", "strategy", "without", "item", "r_a", "r_b", "difference", "low", "high", "p_holm", "n"]
    words = table.assign(without=table["without"].str.replace("_", " "))
    caption = _("Pearson's r with people, with and without a field")
    return [told, excerpt("field-tests", caption, words, shown, ["r_a", "r_b", "difference"])]
