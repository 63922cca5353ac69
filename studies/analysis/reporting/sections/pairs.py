"""Two conversations or replies side by side: who was preferred, and one scale for all."""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd  # noqa: TID253

from studies.analysis.language import gettext as _
from studies.analysis.language import gettext_noop, join_with_commas, ngettext
from studies.analysis.pooling import POOLED
from studies.analysis.reporting.bars import Bar, share_bars
from studies.analysis.reporting.dots import dot_panels
from studies.analysis.reporting.drawing import figure
from studies.analysis.reporting.estimates import lines_of
from studies.analysis.reporting.excerpts import excerpt, remark_on_empty_rows, with_intervals
from studies.analysis.reporting.naming import contestant_name, instrument_name, item_name, raters_name
from studies.analysis.reporting.numbers import LEVEL, decimal
from studies.analysis.reporting.parts import Part, prose, section
from studies.analysis.results import Results
from studies.analysis.tables.pairs import STRENGTH
from studies.analysis.tables.verdicts import read_verdicts


@section("pairwise", gettext_noop("Side-by-side preferences"), "pairwise")
def pairs(table: pd.DataFrame, results: Results) -> Iterator[Part]:
    against_all = table["contestant_b"] == POOLED
    yield from _contests(results, table[~against_all])
    yield from _strengths(table[against_all])


def _contests(results: Results, table: pd.DataFrame) -> Iterator[Part]:
    yield prose(
        _(
            "Two conversations or replies were shown side by side. Wins, ties and losses are those of the side named "
            'first. "First shown chosen" is the share of preferences for the side shown first; .5 means the position '
            "made no difference."
        ),
        *_verdicts_left_out(results),
    )
    columns = ["question", "raters", "contestant_a", "contestant_b", "n", "win", "tie", "loss", "p_holm", "first_share"]
    caption = _("Preferences, with {level} intervals").format(level=LEVEL)
    yield from _shares(table)
    others = {name: [decimal(share) for share in table[name]] for name in ("tie", "loss")}
    yield excerpt("pairwise", caption, with_intervals(table, ["win"]).assign(**others), columns, ["win"])


def _shares(table: pd.DataFrame) -> Iterator[Part]:
    """Yield the shares of wins, ties and losses of each question, as EmoHarbor's Figure 5."""
    for (raters, instrument), rows in table[table["win"].notna()].groupby(["raters", "instrument"]):
        panels = {
            item_name(instrument, question): [_bar(row) for row in verdicts.to_dict("records")]
            for question, verdicts in rows.groupby("question")
        }
        yield figure(
            f"pairwise-{raters}-{instrument}",
            _("Side by side, as preferred by {who}: shares of the verdicts").format(who=_who(raters, instrument)),
            _("From left to right: the one on the left was preferred, neither was, the one on the right was."),
            share_bars(panels, [_("left preferred"), _("tie"), _("right preferred")]),
        )


def _bar(row: Mapping[str, Any]) -> Bar:
    left, right = (contestant_name(str(row[side])) for side in ("contestant_a", "contestant_b"))
    return Bar(left, right, [row[name] for name in ("win", "tie", "loss")])


def _who(raters: object, instrument: object) -> str:
    return join_with_commas([raters_name(str(raters)), instrument_name(str(instrument))])


def _verdicts_left_out(results: Results) -> Iterator[str]:
    verdicts = read_verdicts(results.export)
    if verdicts and verdicts.alike:
        yield ngettext(
            "{count} verdict on a pair with the same arm and the same kind of seekers says nothing about either.",
            "{count} verdicts on pairs with the same arm and the same kind of seekers say nothing about either.",
            verdicts.alike,
        ).format(count=verdicts.alike)
    if verdicts and verdicts.ablated:
        yield ngettext(
            "{count} verdict on two arms is not counted because a simulated seeker was changed for an ablation.",
            "{count} verdicts on two arms are not counted because a simulated seeker was changed for an ablation.",
            verdicts.ablated,
        ).format(count=verdicts.ablated)
    if verdicts and verdicts.left_out:
        yield ngettext(
            "{count} verdict is not counted because its rater or conversation was left out.",
            "{count} verdicts are not counted because their raters or conversations were left out.",
            verdicts.left_out,
        ).format(count=verdicts.left_out)


def _strengths(table: pd.DataFrame) -> Iterator[Part]:
    with_strength = table[table["strength"].notna()] if len(table) else table
    with_strength = with_strength.assign(contestant=with_strength["contestant_a"].map(contestant_name))
    for (raters, instrument), rows in with_strength.groupby(["raters", "instrument"]):
        who = _who(raters, instrument)
        panels = {
            item_name(instrument, question): lines_of(of_question, "contestant", STRENGTH)
            for question, of_question in rows.groupby("question")
        }
        yield figure(
            f"bradley-terry-{raters}-{instrument}",
            _("Side by side, as preferred by {who}: strengths with {level} intervals").format(who=who, level=LEVEL),
            _(
                "Bradley–Terry strengths on the log scale, with 0 as their mean: one more means that the odds of "
                "being preferred are 2.7 times as high. Lines are bootstrap intervals. In brackets: verdicts."
            ),
            dot_panels(panels, _("log strength"), at=0),
        )
    if len(table) > len(with_strength):
        yield prose(remark_on_empty_rows(table, ["strength"]))
