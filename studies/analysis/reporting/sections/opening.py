"""The report in a few sentences, which rules make of its figures, and what must be kept in mind."""

from collections.abc import Iterator
from typing import Any

import pandas as pd  # noqa: TID253

from studies.analysis.language import gettext as _
from studies.analysis.language import ngettext
from studies.analysis.pooling import ALL_ITEMS
from studies.analysis.reporting.estimates import count_below, first_humans
from studies.analysis.reporting.naming import (
    instrument_name,
    item_name,
    join_names,
    judge_name,
    raters_name,
    seekers_name,
    strategy_name,
)
from studies.analysis.reporting.numbers import bounds, count, decimal, p_value, with_sign
from studies.analysis.reporting.parts import Section, join_sentences, listing, prose
from studies.analysis.reporting.sections.agreement import tested_strategies
from studies.analysis.reporting.sections.primary import primary_findings
from studies.analysis.reporting.study import who_took_part
from studies.analysis.results import Results
from studies.analysis.tables.arms import of_items

FINAL = ("final", "")


def summary(results: Results) -> Section:
    where = _("Every table is also a CSV file next to this page, with all digits; results.json contains everything.")
    found = [join_sentences(said) for rule in FINDINGS if (said := list(rule(results)))]
    return Section("summary", _("Summary"), [prose(*_who(results)), listing(found), prose(where)])


def keep_in_mind(results: Results) -> Section | None:
    limits = results.limits()
    return Section("limits", _("Keep in mind"), [listing(limits, class_="notes")]) if limits else None


def _who(results: Results) -> Iterator[str]:
    counts = results.counts()
    arms = len(set(results.export.conversations["arm"]) - {""})
    numbers = [
        _counts(ngettext("{count} rating", "{count} ratings", counts["ratings"]), counts["ratings"]),
        _counts(
            ngettext("{count} conversation", "{count} conversations", counts["conversations"]), counts["conversations"]
        ),
        *who_took_part(results.export),
    ]
    if arms:
        numbers.append(_counts(ngettext("{count} arm", "{count} arms", arms), arms))
    yield _("These results come from {counts}.").format(counts=join_names(numbers))


def _counts(text: str, number: int) -> str:
    return text.format(count=count(number))


def _agreement(results: Results) -> Iterator[str]:
    """Yield the judge and strategy whose median r over the items is highest, and of how many it was chosen."""
    table = results.table("agreement")
    rows = _final(table[table["pearson"].notna()]) if len(table) else table
    human = first_humans(rows["human"]) if len(rows) else ""
    rows = rows[rows["human"] == human] if human else rows.iloc[:0]
    if rows.empty:
        return
    medians = rows.groupby(["judge", "strategy"])["pearson"].median()
    judge, strategy = medians.idxmax()
    best = rows[(rows["judge"] == judge) & (rows["strategy"] == strategy)]
    found = {
        "judge": judge_name(judge, strategy),
        "human": raters_name(human),
        "median": decimal(float(best["pearson"].median())),
        "lowest": decimal(float(best["pearson"].min())),
        "highest": decimal(float(best["pearson"].max())),
        "items": str(len(best)),
        "kept": count_below(best),
        "all": len(medians),
    }
    if len(medians) > 1:
        yield _("Of {all} combinations of judge and strategy, {judge} agreed most with {human}.").format(**found)
        yield _("As the best of several, chosen from these same data, it may agree less in other data.")
    else:
        yield _("{judge} was compared with {human}.").format(**found)
    if len(best) > 1:
        yield _(
            "Pearson's r on {items} items lay between {lowest} and {highest}, with a median of {median}; p is below "
            ".05 on {kept} of them after Holm's correction over the items."
        ).format(**found)
    else:
        yield _on_one_item(best.iloc[0])


def _on_one_item(row: "pd.Series[Any]") -> str:
    beside = [bounds(row["pearson_low"], row["pearson_high"]), "" if pd.isna(row["p_holm"]) else p_value(row["p_holm"])]
    said = ", ".join(filter(None, beside))
    return _("Pearson's r on {item} was {r}.").format(
        item=item_name(row["instrument"], row["item"]), r=decimal(row["pearson"]) + (f" ({said})" if said else "")
    )


def _final(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["moment"].isin(FINAL)] if table["moment"].isin(FINAL).any() else table


def _strategies(results: Results) -> Iterator[str]:
    table = results.table("strategy_tests")
    tested = table[table["p_holm"].notna() & table["difference"].notna()] if len(table) else table
    tested = tested[tested["human"] == first_humans(tested["human"])] if len(tested) else tested
    if tested.empty:
        return
    largest = tested.loc[tested["difference"].abs().idxmax()]
    yield tested_strategies(tested)
    yield _(
        "The largest difference in r is {difference}, with an interval of {interval} that is not corrected for this "
        "selection ({judge}, {item}: {b} minus {a})."
    ).format(
        difference=with_sign(largest["difference"]),
        interval=bounds(largest["low"], largest["high"]),
        judge=largest["judge"],
        item=item_name(largest["instrument"], largest["item"]),
        a=strategy_name(largest["strategy_a"]),
        b=strategy_name(largest["strategy_b"]),
    )


def _arms(results: Results) -> Iterator[str]:
    """Yield the findings on arms, by means over the items of the instrument with most of them.

    So items of two scales are not mixed.
    """
    table = results.table("arms")
    rows = _final(of_items(table)) if len(table) else table
    raters = first_humans(rows["raters"]) if len(rows) else ""
    rows = rows[rows["raters"] == raters] if raters else rows.iloc[:0]
    if rows.empty or rows["arm"].nunique() < 2:
        return
    instrument = rows.groupby("instrument")["item"].nunique().idxmax()
    yield from _extremes(rows[rows["instrument"] == instrument], raters, str(instrument), results.table("arm_pairs"))


def _extremes(rows: pd.DataFrame, raters: str, instrument: str, pairs: pd.DataFrame) -> Iterator[str]:
    means = rows.groupby("arm")["mean"].mean()
    best, worst = str(means.idxmax()), str(means.idxmin())
    yield _(
        "As rated by {raters}, {best} has the highest mean over the items of {instrument} ({high}) and {worst} the "
        "lowest ({low})."
    ).format(
        raters=raters_name(raters),
        best=best,
        worst=worst,
        high=decimal(means[best]),
        low=decimal(means[worst]),
        instrument=instrument_name(instrument),
    )
    items = rows["item"].unique()
    pairs = _final(pairs[(pairs["raters"] == raters) & (pairs["instrument"] == instrument)])
    yield from _between(pairs[pairs["item"] == (ALL_ITEMS if len(items) > 1 else items[0])], best, worst)


def _between(pairs: pd.DataFrame, best: str, worst: str) -> Iterator[str]:
    """Yield how far two arms are apart where the same people met both, over an instrument's items together."""
    rows = pairs[pairs["arm_a"].isin([best, worst]) & pairs["arm_b"].isin([best, worst]) & pairs["p_holm"].notna()]
    if rows.empty:
        yield _("No test compares these two.")
    elif len(rows) > 1:
        yield _("arm_pairs.csv compares these two, by kind of seekers and condition.")
    else:
        yield _difference(rows.iloc[0], 1 if rows["arm_a"].iloc[0] == best else -1)
        if len(pairs) > 1:
            yield _(
                "p is after Holm's correction over the pairs. These two were chosen because they lie farthest apart "
                "in the data."
            )


def _difference(pair: "pd.Series[Any]", sign: int) -> str:
    low, high = sorted((sign * pair["low"], sign * pair["high"]))
    return _(
        "For the {users} who met both, the difference is {difference}, interval {interval}, {p} by Wilcoxon's test."
    ).format(
        users=pair["users"],
        difference=with_sign(sign * pair["difference"]),
        interval=bounds(low, high),
        p=p_value(pair["p_holm"]),
    )


def _differences(results: Results) -> Iterator[str]:
    """Return the differences on single items; their mean follows from them."""
    table = results.table("arm_pairs")
    raters = first_humans(table["raters"]) if len(table) else ""
    if not raters:
        return
    rows = _final(table[table["raters"] == raters])
    tested = rows[rows["p_holm"].notna() & (rows["item"] != ALL_ITEMS)]
    if tested.empty:
        return
    yield ngettext(
        "{kept} of {count} difference between two arms on a single item stays below p = .05 after Holm's correction "
        "within the item, and {kept_of_all} after Benjamini and Hochberg's over all items.",
        "{kept} of {count} differences between two arms on single items stay below p = .05 after Holm's correction "
        "within each item, and {kept_of_all} after Benjamini and Hochberg's over all items.",
        len(tested),
    ).format(count=len(tested), kept=count_below(tested), kept_of_all=count_below(tested, "p_bh"))


def _conditions(results: Results) -> Iterator[str]:
    table = results.table("conditions")
    rows = table[(table["item"] == ALL_ITEMS) & table["difference"].notna()] if len(table) else table
    paired = rows[rows["pairs"] > 0] if len(rows) else rows
    raters = first_humans(paired["raters"]) if len(paired) else ""
    rows = paired[paired["raters"] == raters] if raters else rows
    rows = rows[rows["raters"] == first_humans(rows["raters"])] if len(rows) else rows
    if rows.empty:
        return
    yield _(
        "As rated by {raters}, the mean over all items changes by {largest} to {smallest} points with worst-case "
        "seekers, depending on the arm ({seekers})."
    ).format(
        raters=raters_name(first_humans(rows["raters"])),
        seekers=join_names([seekers_name(kind) for kind in sorted(rows["seekers"].unique())]),
        largest=with_sign(rows["difference"].min()),
        smallest=with_sign(rows["difference"].max()),
    )
    if not raters:
        yield _("These are not the same people or profiles, so the difference may come from the seekers.")


def _reliability(results: Results) -> Iterator[str]:
    table = results.table("reliability")
    rows = table[(table["item"] != ALL_ITEMS) & table["alpha_ordinal"].notna()] if len(table) else table
    people = rows[~rows["raters"].str.startswith("judge")] if len(rows) else rows
    if people.empty:
        return
    alphas = people["alpha_ordinal"]
    yield ngettext(
        "People who rated the same conversations agree with an alpha of {median}.",
        "People who rated the same conversations agree with an alpha between {lowest} and {highest}, and a median "
        "of {median}.",
        len(alphas),
    ).format(
        median=decimal(float(alphas.median())),
        lowest=decimal(float(alphas.min())),
        highest=decimal(float(alphas.max())),
    )


def _arms_and_differences(results: Results) -> Iterator[str]:
    yield from _arms(results)
    yield from _differences(results)


FINDINGS = (primary_findings, _agreement, _strategies, _arms_and_differences, _conditions, _reliability)
