"""The signs that may have told people which arm they met: order, guesses, length and speed of the replies."""

from collections.abc import Iterator
from typing import Any

import pandas as pd  # noqa: TID253

from studies.analysis.language import gettext as _
from studies.analysis.language import gettext_noop
from studies.analysis.pooling import ALL_ITEMS
from studies.analysis.reporting.curves import curves
from studies.analysis.reporting.dots import dot_panels
from studies.analysis.reporting.drawing import figure
from studies.analysis.reporting.estimates import by_item, courses_of, lines_of
from studies.analysis.reporting.excerpts import excerpt
from studies.analysis.reporting.naming import raters_name, scale_name
from studies.analysis.reporting.numbers import LEVEL, span
from studies.analysis.reporting.parts import Excerpt, Part, join_sentences, prose, section
from studies.analysis.results import Results
from studies.analysis.tables.costs import of_replies

SLOPE = "position_slope"  # statistic of the table order
CARRY_OVER = "carry_over_f"
DIFFERENCES = {
    "arm_difference": gettext_noop("without the previous arm"),
    "arm_difference_adjusted": gettext_noop("with the previous arm"),
}
STATISTICS = DIFFERENCES | {
    SLOPE: gettext_noop("points per place"),
    "carry_over_f": gettext_noop("carry-over (F)"),
    "bang": gettext_noop("Bang's index"),
    "one_vs_rest": gettext_noop("named where met, minus where not met"),
    "cannot_tell": gettext_noop("could not tell: share"),
    "certainty": gettext_noop("how sure, 1 to 5"),
    "james": gettext_noop("index of James"),
    "accuracy": gettext_noop("right guesses: share"),
    "accuracy_corrected": gettext_noop("right guesses, corrected for chance"),
}
OWN_TIME = gettext_noop("Times are the model's own, before the study evens them out on the page.")
LENGTHS = {  # measure: title, unit and a remark
    "characters": (
        gettext_noop("Length of the replies"),
        gettext_noop("characters"),
        gettext_noop("Characters are Unicode code points of what was shown."),
    ),
    "first_token_seconds": (gettext_noop("Time until the model's first words"), gettext_noop("seconds"), OWN_TIME),
    "total_seconds": (gettext_noop("Time until the model's whole reply"), gettext_noop("seconds"), OWN_TIME),
}
MEANS = {  # of costs.csv, as the report heads them
    "characters": gettext_noop("mean characters"),
    "first_token_seconds": gettext_noop("mean seconds to first words"),
    "total_seconds": gettext_noop("mean seconds to end"),
}
COUNTS = {"names_itself_share": gettext_noop("named itself"), "masked_share": gettext_noop("masked")}


@section("order", gettext_noop("Order effects"), "order")
def order(table: pd.DataFrame, _results: Results) -> Iterator[Part]:
    yield prose(
        _(
            "People met the arms one after another. A score may rise or fall with the position of a conversation in "
            "that order, and may depend on the arm before it (carry-over)."
        ),
        _(
            "Where the order was balanced, the position adds noise to the means of the arms, not bias. Balancing "
            "does not remove carry-over: no arm follows itself, so what an arm does to the next conversation only "
            "affects the means of the other arms."
        ),
    )
    effects = table[table["statistic"].isin([SLOPE, CARRY_OVER])]
    effects = effects.assign(statistic=effects["statistic"].map(_statistic))
    columns = ["raters", "instrument", "item", "statistic", "estimate", "low", "high", "p", "p_holm", "n", "clusters"]
    yield excerpt("order", _("Position in the order, and the previous arm"), effects, columns)
    yield from _arms(table)
    for key, rows in table.groupby(["raters", "instrument", "moment"]):
        yield from _figures(rows, *key)


def _arms(table: pd.DataFrame) -> Iterator[Part]:
    """Return rows of all items together, where there are several; the file has the others."""
    rows = table[table["statistic"].isin(DIFFERENCES)]
    over_items = rows[rows["item"] == ALL_ITEMS]
    rows = rows if over_items.empty else over_items
    if rows.empty:
        return
    yield prose(
        _(
            "An arm minus the mean of the arms, without and with the previous arm in the model. The change between "
            "the two is carry-over. The second estimate is less certain, so its intervals are wider."
        )
    )
    rows = rows.assign(statistic=rows["statistic"].map(_statistic))
    columns = ["raters", "instrument", "item", "arm", "condition", "statistic", "estimate", "low", "high", "n"]
    yield excerpt("order_arms", _("Arms, without and with carry-over"), rows, columns)


def _statistic(key: str) -> str:
    return _(STATISTICS[key]) if key in STATISTICS else key


def _figures(rows: pd.DataFrame, raters: str, instrument: str, moment: str) -> Iterator[Part]:
    names = {"raters": raters_name(raters), "scale": scale_name(instrument, moment), "level": LEVEL}
    slopes = rows[(rows["statistic"] == SLOPE) & rows["estimate"].notna()]
    if len(slopes):
        named = [
            line
            for item, of_item in by_item(slopes, instrument).items()
            for line in lines_of(of_item.assign(item=item), "item")
        ]
        yield figure(
            f"order-slopes-{raters}-{instrument}-{moment}",
            _("Points per place in the order, as rated by {raters} ({scale}), with {level} intervals").format(**names),
            _("To the right of the line, later conversations were rated higher. In brackets: conversations."),
            dot_panels({"": named}, _("points per place"), at=0),
        )
    means = rows[(rows["statistic"] == "position_mean") & rows["estimate"].notna()].assign(series="")
    if means["position"].nunique() > 1:
        panels = {
            item: courses_of(of_item, "position", "n", [""], "series")
            for item, of_item in by_item(means, instrument).items()
        }
        yield figure(
            f"order-means-{raters}-{instrument}-{moment}",
            _("Mean scores at each place in the order, as rated by {raters} ({scale}), with {level} bands").format(
                **names
            ),
            _("Below: the number of conversations. People who stopped early only appear in the first positions."),
            curves(panels, _("mean score"), _("place")),
        )


@section("blinding", gettext_noop("Could people tell the arms?"), "blinding")
def blinding(table: pd.DataFrame, _results: Results) -> Iterator[Part]:
    yield prose(
        _(
            "At the end people guessed which system they had talked to. Bang's index of an arm is 0 when people "
            "guessed as by chance, 1 when all were right, and below 0 when they were wrong more often than by "
            "chance. James's index covers all arms: 0 when all were right, 1 when no one could tell. Its value by "
            "chance (by_chance) is half of 1 plus the share who could not tell, so a high value may only mean that "
            "many could not tell."
        )
    )
    columns = ["arm", "statistic", "estimate", "low", "high", "by_chance", "n", "clusters"]
    yield excerpt(
        "blinding", _("What people guessed"), table.assign(statistic=table["statistic"].map(_statistic)), columns
    )
    rows = table[(table["statistic"] == "bang") & table["estimate"].notna()]
    if len(rows):
        yield figure(
            "blinding",
            _("Bang's blinding index of each arm with {level} intervals").format(level=LEVEL),
            _(
                "To the right of the line, people knew better than by chance. Lines are score intervals; one in "
                "twenty leaves the line by chance alone. In brackets: guesses."
            ),
            dot_panels({"": lines_of(rows, "arm")}, _("Bang's index"), at=0),
        )


@section("lengths", gettext_noop("Length and speed of the replies"), "costs", of_replies)
def lengths(table: pd.DataFrame, results: Results) -> Iterator[Part]:
    if results.export.replies is None:
        yield prose(_("There is no turns.csv, so nothing is known about the replies."))
        return
    yield prose(
        _(
            "Longer replies are often rated better, and people can tell arms apart if their replies differ in "
            "length or speed. Read the ratings together with these figures."
        ),
        _(
            "Named itself: replies in which the model named itself or its maker. Masked: replies that were "
            "replaced, in whole or in part, by other text."
        ),
    )
    rows = [_of_arm(arm, language, rows_of_arm) for (arm, language), rows_of_arm in table.groupby(["arm", "language"])]
    yield Excerpt("lengths", _("Replies of each arm"), pd.DataFrame(rows))
    yield from _lengths(table)


def _of_arm(arm: str, language: str, rows: pd.DataFrame) -> dict[str, Any]:
    """Return what costs.csv says of the replies of one arm in one language; its shares as numbers of replies."""
    by_measure = rows.set_index("measure")
    means = {_(heading): by_measure.at[measure, "estimate"] for measure, heading in MEANS.items()}
    counts = {_(heading): _share(by_measure.loc[measure]) for measure, heading in COUNTS.items()}
    replies = span(by_measure.loc[list(MEANS), "n"])
    return {"arm": arm, "language": language, _("replies"): replies, **means, **counts}


def _share(row: pd.Series) -> str:
    if not row["n"]:
        return ""
    return _("{count} of {all}").format(count=round(row["estimate"] * row["n"]), all=row["n"])


def _lengths(table: pd.DataFrame) -> Iterator[Part]:
    for measure, (title, unit, remark) in LENGTHS.items():
        rows = table[(table["measure"] == measure) & table["estimate"].notna()]
        if rows.empty:
            continue
        by_language = {
            str(language) or _("language not known"): lines_of(of_language, "arm")
            for language, of_language in rows.groupby("language")
        }
        yield figure(
            f"lengths-{measure}",
            _("{what}: means with {level} intervals").format(what=_(title), level=LEVEL),
            join_sentences(
                [_("Means over replies; lines are cluster bootstrap intervals. In brackets: replies."), _(remark)]
            ),
            dot_panels(by_language, _(unit)),
        )
