"""Rows of rater_effects.csv: does it matter which of a person's conversations it was, and what came before?

Own final ratings of seekers and of counsellors in their own conversations. Model of each item: score ~ arm + position +
previous arm + (1 | user), positions from conversations.csv; the first conversation has no arm before it. Where
conditions differ, an arm in another condition counts as another arm, but not as another previous arm.

A balanced order keeps positions out of the arms' means, but not carry-over: no arm comes after itself, so what an arm
does to the next one reaches the means of all others alone. So the arms' differences are given with and without it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253

from studies.analysis.bootstrap import Array, Bootstrap, number_names
from studies.analysis.frames import Export
from studies.analysis.language import gettext_noop as _
from studies.analysis.measures.carry_over import Effect, Fit, Model, fit
from studies.analysis.notes import Note
from studies.analysis.pooling import ALL_ITEMS
from studies.analysis.reading import numbers, read_table, refuse
from studies.analysis.rows import Cells, Labels, Row, Undefined
from studies.analysis.tables.arms import add_interval
from studies.analysis.tables.families import adjust
from studies.analysis.tables.table import Parts, Table
from studies.analysis.tables.whom import scores_by_cluster

OF = ["raters", "instrument", "moment", "item"]
OWN = ("seeker", "expert")
COLUMNS = [
    "raters",
    "instrument",
    "item",
    "moment",
    "statistic",
    "arm",
    "position",
    "estimate",
    "low",
    "high",
    "n",
    "clusters",
    "method",
    "note",
    "condition",
]
METHODS = {
    "position_mean": _("mean of the final scores at a position; BCa interval (95 %), users resampled"),
    "first_position_mean": _(
        "mean of an arm's scores where it came first, so that nothing before it can have influenced them; the same "
        "interval, none with fewer than eight users"
    ),
    "position_slope": _(
        "points per position, score ~ arm + position + previous arm + (1|user) by REML; t interval, degrees of freedom "
        "are those left beside users and fixed part; p_holm over the items"
    ),
    "carry_over": _(
        "of the same model: how scores after this arm differ from those after the others; effects sum to 0, and the "
        "first conversation has none"
    ),
    "carry_over_f": _(
        "Wald's F that all effects of the previous arm are 0, by REML, with the degrees of freedom of the t intervals; "
        "p_holm over the items"
    ),
    "arm_difference": _(
        "an arm minus the mean of the arms (of its condition), score ~ arm + position + (1|user) by REML; t interval"
    ),
    "arm_difference_adjusted": _("the same with the previous arm in the model: what is left without carry-over"),
}
FIRST = 1
FEWEST_USERS = 8  # of means of normal scores, BCa intervals of four hold 81 % instead of 95, of eight 87
_WHOLE = re.compile(r"([1-9]\d*(\.0*)?)?")


def order(export: Export, bootstrap: Bootstrap) -> Parts:
    """Yield (kind of raters, its rows); nothing where conversations.csv tells no positions."""
    scores = own_scores(export)
    for raters, of_raters in scores.groupby("raters"):
        rows = [
            row
            for key, group in of_raters.groupby(OF)
            for row in _rows(dict(zip(OF, map(str, key), strict=True)), group, bootstrap)
        ]
        yield str(raters), adjust(rows, _family)


def read_positions(path: Path) -> pd.DataFrame:
    """Return `participant`, `position` and `previous`, indexed by conversation.

    `position` is a float, nan where the file has none. `previous` is the arm of the participant's conversation before:
    empty for the first, None where the file does not have it.
    """
    table = read_table(path, ("conversation",), ("participant", "arm", "position"))
    # A table that had gaps in this column was often saved with 5.0 for 5.
    refuse(path, table["position"], lambda text: not _WHOLE.fullmatch(text), "is not a whole number from 1")
    texts = table[["conversation", "participant", "arm"]].astype(str)
    places = list(zip(texts["participant"], numbers(path, table["position"]), strict=True))
    arms = dict(zip(places, texts["arm"], strict=True))
    previous = ["" if place == FIRST else arms.get((person, place - 1)) for person, place in places]
    positions = [place for _person, place in places]
    table = texts.assign(position=positions, previous=pd.Series(previous, dtype=object))
    return table.set_index("conversation")[["participant", "position", "previous"]]


def own_scores(export: Export) -> pd.DataFrame:
    """Return one row per OF × conversation that has a position.

    Columns `arm`, `condition`, `score`, `participant`, `position`, `previous`.
    """
    path = export.folder / "conversations.csv"
    own = _of_own_conversations(export)
    if own.empty or not path.is_file():
        return pd.DataFrame(columns=OF)
    alone = replace(export, conversations=export.conversations.assign(cluster=export.conversations.index))
    scores = scores_by_cluster(alone, own).rename(columns={"cluster": "conversation"})
    scores = scores.join(read_positions(path), on="conversation")
    return scores[(scores["position"] >= FIRST) & (scores["participant"] != "")]


def _of_own_conversations(export: Export) -> pd.DataFrame:
    ratings = export.ratings[export.ratings["rater_kind"].isin(OWN)]
    participants = export.conversations["participant"].reindex(ratings["conversation"].astype(str)).to_numpy()
    return ratings[(ratings["rater_kind"] == "seeker") | (ratings["rater"].astype(str) == participants)]


def _rows(labels: Cells, scores: pd.DataFrame, bootstrap: Bootstrap) -> Iterator[Cells]:
    for position, group in scores.groupby("position"):
        yield _mean(labels | {"statistic": "position_mean", "arm": "", "position": int(position)}, group, bootstrap)
    for arm, group in scores[scores["position"] == FIRST].groupby("arm"):
        about = {"statistic": "first_position_mean", "arm": str(arm), "position": FIRST}
        yield _mean(labels | about, group, bootstrap)
    yield from _of_model(labels, scores)


def _mean(about: Cells, scores: pd.DataFrame, bootstrap: Bootstrap) -> Cells:
    values = scores["score"].to_numpy(float)
    clusters = number_names(scores["participant"])
    users = int(clusters.max()) + 1
    row = Row(**about, n=len(values), clusters=users, estimate=float(values.mean()))
    if users < FEWEST_USERS:
        row.leave_out("low", "high", because=Note("under_eight_users"))
    else:
        add_interval(row, values, clusters, bootstrap, alike="scores_alike")
    return row.cells()


@dataclass(frozen=True)
class Design:
    """The design of the model.

    `model`: of the conversations of which it is known what came before. Its fixed part: indicators of the arms, the
    position, and for each arm that came before others, but the last of them, 1 after it, -1 after the last, 0 in a
    first conversation, so that effects sum to 0; without these where they cannot be told apart (`unknown` says why).
    """

    model: Model
    met: list[tuple[str, str]]  # arms and conditions, in the order of their indicators
    before: list[str]
    unknown: Note | None

    def position(self) -> Array:
        contrast: Array = np.eye(self.model.fixed.shape[1])[len(self.met)]
        return contrast

    def previous(self) -> Array:
        """Return a row for each arm of `before`: what of the fixed part is its effect."""
        others = np.eye(len(self.before) - 1, len(self.before) - 1)
        effects = np.vstack([others, -others.sum(axis=0)])
        return np.hstack([np.zeros((len(self.before), len(self.met) + 1)), effects])

    def differences(self) -> Iterator[tuple[str, str, Array]]:
        """Yield arm, condition, and what of the fixed part is their difference from the mean of the condition's arms.

        There is nothing of an arm that is alone in its condition.
        """
        for place, (arm, condition) in enumerate(self.met):
            same = np.array([other == condition for _arm, other in self.met], dtype=float)
            if same.sum() > 1:
                weights = np.eye(len(self.met))[place] - same / same.sum()
                yield arm, condition, np.pad(weights, (0, self.model.fixed.shape[1] - len(weights)))

    def without_previous(self) -> "Design":
        columns = self.model.fixed[:, : len(self.met) + 1]
        return replace(self, model=replace(self.model, fixed=columns))


def design(scores: pd.DataFrame) -> Design:
    """Return the design of the model; raise `Undefined` where position and arm go together."""
    if scores["position"].nunique() < 2:
        raise Undefined("under_two_positions")
    each = list(zip(scores["arm"], scores["condition"], strict=True))
    names = sorted(set(each))
    met, users = np.array([names.index(one) for one in each], dtype=np.intp), number_names(scores["participant"])
    positions = scores["position"].to_numpy(float)
    fixed = np.column_stack([np.eye(len(names))[met], positions - positions.mean()])
    if not _of_full_rank(fixed):
        raise Undefined("position_and_arm_go_together")
    before = sorted(set(scores["previous"]) - {""})
    came = (scores["previous"].to_numpy(str)[:, np.newaxis] == np.array(before, dtype=str)).astype(float)
    whole = np.column_stack([fixed, came[:, :-1] - came[:, -1:]])
    unknown = None
    if len(before) < 2:
        unknown = Note("under_two_previous_arms")
    elif not _of_full_rank(whole):
        unknown = Note("previous_arm_goes_together")
    model = Model(scores["score"].to_numpy(float), fixed if unknown else whole, users)
    return Design(model, names, before, unknown)


def _of_full_rank(columns: Array) -> bool:
    return bool(np.linalg.matrix_rank(columns) == columns.shape[1])


def _of_model(labels: Labels, scores: pd.DataFrame) -> Iterator[Cells]:
    with_previous = scores[scores["previous"].notna()]
    users = int(with_previous["participant"].nunique())
    about: Cells = labels | {"n": len(with_previous), "clusters": users, "arm": "", "position": np.nan}
    for row in _model_rows(about, with_previous):
        if len(with_previous) < len(scores):
            row.add_notes(Note("previous_unknown", count=len(scores) - len(with_previous)))
        yield row.cells()


def _model_rows(about: Cells, scores: pd.DataFrame) -> Iterator[Row]:
    try:
        designed = design(scores)
        full, plain = fit(designed.model), fit(designed.without_previous().model)
    except Undefined as reason:
        slope = Row(**about, statistic="position_slope")
        slope.leave_out("estimate", "low", "high", "p", because=reason.note)
        yield from [slope, _row_without_test(about, reason.note)]
        return
    yield _slope(about, designed, full)
    yield from _differences(about, "arm_difference", designed.without_previous(), plain)
    if designed.unknown:
        yield _row_without_test(about, designed.unknown)
        return
    yield _test(about, designed, full)
    yield from _differences(about, "arm_difference_adjusted", designed, full)
    yield from _after(about, designed, full)


def _slope(about: Cells, designed: Design, fitted: Fit) -> Row:
    row, effect = Row(**about, statistic="position_slope"), fitted.effect(designed.position())
    _add(row, effect)
    row.values["p"] = effect.p
    if designed.unknown:
        row.add_notes(Note("without_term", term=Note("previous_arm"), reason=designed.unknown))
    return row


def _without_bounds(about: Cells) -> Row:
    """Return the row of the test of the previous arm."""
    row = Row(**about, statistic="carry_over_f")
    row.leave_out("low", "high", because=Note("is_f"))
    return row


def _row_without_test(about: Cells, reason: Note) -> Row:
    row = _without_bounds(about)
    row.leave_out("estimate", "p", because=reason)
    return row


def _test(about: Cells, designed: Design, fitted: Fit) -> Row:
    row, test = _without_bounds(about), fitted.test(designed.previous()[:-1])
    row.values |= {"estimate": test.f, "p": test.p}
    row.add_methods(Note("wald_f_reml", numerator=test.numerator, df=test.df))
    return row


def _differences(about: Cells, statistic: str, designed: Design, fitted: Fit) -> Iterator[Row]:
    for arm, condition, contrast in designed.differences():
        row = Row(**(about | {"arm": arm, "condition": condition}), statistic=statistic)
        _add(row, fitted.effect(contrast))
        yield row


def _after(about: Cells, designed: Design, fitted: Fit) -> Iterator[Row]:
    for arm, contrast in zip(designed.before, designed.previous(), strict=True):
        row = Row(**(about | {"arm": arm}), statistic="carry_over")
        _add(row, fitted.effect(contrast))
        yield row


def _add(row: Row, effect: Effect) -> None:
    row.values |= {"estimate": effect.estimate, "low": effect.low, "high": effect.high}
    row.add_methods(Note("reml"), Note("t_interval"))


def _family(row: Cells) -> tuple[Any, ...]:
    """Return the family of a row's test: the items of each statistic; the mean over all items is by itself."""
    return row["moment"], row["statistic"], row["item"] == ALL_ITEMS


def in_file(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with `level`: the arm, or of a mean over the arms the position."""
    positions = rows["position"].map("{:g}".format).where(rows["statistic"] == "position_mean", "")
    return rows.rename(columns={"statistic": "term"}).assign(level=rows["arm"].where(rows["arm"] != "", positions))


TABLE = Table(
    "order",
    order,
    COLUMNS,
    METHODS,
    heading=_("Order effects"),
    empty=_("No one met several arms one after another, or no one knows in which order."),
    further=("p", "p_holm"),
    file="rater_effects",
    rearrange=in_file,
)
