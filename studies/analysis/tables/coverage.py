"""Rows of sensitivity.csv: how many of the scores asked for are missing, why, and what that could do to the means.

A missing score is never a number. But what is missing may not be like the rest, so each mean stands beside the two that
it would be if everything that is missing were the scale's lowest, or highest.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd  # noqa: TID253

from studies.analysis.bootstrap import Array, Bootstrap
from studies.analysis.frames import FINAL, VARIANT, Export
from studies.analysis.language import gettext_noop as _
from studies.analysis.measures.proportions import add_wilson
from studies.analysis.notes import Note
from studies.analysis.reading import read_table
from studies.analysis.rows import ESTIMATE, Cells, Labels, Row
from studies.analysis.scales import Items, Scale, scales_of
from studies.analysis.tables.arms import add_mean
from studies.analysis.tables.judged import JUDGE, SCALE, key_columns
from studies.analysis.tables.table import Parts, Table

COLUMNS = [*JUDGE, "raters", *SCALE, "arm", "statistic", *ESTIMATE]
METHODS = {
    "missing_share": _("of the scores that a judge was asked for, replicates each counting, the share that is missing"),
    "reason: …": _("the share of all requested scores that is missing for this reason"),
    "mean": _("over what has a score, replicates averaged first; participants (else conversations) resampled"),
    "mean_lowest": _(
        "the same over all requested scores, with every missing score set to the lowest point of the scale"
    ),
    "mean_highest": _(
        "the same over all requested scores, with every missing score set to the highest point of the scale"
    ),
    "repair_share": _(
        "of the times that a judge was asked about a conversation, those at which it gave an answer that could not be "
        "read and was asked to repair or repeat it; calls.csv does not tell for which strategy, instrument or item"
    ),
    "no_final_rating": _(
        "of the closed conversations of participants and counsellors with a reply, those that they gave no final score"
    ),
    "skipped_share": _(
        "Rows with an empty judge column: of all answers to the item in forms that raters of this kind sent in (n), "
        "the share without a score. Forms that were never sent in count in no_final_rating only"
    ),
    "skipped: …": _("the share of all scores requested from these raters that is missing for this reason"),
}
ALL = "*"
MEANS = ("mean", "mean_lowest", "mean_highest")
THING = ["conversation", "turn"]
ASKING = ["judge", "conversation", "turn", "replicate", "prompt_version"]
UNREADABLE = ("unparseable", "out_of_range")
OF_CALLS = ("judge", "purpose", "conversation", "turn", "replicate", "prompt_version", "status")
RATERS = {"person": "seeker", "counsellor": "expert"}  # kind of the seeker → as which they rate
RATED = ["rater_kind", *SCALE]
NO_REASON = "no reason given"


def coverage(export: Export, bootstrap: Bootstrap) -> Parts:
    """Yield (judge, its rows), then those of people.

    An item without gaps has one row, over all arms. n: scores that were asked for; of a mean, things rated. `raters`:
    the kind of people that an item was asked of; empty in all other rows.
    """
    scales = scales_of(export.folder, export.ratings)
    for judge, questions in _questions(export).groupby("judge"):
        yield str(judge), list(_of_judge(questions, scales, bootstrap))
    yield "repairs", list(_of_repairs(export))
    yield "people", [*_of_people(export), *_of_skipped(export)]


def _questions(export: Export) -> pd.DataFrame:
    """Return one row for each score that a judge was asked for, including the missing ones."""
    tables = [table[table["rater_kind"] == "judge"] for table in (export.ratings, export.unscored)]
    rows = pd.concat([table.astype({"score": float}) for table in tables], ignore_index=True)
    texts = rows[["rater", "strategy", *SCALE, *THING, "missing_reason"]].astype(str)
    questions = texts.rename(columns={"rater": "judge", "missing_reason": "reason"}).assign(score=rows["score"])
    return _with_arms(questions, export.conversations)


def _with_arms(rows: pd.DataFrame, conversations: pd.DataFrame) -> pd.DataFrame:
    about = conversations.loc[rows["conversation"], ["arm", "cluster"]]
    return rows.assign(arm=about["arm"].to_numpy(), cluster=about["cluster"].to_numpy())


def _by_arm(rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield all rows together, then the rows of each arm."""
    yield ALL, rows
    for arm, of_arm in rows[rows["arm"] != ""].groupby("arm"):
        yield str(arm), of_arm


def _of_judge(questions: pd.DataFrame, scales: Items, bootstrap: Bootstrap) -> Iterator[Cells]:
    for key, rows in questions.groupby([*JUDGE, *SCALE]):
        labels = key_columns([*JUDGE, *SCALE], key)
        scale = scales.get((labels["instrument"], labels["item"]))
        means = dict(_by_arm(_things(rows, scale)))
        for arm, of_arm in _by_arm(rows) if rows["score"].isna().any() else [(ALL, rows)]:
            yield from _shares(labels | {"arm": arm}, of_arm)
            yield from _means(labels | {"arm": arm}, means[arm], scale, bootstrap)


def _things(questions: pd.DataFrame, scale: Scale | None) -> pd.DataFrame:
    """Return one row for each thing to be rated, with the means of its replicates by statistic.

    `mean` is nan where all are missing. Also has `arm`, `cluster`, and `missing`: whether any replicate is missing.
    """
    lowest, highest = (scale.lowest, scale.highest) if scale else (np.nan, np.nan)
    scores = questions["score"]
    filled = questions.assign(mean=scores, mean_lowest=scores.fillna(lowest), mean_highest=scores.fillna(highest))
    things = filled.assign(missing=scores.isna()).groupby(THING)
    return things[list(MEANS)].mean().join(things[["arm", "cluster"]].first()).join(things["missing"].any())


def _shares(labels: Labels, questions: pd.DataFrame) -> Iterator[Cells]:
    missing = questions["score"].isna()
    yield _share(labels, "missing_share", questions, missing)
    for reason, counted in _reasons(questions):
        yield _share(labels, f"reason: {reason}", questions, counted)


def _reasons(questions: pd.DataFrame) -> Iterator[tuple[str, pd.Series]]:
    """Yield each reason why a score is missing, with the rows that it explains."""
    reasons = questions["reason"].replace("", NO_REASON).where(questions["score"].isna())
    for reason in sorted(reasons.dropna().unique()):
        yield reason, reasons == reason


def _share(labels: Labels, statistic: str, rows: pd.DataFrame, counted: pd.Series, *notes: Note) -> Cells:
    row = Row(**{"raters": ""} | labels, statistic=statistic, n=len(rows), clusters=rows["cluster"].nunique())
    add_wilson(row, float(counted.mean()))
    row.add_notes(*notes)
    return row.cells()


def _means(labels: Labels, things: pd.DataFrame, scale: Scale | None, bootstrap: Bootstrap) -> list[Cells]:
    """Return the rows of a mean and of its bounds; nothing where nothing is missing, as they are one."""
    if not things["missing"].any():
        return []
    mean = _mean(labels | {"statistic": "mean"}, things.dropna(subset="mean"), bootstrap)
    return [mean, *(_mean(labels | {"statistic": name}, things, bootstrap, scale) for name in MEANS[1:])]


def _mean(labels: Labels, things: pd.DataFrame, bootstrap: Bootstrap, scale: Scale | None = None) -> Cells:
    row, clusters = Row(**labels, raters=""), things["cluster"].to_numpy(str)
    values: Array = things[labels["statistic"]].to_numpy(float)
    if np.isnan(values).any():
        row.values |= {"n": len(values), "clusters": len(set(clusters))}
        row.leave_out("estimate", "low", "high", because=Note("scale_unknown"))
        return row.cells()
    add_mean(row, values, clusters, bootstrap, alike="scores_alike", nothing="all_missing")
    row.add_notes(*([scale.note] if scale and scale.note and len(values) else []))
    return row.cells()


# Answers that could not be read


def _of_repairs(export: Export) -> Iterator[Cells]:
    for judge, rows in _askings(export).groupby("judge"):
        for arm, of_arm in _by_arm(rows):
            about = {"judge": str(judge), "strategy": "", "arm": arm, "instrument": "", "item": "", "moment": ""}
            yield _share(about, "repair_share", of_arm, of_arm["unreadable"])


def _askings(export: Export) -> pd.DataFrame:
    """Return one row for each time that a judge was asked.

    `unreadable`: an answer could not be read. Answers to the same question stand in calls.csv one after the other.
    """
    path = export.folder / "calls.csv"
    calls = read_table(path, (), OF_CALLS).astype(str) if path.is_file() else pd.DataFrame(columns=list(OF_CALLS))
    judged = (calls["purpose"] == "judge") & (calls["judge"] != "")
    is_plain = calls["conversation"].isin(export.conversations.index) & ~calls["prompt_version"].str.contains(VARIANT)
    calls = calls[judged & is_plain]
    askings = calls.assign(unreadable=calls["status"].isin(UNREADABLE)).groupby(ASKING)["unreadable"].any()
    return _with_arms(askings.reset_index(), export.conversations)


# What people did not rate


def _of_people(export: Export) -> Iterator[Cells]:
    chats = export.whole()
    closed = (chats["end_reason"] != "") & (chats["turns"] > 0)
    theirs = chats[closed & chats["seeker_kind"].isin(RATERS) & (chats["participant"] != "")]
    if theirs.empty:
        return
    unrated = ~theirs.index.isin(_conversations_with_final_rating(export.ratings))
    rows = theirs[["arm", "cluster"]].assign(unrated=unrated)
    for arm, of_arm in _by_arm(rows):
        about = {"judge": "", "strategy": "", "arm": arm, "instrument": "", "item": "", "moment": "final"}
        yield _share(about, "no_final_rating", of_arm, of_arm["unrated"])


def _conversations_with_final_rating(ratings: pd.DataFrame) -> set[str]:
    """Return the conversations that their own seekers gave a final score."""
    final = (ratings["moment"] == FINAL) & ratings["rater_kind"].isin(RATERS.values())
    own = ratings["rater"].astype(str) == ratings["participant"].astype(str)
    return set(ratings.loc[final & own, "conversation"].astype(str))


def _of_skipped(export: Export) -> Iterator[Cells]:
    """Yield, by kind of raters and item, how often people left an item without a score."""
    for key, questions in _questions_to_people(export).groupby(RATED, observed=True):
        kind, *scale = map(str, key)
        labels = {"judge": "", "strategy": "", "raters": kind} | key_columns(SCALE, scale)
        for arm, of_arm in _by_arm(questions) if questions["score"].isna().any() else [(ALL, questions)]:
            yield from _skips(labels | {"arm": arm}, of_arm)


def _skips(labels: Labels, questions: pd.DataFrame) -> Iterator[Cells]:
    skipped = questions["score"].isna()
    note = Note("with_score", count=int((~skipped).sum()), all=len(questions))
    yield _share(labels, "skipped_share", questions, skipped, note)
    for reason, counted in _reasons(questions):
        yield _share(labels, f"skipped: {reason}", questions, counted)


def _questions_to_people(export: Export) -> pd.DataFrame:
    """Return one row for each answer, including those without a score; texts with few values stay categories."""
    skipped = export.unscored.assign(reason=export.unscored["missing_reason"].astype(str))
    columns = [*RATED, "conversation", "score", "reason"]
    questions = pd.concat([export.ratings.assign(reason="")[columns], skipped[columns]], ignore_index=True)
    texts = questions[questions["rater_kind"] != "judge"].astype(dict.fromkeys([*RATED, "conversation"], "category"))
    return _with_arms(texts, export.conversations)


def in_file(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.rename(columns={"arm": "arm_a"}).assign(variant="all")


TABLE = Table(
    "coverage",
    coverage,
    COLUMNS,
    METHODS,
    heading=_("Missing data"),
    empty=_("No scores were asked for."),
    file="sensitivity",
    rearrange=in_file,
)
