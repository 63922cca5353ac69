"""panels.csv: all judges of one strategy and role as a panel, by three rules, beside its members and without each."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253

from studies.analysis.bootstrap import Array, Bootstrap, fisher_z, pair_moments, sum_by_cluster
from studies.analysis.frames import Export, first_of_people
from studies.analysis.language import gettext_noop as _
from studies.analysis.measures import coincidence, correlation
from studies.analysis.notes import Note
from studies.analysis.rows import Row, Undefined
from studies.analysis.tables.judged import SCALE, UNIT, add_resampled, clusters_of, judged_rows
from studies.analysis.tables.table import Table

ALPHAS = ("alpha_ordinal", "alpha_interval")
COLUMNS = [
    "strategy",
    "rule",
    "judge",
    "instrument",
    "item",
    "moment",
    "members",
    "units",
    "n",
    "failed",
    *ALPHAS,
    "percent_agreement",
    "human",
    "n_human",
    "pearson",
    "low",
    "high",
    "clusters",
    "method",
    "note",
]
METHODS = {
    "majority": _(
        "the score that more than half of all members gave, those without one among them; median and mean over "
        "those with one"
    ),
    "alpha": _("Krippendorff's alpha and the share of agreeing pairs over units that two members scored"),
    "pearson": _("Pearson's r with people as in agreement.csv"),
}
MAJORITY, MEDIAN, MEAN = "majority", "median", "mean"
BEST, AVERAGE = "best_member", "mean_member"
SAME = 1e-9  # scores that are closer than this are the same
LEAST = 2  # judges

Rule = Callable[[Array], float]


def panels(export: Export, bootstrap: Bootstrap) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield (strategy and role, its rows).

    `n` of `units` (conversations; at `turn` and `checkpoint` ratings in them) have a verdict; `failed` counts the
    members' answers that are missing. `judge`: the one that is left out, or the best.
    """
    answers = pd.concat([judged_rows(export.ratings), judged_rows(export.unscored)])
    people = _people(export.ratings)
    for (strategy, role), asked in answers.groupby(["strategy", "role"]):
        name = f"{strategy} {role}".strip()
        if asked["judge"].nunique() < LEAST:
            yield name, [_no_panel(str(strategy), str(role))]
            continue
        rows: list[dict[str, Any]] = []
        for (instrument, moment), of_instrument in asked.groupby(["instrument", "moment"]):
            members = sorted(of_instrument["judge"].unique())
            for item, rated in of_instrument.groupby("item"):
                of = {"strategy": strategy, "role": role, "instrument": instrument, "moment": moment, "item": item}
                panel = Panel(rated, members, export, bootstrap)
                humans = people.get(tuple(of[name] for name in SCALE), {})
                rows += panel.rows({name: str(value) for name, value in of.items()}, humans)
        yield name, rows


def _no_panel(strategy: str, role: str) -> dict[str, Any]:
    row = Row(strategy=strategy, role=role, rule="", judge="", instrument="", item="", moment="", members=1, human="")
    row.leave_out(*ALPHAS, "percent_agreement", "pearson", "low", "high", because=Note("one_judge"))
    return row.cells()


def _people(ratings: pd.DataFrame) -> Mapping[Any, Mapping[str, pd.Series]]:
    """Return the mean over the raters of each UNIT, by SCALE and rater kind."""
    rated = first_of_people(ratings[ratings["rater_kind"] != "judge"])
    keys = ["rater_kind", *SCALE, *UNIT]
    single = rated[[*keys, "rater"]].astype(str).assign(score=rated["score"])
    means = single.groupby([*keys, "rater"])["score"].mean().groupby(keys).mean().reset_index()
    found: dict[Any, dict[str, pd.Series]] = {}
    for (kind, *scale), rows in means.groupby(["rater_kind", *SCALE]):
        found.setdefault(tuple(scale), {})[str(kind)] = rows.set_index(UNIT)["score"]
    return found


class Panel:
    """The judges of one strategy and role on one item. `scores`: UNIT × members, nan where one gave none."""

    def __init__(self, rated: pd.DataFrame, members: list[str], export: Export, bootstrap: Bootstrap) -> None:
        means = rated.groupby([*UNIT, "judge"])["score"].mean().unstack("judge")
        self.scores = means.reindex(columns=members).sort_index()
        self.export, self.bootstrap = export, bootstrap

    def rows(self, of: dict[str, str], humans: Mapping[str, pd.Series]) -> Iterator[dict[str, Any]]:
        together: list[tuple[str, str, pd.DataFrame]] = [(rule, "", self.scores) for rule in RULES]
        if self.scores.shape[1] > LEAST:
            together += [(MEAN, judge, self.scores.drop(columns=judge)) for judge in self.scores]
        for rule, without, scores in together:
            for human, rated in humans.items() or [("", None)]:
                yield self.panel_row(of | {"rule": rule, "judge": without, "human": human}, scores, rated)
        for human, rated in humans.items():
            yield from self.member_rows(of | {"human": human}, rated)

    def panel_row(self, of: dict[str, str], scores: pd.DataFrame, rated: pd.Series | None) -> dict[str, Any]:
        values = scores.to_numpy(float)
        verdicts = pd.Series([RULES[of["rule"]](answers) for answers in values], index=scores.index)
        row = Row(**of, members=values.shape[1], units=len(values), failed=int(np.isnan(values).sum()))
        row.values["n"] = int(verdicts.notna().sum())
        if of["rule"] == MAJORITY and (none := len(verdicts) - row.values["n"]):
            row.add_notes(Note("without_majority", count=none))
        _add_agreement(row, values)
        if rated is None:
            row.leave_out("pearson", "low", "high", because=Note("no_people"))
        else:
            self.add_pearson(row, verdicts, rated)
        return row.cells()

    def add_pearson(self, row: Row, verdicts: pd.Series, rated: pd.Series) -> None:
        x, y, clusters = self.beside(verdicts, rated)
        row.values |= {"n_human": len(x), "clusters": len(set(clusters))}
        row.compute("pearson", lambda: correlation.pearson(x, y))
        if np.isnan(row.values["pearson"]):
            row.leave_out("low", "high", because=Note("no_r"))
            return
        sums = sum_by_cluster(pair_moments(x, y), clusters)
        add_resampled(row, lambda: self.bootstrap.resample(fisher_z, sums), lambda z: float(np.tanh(z)))

    def beside(self, verdicts: pd.Series, rated: pd.Series) -> tuple[Array, Array, Any]:
        """Return people's scores, the panel's, and the clusters, of what both have."""
        both = pd.concat({"human": rated, "panel": verdicts.dropna()}, axis=1, join="inner").sort_index()
        clusters = clusters_of(both.index.get_level_values("conversation"), self.export)
        return both["human"].to_numpy(float), both["panel"].to_numpy(float), clusters

    def member_rows(self, of: dict[str, str], rated: pd.Series) -> Iterator[dict[str, Any]]:
        """Yield what the panel is worth against its members: the one nearest to people, and their average."""
        found = {judge: r for judge in self.scores if (r := self.member_r(self.scores[judge], rated)) is not None}
        average = Row(**of, rule=AVERAGE, judge="", members=len(found))
        average.leave_out("low", "high", because=Note("mean_of_r"))
        if not found:
            average.leave_out("pearson", because=Note("no_member_with_r"))
            yield average.cells()
            return
        average.values["pearson"] = float(np.mean(list(found.values())))
        best = max(found, key=lambda judge: (found[judge], judge))
        row = Row(**of, rule=BEST, judge=best, members=1, units=len(self.scores))
        row.values |= {"n": int(self.scores[best].notna().sum()), "failed": int(self.scores[best].isna().sum())}
        self.add_pearson(row, self.scores[best], rated)
        row.add_notes(Note("chosen_by_the_same_data"))
        yield row.cells()
        yield average.cells()

    def member_r(self, scores: pd.Series, rated: pd.Series) -> float | None:
        x, y, _ = self.beside(scores, rated)
        try:
            return correlation.pearson(x, y)
        except Undefined:
            return None


def _add_agreement(row: Row, values: Array) -> None:
    """Add the agreement among the members, over the units that two or more scored."""
    several = values[(~np.isnan(values)).sum(axis=1) > 1]
    if not len(several):
        row.leave_out(*ALPHAS, "percent_agreement", because=Note("no_shared_scores"))
        return
    units, columns = np.nonzero(~np.isnan(several))
    counted = coincidence.counts(several[units, columns], units)
    row.compute(ALPHAS[0], lambda: counted.alpha("ordinal"))
    row.compute(ALPHAS[1], lambda: counted.alpha("interval"))
    row.compute("percent_agreement", counted.percent_agreement)


def strict_majority(answers: Array) -> float:
    """Return the score that more than half of all members gave, those that failed among them; nan where none is."""
    given = answers[~np.isnan(answers)]
    votes = [(int((np.abs(given - score) <= SAME).sum()), float(score)) for score in given]
    most, score = max(votes, default=(0, np.nan))
    return score if 2 * most > len(answers) else np.nan


def median(answers: Array) -> float:
    """Return the median of the scores that were given; nan where there are none."""
    given = answers[~np.isnan(answers)]
    return float(np.median(given)) if given.size else np.nan


def mean(answers: Array) -> float:
    given = answers[~np.isnan(answers)]
    return float(np.mean(given)) if given.size else np.nan


RULES: Mapping[str, Rule] = {MAJORITY: strict_majority, MEDIAN: median, MEAN: mean}


TABLES = (
    Table(
        "panels",
        panels,
        COLUMNS,
        METHODS,
        heading=_("Judges as panels"),
        section="panels",
        empty=_("No judge rated anything."),
    ),
)
