"""Judges beside people: how far they agree, under which strategy, and whether they could stand in."""

from collections.abc import Iterator
from typing import Any

import pandas as pd  # noqa: TID253

from studies.analysis.bootstrap import Array
from studies.analysis.frames import FINAL
from studies.analysis.language import gettext as _
from studies.analysis.language import gettext_noop, ngettext
from studies.analysis.pooling import ALL_ITEMS
from studies.analysis.reporting.dots import dot_panels
from studies.analysis.reporting.drawing import figure
from studies.analysis.reporting.estimates import (
    SIGNIFICANT,
    by_raters,
    count_below,
    first_humans,
    in_item_order,
    lines_by_series,
    with_item_names,
)
from studies.analysis.reporting.excerpts import (
    columns_that_differ,
    excerpt,
    remark_on_empty_rows,
    with_intervals,
    with_names,
    without_table,
)
from studies.analysis.reporting.exhibits.agreement_forest import R, correlations
from studies.analysis.reporting.main_rows import by_strategy
from studies.analysis.reporting.naming import in_order, item_name, judge_name, raters_name, scale_name, strategy_name
from studies.analysis.reporting.numbers import LEVEL, count, decimal, span
from studies.analysis.reporting.parts import Excerpt, Part, first_unfolded, join_sentences, prose, section, subheading
from studies.analysis.reporting.scatter import MOST, bland_altman, scatter
from studies.analysis.results import Results
from studies.analysis.tables.agreement import both_sides
from studies.analysis.tables.strategy_tests import is_of_field

CORRELATIONS = ("pearson", "within_r", "system_r", "disattenuated")
DISTANCES = ("bias", "lower_limit", "upper_limit", "mae", "ccc")
Panels = dict[str, tuple[Array, Array]]


@section("agreement", gettext_noop("Judges and people"), "agreement")
def agreement(table: pd.DataFrame, results: Results) -> Iterator[Part]:
    yield _opening()
    yield from _correlations(_of_kinds(table))
    yield from _scores(results, table)
    yield from _strategies(of_strategies(_of_kinds(results.table("strategy_tests"))))
    yield from _alt_test(results.table("alt_test"))


def _of_kinds(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of kinds of raters, without those of single raters."""
    return table[~table["human"].str.contains(":", regex=False)] if len(table) else table


def of_strategies(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of two strategies, without those of judges that were not told a field."""
    return table[~is_of_field(table)] if len(table) else table


def _opening() -> Part:
    return prose(
        _(
            "Pearson's r shows whether a judge puts conversations in the same order as people do. It does not show "
            "whether a judge is too lenient or too severe, so read it together with the bias. An r over all "
            "conversations mixes differences between people with what they felt about each arm; r within persons "
            "compares conversations within each person only."
        ),
        _(
            "With few arms, the r of the arms' means says very little. Its interval resamples people and not arms, so "
            "it says nothing about other arms."
        ),
    )


def _correlations(table: pd.DataFrame) -> Iterator[Part]:
    yield from first_unfolded(
        (_("Against {human}").format(human=raters_name(human)), list(_against(human, rows)))
        for human, rows in by_raters(table, "human")
    )


def _whose(human: str) -> Iterator[Part]:
    """Say of simulated seekers that they are no people."""
    if human == "simulated_seeker":
        yield prose(
            _(
                "Simulated seekers are models. Their ratings of their own conversations are a criterion to compare "
                "judges with, not what people felt."
            )
        )


def _against(human: str, table: pd.DataFrame) -> Iterator[Part]:
    yield from _whose(human)
    for (instrument, moment), rows in table.groupby(["instrument", "moment"]):
        names = {"human": raters_name(human), "scale": scale_name(instrument, moment)}
        yield Excerpt(
            f"correlations-{human}-{instrument}",
            _("Pearson's r of judges and {human} ({scale}), as Table 1 of EmoHarbor").format(**names),
            correlations(rows, instrument),
            remark_on_empty_rows(rows, ["pearson"]),
        )
        yield _intervals(rows, human, instrument, moment)


def _intervals(rows: pd.DataFrame, human: str, instrument: str, moment: str) -> Part:
    strategies = by_strategy(rows["strategy"])
    names = [strategy_name(strategy) or _("no strategy") for strategy in strategies]
    panels = {}
    for judge, of_judge in rows.groupby("judge"):
        named = in_item_order(of_judge, instrument)
        panels[str(judge)] = lines_by_series(named, "item", strategies, "strategy", R)
    return figure(
        f"agreement-{human}-{instrument}-{moment}",
        _("Judges against {human} ({scale}): Pearson's r with {level} intervals").format(
            human=raters_name(human), scale=scale_name(instrument, moment), level=LEVEL
        ),
        _("One panel per judge and one marker per strategy. Lines are the intervals of r."),
        dot_panels(panels, _("Pearson's r"), series=names if len(names) > 1 else (), at=0),
    )


def _scores(results: Results, table: pd.DataFrame) -> Iterator[Part]:
    """Yield the scores themselves, of the people whose word counts first, at the last moment."""
    pairs = [(labels, both) for labels, both in both_sides(results.export.ratings) if ":" not in labels["human"]]
    human = first_humans(labels["human"] for labels, _both in pairs)
    groups: dict[tuple[str, str, str, str], dict[str, Any]] = {}
    for labels, both in pairs:
        if labels["human"] == human and labels["moment"] == FINAL:
            key = (labels["judge"], labels["strategy"], labels["instrument"], labels["moment"])
            groups.setdefault(key, {})[labels["item"]] = both
    if groups:
        yield subheading(_("The scores behind the correlations"))
        yield from first_unfolded(
            (
                judge_name(*key[:2]),
                [
                    *_figures(human, *key, _get_panels(by_key, key[2])),
                    *_estimates(_rows(table, human, key), human, *key),
                ],
            )
            for key, by_key in groups.items()
        )


def _rows(table: pd.DataFrame, human: str, key: tuple[str, str, str, str]) -> pd.DataFrame:
    columns = ["human", "judge", "strategy", "instrument", "moment"]
    return table[(table[columns] == pd.Series([human, *key], columns)).all(axis=1)]


def _get_panels(both: dict[str, pd.DataFrame], instrument: str) -> Panels:
    return {
        item_name(instrument, item): (both[item]["human"].to_numpy(float), both[item]["judge"].to_numpy(float))
        for item in in_order(instrument, both)
    }


def _figures(human: str, judge: str, strategy: str, instrument: str, moment: str, panels: Panels) -> Iterator[Part]:
    who = {"judge": judge_name(judge, strategy), "human": raters_name(human), "scale": scale_name(instrument, moment)}
    address = f"{human}-{judge}-{strategy}-{instrument}-{moment}"
    beside = {name: f"n {len(x)}" for name, (x, _y) in panels.items()}
    yield figure(
        f"scatter-{address}",
        _("{judge} against {human} ({scale}): every score").format(**who),
        join_sentences(
            [
                _(
                    "Each dot is one conversation, moved a little so that equal ones stay visible. On the dashed "
                    "line both scores are equal. The bars count how often each score was given."
                ),
                _get_excerpt_note(panels),
            ]
        ),
        scatter(panels, raters_name(human), judge_name(judge, strategy), beside),
    )
    yield figure(
        f"bland-altman-{address}",
        _("{judge} minus {human} ({scale}): bias and limits of agreement").format(**who),
        _(
            "Bland–Altman plot: above 0 the judge scores higher. The line is the mean difference. About 95 of 100 "
            "differences lie between the dashed lines, the limits of agreement. All three values are printed above "
            "each panel. The limits are not an interval of the mean."
        ),
        bland_altman(panels, _("mean of both"), _("judge minus human")),
    )


def _estimates(
    rows: pd.DataFrame, human: str, judge: str, strategy: str, instrument: str, moment: str
) -> Iterator[Part]:
    who = {"judge": judge_name(judge, strategy), "human": raters_name(human), "level": LEVEL}
    address = f"{human}-{judge}-{strategy}-{instrument}-{moment}"
    correlated = _("{judge} and {human}: correlations, with {level} intervals").format(**who)
    frame = _with_bounds(rows, instrument, CORRELATIONS)
    corrected = _(
        "r corrected for unreliability is r divided by the highest r that the reliability of the scores allows; it can "
        "exceed 1."
    )
    yield Excerpt(f"r-{address}", correlated, frame, corrected if "disattenuated" in frame else "")
    apart = _("{judge} minus {human}: limits of agreement and other distances, with {level} intervals").format(**who)
    yield Excerpt(f"limits-{address}", apart, _with_bounds(rows, instrument, DISTANCES))


def _with_bounds(rows: pd.DataFrame, instrument: str, names: tuple[str, ...]) -> pd.DataFrame:
    """Return items × those of the columns that have a value, each with its interval."""
    columns = [name for name in names if rows[name].notna().any()]
    return with_intervals(in_item_order(rows, instrument), columns)[["item", "n", *columns]]


def _get_excerpt_note(panels: Panels) -> str:
    most = max(len(x) for x, _y in panels.values())
    if most <= MOST:
        return ""
    return _("{drawn} of {all} conversations are shown, selected evenly; the bars count all.").format(
        drawn=MOST, all=count(most)
    )


def _strategies(table: pd.DataFrame) -> Iterator[Part]:
    if table.empty:
        return
    yield subheading(_("Do strategies differ?"))
    yield prose(
        _(
            "Both strategies are compared on the same conversations, and one person at a time is left out of both. The "
            "table also has Williams' test where no person had several conversations, because it treats conversations "
            "as independent."
        ),
    )
    yield from first_unfolded(
        (_("Against {human}").format(human=raters_name(human)), list(_tests(human, rows)))
        for human, rows in by_raters(table, "human")
    )


def _tests(human: str, table: pd.DataFrame) -> Iterator[Part]:
    yield from _whose(human)
    yield prose(tested_strategies(table[table["p_holm"].notna() & (table["item"] != ALL_ITEMS)]))
    for (instrument, moment), rows in table.groupby(["instrument", "moment"]):
        yield _differences(rows, human, instrument, moment)
    columns = ["judge", "item", "strategy_a", "strategy_b", "n", "r_a", "r_b", "difference", "low", "high", "p_holm"]
    small = table[table["p_holm"] < SIGNIFICANT]
    if len(small):
        caption = _("Differences that stay below p = .05 after Holm's correction")
        yield excerpt(f"strategy-tests-{human}", caption, small, [*columns, "williams_p"], ["difference"])


def tested_strategies(tested: pd.DataFrame) -> str:
    return ngettext(
        "On single items, {kept} of {count} comparison of two strategies stays below p = .05 after Holm's correction "
        "over the items of a pair of strategies.",
        "On single items, {kept} of {count} comparisons of two strategies stay below p = .05 after Holm's correction "
        "over the items of a pair of strategies.",
        len(tested),
    ).format(count=len(tested), kept=count_below(tested))


def _differences(rows: pd.DataFrame, human: str, instrument: str, moment: str) -> Part:
    pairs = [
        f"{strategy_name(b)} − {strategy_name(a)}" for a, b in zip(rows["strategy_a"], rows["strategy_b"], strict=True)
    ]
    rows = rows.assign(pair=pairs)
    series = list(dict.fromkeys(pairs))
    panels = {}
    for judge, of_judge in rows.groupby("judge"):
        named = in_item_order(of_judge, instrument)
        panels[str(judge)] = lines_by_series(named, "item", series, "pair", ("difference", "low", "high"))
    return figure(
        f"strategy-tests-{human}-{instrument}-{moment}",
        _("What a strategy adds to the agreement with {human} ({scale}): differences in r, {level} intervals").format(
            human=raters_name(human), scale=scale_name(instrument, moment), level=LEVEL
        ),
        _(
            "To the right of the line, the strategy named first agrees better. Lines are the intervals of the "
            "difference."
        ),
        dot_panels(panels, _("difference in Pearson's r"), series=series, at=0),
    )


def _alt_test(table: pd.DataFrame) -> Iterator[Part]:
    if table.empty:
        return
    yield subheading(_("Can a judge replace a person?"))
    yield prose(
        _(
            "The alternative annotator test leaves out each rater in turn and asks whether the judge or that rater "
            "is closer to the others. A judge passes if it does at least as well as half of the raters (winning "
            "rate .5). It may be slightly worse, because it is cheaper: by epsilon, which alt_test.csv has."
        )
    )
    rates = table[table["statistic"] == "winning_rate"]
    if rates["estimate"].isna().all():
        yield prose(_("There were too few raters or conversations for this test."), remark_on_empty_rows(rates))
        return
    for humans, rows in by_raters(rates, "humans"):
        caption = _("Winning rate of each judge against {human}").format(human=raters_name(humans))
        with_rate = rows[rows["estimate"].notna()]
        if with_rate.empty:
            yield without_table(caption, rows)
        else:
            yield Excerpt(f"alt-test-{humans}", caption, _winning(with_rate), remark_on_empty_rows(rows))


def _winning(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the winning rates, judge × strategy × item."""
    keys = columns_that_differ(["judge", "strategy", "item"], rows)[:-1]
    rates = with_item_names(rows).assign(rate=rows["estimate"].map(decimal))
    wide = rates.pivot_table(index=keys, columns="item", values="rate", aggfunc="first").fillna("–")
    wide = wide[list(dict.fromkeys(rates["item"]))].join(rates.groupby(keys)["n"].agg(span))
    return with_names(wide.rename_axis(None, axis=1).reset_index())
