"""The course of conversations over the turns: how long they stay open, and how scores move."""

from collections.abc import Iterator, Sequence

import pandas as pd  # noqa: TID253

from studies.analysis.language import gettext as _
from studies.analysis.language import gettext_noop, join_with_commas
from studies.analysis.pooling import POOLED
from studies.analysis.reporting.curves import Course, curves
from studies.analysis.reporting.drawing import SIGNS, TOGETHER, Figure, figure
from studies.analysis.reporting.estimates import by_item, courses_of
from studies.analysis.reporting.excerpts import excerpt
from studies.analysis.reporting.naming import (
    condition_name,
    end_name,
    item_name,
    kind_of_seekers,
    language_name,
    raters_name,
    scale_name,
    seekers_name,
    thinker_name,
)
from studies.analysis.reporting.numbers import LEVEL
from studies.analysis.reporting.parts import Folded, Part, prose, section
from studies.analysis.results import Results
from studies.analysis.tables import survival, trends
from studies.analysis.tables.by_language import pooled_languages, single_languages
from studies.analysis.tables.log_ranks import LOG_RANK, STRATIFIED

FEW_TURNS = 2  # no curve, which its slope tells
OF = ["arm", "condition", "seekers"]
ESTIMATE = ["estimate", "low", "high", "n", "clusters"]
EMOTIONS = {
    trends.EMOTION: gettext_noop("supposed emotion"),
    trends.IMPORTED: gettext_noop("emotion as imported"),
}
TURNS = {
    survival.ACTUAL_MEAN: gettext_noop("mean turns, whatever ended them"),
    survival.MEDIAN: gettext_noop("median turns until a walk-out, early end, satisfied goodbye or stop for safety"),
    survival.MEAN: gettext_noop("mean turns until such an end, counting no further than the turn shown"),
}
TESTS = {
    LOG_RANK: gettext_noop("log-rank test"),
    STRATIFIED: gettext_noop("log-rank test within people or profiles"),
}
STATISTICS = TURNS | TESTS


@section("survival", gettext_noop("How long conversations stay open"), "survival")
def staying(table: pd.DataFrame, _results: Results) -> Iterator[Part]:
    open_until = table[table["statistic"] == survival.OPEN]
    if len(open_until) and (open_until["estimate"] == 1).all():
        yield prose(
            _(
                "No conversation ended in a walk-out, an early end, a satisfied goodbye or a stop for safety: every "
                "one stayed open until its regular end."
            )
        )
    else:
        yield from _ends_in_words(table)
        yield from _survival(table)


def _ends_in_words(table: pd.DataFrame) -> Iterator[Part]:
    yield prose(
        _(
            "A conversation ends in one of several ways. The first table has, for each way, the share of all "
            "conversations that had ended so after the last turn (Aalen–Johansen); with those still open, the shares "
            "of an arm add up to 1. A walk-out and a satisfied goodbye both end a conversation but mean the opposite, "
            "so read them separately."
        ),
        _(
            "The curves below show how long seekers stay with each arm. A walk-out, a person's early end, a satisfied "
            "goodbye and a stop for safety count as ends. Everything else is censored, which means that the "
            "conversation counts as open until then and is left out after it: the maximum number of turns and a "
            "person's regular end stop what might have continued, and a technical failure is not the seeker's choice. "
            "This assumes that people who ended regularly would have continued like the others, which may be wrong."
        ),
    )
    caption = _("How conversations had ended after the last turn: shares")
    yield excerpt("ends", caption, _ends(table), [*OF, "end", "turn", *ESTIMATE])
    turns = table[table["statistic"].isin(TURNS)]
    yield excerpt(
        "turns",
        _("Number of turns of each arm's conversations"),
        _in_words(turns),
        [*OF, "statistic", "turn", *ESTIMATE],
    )
    tests = table[table["statistic"].isin(TESTS)]
    if tests["estimate"].notna().any():
        yield prose(
            _(
                "The log-rank test asks whether conversations stay open equally long with all arms; the estimate is "
                "its chi-square. A high chi-square with a low p means that they do not. If the same people or profiles "
                "met several arms, report the test within people or profiles: it compares each of them with themselves "
                "and detects more."
            )
        )
        columns = ["condition", "seekers", "statistic", "estimate", "p", "n", "clusters", "method"]
        caption = _("Do the arms differ in how long conversations stay open?")
        yield excerpt("log_rank", caption, _in_words(tests), columns)


def _ends(table: pd.DataFrame) -> pd.DataFrame:
    shares = table[table["statistic"] == survival.INCIDENCE]
    last = shares[shares["turn"] == shares.groupby(OF)["turn"].transform("max")]
    return last.assign(end=last["end"].map(end_name))


def _in_words(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.assign(statistic=[_(STATISTICS.get(key, key)) for key in rows["statistic"]])


def _survival(table: pd.DataFrame) -> Iterator[Part]:
    for seekers, rows in table[table["statistic"] == survival.OPEN].groupby("seekers"):
        conditions = sorted(set(rows["condition"]))
        yield figure(
            f"survival-{seekers}",
            _("Conversations still open after each turn ({seekers}), with {level} bands").format(
                seekers=seekers_name(str(seekers)), level=LEVEL
            ),
            _(
                "A high curve means that seekers stayed; each step down is a walk-out, an early end, a satisfied "
                "goodbye or a stop for safety. Kaplan–Meier estimates with Wilson's intervals, which take into account "
                "that several conversations may be of the same person or profile. {signs} Below: the number of "
                "conversations that reached that turn."
            ).format(signs=_signs(conditions)),
            curves(_by_arm(rows, "at_risk", conditions), _("share still open"), _("turn"), stepped=True),
        )


def _signs(conditions: Sequence[str]) -> str:
    """Say what the signs mean, where there is more than one."""
    if len(conditions) < 2:
        return ""
    signs = zip(SIGNS, conditions, strict=False)
    return _("{signs}.").format(signs=join_with_commas(f"{sign} {condition_name(name)}" for sign, name in signs))


def _by_arm(rows: pd.DataFrame, counted: str, conditions: Sequence[str]) -> dict[str, list[Course]]:
    groups = rows.groupby("arm")
    return {str(arm): courses_of(group, "turn", counted, conditions, "condition") for arm, group in groups}


@section("trends", gettext_noop("Over the turns"), "trends")
def over_turns(table: pd.DataFrame, _results: Results) -> Iterator[Part]:
    means = table[table["statistic"] == trends.MEAN]
    yield from _slopes(table[table["statistic"] == trends.SLOPE])
    yield from _together(means)
    yield from _apart(pooled_languages(means))


def _slopes(table: pd.DataFrame) -> Iterator[Part]:
    yield prose(
        _(
            "Later turns only include conversations that were still open, and these may differ from the others. "
            "Read the numbers below the curves. Slopes are within conversations, in points per turn."
        )
    )
    yield _excerpt_of_slopes("slopes", _("Slopes, in points per turn"), pooled_languages(table), OF)
    single = table[table["language"] != POOLED]
    if len(single):
        caption = _("Slopes by language, in points per turn")
        named = single.assign(language=single["language"].map(language_name))
        yield Folded(_("By language"), [_excerpt_of_slopes("slopes-by-language", caption, named, [*OF, "language"])])


def _excerpt_of_slopes(name: str, caption: str, rows: pd.DataFrame, columns: Sequence[str]) -> Part:
    scales = zip(rows["instrument"], rows["moment"], rows["item"], strict=True)
    sources = zip(rows["source"], rows["item"], strict=True)
    rows = rows.assign(source=[_source_name(*key) for key in sources], item=[_get_title(*key) for key in scales])
    plain = rows.drop(columns=["instrument", "moment"])  # which the item names
    return excerpt(name, caption, plain, [*columns, "source", "item", *ESTIMATE])


def _get_title(instrument: str, moment: str, item: str) -> str:
    scale = scale_name(instrument, moment)
    return f"{_item(instrument, item)} ({scale})" if scale else _item(instrument, item)


def _item(instrument: str, item: str) -> str:
    """Return the label of an item, or its key in words."""
    return _(EMOTIONS[item]) if item in EMOTIONS else item_name(instrument, item).replace("_", " ")


def _together(means: pd.DataFrame) -> Iterator[Part]:
    """Yield all items of a scale side by side, with a line for each arm, as EmoHarbor's Figures 7, 9 and 10.

    Where there are several languages, each has its own.
    """
    of_several = single_languages(means[_of_several_items(means)])
    for key, rows in of_several.groupby(["source", "seekers", "condition", "instrument", "moment", "language"]):
        arms = sorted(set(rows["arm"]))
        for first in range(0, len(arms), TOGETHER):
            some = arms[first : first + TOGETHER]
            of_arms = rows[rows["arm"].isin(some)]
            if of_arms["turn"].nunique() > FEW_TURNS:
                yield _all_items(of_arms, some, *map(str, key))


def _of_several_items(means: pd.DataFrame) -> "pd.Series[bool]":
    """Return which rows are of a scale of several items; feelings of two sources have no scale in common."""
    several = means.groupby(["instrument", "moment"])["item"].transform("nunique") > 1
    return several & ~means["item"].isin(EMOTIONS)


def _all_items(
    rows: pd.DataFrame,
    arms: Sequence[str],
    source: str,
    seekers: str,
    condition: str,
    instrument: str,
    moment: str,
    language: str,
) -> Figure:
    named = "" if language == POOLED else language_name(language)
    texts = [_source(source, ""), kind_of_seekers(seekers, condition), scale_name(instrument, moment), named]
    return figure(
        f"trends-{source}-{seekers}-{condition}-{instrument}-{moment}-{language}",
        _("All items over the turns ({of}): means with {level} bands").format(of=join_with_commas(texts), level=LEVEL),
        _(
            "Means over the conversations scored at that turn. Below each panel stands the number of conversations "
            "of each arm. Conversations that ended earlier are not included."
        ),
        curves(
            {item: courses_of(group, "turn", "n", arms, "arm") for item, group in by_item(rows, instrument).items()},
            _("mean score"),
            _("turn"),
            series=arms,
        ),
    )


def _apart(means: pd.DataFrame) -> Iterator[Part]:
    """Yield each item by itself, with a panel for each arm; folded where a figure has all items of the scale."""
    several = _of_several_items(means)
    yield from _single_items(means[~several])
    if figures := [*_single_items(means[several])]:
        yield Folded(_("Each item by itself, with a panel for each arm"), figures)


def _single_items(means: pd.DataFrame) -> Iterator[Figure]:
    keys = ["item", "source", "seekers", "instrument", "moment"]
    for (item, source, seekers, instrument, moment), rows in means.groupby(keys):
        if rows["turn"].nunique() <= FEW_TURNS:
            continue
        conditions = sorted(set(rows["condition"]))
        text = join_with_commas([_source(source, item), seekers_name(seekers), scale_name(instrument, moment)])
        yield figure(
            f"trends-{item}-{source}-{seekers}-{instrument}-{moment}",
            _("{item} over the turns ({of}): means with {level} bands").format(
                item=_item(instrument, item), of=text, level=LEVEL
            ),
            _(
                "Means over the conversations scored at that turn; their number is below. Conversations that ended "
                "earlier are not included. {signs}"
            ).format(signs=_signs(conditions)),
            curves(_by_arm(rows, "n", conditions), _item(instrument, item), _("turn")),
        )


def _source(source: str, item: str) -> str:
    return _("by {raters}").format(raters=_source_name(source, item)) if source else ""


def _source_name(source: str, item: str) -> str:
    """Return the name of a source of scores.

    Ratings are of raters, supposed emotions of a Thinker; an import does not say whose they are.
    """
    return thinker_name(source) if item == trends.EMOTION or not source else raters_name(source)
