"""The figures of a report, from its tables."""

from collections.abc import Iterable, Iterator

import numpy as np
import pandas as pd  # noqa: TID253
from matplotlib import rc_context  # noqa: TID253

from studies.analysis.reporting.drawing import (
    STYLE,
    Course,
    Dot,
    Figure,
    Pair,
    dot_plot,
    figure,
    heat_map,
    pair_plot,
    panels,
)
from studies.analysis.results import Results
from studies.analysis.tables.conditions import AVERAGE, WORST_CASE
from studies.analysis.tables.emotion import CHANGE
from studies.analysis.tables.survival import OPEN
from studies.analysis.tables.trends import MEAN

OWN_TIME = "Times are the model's own, before a study evens them out on the page."
LENGTHS = {  # measure: title, unit and a remark
    "characters": ("Length of the replies", "characters", "Characters are Unicode code points of what was shown."),
    "first_token_seconds": ("Time until the model's first words", "seconds", OWN_TIME),
    "total_seconds": ("Time until the model's whole reply", "seconds", OWN_TIME),
}
LOOKS = "Dots and the solid line are average seekers (or all), squares and the dashed line worst-case ones."


def figures_of(results: Results) -> list[Figure]:
    with rc_context(STYLE):
        figures = [
            *_of_agreement(results.tables["agreement"]),
            *_of_arms(results.tables["arms"]),
            *_of_conditions(results.tables["conditions"]),
            *_of_ablation(results.tables["ablation"]),
            *_of_survival(results.tables["survival"]),
            *_of_trends(results.tables["trends"]),
            *_of_emotion(results.tables["emotion"]),
            *_of_lengths(results.tables["lengths"]),
            *_of_strengths(results.tables["bradley_terry"]),
        ]
    return _with_own_names(figures)


def _of_agreement(table: pd.DataFrame) -> Iterator[Figure]:
    kinds = table[~table["human"].str.contains(":", regex=False)]
    for (human, instrument, moment), rows in kinds.groupby(["human", "instrument", "moment"]):
        rows = rows.assign(judged_by=(rows["judge"] + " · " + rows["strategy"]).str.removesuffix(" · "))
        where = f"{human}, {_of(instrument, moment)}"
        yield figure(
            f"agreement-map-{human}-{instrument}-{moment}",
            f"Judges against {where}: Pearson's r",
            "Darker is closer agreement; an empty cell could not be computed (the table says why).",
            heat_map(rows.pivot(index="judged_by", columns="item", values="pearson")),
        )
        yield figure(
            f"agreement-{human}-{instrument}-{moment}",
            f"Judges against {where}: Pearson's r with 95 % intervals",
            "Dots are r over conversations, lines the cluster bootstrap interval, n the number of conversations.",
            dot_plot(list(_dots(rows, "judged_by", "pearson", "pearson_low", "pearson_high")), "Pearson's r"),
        )


def _of_arms(table: pd.DataFrame) -> Iterator[Figure]:
    for (raters, instrument, moment), rows in table.groupby(["raters", "instrument", "moment"]):
        yield figure(
            f"arms-{raters}-{instrument}-{moment}",
            f"Arms as rated by {raters}, {_of(instrument, moment)}: means with 95 % intervals",
            "Dots are means over conversations, lines the cluster bootstrap interval, n the number of conversations.",
            dot_plot(list(_dots(rows, "arm", "mean", "low", "high")), "mean score"),
        )


def _of_conditions(table: pd.DataFrame) -> Iterator[Figure]:
    for (raters, seekers, instrument, moment), rows in table.groupby(["raters", "seekers", "instrument", "moment"]):
        yield figure(
            f"conditions-{raters}-{seekers}-{instrument}-{moment}",
            f"Average against worst case as rated by {raters}, {_of(instrument, moment)}: means with 95 % intervals",
            "Dots are average seekers, squares worst-case ones, lines the cluster bootstrap interval of each mean. "
            "Beside them: worst case minus average with the interval of that difference, and its number of pairs.",
            pair_plot(list(_pairs(rows)), "mean score"),
        )


def _pairs(rows: pd.DataFrame) -> Iterator[Pair]:
    for item, of_item in rows.groupby("item"):
        yield Pair(str(item))
        for row in of_item.sort_values("arm").to_dict("records"):
            first, second = (
                (row[condition], row[f"{condition}_low"], row[f"{condition}_high"])
                for condition in (AVERAGE, WORST_CASE)
            )
            interval = f" [{row['low']:.2f}, {row['high']:.2f}]" if np.isfinite(row["low"]) else ""
            yield Pair(row["arm"], first, second, f"{row['difference']:+.2f}{interval}  n {row['pairs']}")


def _of_ablation(table: pd.DataFrame) -> Iterator[Figure]:
    known = table[table["estimate"].notna()]
    for (arm, condition, raters, instrument), rows in known.groupby(["arm", "condition", "raters", "instrument"]):
        yield figure(
            f"ablation-{arm}-{condition}-{raters}-{instrument}",
            f"What leaving a behaviour out does to {arm}, as rated by {raters}, {instrument}: 95 % intervals",
            "Dots are the scores with the changed seeker minus those with the whole, on the same profiles; lines the "
            "cluster bootstrap interval, n the number of conversations of both.",
            dot_plot(list(_dots(rows, "setup", "estimate", "low", "high")), "difference in score", zero=True),
        )


def _of_survival(table: pd.DataFrame) -> Iterator[Figure]:
    rows = table[table["statistic"] == OPEN]
    for seekers, found in rows.groupby("seekers"):
        yield figure(
            f"survival-{seekers}",
            f"Conversations still open after each turn ({seekers or 'seekers'}), with 95 % bands",
            f"Kaplan–Meier estimates, bands by cluster bootstrap. {LOOKS} Below: how many conversations had so many "
            "turns.",
            panels(_courses(found, "at_risk"), "share still open", stepped=True),
        )


def _of_trends(table: pd.DataFrame) -> Iterator[Figure]:
    rows = table[table["statistic"] == MEAN]
    keys = ["item", "source", "seekers", "instrument", "moment"]
    for (item, source, seekers, instrument, moment), found in rows.groupby(keys):
        if found["turn"].nunique() > 1:
            of = ", ".join(filter(None, [source, seekers, _of(instrument, moment)]))
            yield figure(
                f"trends-{item}-{source}-{seekers}-{instrument}-{moment}",
                f"{item} over the turns ({of}): means with 95 % bands",
                f"Means over the conversations scored at that turn, of which there are so many as stand below; those "
                f"that ended before are in none. {LOOKS}",
                panels(_courses(found, "n"), item),
            )


def _courses(table: pd.DataFrame, counted: str) -> dict[str, list[Course]]:
    """By arm, conditions in the order of the alphabet: average before worst case."""
    return {
        str(arm): [_course(rows, str(condition), counted) for condition, rows in of_arm.groupby("condition")]
        for arm, of_arm in table.groupby("arm")
    }


def _course(rows: pd.DataFrame, condition: str, counted: str) -> Course:
    turns, counts = (rows[name].astype(int).tolist() for name in ("turn", counted))
    estimates, lows, highs = (rows[name].to_numpy(float) for name in ("estimate", "low", "high"))
    return Course(turns, estimates, lows, highs, counts, second=condition == WORST_CASE)


def _of_emotion(table: pd.DataFrame) -> Iterator[Figure]:
    rows = table[(table["statistic"] == CHANGE) & table["estimate"].notna()]
    rows = rows.assign(item=rows["condition"].replace("", "all conversations"))
    for (measure, source, seekers), found in rows.groupby(["measure", "source", "seekers"]):
        yield figure(
            f"emotion-{measure}-{source}-{seekers}",
            f"Change in {measure} ({', '.join(filter(None, [source, seekers]))}): means with 95 % intervals",
            "Dots are means of after minus before, lines the cluster bootstrap interval, n counts the conversations.",
            dot_plot(list(_dots(found, "arm", "estimate", "low", "high")), "points", zero=True),
        )


def _of_lengths(table: pd.DataFrame) -> Iterator[Figure]:
    for measure, (title, unit, remark) in LENGTHS.items():
        rows = table[(table["measure"] == measure) & table["estimate"].notna()]
        if not rows.empty:
            rows = rows.assign(item=rows["language"].replace("", "language not known"))
            yield figure(
                f"lengths-{measure}",
                f"{title}: means with 95 % intervals",
                f"Dots are means over replies, lines the cluster bootstrap interval, n the number of replies. {remark}",
                dot_plot(list(_dots(rows, "arm", "estimate", "low", "high")), unit),
            )


def _of_strengths(table: pd.DataFrame) -> Iterator[Figure]:
    for (raters, instrument), rows in table[table["strength"].notna()].groupby(["raters", "instrument"]):
        asked = f"{raters}, {instrument}" if instrument else str(raters)
        yield figure(
            f"bradley-terry-{raters}-{instrument}",
            f"Side by side, as preferred by {asked}: strengths with 95 % intervals",
            "Dots are Bradley–Terry strengths on the log scale, 0 their mean: one more means that the odds of being "
            "preferred are 2.7 times as high. Lines are the bootstrap interval, n the number of verdicts.",
            dot_plot(
                list(_dots(rows.assign(item=rows["question"]), "contestant", "strength", "low", "high")), "log strength"
            ),
        )


def _of(instrument: str, moment: str) -> str:
    return f"{instrument} ({moment})" if moment else instrument


def _dots(rows: pd.DataFrame, label: str, estimate: str, low: str, high: str) -> Iterator[Dot]:
    for item, of_item in rows.groupby("item"):
        yield Dot(str(item))
        for row in of_item.sort_values(label).to_dict("records"):
            yield Dot(row[label], row[estimate], row[low], row[high], row["n"])


def _with_own_names(figures: Iterable[Figure]) -> list[Figure]:
    """Two titles may give the same file name; the second gets a number."""
    named: dict[str, Figure] = {}
    for drawn in figures:
        name, number = drawn.name, 2
        while name in named:
            name, number = f"{drawn.name}-{number}", number + 1
        named[name] = Figure(name, drawn.title, drawn.caption, drawn.svg)
    return list(named.values())
