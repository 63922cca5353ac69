"""Rows of rater_effects.csv: how dependable means over more or fewer raters, items and users would be.

A generalizability study of crossed random facets, of each instrument as a whole: conversations × raters (× items where
there are several), arms × users, and arms × users × raters (× items) where several raters scored the same users'
conversations; then what it says of other numbers of them. Of a single item, the coefficients are the ICCs of
reliability.csv, stepped up by Spearman–Brown.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, product
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253
from numpy.typing import NDArray

from studies.analysis.bootstrap import Array, Bootstrap, number_names
from studies.analysis.frames import Export
from studies.analysis.language import gettext_noop as _
from studies.analysis.measures.generalizability import (
    FACETS,
    OF_ARMS,
    TOTALS,
    Components,
    components_by_totals,
    components_of_complete,
    components_of_incomplete,
    effect_name,
)
from studies.analysis.measures.mixed import Estimate
from studies.analysis.measures.variance import Icc, two_way
from studies.analysis.notes import Note, Notes
from studies.analysis.pooling import ALL_ITEMS
from studies.analysis.rows import Cells, Labels, Row, Undefined
from studies.analysis.tables.arm_pairs import OF, Compared, comparisons
from studies.analysis.tables.rated_arms import Rated, complete_block, rated_arms
from studies.analysis.tables.reliability import UNIT, single_ratings
from studies.analysis.tables.table import Parts

METHODS = {
    "variance": _(
        "how much of the scores' variance, in squared points, comes from each source (conversations, raters, items, "
        "arms, users), from each combination of them and from what is left (residual). A high value means that scores "
        "differ much between these. Components of crossed random effects: from the mean squares of an analysis of "
        "variance where no score is missing, else by REML, and for all items together, for arms × users × raters and "
        "for very many conversations by Henderson's method 1, without intervals. What comes out below 0 is shown as it "
        "is, without interval; chi-square interval (95 %) with Satterthwaite's degrees of freedom"
    ),
    "erho2": _(
        "E rho²: how reliable the mean over k raters is if the same raters score all conversations, from 0 (not at "
        "all) to 1 (perfectly). Raters who are strict towards all conversations do no harm. It is the conversations' "
        "share in the variance of such means; a variance below 0 counts as 0. Of one item it is ICC(C,k) with its F "
        "interval, else it has a delta-method interval on the logit"
    ),
    "phi": _(
        "Phi: the same if conversations have different raters, so that a rater's strictness is an error; of one item "
        "ICC(A,k)"
    ),
    "erho2_items": _(
        "E rho² of the mean over k items that one rater scored: how reliable a questionnaire of k such items would be, "
        "if all conversations have the same items; items are taken as drawn from others like them"
    ),
    "phi_items": _("the same where a strict rater and an item with low scores are errors too"),
    "erho2_users": _(
        "how reliably the means over k users (people or profiles, one conversation with each arm) tell arms apart that "
        "the same users met, from 0 (not at all) to 1 (perfectly). It is ICC(C,k) of arms × users with its F interval, "
        "from the users that met every arm; arms are taken as drawn from others like them"
    ),
    "phi_users": _("the same where each arm has users of its own, so that a user's strictness is an error; ICC(A,k)"),
    "erho2_users_raters": _(
        "how reliably the means over k users tell arms apart if the same k_raters raters or judges score all their "
        "conversations, from 0 (not at all) to 1 (perfectly). From the variances of arms × users × raters, item * "
        "also × items, of the users or raters without gaps where they have half of the scores or more; arms, users, "
        "raters and items are taken as drawn from others like them; delta-method interval on the logit"
    ),
    "phi_users_raters": _(
        "the same where each arm has users and raters of its own, so that their strictness is an error"
    ),
}
DELTA, CHI_SQUARE = Note("delta_on_logit"), Note("chi_square_satterthwaite")
NUMBERS = (1, 2, 3, 4, 5, 8)
COEFFICIENTS = {"erho2": False, "phi": True}  # statistic → whether the facets' own variances are errors
ICCS = {"erho2": "icc_c_1", "phi": "icc_a_1"}
USERS = (5, 10, 20, 50, 100)
ICCS_OF_ARMS = {"erho2_users": "icc_c_1", "phi_users": "icc_a_1"}
F_INTERVAL = Notes(Note("anova"), Note("f_interval"))

Facets = dict[str, NDArray[np.intp]]


def decision_study(export: Export, _bootstrap: Bootstrap) -> Parts:
    """Yield (group of raters, its rows), of each instrument as a whole: all items together, or its only one.

    Things that a single rater rated say nothing about raters and are left out there.
    """
    single = single_ratings(export)
    for name, rated in single.groupby("group", observed=True):
        rows: list[Cells] = []
        for (instrument, moment), scores in rated.groupby(["instrument", "moment"], observed=True):
            labels = {"raters": str(name), "unit": "conversation", "instrument": str(instrument), "moment": str(moment)}
            labels |= {"seekers": "", "condition": ""}
            several = scores[scores.duplicated([*UNIT, "item"], keep=False)]
            items = sorted(set(several["item"].astype(str)))
            if len(items) > 1:
                rows += _of_conversations(labels | {"item": ALL_ITEMS}, several, FACETS, export)
            elif items:
                rows += _of_conversations(labels | {"item": items[0]}, several, FACETS[:2], export)
        yield str(name), rows
    for raters, compared in groupby(comparisons(export), key=lambda item: item.labels["raters"]):
        yield f"{raters}, arms", [row for item in _whole_instruments(compared) for row in _of_arms(item)]
    for labels, scores in rated_arms(single, export):
        yield f"{labels['raters']}, arms and raters", list(_of_rated_arms(labels, scores))


def _whole_instruments(compared: Iterable[Compared]) -> Iterator[Compared]:
    for _scale, items in groupby(compared, key=lambda one: [one.labels[name] for name in OF[:-1]]):
        group = list(items)
        yield from (one for one in group if len(group) == 1 or one.labels["item"] == ALL_ITEMS)


def _of_arms(item: Compared) -> Iterator[Cells]:
    """Yield the rows of an item over the arms; nothing where fewer than two users met every arm."""
    scores = item.complete().scores.T
    about = item.labels | _study("arm", OF_ARMS[:2]) | {"n": len(scores), "clusters": scores.shape[1]}
    if min(scores.shape) < 2:
        return
    try:
        components, forms = components_of_complete(scores, OF_ARMS), two_way(scores)
    except Undefined as reason:
        yield _row_without_estimate(about, reason.note, "variance_arm")
        return
    yield from _variances(about, components)
    for statistic, form in ICCS_OF_ARMS.items():
        yield from (_row(about, statistic, k, _step_up(forms[form], k), F_INTERVAL) for k in USERS if form in forms)


def _of_rated_arms(labels: Labels, scores: pd.DataFrame) -> Iterator[Cells]:
    """Yield the rows of users by raters for the instrument as a whole, that is all items together or its only one."""
    items = sorted(set(scores["item"].astype(str)))
    names = OF_ARMS if len(items) > 1 else OF_ARMS[:3]
    if rated := complete_block(scores, names):
        yield from _of_rated(labels | {"item": ALL_ITEMS if len(items) > 1 else items[0]}, rated, names)


def _of_rated(labels: Labels, rated: Rated, names: tuple[str, ...]) -> Iterator[Cells]:
    sizes = {name: int(rated.scores[name].nunique()) for name in names}
    about = labels | _study("arm", names) | {"n": sizes["arm"], "clusters": sizes["user"]}
    left_out = _notes_on_gaps(rated)
    try:
        components = _components_of(rated, sizes)
    except Undefined as reason:
        yield _row_without_estimate(about, reason.note, "variance_arm")
        return
    yield from _variances(about, components, *left_out)
    of_mean = [Note("mean_over_items", count=sizes["item"])] if "item" in sizes else []
    for statistic in COEFFICIENTS:
        for users, raters in product(sorted({*USERS, sizes["user"]}), sorted({*NUMBERS, sizes["rater"]})):
            numbers = sizes | {"user": users, "rater": raters}
            of_raters = about | {"k_raters": raters}
            yield _coefficient(of_raters, components, f"{statistic}_users_raters", users, numbers, *of_mean, *left_out)


def _notes_on_gaps(rated: Rated) -> list[Note]:
    count = rated.all_scores - len(rated.scores)
    return [Note("scores_with_gaps", count=count, all=rated.all_scores)] if count else []


def _components_of(rated: Rated, sizes: Mapping[str, int]) -> Components:
    scores = rated.scores.sort_values(list(sizes))
    values = scores["score"].to_numpy(float)
    if not rated.has_gaps:
        return components_of_complete(values.reshape(list(sizes.values())), list(sizes))
    return components_by_totals(values, {name: pd.factorize(scores[name])[0] for name in sizes})


def _of_conversations(labels: Labels, scores: pd.DataFrame, names: tuple[str, ...], export: Export) -> Iterator[Cells]:
    facets = _facets(scores, names)
    about = labels | _study("conversation", names) | _counts(scores, facets, export)
    values = scores["score"].to_numpy(float)
    table = _table(values, facets)
    try:
        has_gaps = np.isnan(table).any()
        components = components_of_incomplete(values, facets) if has_gaps else components_of_complete(table)
    except Undefined as reason:
        yield _row_without_estimate(about, reason.note)
        return
    yield from _variances(about, components)
    items = {"item": int(facets["item"].max()) + 1} if "item" in facets else {}
    of_mean = [Note("mean_over_items", count=count) for count in items.values()]
    forms = {} if items else _forms(table)
    for statistic, k in product(COEFFICIENTS, NUMBERS):
        if statistic in forms:
            yield _row(about, statistic, k, _step_up(forms[statistic], k), F_INTERVAL)
        else:
            yield _coefficient(about, components, statistic, k, {"rater": k} | items, *of_mean)
    for statistic, k in product(COEFFICIENTS if items else (), NUMBERS):
        yield _coefficient(about, components, f"{statistic}_items", k, {"rater": 1, "item": k}, Note("one_rater"))


def _study(unit: str, facets: Sequence[str]) -> Cells:
    return {"unit": unit, "facets": " × ".join(facets), "k_raters": pd.NA}


def _facets(scores: pd.DataFrame, names: tuple[str, ...]) -> Facets:
    things = scores["conversation"].astype(str) + " " + scores["turn"].astype(str)
    columns = {"conversation": things, "rater": scores["rater"].astype(str), "item": scores["item"].astype(str)}
    return {name: number_names(columns[name]) for name in names}


def _counts(scores: pd.DataFrame, facets: Facets, export: Export) -> Cells:
    clusters = export.conversations.loc[scores["conversation"].astype(str), "cluster"]
    return {"n": int(facets["conversation"].max()) + 1, "clusters": clusters.nunique()}


def _table(values: Array, facets: Facets) -> Array:
    """Return the scores with one axis for each facet; nan where nothing was scored."""
    table = np.full([int(levels.max()) + 1 for levels in facets.values()], np.nan)
    table[tuple(facets.values())] = values
    return table


def _forms(table: Array) -> dict[str, Icc]:
    """Return the forms of single ratings by statistic, where their intervals are by F."""
    try:
        forms = {} if np.isnan(table).any() else two_way(table)
    except Undefined:
        return {}
    return {statistic: forms[form] for statistic, form in ICCS.items() if form in forms}


def _step_up(single: Icc, k: int) -> Estimate:
    """Return the coefficient of k scores by the formula of Spearman–Brown, from 0 on."""
    single_values = np.array([single.estimate, single.low, single.high]).clip(min=0)
    return Estimate(*(k * single_values / (1 + (k - 1) * single_values)).tolist())


def _method(components: Components, interval: Note) -> Notes:
    return Notes(components.method) if components.method == TOTALS else Notes(components.method, interval)


def _variances(about: Mapping[str, Any], components: Components, *notes: Note) -> Iterator[Cells]:
    for effect, estimate in components.intervals().items():
        below = [Note("counts_as_zero")] if estimate.estimate < 0 else []
        name = effect_name(effect, max(map(len, components.variances)))
        yield _row(about, f"variance_{name}", pd.NA, estimate, _method(components, CHI_SQUARE), *below, *notes)


def _coefficient(
    about: Mapping[str, Any], components: Components, statistic: str, k: int, numbers: Mapping[str, int], *notes: Note
) -> Cells:
    try:
        estimate = components.coefficient(numbers, absolute=COEFFICIENTS[statistic.partition("_")[0]])
    except Undefined as reason:
        return _row_without_estimate(about, reason.note, statistic, k)
    return _row(about, statistic, k, estimate, _method(components, DELTA), *notes)


def _row(about: Mapping[str, Any], statistic: str, k: Any, estimate: Estimate, method: Notes, *notes: Note) -> Cells:
    row = Row(
        **about, term=statistic, level="" if k is pd.NA else str(k), k=k, estimate=estimate.estimate, method=method
    )
    if np.isfinite(estimate.low):
        row.values |= {"low": estimate.low, "high": estimate.high}
    else:
        row.leave_out("low", "high", because=_why_none(estimate.estimate, method))
    row.add_notes(*notes)
    if about["unit"] == "conversation" and about["clusters"] < about["n"]:
        row.add_notes(Note("conversations_independent", count=about["n"], clusters=about["clusters"]))
    return row.cells()


def _why_none(estimate: float, method: Notes) -> Note:
    if TOTALS in method:
        return Note("henderson_has_no_interval")
    if estimate <= 0:
        return Note("variance_not_positive")
    return Note("perfect_agreement") if estimate == 1 else Note("too_uncertain")


def _row_without_estimate(
    about: Mapping[str, Any], reason: Note, statistic: str = "variance_conversation", k: Any = pd.NA
) -> Cells:
    row = Row(**about, term=statistic, level="" if k is pd.NA else str(k), k=k, method=Notes())
    row.leave_out("estimate", "low", "high", because=reason)
    return row.cells()
