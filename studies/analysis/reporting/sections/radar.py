"""The means of the arms once more, as a radar, where the reader of the report asked for it."""

from collections.abc import Collection, Iterator
from dataclasses import replace

import pandas as pd  # noqa: TID253

from studies.analysis.frames import Export
from studies.analysis.language import gettext as _
from studies.analysis.reporting.drawing import TOGETHER, Figure, figure
from studies.analysis.reporting.naming import in_order, item_name, raters_name, scale_name
from studies.analysis.reporting.parts import Part, join_sentences, prose
from studies.analysis.reporting.radar import radar
from studies.analysis.scales import Scale, scales_of

FEWEST = 3  # axes of a polygon


def radars(raters: str, instrument: str, moment: str, rows: pd.DataFrame, export: Export) -> Iterator[Part]:
    """Yield the radars of `rows` of arms.csv; none of a questionnaire with fewer than FEWEST items."""
    means = rows.pivot(index="arm", columns="item", values="mean")
    means = means[in_order(instrument, means.columns)]
    if means.shape[1] < FEWEST:
        return
    names = {"raters": raters_name(raters), "scale": scale_name(instrument, moment)}
    axis = common_scale(export, instrument, means.columns)
    if axis is None:
        yield prose(_("There is no radar chart of {scale}, because its items do not share one scale.").format(**names))
        return
    named = means.rename(columns=lambda item: item_name(instrument, item))
    title = _("Radar chart of the arms as rated by {raters} ({scale}): means without intervals").format(**names)
    foot = _foot(axis, len(means))
    yield fitting(
        figure(f"radar-{raters}-{instrument}-{moment}", title, _caption(axis, means), radar(named, axis, foot))
    )


def common_scale(export: Export, instrument: str, items: Collection[str]) -> Scale | None:
    """Return the scale of all items; None where codebook.csv has different ones, or none and all scores are equal."""
    scales = scales_of(export.folder, export.ratings)
    scales_of_items = [scales[instrument, item] for item in items]
    ranges = {(scale.lowest, scale.highest) for scale in scales_of_items if not scale.note}
    lowest, highest = min(scale.lowest for scale in scales_of_items), max(scale.highest for scale in scales_of_items)
    if len(ranges) > 1 or lowest == highest:
        return None
    return Scale(lowest, highest, next((scale.note for scale in scales_of_items if scale.note), None))


def fitting(chart: Figure) -> Figure:
    """Return a figure that is as wide as the page on a phone, and elsewhere no wider than its letters need."""
    return replace(chart, svg=chart.svg.replace("<svg ", '<svg style="min-width: 0; max-width: 34rem" ', 1))


def _foot(axis: Scale, arms: int) -> str:
    foot = _("centre {lowest}, rim {highest}").format(lowest=f"{axis.lowest:g}", highest=f"{axis.highest:g}")
    return foot if arms <= TOGETHER else _("{foot}; grey: mean over the arms").format(foot=foot)


def _caption(axis: Scale, means: pd.DataFrame) -> str:
    return join_sentences(
        [
            _what(axis),
            _("Grey is the mean over the arms, and each arm counts once.") if len(means) > TOGETHER else "",
            _("If an arm has no mean for an item, its line has a gap.") if means.isna().any(axis=None) else "",
            _(
                "The radar chart is only shown on request. Its areas grow with the square of the means and change "
                "with the order of the axes, and it has no intervals. To compare arms, read the dot plots."
            ),
        ]
    )


def _what(axis: Scale) -> str:
    if axis.note:
        text = _(
            "The means of the dot plots above. The axes start at {lowest} in the centre and end at {highest} at the "
            "rim, the lowest and the highest score, because codebook.csv has no scale that holds for every item."
        )
    else:
        text = _(
            "The means of the dot plots above. The axes start at {lowest} in the centre, the lowest score that the "
            "scale allows, and end at {highest} at the rim, the highest."
        )
    return text.format(lowest=f"{axis.lowest:g}", highest=f"{axis.highest:g}")
