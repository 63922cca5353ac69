"""rater_effects.csv: how much of the scores is the raters' strictness, and how many raters a score needs.

Counsellors' own conversations: `score ~ arm + (1 | counsellor) + (1 | card)`. Second raters, several on the same
conversations: `score ~ arm + (1 | conversation) + (1 | reviewer)`. Both crossed, by REML, for each item. Then the
generalizability study of each instrument (`decision_study.py`).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd  # noqa: TID253
from numpy.typing import NDArray

from studies.analysis.bootstrap import FEW_CLUSTERS, Bootstrap, number_names
from studies.analysis.frames import Export, first_of_people
from studies.analysis.language import gettext_noop as _
from studies.analysis.measures import mixed
from studies.analysis.measures.mixed import Estimate, Fit
from studies.analysis.notes import Note, Notes
from studies.analysis.rows import ESTIMATE, Cells, Labels, Row, Undefined
from studies.analysis.tables import decision_study
from studies.analysis.tables.table import Parts, Table

COLUMNS = [
    "raters",
    "instrument",
    "item",
    "moment",
    "term",
    "level",
    *ESTIMATE,
    "seekers",
    "condition",
    "facets",
    "k_raters",
]
ASIDE = ["unit", "k"]  # the first facet; the level
METHODS = {
    "estimate": _(
        "rows without facets are of a mixed model of an item's scores (REML): arms as fixed effects, raters and "
        "conversations (or role cards) as crossed random intercepts. Term arm: the arm's mean, with Student's t and "
        "Satterthwaite's degrees of freedom. Term counsellor or reviewer: how many points a rater scores above "
        "(lenient) or below (strict) the others, a best linear unbiased prediction with a normal interval that takes "
        "the variances as known. Term variance: how much of the scores' variance, in squared points, lies between "
        "raters, conversations or cards, and how much is left (residual); chi-square intervals"
    ),
} | decision_study.METHODS
NUMBERS = ("k", "k_raters")
# Of rows of the mixed models.
MODEL = dict.fromkeys(("unit", "seekers", "condition", "facets"), "") | dict.fromkeys(NUMBERS, pd.NA)
BY = ["raters", "instrument", "moment", "item"]
OWN = "expert, own conversations"
SECOND = ("expert", "reviewer", "crowd")
REML = Note("reml")
VARIANCE = Notes(REML, Note("chi_square_satterthwaite"))
MEAN, MEAN_WITHOUT_DF = Notes(REML, Note("t_satterthwaite")), Notes(REML, Note("normal_without_df"))
EFFECT = Notes(Note("blup"), Note("normal_known_variances"))


@dataclass(frozen=True)
class Model:
    """The two crossed terms of a model, columns of the scores; `few` is the code of the note on few raters."""

    rater: str
    other: str
    few: str


OWN_MODEL = Model("counsellor", "card", few="few_counsellors")
SECOND_MODEL = Model("reviewer", "conversation", few="few_reviewers")


def rater_effects(export: Export, bootstrap: Bootstrap) -> Parts:
    """Yield (group of raters, its rows): for each item the variances, the arms' means and the raters' effects.

    Those of the generalizability study follow.
    """
    for raters, model, scores in groups(export):
        rows: list[Cells] = []
        for (instrument, moment, item), of_item in scores.groupby(BY[1:], observed=True):
            labels = {"raters": raters, "instrument": str(instrument), "moment": str(moment), "item": str(item)}
            rows += _of_item(labels, model, of_item)
        yield raters, rows
    yield from decision_study.decision_study(export, bootstrap)


def of_decisions(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the generalizability study, with `statistic` for `term`."""
    if table.empty:
        return table
    rows = table[table["unit"] != ""].rename(columns={"term": "statistic"})
    return rows.assign(**{name: pd.to_numeric(rows[name]).astype("Int64") for name in NUMBERS})


def of_strictness(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the mixed models."""
    return table[table["unit"] == ""] if len(table) else table


def groups(export: Export) -> Iterator[tuple[str, Model, pd.DataFrame]]:
    """Yield each group of raters with the crossed terms of its model and its scores."""
    scores = _scores(export)
    own = (scores["rater_kind"] == "expert") & scores["own"]
    if scores[own]["rater"].nunique() > 1:
        yield OWN, OWN_MODEL, scores[own].rename(columns={"rater": "counsellor"})
    for kind in SECOND:
        others = scores[(scores["rater_kind"] == kind) & ~own]
        if others.duplicated(["instrument", "moment", "item", "conversation", "turn"]).any():
            yield kind, SECOND_MODEL, others.rename(columns={"rater": "reviewer"})


def _scores(export: Export) -> pd.DataFrame:
    """Return people's scores, one of each rater for a conversation, with what is known of it.

    `own`: the rater was in it.
    """
    people = first_of_people(export.ratings[export.ratings["rater_kind"].isin(SECOND)])
    key = ["rater_kind", "rater", "instrument", "moment", "item", "conversation", "turn"]
    scores = people.groupby(key, observed=True)["score"].mean().reset_index().astype(dict.fromkeys(key, str))
    about = export.conversations.loc[scores["conversation"], ["arm", "card", "participant"]]
    scores = scores.assign(**{name: about[name].to_numpy() for name in about})
    return scores.assign(own=scores["rater"] == scores["participant"])


def _of_item(labels: Labels, model: Model, scores: pd.DataFrame) -> list[Cells]:
    data = model_of(model, scores)
    aliased = mixed.unidentified_terms(data.terms)
    clusters = scores[model.rater].nunique()
    about: Cells = labels | {"n": len(scores), "clusters": clusters}
    try:
        if model.rater in aliased:
            raise Undefined(aliased[model.rater])
        terms = {name: levels for name, levels in data.terms.items() if name not in aliased}
        fit = mixed.fit(data.scores, data.fixed, terms)
    except Undefined as reason:
        return [_row_without_fit(about, reason.note)]
    notes = [Note("without_term", term=Note(name), reason=reason) for name, reason in aliased.items()]
    notes += [Note("term_variance_is_zero", term=Note(name)) for name in fit.absent]
    if clusters < FEW_CLUSTERS:
        notes.append(Note(model.few, count=clusters))
    rows = [
        *_variances(about, fit),
        *_means(about, fit, np.unique(scores["arm"].to_numpy(str)), scores),
        *_effects(about, fit, model.rater, np.unique(scores[model.rater].to_numpy(str))),
    ]
    for row in rows:
        row.add_notes(*notes)
    return [row.cells() for row in rows]


def model_of(model: Model, scores: pd.DataFrame) -> mixed.Data:
    """Return the model of an item's scores, with all terms that are known, whether or not they can be told apart."""
    terms = {name: number_names(scores[name]) for name in _terms(model, scores)}
    arms, arm = np.unique(scores["arm"].to_numpy(str), return_inverse=True)
    return mixed.Data(scores["score"].to_numpy(float), np.eye(len(arms))[arm], terms)


def _terms(model: Model, scores: pd.DataFrame) -> list[str]:
    """Return the terms, the rater first: where the other goes together with them, the other is left out."""
    has_other = (scores[model.other] != "").all()
    return [model.rater, model.other] if has_other else [model.rater]


def _row_without_fit(about: Cells, reason: Note) -> Cells:
    row = Row(**about, **MODEL, term="variance", level="", method=Notes(REML))
    row.leave_out("estimate", "low", "high", because=reason)
    return row.cells()


def _variances(about: Cells, fit: Fit) -> Iterator[Row]:
    for term, component in fit.components().items():
        yield _row(about, "variance", term, component, VARIANCE)


def _means(about: Cells, fit: Fit, arms: NDArray[np.str_], scores: pd.DataFrame) -> Iterator[Row]:
    sizes = scores["arm"].value_counts()
    for arm, estimate in zip(arms, fit.fixed_effects(), strict=True):
        method = MEAN if np.isfinite(estimate.df) else MEAN_WITHOUT_DF
        yield _row(about | {"n": int(sizes[str(arm)])}, "arm", str(arm), estimate, method)


def _effects(about: Cells, fit: Fit, rater: str, names: NDArray[np.str_]) -> Iterator[Row]:
    if rater in fit.data.terms:
        sizes = np.bincount(fit.data.terms[rater])
        for name, size, estimate in zip(names, sizes, fit.effects(rater), strict=True):
            yield _row(about | {"n": int(size)}, rater, str(name), estimate, EFFECT)
    else:
        for name in names:
            yield _row(about, rater, str(name), Estimate(0.0, np.nan, np.nan), EFFECT)


def _row(about: Cells, term: str, level: str, estimate: Estimate, method: Notes) -> Row:
    row = Row(**about, **MODEL, term=term, level=level, estimate=estimate.estimate, method=method)
    if np.isfinite(estimate.low):
        row.values |= {"low": estimate.low, "high": estimate.high}
    else:
        row.leave_out("low", "high", because=estimate.without_interval())
    return row


TABLE = Table(
    "rater_effects",
    rater_effects,
    COLUMNS,
    METHODS,
    heading=_("Strictness of the raters, and how many a score needs"),
    section="reliability",
    empty=_("No conversation has several raters, and no one met two arms."),
    aside=ASIDE,
)
