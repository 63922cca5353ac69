"""The width of the interval of one agreement between a judge and people, and how far more participants or second
ratings would narrow it.

More participants: as many clusters as there would be then are drawn from those there are (Kleinman & Huang 2016, doi
10.13063/2327-9214.1202); the interval to be expected is the middle 95 % of r over the draws. The draws of a larger
study begin with those of a smaller one, and all shares of second ratings see the same draws.

Second ratings: a score is what the conversation is worth plus an error, alike and independent for all raters (Spearman
1904, doi 10.2307/1412159). Given a conversation's scores, its worth is drawn from the normal distribution that the
reliability and both sides' covariance leave it, and another rating from that.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253
from numpy.typing import NDArray

from studies.analysis import AnalysisError, Progress
from studies.analysis.bootstrap import Array, Bootstrap, fisher_z, number_names, sum_by_cluster
from studies.analysis.frames import Export
from studies.analysis.jackknife import infer_r, method_of_r
from studies.analysis.measures import correlation
from studies.analysis.measures.variance import one_way
from studies.analysis.notes import CODES, INTERVAL, Note
from studies.analysis.planning import agreement_rank
from studies.analysis.rows import Undefined
from studies.analysis.tables.agreement import SCALE, UNIT, both_sides

MORE = (0.0, 0.1, 0.25, 0.5, 1.0)  # participants, as a share of those there are
SECOND = (0.0, 0.25, 0.5, 1.0)  # share of the conversations that get another rating
ASSUMED = (0.4, 0.6, 0.8)  # reliabilities of a single rating, where the data tell of none
DRAWS, WORTHS = 200, 50  # resamples for each of so many drawings of worths and second ratings
TAILS = (0.025, 0.975)


@dataclass(frozen=True)
class Units:
    """Scores of conversations (and turns) that both sides scored, one row each. `human` is a mean of
    `ratings` scores."""

    human: Array
    judge: Array
    ratings: Array
    clusters: NDArray[np.intp]  # numbered from 0 without gaps
    counsellors: bool  # all are counsellors' own, rated by themselves

    def r(self) -> float:
        return correlation.pearson(self.human, self.judge)

    def sums(self, human: Array) -> Array:
        """Return the clusters' sums for r, with these scores in place of the people's."""
        x, y = human - self.human.mean(), self.judge - self.judge.mean()
        return sum_by_cluster(np.column_stack([np.ones_like(x), x, y, x * x, y * y, x * y]), self.clusters)


@dataclass(frozen=True)
class Model:
    """A model of people's scores.

    `worth` and `error` are the variances of a conversation's worth and of a single score. `slopes`: of the worth on
    (human, judge), `left`: its variance given both.
    """

    worth: float
    error: float
    slopes: Array
    left: float

    def reliability(self, ratings: Array, second: float = 0.0) -> float:
        """Return the reliability of means of `ratings` scores each, if a share `second` of conversations
        has one more."""
        errors = (1 - second) / ratings + second / (ratings + 1)
        return self.worth / (self.worth + self.error * float(np.mean(errors)))


def agreements(export: Export) -> list[dict[str, str]]:
    """Return the agreements that can be planned: rows of agreement.csv without single raters, by
    `planning.agreement_rank`."""
    compared = [row for row, _both in both_sides(export.ratings) if ":" not in row["human"]]
    return sorted(compared, key=agreement_rank)


def compute_precision(
    export: Export, filters: Mapping[str, str], bootstrap: Bootstrap, on_progress: Progress = lambda *_: None
) -> dict[str, Any]:
    """Return the precision of the first of `agreements` that matches `filters` (by any of `planning.OF`).

    The result has plain values, as plan.json holds them. `left_out`: reliabilities with which not even a perfect judge
    would reach the observed r. Raises `AnalysisError` if no agreement matches or its r does not exist.
    """
    labels = choose_agreement(agreements(export), filters)
    single = single_scores(export.ratings, labels)
    units = units_of(export, labels, single)
    try:
        now = interval_now(units, bootstrap)
        more = participants(units, bootstrap.seed)
    except Undefined as reason:
        raise AnalysisError(f"{' · '.join(filter(None, labels.values()))}: {reason}") from reason
    reliabilities, why = reliabilities_of(single)
    plans, left_out = [], []
    notes = [*now.pop("notes"), *why, *([Note("arms_not_left_out")] if units.counsellors else [])]
    for place, reliability in enumerate(reliabilities):
        on_progress(place, len(reliabilities), f"reliability {reliability['estimate']:.2f}")
        try:
            plans.append({"reliability": reliability, **plan(units, reliability["estimate"], bootstrap.seed)})
        except Undefined:
            left_out.append(reliability["estimate"])
    on_progress(len(reliabilities), len(reliabilities), "done")
    return {
        "schema": "emostudy-precision/1",
        "demonstration": export.demonstration,
        "of": labels,
        "n": len(units.human),
        "clusters": int(units.clusters.max()) + 1,
        "now": now,
        "participants": more,
        "plans": plans,
        "left_out": left_out,
        "notes": [str(note) for note in notes],
        CODES: [note.as_json() for note in notes],
        "settings": {"bootstrap": bootstrap.replicates, "draws": DRAWS * WORTHS, "seed": bootstrap.seed},
    }


def choose_agreement(agreements: Sequence[dict[str, str]], filters: Mapping[str, str]) -> dict[str, str]:
    if not agreements:
        raise AnalysisError("no judge and person scored the same conversation, so there is no interval to plan")
    for labels in agreements:
        if all(labels[name] == value for name, value in filters.items()):
            return labels
    description = ", ".join(f"{name} {value}" for name, value in filters.items())
    listed = "\n".join("  " + " · ".join(filter(None, labels.values())) for labels in agreements)
    raise AnalysisError(f"no judge and person were compared with {description}; there are:\n{listed}")


def single_scores(ratings: pd.DataFrame, labels: Mapping[str, str]) -> pd.Series:
    """Return each person's score of each unit, indexed by UNIT."""
    same = (ratings["rater_kind"] == labels["human"]) & (ratings[SCALE] == [labels[name] for name in SCALE]).all(axis=1)
    by_rater: pd.Series = ratings[same].groupby(["rater", *UNIT], observed=True)["score"].mean()
    return by_rater.droplevel("rater")


def units_of(export: Export, labels: Mapping[str, str], single: pd.Series) -> Units:
    of_scale = export.ratings[(export.ratings[SCALE] == [labels[name] for name in SCALE]).all(axis=1)]
    both = next(scores for compared, scores in both_sides(of_scale) if compared == labels)
    about = export.conversations.loc[both.index.get_level_values("conversation").astype(str)]
    return Units(
        human=both["human"].to_numpy(float),
        judge=both["judge"].to_numpy(float),
        ratings=single.groupby(level=UNIT, observed=True).size().reindex(both.index).to_numpy(float),
        clusters=number_names(about["cluster"]),
        counsellors=labels["human"] == "expert" and bool(about["counsellors"].all()),
    )


def interval_now(units: Units, bootstrap: Bootstrap) -> dict[str, Any]:
    r = units.r()
    inference = infer_r(fisher_z, units.sums(units.human), bootstrap)
    interval = inference.interval_of_r()
    low, high, method = interval.low, interval.high, method_of_r(inference, interval)
    return {
        "r": r,
        "low": low,
        "high": high,
        "half_width": (high - low) / 2,
        "method": str(method),
        "method_code": method.as_json(),
        "notes": list(inference.notes(INTERVAL)),
    }


def reliabilities_of(single: pd.Series) -> tuple[list[dict[str, Any]], list[Note]]:
    """Return reliabilities of a single rating: ICC(1,1) if conversations have several raters, else ASSUMED and why."""
    targets = single.groupby(level=UNIT, observed=True).ngroup().to_numpy()
    several = np.bincount(targets)[targets] > 1
    assumed = [{"estimate": value, "low": None, "high": None, "source": "assumed"} for value in ASSUMED]
    if not several.any():
        return assumed, [Note("reliability_of_one_rater")]
    try:
        icc = one_way(single.to_numpy(float)[several], np.unique(targets[several], return_inverse=True)[1]).single
    except Undefined as reason:
        return assumed, [reason.note]
    if icc.estimate <= 0:
        return assumed, [Note("reliability_not_above_zero")]
    bounds = {"low": _finite(icc.low), "high": _finite(icc.high)}
    return [{"estimate": min(icc.estimate, 1.0), **bounds, "source": "estimated"}], []


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


# With more participants and ratings


def participants(units: Units, seed: int) -> list[dict[str, Any]]:
    """Return a row for each of MORE, with more participants alone."""
    draws = _draw_z(units, lambda: [units.human], seed)
    return [_of_size(units, more) | _width(z, units.r()) for more, [z] in zip(MORE, draws, strict=True)]


def plan(units: Units, reliability: float, seed: int) -> dict[str, Any]:
    """Return what more conversations and second ratings would gain, for each of MORE × SECOND.

    Raise `Undefined` where no such reliability can be behind the r there is.

    `cells`: for each of MORE × SECOND. `corrected_half_width` is that of r / √(reliability of people's means), the
    agreement with the conversations' worth, which is one quantity in all cells. `narrower`: the share by which it
    shrinks.
    """
    model, random = worth_model(units, reliability), np.random.default_rng((seed, 1))
    draws = _draw_z(units, lambda: add_second_ratings(units, model, random), seed)
    cells = [
        _cell(units, model, more, share, z)
        for more, row in zip(MORE, draws, strict=True)
        for share, z in zip(SECOND, row, strict=True)
    ]
    widest = cells[0]["corrected_half_width"]
    cells = [cell | {"narrower": 1 - cell["corrected_half_width"] / widest} for cell in cells]
    return {"cells": cells, "per_ten": per_ten(cells)}


def _draw_z(units: Units, versions: Callable[[], Iterable[Array]], seed: int) -> list[list[Array]]:
    """Return, for each of MORE and each version of people's scores, draws of Fisher's z about their mean.

    `versions` is called for each of WORTHS. The spread between these is not part of the width: a study has its ratings
    once, and its resamples vary with them already.
    """
    random = np.random.default_rng(seed)
    draws: list[list[list[Array]]] = []
    for _worth in range(WORTHS):
        sums = [units.sums(human) for human in versions()]
        draws.append(
            [[_about_its_mean(counts @ each) for each in sums] for counts in _draw_nested_counts(random, len(sums[0]))]
        )
    return [[np.concatenate(parts) for parts in zip(*rows, strict=True)] for rows in zip(*draws, strict=True)]


def _draw_nested_counts(random: np.random.Generator, clusters: int) -> Iterator[Array]:
    """Yield for each of MORE how often each cluster is drawn: DRAWS × clusters."""
    counts, had = np.zeros((DRAWS, clusters)), 0
    for more in MORE:
        size = round(clusters * (1 + more))
        draws = random.integers(clusters, size=(DRAWS, size - had)) + clusters * np.arange(DRAWS)[:, np.newaxis]
        counts = counts + np.bincount(draws.ravel(), minlength=counts.size).reshape(counts.shape)
        had = size
        yield counts


def _about_its_mean(sums: Array) -> Array:
    z = fisher_z(sums)
    z = z[np.isfinite(z)]
    if not z.size:
        raise Undefined("no_resample_varies")
    return np.asarray(z - z.mean())


def worth_model(units: Units, reliability: float) -> Model:
    per_mean = float(np.mean(1 / units.ratings))
    (human, both), (_, judge) = np.cov(units.human, units.judge)
    worth = human / (1 + (1 - reliability) / reliability * per_mean)
    error = worth * (1 - reliability) / reliability
    covariances = np.array([worth, both])
    if both**2 >= worth * judge:
        raise Undefined("unreachable_r")
    slopes = np.linalg.solve([[human, both], [both, judge]], covariances)
    return Model(worth, error, slopes, max(0.0, worth - float(slopes @ covariances)))


def add_second_ratings(units: Units, model: Model, random: np.random.Generator) -> Iterator[Array]:
    """Yield for each of SECOND people's means with another rating for that share of conversations.

    A larger share includes those of a smaller one.
    """
    size = len(units.human)
    deviations = np.stack([units.human - units.human.mean(), units.judge - units.judge.mean()])
    worth = units.human.mean() + model.slopes @ deviations + random.normal(0, sqrt(model.left), size)
    second = worth + random.normal(0, sqrt(model.error), size)
    both = (units.ratings * units.human + second) / (units.ratings + 1)
    place = random.permutation(size)
    for share in SECOND:
        yield np.where(place < round(share * size), both, units.human)


def _of_size(units: Units, more: float) -> dict[str, Any]:
    clusters = int(units.clusters.max()) + 1
    there = round(clusters * (1 + more))
    return {"more": more, "clusters": there, "n": round(len(units.human) * there / clusters)}


def _width(z: Array, r: float) -> dict[str, float]:
    """Return the interval of r; `z`: draws about their mean."""
    middle = np.arctanh(np.clip(r, -1 + 1e-12, 1 - 1e-12))
    low, high = np.tanh(middle + np.quantile(z, TAILS))
    return {"r": r, "low": float(low), "high": float(high), "half_width": float(high - low) / 2}


def _cell(units: Units, model: Model, more: float, share: float, z: Array) -> dict[str, Any]:
    size = _of_size(units, more)
    reliability = model.reliability(units.ratings, share)
    width = _width(z, units.r() * sqrt(reliability / model.reliability(units.ratings)))
    return {
        **size,
        "second": share,
        "second_ratings": round(share * size["n"]),
        "reliability": reliability,
        **width,
        "corrected_half_width": width["half_width"] / sqrt(reliability),
    }


def per_ten(cells: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    """Return the shares by which ten more conversations, or second ratings, narrow the interval.

    They follow from the smallest step of each.
    """
    now = cells[0]
    people = next(cell for cell in cells if cell["more"] > 0 and cell["second"] == 0)
    second = next(cell for cell in cells if cell["more"] == 0 and cell["second"] > 0)
    added = {"conversations": people["n"] - now["n"], "second_ratings": second["second_ratings"]}
    steps = {"conversations": people["narrower"], "second_ratings": second["narrower"]}
    return {name: 10 * steps[name] / added[name] if added[name] else None for name in added}
