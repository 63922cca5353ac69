"""Judges together, and what their scores hang on."""

from collections.abc import Iterator

import pandas as pd  # noqa: TID253

from studies.analysis.frames import VARIANT
from studies.analysis.language import gettext as _
from studies.analysis.language import gettext_noop
from studies.analysis.reporting.excerpts import excerpt
from studies.analysis.reporting.parts import Part, prose, section
from studies.analysis.results import Results
from studies.analysis.tables.strategy_tests import is_of_field

WITHOUT = "without_"  # before the field that a judge was not told
VARIANTS = {  # of probes, other than without a field
    "repeat": gettext_noop("asked again"),
    "warm": gettext_noop("at a higher temperature"),
    "order_swap": gettext_noop("the pair turned round"),
    "length": gettext_noop("length of the replies"),
    "self_preference": gettext_noop("supporters of its own maker"),
    "panel": gettext_noop("all judges together (mean)"),
}
STATISTICS = {
    "difference": gettext_noop("difference in score"),
    "within_sd": gettext_noop("spread of its replicates (SD)"),
    "share_consistent": gettext_noop("the same in both orders: share"),
    "first_bias": gettext_noop("for what stood first minus second"),
    "slope_per_sd": gettext_noop("points per standard deviation of length"),
    "interaction": gettext_noop("compared with judges of other makers"),
    "pearson": gettext_noop("Pearson's r with people"),
}


@section("probes", gettext_noop("What influences judges' scores"), "probes")
def probes(table: pd.DataFrame, results: Results) -> Iterator[Part]:
    yield prose(
        _(
            "A judge that is asked in a different way should say the same. Differences are the variant minus the "
            'unchanged judge. "Changed (share)" is the share of scores that are not the same.'
        )
    )
    probed, over_all = table["variant"] + " " + table["statistic"], table["item"] == "*"
    over_items = table[over_all | ~probed.isin(probed[over_all])]
    columns = ["judge", "strategy", "variant", "human", "item", "statistic", "estimate", "low", "high", "n"]
    words = over_items.assign(
        variant=over_items["variant"].map(_variant),
        statistic=[_(STATISTICS.get(key, key)) for key in over_items["statistic"]],
    )
    yield excerpt(
        "probes", _("Judges asked in other ways"), words, [*columns, "share_changed"], ["estimate", "share_changed"]
    )
    yield from _fields(results.table("strategy_tests"))


def _variant(key: str) -> str:
    field = key.removeprefix(WITHOUT)
    if field != key:
        return _("without {field}").format(field=field.replace("_", " "))
    return _(VARIANTS[key]) if key in VARIANTS else key


def _fields(table: pd.DataFrame) -> Iterator[Part]:
    tested = table[is_of_field(table)] if len(table) else table
    if tested.empty:
        return
    yield prose(
        _(
            "A judge without one field about the seeker is compared with the same judge with all fields, on the "
            "same conversations. If r falls, the field helped. If only the scores change, the field moved them "
            "without bringing them closer to people."
        )
    )
    names = ["human", "judge", "strategy", "without", "item", "r_a", "r_b", "difference", "low", "high", "p_holm", "n"]
    parts = tested["strategy_b"].str.split(VARIANT + WITHOUT, regex=False).str
    words = tested.assign(strategy=parts[0], without=parts[1].str.replace("_", " "))
    caption = _("Pearson's r with people, with and without a field")
    yield excerpt("field-tests", caption, words, names, ["r_a", "r_b", "difference"])
