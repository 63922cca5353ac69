"""The report in a few sentences, which rules make of its figures, and what must be kept in mind."""

from collections.abc import Iterator

import pandas as pd  # noqa: TID253

from studies.analysis.language import gettext as _
from studies.analysis.language import ngettext
from studies.analysis.reporting.estimates import SIGNIFICANT, excludes_zero, first_humans
from studies.analysis.reporting.naming import ALL_ITEMS, item_name, judge_name, listed, raters_name, strategy_name
from studies.analysis.reporting.numbers import bounds, count, decimal, signed
from studies.analysis.reporting.parts import Section, joined, listing, prose
from studies.analysis.results import Results

FINAL = ("final", "")


def summary(results: Results) -> Section:
    where = _("Every table is also a CSV file beside this page, with all digits; results.json holds everything.")
    found = [joined(said) for rule in FINDINGS if (said := list(rule(results)))]
    return Section("summary", _("Summary"), [prose(*_who(results)), listing(found), prose(where)])


def keep_in_mind(results: Results) -> Section | None:
    limits = results.limits()
    return Section("limits", _("Keep in mind"), [listing(limits, class_="notes")]) if limits else None


def _who(results: Results) -> Iterator[str]:
    counts = results.counts()
    arms = len(set(results.export.conversations["arm"]) - {""})
    numbers = [
        _counted(ngettext("{count} rating", "{count} ratings", counts["ratings"]), counts["ratings"]),
        _counted(
            ngettext("{count} conversation", "{count} conversations", counts["conversations"]), counts["conversations"]
        ),
        _counted(ngettext("{count} rater", "{count} raters", counts["raters"]), counts["raters"]),
    ]
    if counts["participants"]:
        people = counts["participants"]
        numbers.append(_counted(ngettext("{count} participant", "{count} participants", people), people))
    if arms:
        numbers.append(_counted(ngettext("{count} arm", "{count} arms", arms), arms))
    yield _("This is what {counts} say.").format(counts=listed(numbers))


def _counted(text: str, number: int) -> str:
    return text.format(count=count(number))


def _agreement(results: Results) -> Iterator[str]:
    """Of the judge and strategy whose median r over the items is highest, and of how many it was chosen."""
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
        "range": bounds(float(best["pearson"].min()), float(best["pearson"].max())),
        "items": str(len(best)),
        "kept": int(excludes_zero(best, "pearson_low", "pearson_high").sum()),
        "all": len(medians),
    }
    if len(medians) > 1:
        yield _("Of {all} judges and strategies {judge} agreed most with {human}:").format(**found)
    else:
        yield _("{judge} was compared with {human}:").format(**found)
    yield ngettext(
        "Pearson's r was {median} on {items} item, and its interval excludes 0 on {kept}.",
        "Pearson's r had a median of {median} over {items} items, range {range}, and its interval excludes 0 on "
        "{kept}.",
        len(best),
    ).format(**found)


def _final(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["moment"].isin(FINAL)] if table["moment"].isin(FINAL).any() else table


def _strategies(results: Results) -> Iterator[str]:
    table = results.table("strategy_tests")
    tested = table[table["p_holm"].notna() & table["difference"].notna()] if len(table) else table
    tested = tested[tested["human"] == first_humans(tested["human"])] if len(tested) else tested
    if tested.empty:
        return
    largest = tested.loc[tested["difference"].abs().idxmax()]
    yield ngettext(
        "Of {count} comparison of two strategies {kept} stays below p = .05 after correction;",
        "Of {count} comparisons of two strategies {kept} stay below p = .05 after correction;",
        len(tested),
    ).format(count=len(tested), kept=int((tested["p_holm"] < SIGNIFICANT).sum()))
    yield _("the largest difference in r is {difference} {interval} ({judge}, {item}: {b} minus {a}).").format(
        difference=signed(largest["difference"]),
        interval=bounds(largest["low"], largest["high"]),
        judge=largest["judge"],
        item=item_name(largest["instrument"], largest["item"]),
        a=strategy_name(largest["strategy_a"]),
        b=strategy_name(largest["strategy_b"]),
    )


def _arms(results: Results) -> Iterator[str]:
    """Means over the items of the instrument with most of them, so that items of two scales are not mixed."""
    table = results.table("arms")
    rows = _final(table) if len(table) else table
    raters = first_humans(rows["raters"]) if len(rows) else ""
    rows = rows[rows["raters"] == raters] if raters else rows.iloc[:0]
    if rows.empty or rows["arm"].nunique() < 2:
        return
    instrument = rows.groupby("instrument")["item"].nunique().idxmax()
    means = rows[rows["instrument"] == instrument].groupby("arm")["mean"].mean()
    best, worst = means.idxmax(), means.idxmin()
    yield _(
        "As rated by {raters}, {best} has the highest mean over the items of {instrument} ({high}) and {worst} the "
        "lowest ({low})."
    ).format(
        raters=raters_name(raters),
        best=best,
        worst=worst,
        high=decimal(means[best]),
        low=decimal(means[worst]),
        instrument=instrument,
    )


def _differences(results: Results) -> Iterator[str]:
    table = results.table("arm_pairs")
    raters = first_humans(table["raters"]) if len(table) else ""
    tested = table[(table["raters"] == raters) & table["p_holm"].notna()] if raters else table.iloc[:0]
    if tested.empty:
        return
    kept = int((tested["p_holm"] < SIGNIFICANT).sum())
    yield ngettext(
        "Of {count} difference between two arms {kept} stays below p = .05 after correction.",
        "Of {count} differences between two arms {kept} stay below p = .05 after correction.",
        len(tested),
    ).format(count=len(tested), kept=kept)


def _conditions(results: Results) -> Iterator[str]:
    table = results.table("conditions")
    rows = table[(table["item"] == ALL_ITEMS) & table["difference"].notna()] if len(table) else table
    rows = rows[rows["raters"] == first_humans(rows["raters"])] if len(rows) else rows
    if rows.empty:
        return
    smallest, largest = rows["difference"].max(), rows["difference"].min()
    yield _(
        "With worst-case seekers the mean over all items changes by {largest} to {smallest} points, depending on the "
        "arm."
    ).format(largest=signed(largest), smallest=signed(smallest))


def _reliability(results: Results) -> Iterator[str]:
    table = results.table("reliability")
    rows = table[(table["item"] != ALL_ITEMS) & table["alpha_ordinal"].notna()] if len(table) else table
    people = rows[~rows["raters"].str.startswith("judge")] if len(rows) else rows
    if people.empty:
        return
    alphas = people["alpha_ordinal"]
    yield _("People who rated the same agree among themselves with a median alpha of {median}, range {range}.").format(
        median=decimal(float(alphas.median())), range=bounds(float(alphas.min()), float(alphas.max()))
    )


def _arms_and_differences(results: Results) -> Iterator[str]:
    yield from _arms(results)
    yield from _differences(results)


FINDINGS = (_agreement, _strategies, _arms_and_differences, _conditions, _reliability)
