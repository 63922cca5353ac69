"""What happens over the turns: how long conversations stay open, and how scores move."""

from collections.abc import Iterator, Sequence

import pandas as pd  # noqa: TID253

from studies.analysis.language import gettext as _
from studies.analysis.reporting.curves import Course, curves
from studies.analysis.reporting.drawing import SIGNS, figure
from studies.analysis.reporting.estimates import courses_of
from studies.analysis.reporting.naming import condition_name, item_name, raters_name, scale_name, seekers_name
from studies.analysis.reporting.numbers import LEVEL
from studies.analysis.reporting.parts import Excerpt, Part, Section, prose
from studies.analysis.results import Results
from studies.analysis.tables import survival, trends

OF = ["arm", "condition", "seekers"]
ESTIMATE = ["estimate", "low", "high", "n", "clusters"]


def staying(results: Results) -> Section | None:
    table = results.table("survival")
    if table.empty:
        return None
    parts = [*_ends_told(table), *_survival(table)]
    return Section("survival", _("How long conversations stay open"), parts, ("survival",))


def _ends_told(table: pd.DataFrame) -> Iterator[Part]:
    yield prose(
        _(
            "A walk-out, a person's early end, a satisfied goodbye and a stop for safety's sake count as ends. "
            "Everything else is censored, that is, the conversation counts as open until then: the cap and a person's "
            "regular end stop what might have gone on, a technical failure is no choice of the seeker's."
        ),
        _(
            "A satisfied goodbye and a walk-out both close a conversation: read the shares of each end (statistic "
            "incidence) beside the curve."
        ),
    )
    rows = table[table["statistic"].isin([survival.MEDIAN, survival.MEAN])]
    yield Excerpt("turns", _("Median and mean turns of each arm"), rows[[*OF, "statistic", "turn", *ESTIMATE]])


def _survival(table: pd.DataFrame) -> Iterator[Part]:
    for seekers, rows in table[table["statistic"] == survival.OPEN].groupby("seekers"):
        conditions = sorted(set(rows["condition"]))
        yield figure(
            f"survival-{seekers}",
            _("Conversations still open after each turn ({seekers}), with {level} bands").format(
                seekers=seekers_name(str(seekers)), level=LEVEL
            ),
            _(
                "Kaplan–Meier estimates, bands by cluster bootstrap. {signs} Below: how many conversations had so "
                "many turns."
            ).format(signs=_signs(conditions)),
            curves(_by_arm(rows, "at_risk", conditions), _("share still open"), _("turn"), stepped=True),
        )


def _signs(conditions: Sequence[str]) -> str:
    """What the signs mean, where there is more than one."""
    if len(conditions) < 2:
        return ""
    signs = zip(SIGNS, conditions, strict=False)
    return _("{signs}.").format(signs=", ".join(f"{sign} {condition_name(name)}" for sign, name in signs))


def _by_arm(rows: pd.DataFrame, counted: str, conditions: Sequence[str]) -> dict[str, list[Course]]:
    return {str(arm): courses_of(found, "turn", counted, conditions, "condition") for arm, found in rows.groupby("arm")}


def over_turns(results: Results) -> Section | None:
    table = results.table("trends")
    if table.empty:
        return None
    return Section("trends", _("Over the turns"), [*_fewer(table), *_trends(table)], ("trends",))


def _fewer(table: pd.DataFrame) -> Iterator[Part]:
    yield prose(
        _(
            "Later turns are of the conversations that were still open, which may not be like the others: read the "
            "numbers below the curves. Slopes are within conversations, in points per turn."
        )
    )
    rows = table[table["statistic"] == trends.SLOPE]
    yield Excerpt("slopes", _("Slopes, in points per turn"), rows[[*OF, "source", "item", *ESTIMATE]])


def _trends(table: pd.DataFrame) -> Iterator[Part]:
    keys = ["item", "source", "seekers", "instrument", "moment"]
    for (item, source, seekers, instrument, moment), rows in table[table["statistic"] == trends.MEAN].groupby(keys):
        if rows["turn"].nunique() < 2:
            continue
        conditions = sorted(set(rows["condition"]))
        of = ", ".join(filter(None, [_source(source), seekers_name(seekers), scale_name(instrument, moment)]))
        yield figure(
            f"trends-{item}-{source}-{seekers}-{instrument}-{moment}",
            _("{item} over the turns ({of}): means with {level} bands").format(
                item=item_name(instrument, item), of=of, level=LEVEL
            ),
            _(
                "Means over the conversations scored at that turn, of which there are so many as stand below; those "
                "that ended before are in none. {signs}"
            ).format(signs=_signs(conditions)),
            curves(_by_arm(rows, "n", conditions), item_name(instrument, item), _("turn")),
        )


def _source(source: str) -> str:
    return _("by {raters}").format(raters=raters_name(source)) if source else ""
