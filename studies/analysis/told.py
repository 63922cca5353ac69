"""What the report says before all rows of a table: paragraphs, and smaller tables that are still data."""

from collections.abc import Iterator
from typing import TypeAlias

import pandas as pd  # noqa: TID253

from studies.analysis import experts, quality
from studies.analysis.markup import Markup, tag
from studies.analysis.results import Results
from studies.analysis.verdicts import read_verdicts

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
