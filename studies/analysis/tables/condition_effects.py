"""condition_effects.csv: what worst-case seekers do to the scores over all arms, and whether to some arms more.

Model of each item: score ~ arm × condition + (1 | profile), by REML; a score is the mean over a profile's (or person's)
conversations with an arm in a condition, as in conditions.csv.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253
from scipy import stats  # noqa: TID253

from studies.analysis.bootstrap import Array, Bootstrap, number_names
from studies.analysis.frames import Export
from studies.analysis.language import gettext_noop as _
from studies.analysis.measures import mixed
from studies.analysis.measures.contrasts import Contrast, contrast, joint_test
from studies.analysis.measures.mixed import Fit
from studies.analysis.measures.paired import ROUNDED
from studies.analysis.notes import Note, Notes
from studies.analysis.pooling import ALL_ITEMS
from studies.analysis.rows import Row, Undefined
from studies.analysis.tables.conditions import CONDITIONS, WORST_CASE
from studies.analysis.tables.families import adjust
from studies.analysis.tables.table import Table
from studies.analysis.tables.whom import scores_by_cluster

OF = ["raters", "seekers", "instrument", "moment"]
COLUMNS = [
    "raters",
    "seekers",
    "instrument",
    "item",
    "moment",
    "statistic",
    "arm",
    "estimate",
    "low",
    "high",
    "numerator_df",
    "df",
    "p",
    "p_holm",
    "n",
    "clusters",
    "method",
    "note",
]
METHODS = {
    "condition_average": _(
        "worst case minus average, the mean over the arms, each counting alike; score ~ arm × condition + (1|profile) "
        "by REML, one score for each profile (or person), arm and condition; t interval with Satterthwaite's degrees "
        "of freedom; p_holm over the items"
    ),
    "condition": _(
        "the same of one arm; p_holm over the items of an arm, of item *, the mean over an instrument's items, over "
        "the arms"
    ),
    "interaction": _(
        "F of Wald's test, in the same model, that the condition does the same to every arm; degrees of freedom of the "
        "denominator after Satterthwaite (Fai & Cornelius 1996); p_holm over the items"
    ),
    "profile_variance": _("of the same model, as residual_variance; chi-square intervals (Satterthwaite)"),
    "condition_by_profile": _(
        "the mean over profiles of their own difference, over those that met every arm in both conditions; one-sample "
        "t. The model takes the condition to do the same to every profile; this does not, so that where the two "
        "intervals differ much, this one holds"
    ),
}
PROFILE = "profile"
REML = Note("reml")
T, NORMAL = Notes(REML, Note("t_satterthwaite")), Notes(REML, Note("normal_without_df"))
F, CHI_SQUARE = Notes(REML, Note("wald_f")), Notes(REML, Note("wald_chi_square"))
VARIANCE = Notes(REML, Note("chi_square_satterthwaite"))
BY_PROFILE = Notes(Note("t_over_profiles"))


def condition_effects(export: Export, _bootstrap: Bootstrap) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield (kind of raters, its rows)."""
    scores = scores_by_cluster(export, export.ratings)
    scores = scores[scores["condition"].isin(CONDITIONS)]
    for raters, of_raters in scores.groupby("raters"):
        rows = [
            row
            for key, group in of_raters.groupby([*OF, "item"])
            for row in _of_item(dict(zip([*OF, "item"], map(str, key), strict=True)), group)
        ]
        yield str(raters), adjust(rows, _family)


def _of_item(of: dict[str, Any], scores: pd.DataFrame) -> Iterator[dict[str, Any]]:
    met = in_both(scores)
    both = scores[met]
    if both.empty:
        return
    counts = {"n": int(both["conversations"].sum()), "clusters": int(both["cluster"].nunique())}
    left_out = sorted(set(scores.loc[~met, "arm"]))
    for row in (*_model_rows(of | counts, both), _by_profile(of | counts, both)):
        if left_out:
            row.add_notes(Note("arms_in_one_condition", arms=", ".join(left_out)))
        yield row.cells()


def in_both(scores: pd.DataFrame) -> pd.Series:
    """Tell which rows are of arms that were met in both conditions."""
    return scores.groupby("arm")["condition"].transform("nunique") == len(CONDITIONS)


def _model_rows(about: dict[str, Any], scores: pd.DataFrame) -> Iterator[Row]:
    data = model_of(scores)
    arms, untold = np.unique(scores["arm"].to_numpy(str)), mixed.unidentified_terms(data.terms).get(PROFILE)
    try:
        found = mixed.fit(data.scores, data.fixed, {} if untold else data.terms)
    except Undefined as reason:
        row = Row(**about, statistic="condition_average", arm="", method=Notes(REML))
        row.leave_out("estimate", "low", "high", "df", "p", because=reason.note)
        yield row
        return
    for row in (*_effects(about, found, arms), _interaction(about, found, len(arms)), *_variances(about, found)):
        if untold:
            row.add_notes(Note("without_term", term=Note(PROFILE), reason=untold))
        yield row


def model_of(scores: pd.DataFrame) -> mixed.Data:
    """Return the model of scores of arms that were met in both conditions."""
    of_arm = np.unique(scores["arm"].to_numpy(str), return_inverse=True)[1]
    fixed = design(of_arm, scores["condition"])
    return mixed.Data(scores["score"].to_numpy(float), fixed, {PROFILE: number_names(scores["cluster"])})


def design(of_arm: np.ndarray, conditions: pd.Series) -> Array:
    """Return two columns for each arm: first the arms' means of both conditions, then their differences."""
    arms = np.eye(of_arm.max() + 1)[of_arm]
    side = (conditions == WORST_CASE).to_numpy(float) - 0.5
    return np.hstack([arms, arms * side[:, np.newaxis]])


def differences(arms: int) -> Array:
    """Return the contrasts of the arms' differences: arms × columns of the design."""
    return np.hstack([np.zeros((arms, arms)), np.eye(arms)])


def _effects(about: dict[str, Any], found: Fit, arms: np.ndarray) -> Iterator[Row]:
    each = differences(len(arms))
    yield _effect(about | {"statistic": "condition_average", "arm": ""}, contrast(found, each.mean(axis=0)))
    for arm, weights in zip(arms.tolist(), each, strict=True):
        yield _effect(about | {"statistic": "condition", "arm": arm}, contrast(found, weights))


def _effect(about: dict[str, Any], effect: Contrast) -> Row:
    values = {"estimate": effect.estimate, "low": effect.low, "high": effect.high, "df": effect.df, "p": effect.p}
    return Row(**about, **values, method=NORMAL if np.isnan(effect.df) else T)


def _interaction(about: dict[str, Any], found: Fit, arms: int) -> Row:
    row = Row(**about, statistic="interaction", arm="")
    row.leave_out("low", "high", because=Note("is_f"))
    if arms < 2:
        row.leave_out("estimate", "df", "p", because=Note("one_arm_in_both_conditions"))
        return row
    each = differences(arms)
    test = joint_test(found, each[:-1] - each[-1])
    row.values |= {"estimate": test.f, "numerator_df": test.numerator, "df": test.df, "p": test.p}
    row.values["method"] = CHI_SQUARE if np.isnan(test.df) else F
    return row


def _variances(about: dict[str, Any], found: Fit) -> Iterator[Row]:
    for term, component in found.components().items():
        row = Row(**about, statistic=f"{term}_variance", arm="", method=VARIANCE)
        row.values |= {name: getattr(component, name) for name in ("estimate", "low", "high", "df")}
        if np.isnan(component.low):
            unknown = [name for name, value in row.values.items() if name in ("low", "high", "df") and np.isnan(value)]
            row.leave_out(*unknown, because=component.without_interval())
        yield row


def _by_profile(about: dict[str, Any], scores: pd.DataFrame) -> Row:
    wide = scores.pivot(index="cluster", columns=["condition", "arm"], values="score").dropna()
    means = [wide[condition].mean(axis=1).to_numpy(float) for condition in CONDITIONS]
    differences = np.round(means[1] - means[0], ROUNDED)
    row = Row(**about | {"clusters": len(wide)}, statistic="condition_by_profile", arm="", method=BY_PROFILE)
    row.values["n"] = int(scores.loc[scores["cluster"].isin(wide.index), "conversations"].sum())
    row.compute("estimate", lambda: _mean(differences))
    try:
        row.values |= _student(differences)
    except Undefined as reason:
        row.leave_out("low", "high", "df", "p", because=reason.note)
    return row


def _mean(differences: Array) -> float:
    if not len(differences):
        raise Undefined("no_complete_profile")
    return float(differences.mean())


def _student(differences: Array) -> dict[str, float]:
    if len(differences) < 2:
        raise Undefined("under_two_complete_profiles")
    if np.ptp(differences) == 0:
        raise Undefined("differences_alike")
    test = stats.ttest_1samp(differences, 0)
    interval = test.confidence_interval()
    return {"low": float(interval.low), "high": float(interval.high), "df": float(test.df), "p": float(test.pvalue)}


def _family(row: dict[str, Any]) -> tuple[str, ...]:
    """Return the family of a row's test: the items, of an arm's difference those of the arm.

    The means over all items are by themselves, over the arms.
    """
    of = tuple(str(row[name]) for name in (*OF, "statistic"))
    return (*of, ALL_ITEMS) if row["item"] == ALL_ITEMS else (*of, row["arm"])


TABLES = (
    Table(
        "condition_effects",
        condition_effects,
        COLUMNS,
        METHODS,
        heading=_("Average and worst case, over the arms"),
        section="conditions",
        empty=_("No arm met both average and worst-case seekers."),
    ),
)
