"""The answer on the first screen: agreement, the contrast that was declared, the arms, and how sure all this is."""

from collections.abc import Iterator

import pandas as pd  # noqa: TID253

from studies.analysis.bootstrap import FEW_CLUSTERS
from studies.analysis.language import gettext as _
from studies.analysis.language import join_clauses, ngettext
from studies.analysis.reporting.estimates import HUMANS, records
from studies.analysis.reporting.exhibits.agreement_forest import (
    R,
    agreement_rows,
    judge_label,
    range_of_r,
)
from studies.analysis.reporting.exhibits.arm_means import MEAN, arm_rows
from studies.analysis.reporting.exhibits.strategy_gain import GAIN, gain_name, gain_rows, range_of_gains
from studies.analysis.reporting.main_rows import whole_rows
from studies.analysis.reporting.markup import Markup, tag
from studies.analysis.reporting.naming import contrast_name, join_names, raters_name
from studies.analysis.reporting.numbers import LEVEL, bounds, count, decimal, p_value, span, with_sign
from studies.analysis.reporting.parts import join_sentences
from studies.analysis.reporting.polarity import ends_of_items, name_ends, opposed_alpha, say_opposed
from studies.analysis.reporting.study import who_took_part
from studies.analysis.results import Results

MOST = 6  # lines of a block; the exhibits have all

Fact = tuple[str, str, str]  # what, its number, and its interval and p


def card(results: Results) -> Markup:
    blocks = [block for make in (_agreement, _contrasts, _arms) if (block := make(results))]
    return tag("div", *(tag("div", *block) for block in blocks), tag("p", *_sure(results)), class_="card")


def _block(heading: str, facts: list[Fact], more: str = "") -> list[Markup]:
    if not facts:
        return []
    rest = len(facts) - MOST
    lines = [
        tag("div", tag("dt", what), tag("dd", tag("strong", number), *([" ", tag("span", beside)] if beside else [])))
        for what, number, beside in facts[:MOST]
    ]
    below = [_("{count} more below").format(count=rest)] if rest > 0 else []
    paragraphs = [tag("p", text) for text in (*below, *([more] if more else []))]
    return [tag("h2", heading), tag("dl", *lines), *paragraphs]


def _agreement(results: Results) -> list[Markup]:
    rows = agreement_rows(results)
    whole = whole_rows(rows) if len(rows) else rows
    whole = whole[whole["pearson"].notna()] if len(whole) else whole
    alpha = opposed_alpha(results, rows, "human")
    if alpha is not None:
        return _block(_heading(rows), list(_agreement_by_item(rows)), say_opposed(alpha))
    if whole.empty:
        return []
    alone = whole["judge"].nunique() == 1
    facts = [
        (
            judge_label(row["judge"], row["strategy"], alone=alone),
            f"r = {decimal(row['pearson'])}",
            bounds(row[R[1]], row[R[2]]),
        )
        for row in records(whole)
    ]
    return _block(_heading(whole), facts)


def _heading(rows: pd.DataFrame) -> str:
    return _("Agreement with {human}").format(human=raters_name(rows["human"].iloc[0]))


def _agreement_by_item(rows: pd.DataFrame) -> Iterator[Fact]:
    """Yield the lowest and the highest r of the items, for each judge and strategy."""
    alone = rows["judge"].nunique() == 1
    for low, high in ends_of_items(rows, "pearson"):
        judge = judge_label(low["judge"], low["strategy"], alone=alone)
        yield _("{what} ({items})").format(what=judge, items=name_ends(low, high)), f"r = {range_of_r(low, high)}", ""


def _contrasts(results: Results) -> list[Markup]:
    """Return the declared contrasts; without one, each strategy minus the standard one."""
    declared = _declared_contrasts(results)
    if len(declared):
        facts = [
            (contrast_name(row), with_sign(row["estimate"]), _interval_and_p(row, ("low", "high"), "p_holm"))
            for row in records(declared)
        ]
        return _block(_("Declared as primary"), facts)
    rows = gain_rows(results)
    if opposed_alpha(results, rows, "human") is not None:
        facts = [
            (
                _("{what} ({items})").format(what=gain_name(low, rows), items=name_ends(low, high)),
                range_of_gains(low, high),
                "",
            )
            for low, high in ends_of_items(rows, "difference")
        ]
        return _block(_("What a strategy adds to r, by item"), facts, _("Not declared in advance, so exploratory."))
    whole = whole_rows(rows) if len(rows) else rows
    facts = [
        (
            gain_name(row, rows),
            with_sign(row["difference"]),
            _interval_and_p(row, GAIN[1:], "p_family"),
        )
        for row in records(whole)
        if pd.notna(row["difference"])
    ]
    remark = _("Not declared in advance, so exploratory; p after Holm's correction.")
    return _block(_("What a strategy adds to r"), facts, remark)


def _interval_and_p(row: dict[str, object], names: tuple[str, ...], p: str) -> str:
    low, high = (float(str(row[name])) for name in names)
    texts = [bounds(low, high), p_value(float(str(row[p]))) if pd.notna(row[p]) else ""]
    return join_clauses(texts)


def _arms(results: Results) -> list[Markup]:
    rows = arm_rows(results)
    whole = whole_rows(rows) if len(rows) else rows
    if whole.empty or whole["arm"].nunique() < 2:
        return []
    facts = [(str(row["arm"]), decimal(row[MEAN[0]]), bounds(row[MEAN[1]], row[MEAN[2]])) for row in records(whole)]
    return _block(_("Means as rated by {raters}").format(raters=raters_name(whole["raters"].iloc[0])), facts)


def _sure(results: Results) -> Iterator[str]:
    counts, clusters = results.counts(), _clusters(results)
    numbers = [
        *who_took_part(results.export),
        ngettext("{count} conversation", "{count} conversations", counts["conversations"]).format(
            count=count(counts["conversations"])
        ),
        _scores(results),
    ]
    yield join_sentences(
        [
            _("The data: {counts}.").format(counts=join_names(numbers)),
            _("Clusters (people or profiles) behind the {level} intervals in brackets: {clusters}.").format(
                level=LEVEL, clusters=span(clusters)
            )
            if clusters
            else "",
            _("With fewer than {enough}, they may be too narrow.").format(enough=FEW_CLUSTERS)
            if clusters and min(clusters) < FEW_CLUSTERS
            else "",
        ]
    )


def _scores(results: Results) -> str:
    """Say how many scores there are; where there are several kinds of raters, how many each gave but the
    judges."""
    kinds = results.export.ratings["rater_kind"].astype(str).value_counts()
    number = int(kinds.sum())
    text = ngettext("{count} score on an item", "{count} scores on items", number).format(count=count(number))
    by_people = [
        _("{count} by {raters}").format(count=count(int(kinds[kind])), raters=raters_name(kind))
        for kind in HUMANS
        if kind in kinds and len(kinds) > 1
    ]
    return _("{scores} ({parts})").format(scores=text, parts=join_names(by_people)) if by_people else text


def _clusters(results: Results) -> list[int]:
    """Return the number of clusters behind each interval of the card."""
    declared = _declared_contrasts(results)
    of_exhibits = [agreement_rows(results), arm_rows(results), *([] if len(declared) else [gain_rows(results)])]
    tables = [*(whole_rows(rows) for rows in of_exhibits if len(rows)), declared]
    return [int(number) for rows in tables if len(rows) for number in rows["clusters"].dropna()]


def _declared_contrasts(results: Results) -> pd.DataFrame:
    """Return the declared contrasts that have an estimate."""
    table = results.table("primary")
    return table[table["estimate"].notna()] if len(table) else table
