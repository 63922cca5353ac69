"""The missing answers, the people who should be looked at, and whether this changes the results."""

from collections.abc import Iterator

import pandas as pd  # noqa: TID253

from studies.analysis.language import gettext as _
from studies.analysis.language import gettext_noop, join_with_semicolons
from studies.analysis.reporting.excerpts import with_names
from studies.analysis.reporting.naming import item_name
from studies.analysis.reporting.numbers import decimal
from studies.analysis.reporting.parts import Excerpt, Part, prose, section
from studies.analysis.results import Results
from studies.analysis.tables import quality as indices

RULES = {  # of quality.FLAGS, so that they can be said in another language
    "straight_arms": gettext_noop("the same answer to every item in {arms} arms or more"),
    "rating_seconds": gettext_noop("a final rating in under {seconds} seconds per item (20 for ten)"),
    "turns": gettext_noop("ended with fewer turns than the study asks for (if that is unknown, {turns})"),
    "message_words": gettext_noop("median message under {words} words"),
    "message_characters": gettext_noop("median message under {characters} characters"),
    "pasted": gettext_noop("text was pasted into a message"),
    "instructed_missed": gettext_noop("an instructed item was answered differently"),
    "technical": gettext_noop("a message got no reply, or the conversation ended by a technical failure"),
}
ALL_ARMS = "*"
SAMPLES = {
    "with_left_out": gettext_noop("including what was left out"),
    "without_flagged": gettext_noop("excluding what is flagged"),
    "without_incidents": gettext_noop("excluding incidents"),
}
STATISTICS = {
    "pearson": gettext_noop("Pearson's r of judges and people"),
    "mean": gettext_noop("means of the arms"),
    "difference": gettext_noop("differences between two arms"),
    "msr": gettext_noop("separation of the arms (MSR)"),
    "msr_corrected": gettext_noop("separation of the arms (MSR), corrected"),
    "icc_1_1": gettext_noop("ICC(1,1) of people"),
}


@section("coverage", gettext_noop("Missing data"), "coverage")
def coverage(table: pd.DataFrame, _results: Results) -> Iterator[Part]:
    yield from _judges(table)
    yield from _people(table)


def _judges(table: pd.DataFrame) -> Iterator[Part]:
    shares = table[table["statistic"] == "missing_share"]
    if shares.empty:
        return
    if not shares["estimate"].any():
        yield prose(_("No judge left out a score."))
        return
    yield prose(
        _(
            "A score that a judge did not give is never replaced by a number. In sensitivity.csv each mean stands next "
            "to two others: what it would be if everything missing were at the lowest, and at the highest, point of "
            'the scale. "Could move by" is the largest distance between these two.'
        ),
    )
    rows = [_judge(judge, strategy, of_judge) for (judge, strategy), of_judge in table.groupby(["judge", "strategy"])]
    yield Excerpt("coverage", _("Scores that judges did not give"), with_names(pd.DataFrame(filter(None, rows))))


def _judge(judge: str, strategy: str, rows: pd.DataFrame) -> dict[str, object]:
    """Return a judge's gaps over all arms, and where they are worst.

    Empty where no score was asked for, as for calls that had to be repaired.
    """
    shares = rows[rows["statistic"] == "missing_share"]
    if shares.empty:
        return {}
    everywhere, of_arms = (shares[(shares["arm"] == ALL_ARMS) == every] for every in (True, False))
    gaps = _gaps("missing_share", everywhere, of_arms if len(of_arms) else everywhere)
    return {"judge": judge, "strategy": strategy, **gaps, "move_by": _move_by(rows)}


def _gaps(column: str, rows: pd.DataFrame, parts: pd.DataFrame) -> dict[str, object]:
    """Return the share in all rows, as `column`, of how many scores that were asked for; and the largest of a part."""
    worst = parts.sort_values("estimate", kind="stable").iloc[-1]
    requested = int(rows["n"].sum())
    return {
        "asked": requested,
        column: float((rows["estimate"] * rows["n"]).sum() / requested),
        "largest": float(worst["estimate"]),
        "arm": worst["arm"],
        "item": item_name(worst["instrument"], worst["item"]),
    }


def _move_by(rows: pd.DataFrame) -> float:
    keys = ["arm", "instrument", "item", "moment"]
    low, high = (
        rows[rows["statistic"] == name].set_index(keys)["estimate"] for name in ("mean_lowest", "mean_highest")
    )
    return float((high - low).max()) if len(low) else 0.0


def _people(table: pd.DataFrame) -> Iterator[Part]:
    skipped = table[(table["statistic"] == "skipped_share") & (table["arm"] == ALL_ARMS)]
    if len(skipped) and not skipped["estimate"].any():
        yield prose(_("No person skipped an item."))
    elif len(skipped):
        by_raters = skipped.groupby("raters")
        gaps = pd.DataFrame({"raters": raters} | _gaps("skipped_share", rows, rows) for raters, rows in by_raters)
        yield Excerpt("skipped", _("Items that people skipped"), with_names(gaps.drop(columns="arm")))
    rows = table[table["statistic"] == "no_final_rating"]
    if len(rows) and not rows["estimate"].any():
        yield prose(_("Every closed conversation has a final rating."))
    elif len(rows):
        frame = rows[["arm", "estimate", "low", "high", "n", "clusters"]]
        yield Excerpt(
            "no_final_rating", _("Closed conversations that people gave no final rating: share"), with_names(frame)
        )


@section("quality", gettext_noop("Data quality"), "quality")
def quality(table: pd.DataFrame, _results: Results) -> Iterator[Part]:
    flagged = indices.flagged_rows(table)
    checked = table.loc[table["estimate"].notna(), "statistic"].value_counts()
    yield prose(
        _(
            "A flag asks someone to check; flags do not leave anyone out. Two coders decide who is left out. "
            '"Checked" is how often the rule could be checked. Nothing is known about what was not measured.'
        )
    )
    rows = [_flag(name, flagged) | {"looked_at": int(checked.get(name, 0))} for name in indices.FLAGS]
    yield Excerpt("flags", _("Flags"), pd.DataFrame(rows))
    by_person = flagged.groupby("person")["statistic"].agg(
        lambda names: join_with_semicolons(map(rule, sorted(set(names))))
    )
    if len(by_person):
        yield Excerpt("flagged", _("People with a flag"), by_person.rename("flags").reset_index())


def _flag(name: str, flagged: pd.DataFrame) -> dict[str, str | int]:
    rows = flagged[flagged["statistic"] == name]
    conversations = rows.loc[rows["conversation"] != "", "conversation"].nunique()
    return {"flag": name, "rule": rule(name), "people": rows["person"].nunique(), "conversations": conversations}


def rule(name: str) -> str:
    return _(RULES[name]).format(
        arms=indices.STRAIGHT_ARMS,
        seconds=f"{indices.SECONDS_PER_ITEM:g}",
        turns=indices.USUAL_MIN_TURNS,
        words=indices.WORDS,
        characters=indices.CHARACTERS,
    )


@section("sensitivity", gettext_noop("With and without"), "sensitivity")
def sensitivity(table: pd.DataFrame, _results: Results) -> Iterator[Part]:
    """Yield how far the estimates of each sample are from those of all; nothing of a sample that changes nothing."""
    keys = ["statistic", "judge", "strategy", "raters", "instrument", "moment", "item"]
    wide = table.pivot_table("estimate", [*keys, "arm_a", "arm_b", "seekers", "condition"], "variant", dropna=False)
    changed = [name for name in SAMPLES if name in wide]
    if not changed:
        yield prose(
            _("Nothing was left out or flagged, and there were no incidents, so all versions give the same results.")
        )
        return
    wide = wide.reindex(columns=["all", *changed])
    rows = [
        _move(name, str(statistic), estimates[name], estimates["all"])
        for name in changed
        for statistic, estimates in wide.groupby(level="statistic")
    ]
    yield prose(
        _(
            "The main results once more: including what two coders left out; excluding what is flagged; and excluding "
            "conversations with an incident (held or ended for safety, ended by a technical failure, a message without "
            "a reply, a failed attempt at a reply). Changes are in points (r and ICC in their own unit). turned is the "
            "number of differences between two arms that change direction; lost is the number that have too few "
            "ratings in the sample."
        )
    )
    yield Excerpt("moved", _("Estimates with and without"), pd.DataFrame(rows))


def _move(sample: str, statistic: str, other: pd.Series, usual: pd.Series) -> dict[str, object]:
    change = (other - usual).abs().dropna()
    turned = int((other * usual < 0).sum()) if statistic == "difference" else ""
    return {
        _("sample"): _(SAMPLES[sample]),
        _("estimates"): _(STATISTICS[statistic]),
        _("number"): len(change),
        _("median change"): decimal(float(change.median())),
        _("largest change"): decimal(float(change.max())),
        _("turned"): turned,
        _("lost"): int((usual.notna() & other.isna()).sum()),
    }
