"""pairwise.csv: how often each contestant was preferred to each other and to all others, and one scale for all."""

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest  # noqa: TID253

from studies.analysis.bootstrap import FEW_CLUSTERS, Array, Bootstrap
from studies.analysis.frames import Export
from studies.analysis.language import gettext_noop as _
from studies.analysis.measures.bradley_terry import has_strengths, is_connected, log_strengths
from studies.analysis.measures.proportions import wilson
from studies.analysis.notes import INTERVAL, Note
from studies.analysis.pooling import POOLED
from studies.analysis.rows import Labels, Row, Undefined
from studies.analysis.tables.families import adjust
from studies.analysis.tables.roles import METHOD, ROLE
from studies.analysis.tables.table import Parts, Table
from studies.analysis.tables.verdicts import LOSS, TIE, WIN, Group, read_verdicts

SHARES = {"win": WIN, "tie": TIE, "loss": LOSS}
TAILS = (0.025, 0.975)
STRENGTH = ("strength", "strength_low", "strength_high")
COLUMNS = [
    "contestant_a",
    "contestant_b",
    "question",
    "raters",
    "n",
    "clusters",
    *("win", "win_low", "win_high", "tie"),
    "p",
    "p_holm",
    "instrument",
    "note",
    ROLE,
]
FURTHER = [*STRENGTH, "first_share"]
METHODS = {
    "win": _(
        "win, tie and loss are shares of the verdicts on two contestants; percentile interval (95 %) of win, raters "
        "and participants (else profiles or conversations) each resampled, a verdict counting by the product; where "
        "all verdicts are alike, Wilson's interval with n = clusters"
    ),
    "p": _("exact sign test in which each cluster counts once; p_holm over the contests of a question × raters"),
    "first_share": _("of the verdicts that prefer a side: the share for the one that was shown first"),
    "contestant_b": _("* is all others; its tests are a family of their own"),
    "strength": _(
        "of rows with contestant_b *: Bradley–Terry on the log scale, 0 the mean of the contestants, a tie half a win "
        "for either, by Hunter's MM algorithm; percentile interval (95 %) from the same resamples; empty where the "
        "contestants are not connected by wins and ties"
    ),
    ROLE: METHOD,
}


def pairwise(export: Export, bootstrap: Bootstrap) -> Parts:
    """Yield (question and raters, its rows); shares are those of `contestant_a`.

    After the contests of two come the contestants against all others, with their strengths.
    """
    verdicts = read_verdicts(export)
    for labels, group in verdicts.groups() if verdicts else ():
        rows = [_contest(labels | names, contest, bootstrap).cells() for names, contest in group.contests()]
        rows += [row.cells() for row in _scale(labels, group, bootstrap)]
        yield f"{labels['question']} {labels['raters']}", adjust(rows, lambda row: row["contestant_b"] == POOLED)


def _contest(labels: Labels, contest: Group, bootstrap: Bootstrap) -> Row:
    row = Row(**labels, **contest.counts())
    verdicts = contest.rows["verdict"].to_numpy()
    row.values |= {share: float((verdicts == sign).mean()) for share, sign in SHARES.items()}
    _add_interval(row, contest, verdicts == WIN, bootstrap)
    row.compute("p", lambda: _sign_test(contest))
    row.values["p_holm"] = np.nan
    _add_first(row, contest)
    return row


def _add_interval(row: Row, contest: Group, won: NDArray[np.bool_], bootstrap: Bootstrap) -> None:
    """Add the interval of the share of wins.

    A share of nothing or everything does not vary when it is drawn again: there Wilson's interval stands.
    """
    method = contest.method()
    if not method:
        row.leave_out("win_low", "win_high", because=Note("one_rater_and_cluster"))
        return
    row.add_methods(method)
    if row.values["win"] in (0, 1):
        low, high = wilson(row.values["win"], row.values["clusters"])
        row.add_notes(Note("all_verdicts_alike").on("win"))
    else:
        sums = contest.resample_sums(np.column_stack([np.ones(len(won)), won]), bootstrap)
        draws = sums[sums[:, 0] > 0]
        low, high = np.quantile(draws[:, 1] / draws[:, 0], TAILS)
    row.values |= {"win_low": float(low), "win_high": float(high)}
    _warn(row, contest)


def _warn(row: Row, group: Group) -> None:
    raters, clusters = int(group.raters.max()) + 1, row.values["clusters"]
    if min(raters, clusters) < FEW_CLUSTERS:
        row.add_notes(Note("few_raters_or_clusters", raters=raters, clusters=clusters).on(INTERVAL))


def _sign_test(contest: Group) -> float:
    """Return the p of the sign test, exact and two-sided.

    Each cluster counts once, for whom most of its verdicts prefer; ties among them are left out, as the sign test does.
    """
    balance = np.bincount(contest.clusters, weights=contest.rows["verdict"].to_numpy(float))
    decided = balance[balance != 0]
    if not decided.size:
        raise Undefined("no_preference")
    return float(binomtest(int((decided > 0).sum()), len(decided)).pvalue)


def _add_first(row: Row, contest: Group) -> None:
    """Add the share of decided verdicts for the side that was shown first; .5 where the place does nothing."""
    signs = (contest.rows["verdict"] * contest.rows["first"]).to_numpy()
    if decided := int((signs != 0).sum()):
        row.values["first_share"] = float((signs > 0).sum() / decided)
    else:
        row.leave_out("first_share", because=Note("place_unknown"))


def _scale(labels: Labels, group: Group, bootstrap: Bootstrap) -> list[Row]:
    """Return the row of each contestant against all others."""
    names = sorted({*group.rows["contestant_a"], *group.rows["contestant_b"]})
    wins = _wins(group, names)
    table = wins.sum(axis=0).reshape(1, len(names), len(names))
    rows = [
        _contest(labels | {"contestant_a": name, "contestant_b": POOLED}, _against_all(name, group), bootstrap)
        for name in names
    ]
    if reason := _no_strengths(table):
        for row in rows:
            row.leave_out(*STRENGTH, because=reason)
        return rows
    strengths = log_strengths(table)[0]
    for row, strength in zip(rows, strengths, strict=True):
        row.values["strength"] = float(strength)
    _add_strength_intervals(rows, group, wins, bootstrap)
    return rows


def _against_all(name: str, group: Group) -> Group:
    """Return the verdicts in which a contestant stood, all turned so that it is the first."""
    its = group.rows[(group.rows["contestant_a"] == name) | (group.rows["contestant_b"] == name)]
    signs = np.where(its["contestant_a"] == name, 1, -1)
    return Group(its.assign(verdict=its["verdict"] * signs, first=its["first"] * signs).reset_index(drop=True))


def _wins(group: Group, names: list[str]) -> Array:
    """Return what each verdict gives the row's contestant against the column's.

    The shape is verdicts × (contestants × contestants).
    """
    a, b = (np.searchsorted(names, group.rows[f"contestant_{side}"].to_numpy(str)) for side in "ab")
    points = (group.rows["verdict"].to_numpy(float) + 1) / 2
    wins = np.zeros((len(points), len(names), len(names)))
    every = np.arange(len(points))
    wins[every, a, b], wins[every, b, a] = points, 1 - points
    return wins.reshape(len(points), -1)


def _no_strengths(table: Array) -> Note | None:
    if not is_connected(table)[0]:
        return Note("contestants_not_connected")
    if not has_strengths(table)[0]:
        return Note("always_preferred")
    return None


def _add_strength_intervals(rows: list[Row], group: Group, wins: Array, bootstrap: Bootstrap) -> None:
    if not group.method():
        for row in rows:
            row.leave_out(*STRENGTH[1:], because=Note("one_rater_and_cluster"))
        return
    draws = log_strengths(group.resample_sums(wins, bootstrap).reshape(-1, len(rows), len(rows)))
    fitted = draws[np.isfinite(draws).all(axis=1)]
    missing = len(draws) - len(fitted)
    for place, row in enumerate(rows):
        if missing > TAILS[0] * len(draws):
            row.leave_out(*STRENGTH[1:], because=Note("resamples_without_strengths", count=missing, all=len(draws)))
            continue
        row.values |= dict(zip(STRENGTH[1:], map(float, np.quantile(fitted[:, place], TAILS)), strict=True))
        if missing:
            row.add_notes(Note("resamples_left_out", count=missing, all=len(draws)).on("strength"))


TABLE = Table(
    "pairwise",
    pairwise,
    COLUMNS,
    METHODS,
    heading=_("Side-by-side preferences"),
    empty=_("No pair of different arms or seekers was compared."),
    further=FURTHER,
    aside=("loss", "method"),
)
