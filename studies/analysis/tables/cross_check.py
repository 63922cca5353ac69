"""cross_check.csv: the headline numbers of the other tables beside those of pingouin, krippendorff and statsmodels."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pandas as pd  # noqa: TID253

from studies.analysis.bootstrap import Array, Bootstrap
from studies.analysis.frames import Export
from studies.analysis.language import gettext_noop as _
from studies.analysis.measures import carry_over, coincidence, correlation, discrimination, libraries, mixed
from studies.analysis.measures.libraries import KRIPPENDORFF, PINGOUIN, STATSMODELS, LibraryFit
from studies.analysis.measures.variance import FORMS, one_way, two_way
from studies.analysis.notes import Note
from studies.analysis.rows import Cells, Labels, Row, Undefined
from studies.analysis.tables import arm_pairs, order, rater_effects, reliability
from studies.analysis.tables.agreement import unpaired_sides
from studies.analysis.tables.discrimination import judges_of
from studies.analysis.tables.table import Parts, Table

COLUMNS = [
    "table",
    "statistic",
    "of",
    "item",
    "ours",
    "library",
    "value",
    "difference",
    "agrees",
    "note",
]
# What a number is of, beside its item.
OF = ("raters", "human", "judge", "strategy", "unit", "instrument", "moment", "seekers", "condition")
METHODS = {
    "ours, value": _(
        "the number of the table that the column table names, and that of the package (library) on the same complete "
        "rows; ours is computed anew where a sample is checked, and for alpha, whose formula the bootstrap draws with"
    ),
    "n": _("rows that both numbers rest on: conversations, users, ratings, or scores of a mixed model"),
    "of": _("raters, judge, strategy, unit, instrument, moment, seekers and condition, as far as the table has them"),
    "agrees": _(
        "whether the difference is within the tolerance; empty where the two cannot be compared. The tolerance is "
        "0.000001 for closed formulas, times the number where it is above 1; for mixed models a thousandth of the "
        "number, or of a tenth of the scores' variance (of coefficients: standard deviation) where that is more"
    ),
    "statistic": _(
        "at most 60 correlations, 20 items of several raters, 20 instruments and 10 items of several arms, drawn at "
        "random, and one mixed model each of the raters and of the order, so that the check "
        "takes a second or two; with more than 200,000 ratings a sample of clusters"
    ),
}
MOST_RATINGS = 200_000  # above, a sample of clusters is checked
MOST_CORRELATIONS, MOST_MATRICES, MOST_SCALES, MOST_ANALYSES = 60, 20, 20, 10
MOST_LEVELS, MOST_CROSSED = 100, 200  # of a mixed model: levels of its one term; rows where terms are crossed
MOST_ROWS = 2000  # of a mixed model
MOST_TRIES = 3  # of the mixed models of a table, until statsmodels converges
SEED = 1  # of what is drawn; that of the bootstrap does not move it
CLOSED, ITERATED = 1e-6, 1e-3  # tolerances
LEAST_SHARE = 0.1  # of the scores' spread; below, a mixed model's tolerance falls no further
YES, NO = "true", "false"

Tables = Mapping[str, pd.DataFrame]
Item = TypeVar("Item")


@dataclass(frozen=True)
class Check:
    """One number to be checked.

    `key`: the values by which its table finds its row; `column`: where it stands there, "" where it does not.
    `compute` and `library` give both numbers, or raise `Undefined`. `spread`: of a mixed model's scores, in the unit
    of the number; None for a closed formula. `sample`: what the number rests on where that is not the whole.
    """

    name: str
    table: str
    key: Mapping[str, str]
    column: str
    n: int
    compute: Callable[[], float]
    library: Callable[[], float]
    package: str
    spread: float | None = None
    sample: Note | None = None

    def tolerance(self, ours: float) -> float:
        if self.spread is None:
            return CLOSED * max(1.0, abs(ours))
        return ITERATED * max(abs(ours), LEAST_SHARE * self.spread)


@dataclass
class Presented:
    """The numbers that the tables computed before give."""

    tables: Tables
    _rows: dict[tuple[str, tuple[str, ...]], dict[tuple[str, ...], int]] = field(default_factory=dict)

    def number(self, check: Check) -> float:
        """Return ours; raise `Undefined` where there is none. A sample, or a table not computed, is computed anew."""
        if check.sample or not check.column or check.table not in self.tables:
            return check.compute()
        names = tuple(check.key)
        place = self._places(check.table, names).get(tuple(check.key.values()))
        value = np.nan if place is None else float(self.tables[check.table][check.column].iloc[place])
        if np.isnan(value):
            raise Undefined("no_number_in_table")
        return value

    def _places(self, table: str, names: tuple[str, ...]) -> dict[tuple[str, ...], int]:
        if (table, names) not in self._rows:
            keys = self.tables[table][list(names)].astype(str).itertuples(index=False, name=None)
            self._rows[table, names] = {key: place for place, key in enumerate(keys)}
        return self._rows[table, names]


def cross_check(export: Export, _bootstrap: Bootstrap, tables: Tables | None = None) -> Parts:
    """Yield (kind of number, its rows). `tables`: those computed before, whose numbers are ours."""
    presented = Presented(tables or {})
    sampled, sample = sample_of(export)
    for what, checks in (
        ("correlations", _correlations(sampled)),
        ("reliability", _reliability(sampled)),
        ("repeated measures", _repeated_measures(sampled)),
        ("mixed models", _mixed_models(sampled)),
    ):
        yield what, [_row(replace(check, sample=check.sample or sample), presented) for check in checks]


def sample_of(export: Export) -> tuple[Export, Note | None]:
    """Return the export with so few clusters, drawn at random, that it has MOST_RATINGS or little more, and a note
    on that sample; the export itself and None where it has no more."""
    if len(export.ratings) <= MOST_RATINGS:
        return export, None
    clusters = sorted(export.conversations["cluster"].unique())
    sample_clusters = _draw(clusters, max(1, len(clusters) * MOST_RATINGS // len(export.ratings)))
    conversations = export.conversations[export.conversations["cluster"].isin(sample_clusters)]
    ratings = export.ratings[export.ratings["conversation"].isin(conversations.index)]
    sample = Note("sample_of_clusters", count=len(sample_clusters), all=len(clusters))
    return replace(export, ratings=ratings, conversations=conversations), sample


def _draw(items: Sequence[Item], most: int) -> list[Item]:
    """Return all items, or `most` of them in their order, always the same ones."""
    if len(items) <= most:
        return list(items)
    # Every tenth, say, could be always the same arm.
    places = np.random.default_rng(SEED).choice(len(items), most, replace=False)
    return [items[place] for place in sorted(places)]


def _row(check: Check, presented: Presented) -> Cells:
    of = ", ".join(filter(None, (check.key.get(name) for name in OF)))
    row = Row(table=check.table, statistic=check.name, of=of, item=check.key["item"], n=check.n)
    row.values |= {"library": libraries.name_with_version(check.package), "agrees": ""}
    row.values |= dict.fromkeys(("ours", "value", "difference"), np.nan)
    try:
        row.values["ours"] = ours = presented.number(check)
        row.values["value"] = value = check.library()
        if not (np.isfinite(ours) and np.isfinite(value)):
            raise Undefined("no_number_in_package")
    except Undefined as reason:
        row.add_notes(Note("not_comparable", reason=reason.note))
    else:
        row.values["difference"] = ours - value
        row.values["agrees"] = YES if abs(ours - value) <= check.tolerance(ours) else NO
    if check.sample:
        row.add_notes(check.sample)
    return row.cells()


def _correlations(export: Export) -> Iterator[Check]:
    for sides in _draw(list(unpaired_sides(export.ratings)), MOST_CORRELATIONS):
        both = sides.pair()
        if both.empty:
            continue
        x, y = both["human"].to_numpy(float), both["judge"].to_numpy(float)
        yield Check(
            "pearson",
            table="agreement",
            key=sides.labels,
            column="pearson",
            n=len(both),
            compute=partial(correlation.pearson, x, y),
            library=partial(libraries.pearson, x, y),
            package=PINGOUIN,
        )


@dataclass(frozen=True)
class Matrix:
    """Targets × raters, nan where a rater did not rate; `key` finds its row of reliability.csv."""

    key: Mapping[str, str]
    scores: pd.DataFrame


def _reliability(export: Export) -> Iterator[Check]:
    matrices, scales = [], []
    for (raters, instrument, moment), rated in reliability.single_ratings(export).groupby(
        ["group", "instrument", "moment"], observed=True
    ):
        labels = {"raters": str(raters), "instrument": str(instrument), "moment": str(moment)}
        for item, scores in rated.groupby("item", observed=True):
            matrices.append((labels | {"item": str(item)}, scores))
        if rated["item"].nunique() > 1:
            scales.append((labels | {"unit": "conversation", "item": "*"}, rated))
    several = [matrix for labels, scores in matrices for matrix in _matrices(labels, scores, export)]
    for matrix in _draw(several, MOST_MATRICES):
        yield from _of_matrix(matrix)
    for key, rated in _draw(scales, MOST_SCALES):
        yield _cronbach(key, reliability.by_item(rated).dropna().to_numpy(float))


def _matrices(labels: Labels, scores: pd.DataFrame, export: Export) -> Iterator[Matrix]:
    several = scores.duplicated(reliability.UNIT, keep=False)
    if several.any():
        yield Matrix(labels | {"unit": "conversation"}, scores[several])
    if labels["raters"] == "expert" and not several.all():
        means = reliability.arm_means(scores[~several], export.conversations)
        if means is not None:
            yield Matrix(labels | {"unit": "arm"}, means)


def _of_matrix(matrix: Matrix) -> Iterator[Check]:
    if matrix.key["unit"] == "arm":
        scores = matrix.scores.set_index(["arm", "rater"])["score"].unstack("rater").to_numpy(float)
    else:
        scores = reliability.by_rater(matrix.scores).to_numpy(float)
    yield from _icc(matrix.key, scores)
    if matrix.key["unit"] == "conversation":
        yield from _alpha(matrix.key, scores)


def _icc(key: Mapping[str, str], scores: Array) -> Iterator[Check]:
    complete = not np.isnan(scores).any()
    library = _once(partial(_library_forms, scores))
    ours = _once(partial(_forms, scores))
    for name in FORMS if key["unit"] == "conversation" else reliability.ONE_WAY:
        form = library if complete or name in reliability.ONE_WAY else _refuse_components
        yield Check(
            name,
            table="reliability",
            key=key,
            column=name,
            n=len(scores),
            compute=lambda name=name: ours()[name],  # type: ignore[misc]
            library=lambda name=name, form=form: form()[name],  # type: ignore[misc]
            package=PINGOUIN,
        )


def _forms(scores: Array) -> dict[str, float]:
    """Return ours. With gaps the one-way forms alone: the others are not compared."""
    if not np.isnan(scores).any():
        return {name: icc.estimate for name, icc in two_way(scores).items()}
    targets, raters = np.nonzero(~np.isnan(scores))
    forms = {name: icc.estimate for name, icc in one_way(scores[targets, raters], targets).forms().items()}
    return dict.fromkeys(FORMS, np.nan) | forms


def _library_forms(scores: Array) -> dict[str, float]:
    """Return the package's. Who rated does not matter to the one-way forms, so gaps may be closed up in their rows."""
    sizes = (~np.isnan(scores)).sum(axis=1)
    if np.ptp(sizes):
        raise Undefined("ratings_differ_in_number")
    if len(scores) < 2 or sizes[0] < 2:
        raise Undefined("under_two_complete_conversations")
    return libraries.intraclass_correlations(scores[~np.isnan(scores)].reshape(len(scores), sizes[0]))


def _refuse_components() -> dict[str, float]:
    raise Undefined("components_against_complete")


def _alpha(key: Mapping[str, str], scores: Array) -> Iterator[Check]:
    units, raters = np.nonzero(~np.isnan(scores))
    counted = coincidence.counts(scores[units, raters], units)
    for level in reliability.LEVELS:
        yield Check(
            f"alpha_{level}",
            table="reliability",
            key=key,
            column="",
            n=len(scores),
            compute=partial(_alpha_by_formula, counted, level),
            library=partial(libraries.krippendorff_alpha, scores, level),
            package=KRIPPENDORFF,
        )


def _alpha_by_formula(counted: coincidence.Counts, level: coincidence.Level) -> float:
    """Return alpha by the formula that the bootstrap draws with."""
    counted.require_variation()
    if len(counted.levels) > coincidence.MOST_LEVELS:
        raise Undefined("too_many_scores", most=coincidence.MOST_LEVELS)
    sums = counted.coincidences().reshape(len(counted.counts), -1).sum(axis=0)
    return float(coincidence.alpha_from_sums(sums, counted.levels, level))


def _cronbach(key: Mapping[str, str], scores: Array) -> Check:
    return Check(
        "cronbach_alpha",
        table="reliability",
        key=key,
        column="cronbach",
        n=len(scores),
        compute=partial(reliability.cronbach_alpha, scores),
        library=partial(libraries.cronbach_alpha, scores),
        package=PINGOUIN,
    )


def _repeated_measures(export: Export) -> Iterator[Check]:
    for item in _draw(list(arm_pairs.comparisons(export)), MOST_ANALYSES):
        scores = item.complete().scores
        yield Check(
            "f_repeated",
            table="discrimination",
            key={**item.labels, "judge": judges_of(item.labels["raters"])},
            column="f_repeated",
            n=len(scores),
            compute=lambda scores=scores: discrimination.mean_squares(scores).f_repeated(),  # type: ignore[misc]
            library=partial(libraries.repeated_measures_f, scores),
            package=PINGOUIN,
        )


def _mixed_models(export: Export) -> Iterator[Check]:
    """Yield the checks of one model of each table that both can fit, or of the last one tried."""
    for models in (_of_raters(export), _of_positions(export)):
        for model in _draw(list(models), MOST_TRIES):
            yield from model.checks()
            if model.is_comparable():
                break


@dataclass(frozen=True)
class Number:
    """A number of a mixed model; `more` finds its row together with the model's key."""

    name: str
    more: Mapping[str, str]
    of_ours: Callable[[Any], float]
    of_library: Callable[[LibraryFit], float]
    spread: float


class Model:
    """A mixed model that both fit, on so much of the data as statsmodels fits in a fraction of a second."""

    def __init__(
        self,
        table: str,
        key: Mapping[str, str],
        data: mixed.Data,
        numbers: Callable[[mixed.Data], Iterator[Number]],
        fit: Callable[[mixed.Data], Any],
    ) -> None:
        aliased = mixed.unidentified_terms(data.terms)
        terms = {name: levels for name, levels in data.terms.items() if name not in aliased}
        self.data, self.sample = reduce_model(replace(data, terms=terms))
        self.table, self.key, self.numbers = table, key, numbers
        self._ours = _once(partial(_fit_ours, self.data, fit))
        self._library = _once(partial(libraries.fit_mixed_model, self.data))

    def checks(self) -> Iterator[Check]:
        for number in self.numbers(self.data):
            yield Check(
                number.name,
                table=self.table,
                key={**self.key, **number.more},
                column="estimate",
                n=len(self.data.scores),
                compute=lambda number=number: number.of_ours(self._ours()),  # type: ignore[misc]
                library=lambda number=number: number.of_library(self._library()),  # type: ignore[misc]
                package=STATSMODELS,
                spread=number.spread,
                sample=self.sample,
            )

    def is_comparable(self) -> bool:
        try:
            self._library()
        except Undefined:
            return False
        return True


def _once(compute: Callable[[], Item]) -> Callable[[], Item]:
    """Cache the result, or the error that there is none."""
    outcome: list[Item | Undefined] = []

    def recall() -> Item:
        if not outcome:
            try:
                outcome.append(compute())
            except Undefined as reason:
                outcome.append(reason)
        if isinstance(outcome[0], Undefined):
            raise outcome[0]
        return outcome[0]

    return recall


def _fit_ours(data: mixed.Data, fit: Callable[[mixed.Data], Item]) -> Item:
    if np.linalg.matrix_rank(data.fixed) < data.fixed.shape[1]:
        raise Undefined("sample_without_arms")
    return fit(data)


def _fit_mixed(data: mixed.Data) -> mixed.Fit:
    return mixed.fit(data.scores, data.fixed, data.terms)


def reduce_model(data: mixed.Data) -> tuple[mixed.Data, Note | None]:
    """Return the model on levels of its largest term, drawn at random, and a note on them; a small one as it is."""
    if not data.terms:
        return data, None
    levels, rows = data.sizes[data.largest], len(data.scores)
    most = MOST_ROWS if len(data.terms) == 1 else MOST_CROSSED
    size = levels if rows <= most else max(2, levels * most // rows)
    size = min(size, MOST_LEVELS) if len(data.terms) == 1 else size
    if size >= levels:
        return data, None
    is_in_sample = np.isin(data.terms[data.largest], _draw(range(levels), size))
    terms = {name: np.unique(numbers[is_in_sample], return_inverse=True)[1] for name, numbers in data.terms.items()}
    sample = Note("sample_of_ratings", count=int(is_in_sample.sum()), all=rows)
    return mixed.Data(data.scores[is_in_sample], data.fixed[is_in_sample], terms), sample


def _of_raters(export: Export) -> Iterator[Model]:
    for raters, model, scores in rater_effects.groups(export):
        for key, of_item in scores.groupby(rater_effects.BY[1:], observed=True):
            labels = dict(zip(rater_effects.BY, (raters, *map(str, key)), strict=True)) | {"term": "variance"}
            yield Model("rater_effects", labels, rater_effects.model_of(model, of_item), _variances, _fit_mixed)


def _variances(data: mixed.Data) -> Iterator[Number]:
    for term in (*data.terms, "residual"):
        yield _variance(data, term, {"level": term})


def _variance(data: mixed.Data, term: str, more: Mapping[str, str]) -> Number:
    return Number(
        f"{term}_variance",
        more,
        lambda fit: float(fit.variances[term]),
        lambda fit: fit.variances[term],
        float(data.scores.var()),
    )


def _of_positions(export: Export) -> Iterator[Model]:
    for key, scores in order.own_scores(export).groupby(order.OF):
        try:
            designed = order.design(scores[scores["previous"].notna()])
        except Undefined:  # rater_effects.csv has no model of it either
            continue
        model, place = designed.model, designed.position()
        data = mixed.Data(model.scores, model.fixed, {"user": model.users})
        labels = dict(zip(order.OF, map(str, key), strict=True)) | {"statistic": "position_slope"}
        yield Model("order", labels, data, partial(_slope, place), _fit_positions)


def _fit_positions(data: mixed.Data) -> carry_over.Fit:
    if not data.terms:
        raise Undefined("no_random_term")
    return carry_over.fit(carry_over.Model(data.scores, data.fixed, data.terms["user"]))


def _slope(place: Array, data: mixed.Data) -> Iterator[Number]:
    yield Number(
        "position_slope",
        {},
        lambda fit: fit.effect(place).estimate,
        lambda fit: float(place @ fit.coefficients),
        float(data.scores.std()),
    )


TABLE = Table(
    "cross_check",
    cross_check,
    COLUMNS,
    METHODS,
    heading=_("Numbers checked by other packages"),
    section="methods",
    empty=_("No table has a number that another package also computes."),
    reads_tables=True,
    aside=("n",),
)
