"""reliability.csv: how well the raters of a group agree with each other, and how well an instrument's items do."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253
from statsmodels.stats.inter_rater import fleiss_kappa  # noqa: TID253

from studies.analysis.bootstrap import Array, Bootstrap
from studies.analysis.frames import Export, first_of_people
from studies.analysis.measures import coincidence
from studies.analysis.measures.coincidence import Counts, Level
from studies.analysis.measures.pingouin_adapter import FORMS
from studies.analysis.measures.variance import Icc, by_components, one_way, two_way
from studies.analysis.rows import Row, Undefined

ONE_WAY = ("icc_1_1", "icc_1_k")
TWO_WAY = tuple(form for form in FORMS if form not in ONE_WAY)
LEVELS: tuple[Level, ...] = ("ordinal", "interval")
ALPHAS = tuple(f"alpha_{level}" for level in LEVELS)
AGREEMENT = ("kappa_fleiss", "percent_agreement")
CONSISTENCY = ("cronbach", "omega")


def _with_bounds(names: Iterable[str]) -> list[str]:
    return [name + bound for name in names for bound in ("", "_low", "_high")]


_ABOUT = ("raters", "unit", "instrument", "item", "moment", "n", "k")
COLUMNS = [*_ABOUT, *_with_bounds((*FORMS, *ALPHAS)), *AGREEMENT, *CONSISTENCY, "note", "clusters", "method"]
UNIT = ["conversation", "turn"]


def reliability(export: Export, bootstrap: Bootstrap) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yields (group of raters, its rows). A judge's replicates count as one rating, their mean; of a person's the first
    counts."""
    by = ["group", "rater", "instrument", "moment", "item", *UNIT]
    single = first_of_people(export.ratings).groupby(by, observed=True)["score"].mean().reset_index()
    for name, rated in single.groupby("group", observed=True):
        rows: list[dict[str, Any]] = []
        for (instrument, moment), of_instrument in rated.groupby(["instrument", "moment"], observed=True):
            of = {"raters": str(name), "instrument": str(instrument), "moment": str(moment)}
            for item, scores in of_instrument.groupby("item", observed=True):
                rows += _of_item(scores, of | {"item": str(item)}, export.conversations, bootstrap)
            rows += _of_items(of_instrument, of)
        yield str(name), rows


def _of_item(
    scores: pd.DataFrame, of: dict[str, str], conversations: pd.DataFrame, bootstrap: Bootstrap
) -> Iterator[dict[str, Any]]:
    several = scores.duplicated(UNIT, keep=False)
    if several.any():
        yield _conversations_row(scores[several], of, conversations, bootstrap)
    if of["raters"] == "expert" and not several.all():
        own = scores[~several]
        arms = conversations["arm"].reindex(own["conversation"].astype(str)).to_numpy(str)
        if len(set(arms) - {""}) > 1 and own["rater"].nunique() > 1:
            yield _arms_row(own.assign(arm=arms)[arms != ""], of)


def _conversations_row(
    scores: pd.DataFrame, of: dict[str, str], conversations: pd.DataFrame, bootstrap: Bootstrap
) -> dict[str, Any]:
    wide = scores.set_index([*UNIT, "rater"])["score"].unstack("rater").sort_index()
    matrix = wide.to_numpy(float)
    clusters = conversations.loc[wide.index.get_level_values("conversation").astype(str), "cluster"].to_numpy(str)
    row = Row(**of, unit="conversation", n=len(matrix), k=matrix.shape[1], clusters=len(set(clusters)))
    _add_icc(row, matrix)
    units, columns = np.nonzero(~np.isnan(matrix))
    counted = coincidence.counts(matrix[units, columns], units)
    numbers = np.unique(clusters, return_inverse=True)[1]
    for level in LEVELS:
        _add_alpha(row, counted, level, numbers, bootstrap)
    row.compute("kappa_fleiss", lambda: _fleiss(counted))
    row.compute("percent_agreement", counted.percent_agreement)
    row.leave_out(*CONSISTENCY, because="on the row of item *")
    return row.finished()


def _add_icc(row: Row, matrix: Array) -> None:
    """Six forms by analysis of variance where all raters rated all conversations, else by variance components."""
    complete = int((~np.isnan(matrix)).all(axis=1).sum())
    if complete == len(matrix):
        try:
            _put(row, two_way(matrix))
        except Undefined as reason:
            row.leave_out(*_with_bounds(FORMS), because=str(reason))
        return
    row.add_notes(f"{complete} of {len(matrix)} conversations rated by all {matrix.shape[1]} raters")
    targets, raters = np.nonzero(~np.isnan(matrix))
    scores = matrix[targets, raters]
    ratings = _add_one_way(row, scores, targets)
    try:
        _put(row, by_components(scores, targets, raters, ratings))
    except Undefined as reason:
        row.leave_out(*_with_bounds(TWO_WAY), because=str(reason))
    else:
        row.add_notes("(A,·) and (C,·) by REML variance components over all ratings, delta-method intervals")


def _add_one_way(row: Row, scores: Array, targets: np.ndarray) -> float:
    """Returns k, the ratings of a target on average; nan where that does not matter."""
    try:
        found = one_way(scores, targets)
    except Undefined as reason:
        row.leave_out(*_with_bounds(ONE_WAY), because=str(reason))
        return np.nan
    _put(row, {"icc_1_1": found.single, "icc_1_k": found.mean})
    row.add_notes(f"one-way over all ratings, k = {found.raters:.4g} ratings on average")
    return found.raters


def _put(row: Row, coefficients: dict[str, Icc]) -> None:
    for name, icc in coefficients.items():
        row.values |= {name: icc.estimate, f"{name}_low": icc.low, f"{name}_high": icc.high}
    open_ended = [name for name, icc in coefficients.items() if np.isnan(icc.low)]
    if open_ended:
        perfect = all(coefficients[name].estimate == 1 for name in open_ended)
        reason = "perfect agreement has no interval" if perfect else "no interval could be had"
        row.add_notes(f"{', '.join(open_ended)}: {reason}")


def _add_alpha(row: Row, counted: Counts, level: Level, clusters: np.ndarray, bootstrap: Bootstrap) -> None:
    name = f"alpha_{level}"
    row.compute(name, lambda: counted.alpha(level))
    try:
        resampled = counted.resampled(level, clusters, bootstrap)
    except Undefined as reason:
        row.leave_out(f"{name}_low", f"{name}_high", because=str(reason))
        return
    interval = resampled.interval()
    row.values |= {f"{name}_low": interval.low, f"{name}_high": interval.high}
    row.values["method"] = f"ICC: F; alpha: {interval.method} cluster bootstrap"
    row.add_notes(*resampled.notes(name))


def _fleiss(counted: Counts) -> float:
    """Nominal; conversations may differ in their raters, not in the number of them (Fleiss 1971, 10.1037/h0031619)."""
    sizes = counted.counts.sum(axis=1)
    if np.ptp(sizes):
        raise Undefined("the number of ratings differs between conversations")
    counted.must_tell()
    return float(fleiss_kappa(counted.counts))


def _arms_row(own: pd.DataFrame, of: dict[str, str]) -> dict[str, Any]:
    """Each rater judged the same arms through conversations of their own, so only the one-way forms mean something."""
    means = own.groupby(["arm", "rater"], observed=True)["score"].mean().reset_index()
    row = Row(**of, unit="arm", n=means["arm"].nunique(), k=means["rater"].nunique(), method="ICC: F")
    row.leave_out(*_with_bounds((*TWO_WAY, *ALPHAS)), *AGREEMENT, because="each rater had their own conversation")
    row.leave_out(*CONSISTENCY, because="on the row of item *")
    _add_one_way(row, means["score"].to_numpy(float), np.unique(means["arm"], return_inverse=True)[1])
    row.add_notes("rater, card and conversation are confounded")
    return row.finished()


def _of_items(rated: pd.DataFrame, of: dict[str, str]) -> Iterator[dict[str, Any]]:
    """One row per instrument: its items as a scale, over the ratings that answered all of them."""
    wide = rated.set_index(["rater", *UNIT, "item"])["score"].unstack("item")
    if wide.shape[1] < 2:
        return
    complete = wide.dropna().to_numpy(float)
    row = Row(**of, item="*", unit="conversation", n=len(complete), k=wide.shape[1])
    if len(complete) < len(wide):
        row.add_notes(f"{len(complete)} of {len(wide)} ratings answered all items")
    row.leave_out(*_with_bounds((*FORMS, *ALPHAS)), *AGREEMENT, because="on the rows of the items")
    row.compute("cronbach", lambda: cronbach_alpha(complete))
    row.leave_out("omega", because="no factor model is fitted")
    yield row.finished()


def cronbach_alpha(scores: Array) -> float:
    """`scores`: ratings × items, complete (Cronbach 1951, doi 10.1007/BF02310555)."""
    if len(scores) < 2:
        raise Undefined("fewer than two complete ratings")
    items = scores.shape[1]
    total = scores.sum(axis=1).var(ddof=1)
    if total == 0:
        raise Undefined("the totals do not vary")
    return float(items / (items - 1) * (1 - scores.var(axis=0, ddof=1).sum() / total))
