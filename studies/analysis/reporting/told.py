"""What the report says before all rows of a table: paragraphs, and smaller tables that are still data."""

from collections.abc import Iterator
from typing import TypeAlias

import pandas as pd  # noqa: TID253

from studies.analysis.reporting.markup import Markup, tag
from studies.analysis.results import Results
from studies.analysis.tables import costs, experts, quality, survival
from studies.analysis.tables.conditions import CONDITIONS
from studies.analysis.tables.emotion import CHANGE
from studies.analysis.tables.trends import SLOPE
from studies.analysis.tables.verdicts import read_verdicts

Part: TypeAlias = Markup | pd.DataFrame
LIKE_THE_PAPER = (
    "Means of counsellors' final ratings, one line for each system, in the columns of Table 3 of Yang et al. (2026, "
    "arXiv:2605.28228), which prints no average. Per. is response appropriateness, Help. problem resolution."
)
EFFECTS = (
    "Variances by a mixed model of each item (counsellors' own conversations: score ~ arm + (1 | counsellor) + "
    "(1 | card); second raters: score ~ arm + (1 | conversation) + (1 | reviewer)). What lies between raters is "
    "strictness, not the systems."
)
FLAGS = (
    "A flag asks somebody to look: flags leave nobody out. Two coders decide who is left out. looked_at is how often "
    "the rule could be tried: nothing is known of what was not measured."
)
PAIRS = (
    "Two conversations or replies stood side by side. Win, tie and loss are those of contestant_a; first_share is the "
    "share of the preferences that went to whichever was shown first, .5 where the place made no difference."
)
WITH_AND_WITHOUT = (
    "Pearson's r of judges and people, final ratings: as everywhere in this report; with the ratings that two coders "
    "left out; and without what is flagged."
)


BOTH_CONDITIONS = (
    "The same arms with average and with worst-case seekers, final ratings: worst case minus average, so that a drop "
    "is negative. Pairs are profiles (or people) that were met in both. Item * is the mean over an instrument's items."
)
LEFT_OUT = (
    "Final ratings when a behaviour of the simulated seeker is left out, or the seeker is made simpler, minus those of "
    "the whole seeker on the same profiles. These conversations are in no other table."
)
ENDS_TOLD = (
    f"Ends that count: {', '.join(survival.ENDS)}. A person's early end is a leaving. Everything else is censored, "
    "that is, the conversation counts as open until then: the cap and a person's regular end stop what might have gone "
    "on, a technical failure is no choice of the seeker's. A satisfied goodbye and a walk-out both close a "
    "conversation: read the shares of each end (statistic incidence) beside the curve."
)
FEWER = (
    "Later turns are of the conversations that were still open, which may not be like the others: read the numbers "
    "below the curves. Slopes are within conversations, in points per turn."
)
FELT = (
    "Change is after minus before. Valence, arousal and intensity are people's own; emotion_score is what a Thinker "
    "supposed, of simulated seekers their own (source seeker), in the first and the last state."
)
TAKEN = (
    "Means for a conversation: seconds, tokens and money of all attempts, failed ones too. Purpose * is everything "
    "together. An empty cell is not known, for instance where no price is."
)


def of_conditions(results: Results) -> Iterator[Part]:
    yield tag("p", BOTH_CONDITIONS)
    rows = results.tables["conditions"]
    shown = ["arm", "item", *CONDITIONS, "difference", "low", "high", "p_holm", "rank_biserial", "pairs", "raters"]
    yield rows[shown]


def of_ablation(results: Results) -> Iterator[Part]:
    yield tag("p", LEFT_OUT)
    known = results.tables["ablation"].dropna(subset="estimate")
    for (raters, instrument), rows in known.groupby(["raters", "instrument"]):
        keys = ["arm", "condition", "setup"]
        wide = rows.pivot_table(index=keys, columns="item", values="estimate").rename_axis(None, axis=1)
        yield tag("h3", f"{raters}, {instrument}")
        yield wide.reset_index()


def of_survival(results: Results) -> Iterator[Part]:
    yield tag("p", ENDS_TOLD)
    rows = results.tables["survival"]
    yield rows.loc[
        rows["statistic"].isin([survival.MEDIAN, survival.MEAN]),
        ["arm", "condition", "seekers", "statistic", "turn", "estimate", "low", "high", "n", "clusters"],
    ]


def of_trends(results: Results) -> Iterator[Part]:
    yield tag("p", FEWER)
    rows = results.tables["trends"]
    shown = ["arm", "condition", "seekers", "source", "item", "estimate", "low", "high", "n", "clusters"]
    yield rows.loc[rows["statistic"] == SLOPE, shown]


def of_emotion(results: Results) -> Iterator[Part]:
    yield tag("p", FELT)
    rows = results.tables["emotion"]
    shown = ["arm", "condition", "seekers", "source", "measure", "estimate", "low", "high", "n", "clusters"]
    yield rows.loc[rows["statistic"] == CHANGE, shown]


def of_costs(results: Results) -> Iterator[Part]:
    """As Table 4 of arXiv:2601.01530, with a line for each purpose."""
    yield tag("p", TAKEN)
    rows = results.tables["costs"]
    wide = rows.pivot(index=["arm", "seekers", "purpose"], columns="measure", values="estimate")
    conversations = rows[rows["measure"] == "calls"].set_index(["arm", "seekers", "purpose"])["n"]
    yield wide[list(costs.MEASURES)].rename_axis(None, axis=1).assign(conversations=conversations).reset_index()


def of_experts(results: Results) -> Iterator[Part]:
    yield tag("p", LIKE_THE_PAPER)
    for instrument, rows in results.tables["expert_table"].groupby("instrument"):
        table = experts.printed(rows)
        given = rows["n"]
        each = str(given.min()) if given.min() == given.max() else f"{given.min()} to {given.max()}"
        yield tag("h3", str(instrument))
        yield tag("p", f"{len(table)} systems, each rated by {each} counsellors.")
        yield table
        yield tag("details", tag("summary", "LaTeX"), tag("pre", experts.latex(table)))


def of_rater_effects(results: Results) -> Iterator[Part]:
    yield tag("p", EFFECTS)
    rows = results.tables["rater_effects"]
    rows = rows[(rows["term"] == "variance") & rows["estimate"].notna()]
    for raters, found in rows.groupby("raters"):
        keys = ["instrument", "moment", "item"]
        wide = found.pivot(index=keys, columns="level", values="estimate").rename_axis(None, axis=1)
        yield tag("h3", str(raters))
        yield wide[list(dict.fromkeys(found["level"]))].reset_index()


def of_quality(results: Results) -> Iterator[Part]:
    table = results.tables["quality"]
    flagged = quality.flagged_rows(table)
    known = table.loc[table["estimate"].notna(), "statistic"].value_counts()
    yield tag("p", FLAGS)
    yield pd.DataFrame(
        [_flag(name, rule, flagged) | {"looked_at": int(known.get(name, 0))} for name, rule in quality.FLAGS.items()]
    )
    by_person = flagged.groupby("person")["statistic"].agg(lambda names: ", ".join(sorted(set(names))))
    if len(by_person):
        yield by_person.rename("flags").reset_index()


def _flag(name: str, rule: str, flagged: pd.DataFrame) -> dict[str, str | int]:
    rows = flagged[flagged["statistic"] == name]
    conversations = rows.loc[rows["conversation"] != "", "conversation"].nunique()
    return {"flag": name, "rule": rule, "people": rows["person"].nunique(), "conversations": conversations}


def of_sensitivity(results: Results) -> Iterator[Part]:
    yield tag("p", WITH_AND_WITHOUT)
    rows = results.tables["sensitivity"]
    yield rows[rows["moment"] == "final"].drop(columns=["moment", "note"])


def of_pairs(results: Results) -> Iterator[Part]:
    yield tag("p", PAIRS)
    verdicts = read_verdicts(results.export.folder)
    if verdicts and verdicts.alike:
        yield tag("p", f"{verdicts.alike} verdicts on pairs of one arm and one kind of seekers tell of neither.")
    if verdicts and verdicts.left_out:
        yield tag("p", f"{verdicts.left_out} verdicts of or about what a decision left out are not counted.")
    rows = results.tables["pairwise"]
    shown = ["question", "raters", "contestant_a", "contestant_b", "n", "win", "tie", "loss", "p_holm", "first_share"]
    yield rows[shown]
