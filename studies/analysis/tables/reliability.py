"""reliability.csv: how well the raters of a group agree with each other, and how well an instrument's items do."""

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd  # noqa: TID253
from statsmodels.stats.inter_rater import fleiss_kappa  # noqa: TID253
from statsmodels.tools.sm_exceptions import ModelWarning  # noqa: TID253

from studies.analysis.bootstrap import Array, Bootstrap, Inference, Interval, Resampled, number_names
from studies.analysis.frames import Export, first_of_people
from studies.analysis.language import gettext_noop as _
from studies.analysis.measures import clustered, coincidence, gwet, kappa, polychoric
from studies.analysis.measures.coincidence import Counts, Level
from studies.analysis.measures.variance import FORMS, Icc, OneWay, one_way, two_way, two_way_by_components
from studies.analysis.notes import Note
from studies.analysis.rows import Cells, Labels, Row, Undefined
from studies.analysis.scales import Items, Scale, scales_of
from studies.analysis.tables.inferences import add_inference
from studies.analysis.tables.table import Parts, Table

ONE_WAY = ("icc_1_1", "icc_1_k")
TWO_WAY = tuple(form for form in FORMS if form not in ONE_WAY)
LEVELS: tuple[Level, ...] = ("ordinal", "interval", "nominal", "ratio")
ALPHAS = tuple(f"alpha_{level}" for level in LEVELS)
AC2 = "gwet_ac2"
AGREEMENT = ("percent_agreement", "kappa_fleiss", "kappa_fleiss_se")
OF_TWO = {"kappa_cohen": kappa.nominal, "kappa_linear": kappa.linear, "kappa_weighted": kappa.quadratic}  # raters
WITH_ERRORS = tuple(name + end for name in OF_TWO for end in ("", "_se"))
CONSISTENCY = ("cronbach", "omega", "omega_polychoric")
JACKKNIFE = Note("jackknife")
# From here on Satterthwaite's interval held ICC(A,1) in less than 93 % of simulated studies where raters varied as much
# as errors (docs/developers/coverage.md).
FEW_RATERS, MANY_TARGETS = 4, 40
SINGULAR = 1e-8  # the least eigenvalue of correlations that can be factored
LEAST = 0.05  # unique variance to start from
FEWEST_ITEMS = 3  # of a factor: the loadings of two cannot be told from each other


def _with_bounds(names: Iterable[str]) -> list[str]:
    return [name + bound for name in names for bound in ("", "_low", "_high")]


_ABOUT = ("raters", "unit", "instrument", "item", "moment", "n", "k")
_MEASURED = (*_with_bounds((*FORMS, *ALPHAS, AC2)), *WITH_ERRORS, *AGREEMENT)
COLUMNS = [
    *_ABOUT,
    *_with_bounds((*FORMS, *ALPHAS[:2])),
    "kappa_fleiss",
    "percent_agreement",
    "cronbach",
    "omega",
    "note",
    "clusters",
]
FURTHER = [
    *_with_bounds([AC2, *ALPHAS[2:]]),
    "omega_polychoric",
    *WITH_ERRORS,
    "kappa_fleiss_se",
    "cronbach_low",
    "cronbach_high",
]
METHODS = {
    "icc": _(
        "how far raters agree on a conversation: 1 is perfect agreement; at 0 or below, scores of one conversation "
        "differ as much as scores of different ones. icc_1_… take it that each conversation has raters of its own; in "
        "icc_a_… the same raters score all, and a rater's strictness is an error; in icc_c_… it is none. …_1 is one "
        "rater's score, …_k the mean of k raters. Shrout & Fleiss, McGraw & Wong; F intervals (95 %), with "
        "Satterthwaite's degrees of freedom for (A,·). Where not every rater rated every conversation, (A,·) and (C,·) "
        "come from the variances of a crossed mixed model (REML) with delta-method intervals on the logit, and (1,·) "
        "from a one-way analysis of variance. Where several conversations are of one cluster, intervals are by a "
        "jackknife of clusters on the logarithms of mean squares or of relative variances, Student's t; of (A,·), "
        "joined to a chi-square of the raters' mean square. Unit arm: one-way forms alone, as rater, card and "
        "conversation cannot be told apart"
    ),
    "alpha": _(
        "Krippendorff's alpha: 1 less the disagreement found over the disagreement by chance, so 1 is perfect "
        "agreement and 0 is chance; over all pairs of ratings, by level of measurement; BCa interval (95 %), "
        "participants (else conversations) resampled"
    ),
    "gwet_ac2": _(
        "Gwet's AC2: agreement beyond chance, 1 is perfect; unlike kappa it stays high if raters agree that nearly all "
        "scores are at one end of the scale. Quadratic weights on all levels of the scale, used or not; conversations "
        "with one rating count for chance alone; BCa interval (95 %), participants (else conversations) resampled"
    ),
    "kappa_fleiss": _(
        "agreement on identical scores beyond chance, 1 is perfect and 0 is chance (Fleiss 1971), where all "
        "conversations have as many ratings"
    ),
    "kappa_cohen": _("the same of two raters (Cohen 1960)"),
    "kappa_linear": _("of two raters, where a difference counts by its size (Cicchetti & Allison 1971)"),
    "kappa_weighted": _("of two raters, where a difference counts by its square (Cohen 1968)"),
    "…_se": _(
        "standard errors of the kappas by the delta method, of independent conversations those of Fleiss, Cohen and "
        "Everitt (1969) and of Schouten (1982); where a participant has several, of the participants' sums"
    ),
    "percent_agreement": _("share of pairs of ratings of a conversation that are identical, 0 to 1, chance included"),
    "cronbach": _(
        "Cronbach's alpha: how reliable the mean over an instrument's items is, 1 is perfectly; below 0 items oppose "
        "each other. Complete ratings; interval (95 %) by F (Feldt 1965), or by a jackknife of clusters where several "
        "ratings are of one cluster"
    ),
    "omega": _(
        "McDonald's omega: how reliable the sum over an instrument's items is if one factor stands behind them, 1 is "
        "perfectly. Complete ratings: the factor by maximum likelihood on the items' correlations, loadings brought "
        "back to points; no interval, as in each resample a factor would have to be fitted anew"
    ),
    "omega_polychoric": _(
        "the same factor on the items' polychoric correlations (maximum likelihood in two steps, Olsson 1979): of the "
        "sum of the normal variables that are thought to lie behind the points, not of the points' own sum; no "
        "interval, as for omega"
    ),
}
UNIT = ["conversation", "turn"]


def reliability(export: Export, bootstrap: Bootstrap) -> Parts:
    """Yield (group of raters, its rows).

    A judge's replicates count as one rating, their mean; of a person's the first counts.
    """
    scales = scales_of(export.folder, export.ratings)
    for name, rated in single_ratings(export).groupby("group", observed=True):
        rows: list[Cells] = []
        for (instrument, moment), of_instrument in rated.groupby(["instrument", "moment"], observed=True):
            labels = {"raters": str(name), "instrument": str(instrument), "moment": str(moment)}
            for item, scores in of_instrument.groupby("item", observed=True):
                rows += _of_item(scores, labels | {"item": str(item)}, export.conversations, scales, bootstrap)
            rows += _of_items(of_instrument, labels, export.conversations, bootstrap)
        yield str(name), rows


def single_ratings(export: Export) -> pd.DataFrame:
    """Return one score of each rater for a thing.

    Columns `group`, `rater`, `instrument`, `moment`, `item`, UNIT, `score`.
    """
    by = ["group", "rater", "instrument", "moment", "item", *UNIT]
    return first_of_people(export.ratings).groupby(by, observed=True)["score"].mean().reset_index()


def _of_item(
    scores: pd.DataFrame, labels: Labels, conversations: pd.DataFrame, scales: Items, bootstrap: Bootstrap
) -> Iterator[Cells]:
    several = scores.duplicated(UNIT, keep=False)
    if several.any():
        scale = scales[labels["instrument"], labels["item"]]
        yield _conversations_row(by_rater(scores[several]), by_rater(scores), labels, conversations, scale, bootstrap)
    if labels["raters"] == "expert" and not several.all():
        means = arm_means(scores[~several], conversations)
        if means is not None:
            yield _arms_row(means, labels)


def by_rater(scores: pd.DataFrame) -> pd.DataFrame:
    """Return UNIT × raters, nan where a rater did not rate."""
    return scores.set_index([*UNIT, "rater"])["score"].unstack("rater").sort_index()


def arm_means(own: pd.DataFrame, conversations: pd.DataFrame) -> pd.DataFrame | None:
    """Return the mean `score` of each `arm` and `rater` over their own conversations; None with one arm or rater."""
    arms = conversations["arm"].reindex(own["conversation"].astype(str)).to_numpy(str)
    if len(set(arms) - {""}) < 2 or own["rater"].nunique() < 2:
        return None
    with_arm = own.assign(arm=arms)[arms != ""]
    return with_arm.groupby(["arm", "rater"], observed=True)["score"].mean().reset_index()


def by_item(rated: pd.DataFrame) -> pd.DataFrame:
    """Return ratings × items, nan where an item was not scored."""
    return rated.set_index(["rater", *UNIT, "item"])["score"].unstack("item")


def _conversations_row(
    wide: pd.DataFrame,
    whole: pd.DataFrame,
    labels: Labels,
    conversations: pd.DataFrame,
    scale: Scale,
    bootstrap: Bootstrap,
) -> Cells:
    """Return the row of an item. `whole`: with the conversations that one rater rated, which AC2 needs for chance."""
    matrix = wide.to_numpy(float)
    clusters = _clusters(wide.index, conversations)
    row = Row(**labels, unit="conversation", n=len(matrix), k=_ratings_each(matrix), clusters=int(clusters.max()) + 1)
    _add_icc(row, matrix, clusters, bootstrap)
    units, columns = np.nonzero(~np.isnan(matrix))
    counted = coincidence.counts(matrix[units, columns], units)
    for level in LEVELS:
        _add_alpha(row, counted, level, clusters, bootstrap)
    _add_ac2(row, whole, scale, _clusters(whole.index, conversations), bootstrap)
    _add_kappas(row, matrix, clusters)
    _add_nominal(row, counted, clusters)
    row.leave_out(*CONSISTENCY, because=Note("on_row_of_all_items"))
    return row.cells()


def _ratings_each(matrix: Array) -> float:
    """Return how many ratings a conversation has; where these differ, the k0 of a one-way analysis of variance."""
    sizes = (~np.isnan(matrix)).sum(axis=1)
    if (sizes == sizes[0]).all():
        return int(sizes[0])
    return float((sizes.sum() - (sizes**2).sum() / sizes.sum()) / (len(sizes) - 1))


def _clusters(index: pd.MultiIndex, conversations: pd.DataFrame) -> np.ndarray:
    """Return the cluster of each row, numbered from 0 without gaps."""
    return number_names(conversations.loc[index.get_level_values("conversation").astype(str), "cluster"])


def _add_icc(row: Row, matrix: Array, clusters: np.ndarray, bootstrap: Bootstrap) -> None:
    """Add the ICCs.

    They are six forms by analysis of variance where all raters rated all conversations, else by variance components.
    """
    complete = int((~np.isnan(matrix)).all(axis=1).sum())
    if complete == len(matrix):
        _add_complete(row, matrix, clusters, bootstrap)
        return
    row.add_notes(Note("complete_conversations", count=complete, all=len(matrix), raters=matrix.shape[1]))
    targets, raters = np.nonzero(~np.isnan(matrix))
    scores = matrix[targets, raters]
    ratings = _add_one_way(row, scores, targets, clusters)
    _add_components(row, scores, targets, raters, ratings, clusters)


def _repeat(clusters: np.ndarray) -> bool:
    """Return whether several rows belong to one cluster."""
    return bool(clusters.max() + 1 < len(clusters))


def _add_complete(row: Row, matrix: Array, clusters: np.ndarray, bootstrap: Bootstrap) -> None:
    with row.leave_out_if_undefined(*_with_bounds(FORMS)):
        forms = two_way(matrix)
        if not _repeat(clusters):
            _put(row, forms)
            row.add_methods(Note("f").on("ICC"))
            _note_few_raters(row, *matrix.shape)
        elif _put_clustered(row, forms, lambda: clustered.two_way(forms, matrix, clusters, bootstrap)):
            row.add_methods(JACKKNIFE.on("ICC"), Note("jackknife_and_chi_square").on("ICC(A,·)"))


def one_way_interval(forms: OneWay, scores: Array, targets: np.ndarray, clusters: np.ndarray) -> tuple[OneWay, Note]:
    """Return `forms` with the interval that belongs to these clusters, and its method.

    `clusters`: the cluster of each target, numbered from 0 without gaps. Raises `Undefined` where the clusters leave no
    interval.
    """
    if not _repeat(clusters):
        return forms, Note("f")
    return clustered.one_way(forms, scores, targets, clusters), JACKKNIFE


def _note_few_raters(row: Row, targets: int, raters: int) -> None:
    if raters <= FEW_RATERS and targets >= MANY_TARGETS:
        row.add_notes(Note("few_raters_of_many", raters=raters, count=targets).on("(A,·)"))


def _add_one_way(row: Row, scores: Array, targets: np.ndarray, clusters: np.ndarray) -> float:
    """Add the one-way ICCs; return k, the ratings of a target on average, or nan where that does not matter."""
    try:
        forms = one_way(scores, targets)
    except Undefined as reason:
        row.leave_out(*_with_bounds(ONE_WAY), because=reason.note)
        return np.nan
    row.add_notes(Note("one_way_over_all", count=f"{forms.raters:.4g}"))
    try:
        bounded, method = one_way_interval(forms, scores, targets, clusters)
    except Undefined as reason:
        _put_without(row, forms.forms(), reason.note)
    else:
        _put(row, bounded.forms())
        row.add_methods(method.on("ICC(1,·)"))
    return forms.raters


def _add_components(
    row: Row, scores: Array, targets: np.ndarray, raters: np.ndarray, ratings: float, clusters: np.ndarray
) -> None:
    several = int(clusters.max()) + 1
    jackknifed = 1 < several < len(clusters) and raters.max() < clustered.MOST_RATERS
    try:
        if jackknifed:
            _put(row, clustered.two_way_by_components(scores, targets, raters, ratings, clusters))
        else:
            _put(row, two_way_by_components(scores, targets, raters, ratings))
    except Undefined as reason:
        row.leave_out(*_with_bounds(TWO_WAY), because=reason.note)
        return
    if jackknifed:
        row.add_notes(Note("components_by_jackknife"))
        row.add_methods(Note("jackknife_by_newton").on("ICC(A,·)", "ICC(C,·)"))
        return
    row.add_notes(Note("components_by_delta"))
    row.add_methods(Note("delta_on_logit").on("ICC(A,·)", "ICC(C,·)"))
    if _repeat(clusters):
        row.add_notes(Note("conversations_independent", count=len(clusters), clusters=several).on("(A,·) and (C,·)"))


def _put_clustered(row: Row, forms: dict[str, Icc], widen: Callable[[], dict[str, Icc]]) -> bool:
    """Add the widened forms, or `forms` where the clusters leave no interval; return whether they left one."""
    try:
        _put(row, widen())
    except Undefined as reason:
        _put_without(row, forms, reason.note)
        return False
    return True


def _put_without(row: Row, forms: dict[str, Icc], reason: Note) -> None:
    """Put the coefficients into the row, without intervals."""
    row.values |= {name: icc.estimate for name, icc in forms.items()}
    row.leave_out(*(name + bound for name in forms for bound in ("_low", "_high")), because=reason)


def _put(row: Row, coefficients: dict[str, Icc]) -> None:
    for name, icc in coefficients.items():
        row.values |= {name: icc.estimate, f"{name}_low": icc.low, f"{name}_high": icc.high}
    open_ended = [name for name, icc in coefficients.items() if np.isnan(icc.low)]
    if open_ended:
        perfect = all(coefficients[name].estimate == 1 for name in open_ended)
        row.add_notes(Note("perfect_agreement" if perfect else "no_interval").on(*open_ended))
    if boundless := [name for name, icc in coefficients.items() if np.isneginf(icc.low)]:
        row.add_notes(Note("no_lower_bound").on(*boundless))


def _add_alpha(row: Row, counted: Counts, level: Level, clusters: np.ndarray, bootstrap: Bootstrap) -> None:
    name = f"alpha_{level}"
    row.compute(name, lambda: counted.alpha(level))
    _add_interval(row, name, "alpha", lambda: counted.resample_alpha(level, clusters, bootstrap))


def _add_interval(
    row: Row, name: str, family: str, resample: Callable[[], Resampled], *, method: str = "cluster_bootstrap"
) -> None:
    """Add the bounds of a coefficient; `family` stands before its method, whose code is `method`."""

    def method_of(_inference: Inference, interval: Interval) -> Note:
        return Note(method, interval=interval.method).on(family)

    add_inference(row, resample, method_of, name=name, of=name)


def _add_ac2(row: Row, whole: pd.DataFrame, scale: Scale, clusters: np.ndarray, bootstrap: Bootstrap) -> None:
    matrix = whole.to_numpy(float)
    units, columns = np.nonzero(~np.isnan(matrix))
    with row.leave_out_if_undefined(*_with_bounds([AC2])):
        levels = scale.levels()
        counted, weights = gwet.counts(matrix[units, columns], units, levels), gwet.quadratic(levels)
        row.values[AC2] = gwet.agreement(counted, weights)
        if scale.note:
            row.add_notes(scale.note.on(AC2))
        resample = partial(gwet.resample, counted, weights, clusters, bootstrap)
        _add_interval(row, AC2, "AC2", resample, method="weighted_bootstrap")


def _add_kappas(row: Row, matrix: Array, clusters: np.ndarray) -> None:
    def kappas() -> list[float]:
        if matrix.shape[1] != 2:
            raise Undefined("over_two_raters")
        places, levels = kappa.places(matrix)
        return [value for weigh in OF_TWO.values() for value in kappa.kappa(places, weigh(levels), clusters)]

    row.compute_all(WITH_ERRORS, kappas)


def _add_nominal(row: Row, counted: Counts, clusters: np.ndarray) -> None:
    row.compute("percent_agreement", counted.percent_agreement)
    both = "kappa_fleiss", "kappa_fleiss_se"
    row.compute_all(both, lambda: (_fleiss(counted), counted.error_of_fleiss(clusters)))


def _fleiss(counted: Counts) -> float:
    """Return Fleiss' kappa of nominal scores (Fleiss 1971, 10.1037/h0031619).

    Conversations may differ in their raters, not in the number of them.
    """
    sizes = counted.counts.sum(axis=1)
    if np.ptp(sizes):
        raise Undefined("ratings_differ_in_number")
    counted.require_variation()
    return float(fleiss_kappa(counted.counts))


def _arms_row(means: pd.DataFrame, labels: Labels) -> Cells:
    """Return the row of arms, in which raters had their own conversations, so only the one-way forms mean something."""
    row = Row(**labels, unit="arm", n=means["arm"].nunique(), k=means["rater"].nunique())
    row.leave_out(*(name for name in _MEASURED if name not in _with_bounds(ONE_WAY)), because=Note("own_conversations"))
    row.leave_out(*CONSISTENCY, because=Note("on_row_of_all_items"))
    arms = number_names(means["arm"])
    _add_one_way(row, means["score"].to_numpy(float), arms, np.arange(len(set(arms))))
    row.add_notes(Note("confounded"))
    return row.cells()


def _of_items(
    rated: pd.DataFrame, labels: Labels, conversations: pd.DataFrame, bootstrap: Bootstrap
) -> Iterator[Cells]:
    """Yield one row per instrument: its items as a scale, over the ratings that answered all of them."""
    wide = by_item(rated)
    if wide.shape[1] < 2:
        return
    answered = wide.dropna()
    complete, clusters = answered.to_numpy(float), _clusters(answered.index, conversations)
    row = Row(**labels, item="*", unit="conversation", n=len(complete), k=wide.shape[1], clusters=len(set(clusters)))
    if len(complete) < len(wide):
        row.add_notes(Note("complete_ratings", count=len(complete), all=len(wide)))
    row.leave_out(*_MEASURED, because=Note("on_rows_of_items"))
    _add_cronbach(row, complete, clusters, bootstrap)
    row.compute("omega", lambda: omega_total(complete))
    row.compute("omega_polychoric", lambda: omega_polychoric(complete))
    if len(set(clusters)) < len(complete):
        row.add_notes(Note("one_sample_in_omega", count=len(complete), clusters=len(set(clusters))).on("omega"))
    yield row.cells()


def _add_cronbach(row: Row, scores: Array, clusters: np.ndarray, bootstrap: Bootstrap) -> None:
    """Add Cronbach's alpha, which is ICC(C,k) with items for raters (Feldt 1965, doi 10.1007/BF02289499)."""
    with row.leave_out_if_undefined(*_with_bounds(["cronbach"])):
        alpha = cronbach_alpha(scores)
        forms = two_way(scores)
        if not _repeat(clusters):
            _put(row, {"cronbach": replace(forms["icc_c_k"], estimate=alpha)})
            row.add_methods(Note("f").on("Cronbach"))
            return

        def widen() -> dict[str, Icc]:
            icc = clustered.two_way(forms, scores, clusters, bootstrap)["icc_c_k"]
            return {"cronbach": replace(icc, estimate=alpha)}

        if _put_clustered(row, {"cronbach": Icc(alpha, np.nan, np.nan)}, widen):
            row.add_methods(JACKKNIFE.on("Cronbach"))


def cronbach_alpha(scores: Array) -> float:
    """Return Cronbach's alpha of `scores`, ratings × items, complete (Cronbach 1951, doi 10.1007/BF02310555)."""
    if len(scores) < 2:
        raise Undefined("under_two_complete_ratings")
    items = scores.shape[1]
    total = scores.sum(axis=1).var(ddof=1)
    if total == 0:
        raise Undefined("totals_alike")
    return float(items / (items - 1) * (1 - scores.var(axis=0, ddof=1).sum() / total))


def omega_total(scores: Array) -> float:
    """Return omega of one factor of `scores`, ratings × items, complete (McDonald 1999, Test Theory, chapter 6)."""
    _must_have_a_factor(scores)
    correlations: Array = np.asarray(np.corrcoef(scores, rowvar=False))
    if np.linalg.eigvalsh(correlations).min() < SINGULAR:
        raise Undefined("item_follows")
    return _omega(correlations, scores.std(axis=0, ddof=1))


def omega_polychoric(scores: Array) -> float:
    """Return omega of ordered categories; `scores` are whole points, ratings × items, complete.

    Zumbo, Gadermann & Zeisser 2007, doi 10.22237/jmasm/1177992180.
    """
    _must_have_a_factor(scores)
    correlations = polychoric.correlations(scores)
    if np.linalg.eigvalsh(correlations).min() < SINGULAR:
        raise Undefined("polychoric_contradict")
    return _omega(correlations, np.ones(scores.shape[1]))


def _must_have_a_factor(scores: Array) -> None:
    ratings, items = scores.shape
    if items < FEWEST_ITEMS:
        raise Undefined("under_three_items")
    if ratings <= items:
        raise Undefined("too_few_ratings_for_a_factor")
    if not np.ptp(scores, axis=0).all():
        raise Undefined("item_alike")


def _omega(correlations: Array, spread: Array) -> float:
    loadings, rest = _one_factor(correlations)
    common = float(spread @ loadings) ** 2
    return common / (common + float(spread**2 @ rest))


def _one_factor(correlations: Array) -> tuple[Array, Array]:
    """Return the loadings and unique variances of one factor. The package itself would start at random."""
    from statsmodels.multivariate.factor import Factor  # brings the formulas, a tenth of all imports

    values, vectors = np.linalg.eigh(correlations)
    start = np.sqrt(values[-1]) * vectors[:, -1:]
    with warnings.catch_warnings():
        warnings.simplefilter("error", ModelWarning)
        try:
            model = Factor(corr=correlations, n_factor=1, method="ml")
            model.fit(start=(start, (1 - start[:, 0] ** 2).clip(min=LEAST)))
        except (ModelWarning, np.linalg.LinAlgError) as error:
            raise Undefined("no_factor") from error
    return model.loadings[:, 0], model.uniqueness


TABLE = Table(
    "reliability",
    reliability,
    COLUMNS,
    METHODS,
    heading=_("Agreement between raters"),
    empty=_("No conversation has several raters of the same kind, and no instrument has several items."),
    further=FURTHER,
    aside=("method",),
)
