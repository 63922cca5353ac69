"""survival.csv: how long conversations with each arm stay open, how they end, and whether the arms differ in that.

Two questions are apart. How all conversations end, whatever ends them, is `incidence`, with `ongoing` for those that
have not ended. What the arms do to seekers' leaving is `open` and what follows from it: there the ends that are
no one's leaving (a regular end, the cap, a technical failure) only stop a conversation from being watched any longer.
"""

from collections.abc import Collection, Iterator

import numpy as np
import pandas as pd  # noqa: TID253

from studies.analysis.bootstrap import FEW_CLUSTERS, Array, Bootstrap, weights
from studies.analysis.frames import Export
from studies.analysis.language import gettext_noop as _
from studies.analysis.measures import incidence
from studies.analysis.measures.paired import ROUNDED
from studies.analysis.measures.proportions import BY_CLUSTERS, METHOD, effective_by_jackknife, wilson
from studies.analysis.notes import INTERVAL, Note, Notes
from studies.analysis.rows import Cells, Labels, Row
from studies.analysis.tables.arms import add_interval
from studies.analysis.tables.ends import ENDS, LEAVING, REGULAR, Group, is_end, leaving
from studies.analysis.tables.inferences import add_inference
from studies.analysis.tables.log_ranks import log_ranks
from studies.analysis.tables.table import Parts, Table

COLUMNS = [
    "arm",
    "condition",
    "seekers",
    "statistic",
    "turn",
    "estimate",
    "low",
    "high",
    "n",
    "clusters",
    "method",
    "note",
]
FURTHER = ["p"]
METHODS = {
    "open": _(
        "Kaplan–Meier: share of conversations still open after each turn; a high share means that seekers stay. Only "
        "walked_out, early, satisfied and safety count as ends. Others are censored, which means that they count as "
        "open for as long as they are known: those that the cap, a regular end or a technical failure ended, and those "
        "still open. Wilson's interval, n = as many independent conversations as would leave the share as uncertain as "
        "the jackknife of clusters does, and where it is 0 or 1 the clusters that are known at that turn"
    ),
    "ongoing": _("share of conversations that nothing has ended after each turn"),
    "incidence": _(
        "Aalen–Johansen: share of conversations that has ended in this way after each turn, against all other ends, "
        "the cap, a regular end and technical failures among them; with the ongoing share they add up to 1"
    ),
    "median_turns": _("first turn after which at most half of the conversations are open; percentile interval"),
    "restricted_mean_turns": _(
        "mean turns until a conversation ends in a way that counts for the open share, up to the turn shown, the last "
        "one known for all arms: the area under the open share; none if no conversation of any arm ended so"
    ),
    "mean_turns": _("mean turns of the conversations as they were, whatever ended them"),
    "log_rank": _(
        "chi-square of the log-rank test that the open share is the same for all arms, with one degree of freedom less "
        "than arms; high, with a low p, if conversations with some arms stay open longer. Where clusters have several "
        "conversations their variance (Jung & Jeong 2003), else the hypergeometric one (Mantel 1966)"
    ),
    "log_rank_stratified": _(
        "the same, each profile or else person compared with themselves: they are strata, where they met several arms; "
        "hypergeometric variance"
    ),
}
OF = ["arm", "condition", "seekers"]
OPEN, ONGOING, INCIDENCE = "open", "ongoing", "incidence"
MEDIAN, MEAN, ACTUAL_MEAN = "median_turns", "restricted_mean_turns", "mean_turns"
SHARES = (OPEN, ONGOING, INCIDENCE)
ALL = "*"
TAILS = (0.025, 0.975)
NOTHING_ENDED = Note("nothing_ended")


def survival(export: Export, bootstrap: Bootstrap) -> Parts:
    """Yield (arm, condition and seekers, their rows), and of all arms together those of the tests."""
    for _seekers, chats in observed_chats(export).groupby("seekers"):
        groups = {key: Group(part) for key, part in chats.groupby(OF)}
        common, left = horizon(groups.values()), any(group.is_leaver.any() for group in groups.values())
        for key, group in groups.items():
            labels = dict(zip(OF, map(str, key), strict=True))
            rows = _rows(labels, group, bootstrap, horizon=common, anybody_left=left)
            yield " ".join(filter(None, labels.values())), list(rows)
        for (condition, seekers), part in chats.groupby(OF[1:]):
            labels = {"arm": ALL, "condition": str(condition), "seekers": str(seekers)}
            yield " ".join(filter(None, labels.values())), list(log_ranks(labels, part))


def observed_chats(export: Export) -> pd.DataFrame:
    """Return the chats with an arm of which something is known: a turn, or how they ended before the first."""
    chats = export.whole().rename(columns={"seeker_kind": "seekers"})
    begun = (chats["turns"] > 0) | ((chats["turns"] == 0) & chats["end_reason"].isin(LEAVING))
    return chats[(chats["arm"] != "") & begun]


def horizon(groups: Collection[Group]) -> int:
    """Return the last turn at which all curves are known; one for all arms, so that their mean turns compare."""
    shortest = min(group.last_known_turn() for group in groups)
    return int(shortest) if np.isfinite(shortest) else max(int(group.turns.max()) for group in groups)


def _rows(labels: Labels, group: Group, bootstrap: Bootstrap, *, horizon: int, anybody_left: bool) -> Iterator[Cells]:
    seen = [place for place in range(len(ENDS)) if (group.ends == place).any()]

    def shares(sums: Array) -> Array:
        counts = group.reshape_sums(sums)
        open_, ongoing = incidence.still_open(leaving(counts)), incidence.still_open(counts)
        return np.stack([open_, ongoing, *(incidence.incidence(counts, end) for end in seen)], axis=-2)

    sums = group.sums()
    total = sums.sum(axis=0)
    estimates, without = shares(total), shares(total - sums)
    for number, (statistic, end) in enumerate([(OPEN, ""), (ONGOING, ""), *((INCIDENCE, ENDS[one]) for one in seen)]):
        for turn in range(1, estimates.shape[-1]):
            about = {"statistic": statistic, "end": end, "turn": turn}
            yield _share(labels | about, group, float(estimates[number, turn]), without[:, number, turn])
    yield _median(labels, group, bootstrap)
    yield _mean(labels | {"statistic": MEAN, "end": "", "turn": horizon}, group, bootstrap, anybody_left=anybody_left)
    yield _actual_mean(labels, group, bootstrap)


def _new_row(labels: Cells, group: Group) -> Row:
    row = Row(**labels, n=len(group.chats), clusters=len(group.counts))
    turn = labels["turn"]
    row.values["at_risk"] = pd.NA if turn is pd.NA else group.at_risk(turn)
    return row


def _share(labels: Cells, group: Group, estimate: float, without: Array) -> Cells:
    """Return the row of a share; `without` is the estimate with each of the clusters left out."""
    row = _new_row(labels, group)
    row.values["estimate"] = estimate = round(estimate, ROUNDED)
    if len(group.counts) < 2:
        row.leave_out("low", "high", because=Note("under_two_clusters"))
    elif estimate in (0, 1):
        followed = group.count_followed(labels["turn"], LEAVING if labels["statistic"] == OPEN else ENDS)
        _add_wilson(row, estimate, followed, METHOD)
    elif np.isnan(without).any():
        row.leave_out("low", "high", because=Note("turn_unknown_without_cluster"))
    else:
        _add_wilson(row, estimate, effective_by_jackknife(estimate, without, len(group.chats)), BY_CLUSTERS)
    return row.cells()


def _add_wilson(row: Row, share: float, n: float, method: Notes) -> None:
    low, high = wilson(share, n)
    row.values |= {"low": low, "high": high, "method": method}
    _note_few_clusters(row)


def _note_few_clusters(row: Row) -> None:
    if (clusters := row.values["clusters"]) < FEW_CLUSTERS:
        row.add_notes(Note("few_clusters", count=clusters).on(INTERVAL))


def _mean(labels: Cells, group: Group, bootstrap: Bootstrap, *, anybody_left: bool) -> Cells:
    """Return the row of a restricted mean; unless `anybody_left` in any arm, it is that of the whole."""
    row = _new_row(labels, group)

    def mean(sums: Array) -> Array:
        return incidence.restricted_mean(leaving(group.reshape_sums(sums)), labels["turn"])

    sums = group.sums()
    row.values["estimate"] = float(mean(sums.sum(axis=0)))
    if not anybody_left:
        row.leave_out("estimate", "low", "high", because=NOTHING_ENDED)
    elif len(group.counts) < 2:
        row.leave_out("low", "high", because=Note("under_two_clusters"))
    elif not group.is_leaver.any():
        row.leave_out("low", "high", because=NOTHING_ENDED)
    else:
        add_inference(row, lambda: bootstrap.resample(mean, sums), lacking="resamples_censored")
    _note_regular_ends(row, group)
    return row.cells()


def _actual_mean(labels: Labels, group: Group, bootstrap: Bootstrap) -> Cells:
    row = _new_row(labels | {"statistic": ACTUAL_MEAN, "end": "", "turn": pd.NA}, group)
    turns = group.turns.astype(float)
    row.values["estimate"] = float(turns.mean())
    add_interval(row, turns, group.clusters, bootstrap, alike="turns_alike")
    return row.cells()


def _median(labels: Labels, group: Group, bootstrap: Bootstrap) -> Cells:
    row = _new_row(labels | {"statistic": MEDIAN, "end": "", "turn": pd.NA}, group)
    estimate = float(incidence.median(leaving(group.counts.sum(axis=0))))
    if np.isfinite(estimate):
        row.values["estimate"] = estimate
    else:
        row.leave_out("estimate", because=Note("half_still_open"))
    _add_median_interval(row, group, bootstrap)
    _note_regular_ends(row, group)
    return row.cells()


def _note_regular_ends(row: Row, group: Group) -> None:
    """Note how many conversations ended regularly.

    People may well end where they would soon have left, so taking these for the others may be wrong.
    """
    if regular := int(is_end([REGULAR], group.ends).sum()):
        row.add_notes(Note("regular_ends", count=regular))


def _add_median_interval(row: Row, group: Group, bootstrap: Bootstrap) -> None:
    """Add the median's interval: percentiles among whole turns.

    A resample that does not reach its median counts as beyond all others.
    """
    sums = group.sums()
    if len(sums) < 2:
        row.leave_out("low", "high", because=Note("under_two_clusters"))
        return
    draws = weights(len(sums), bootstrap.replicates, bootstrap.seed) @ sums
    bounds = np.quantile(incidence.median(leaving(group.reshape_sums(draws))), TAILS, method="inverted_cdf")
    row.add_methods(Note("cluster_bootstrap", interval=Note("percentile")))
    for name, bound in zip(("low", "high"), bounds, strict=True):
        if np.isfinite(bound):
            row.values[name] = float(bound)
        else:
            row.leave_out(name, because=Note("median_not_reached"))
    _note_few_clusters(row)


def in_file(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with how a conversation ended in `statistic`, and of shares those at risk as `n`."""
    ends = rows["end"].map(lambda end: f": {end}" if end else "")
    return rows.assign(
        statistic=rows["statistic"] + ends, n=rows["at_risk"].where(rows["statistic"].isin(SHARES), rows["n"])
    )


TABLE = Table(
    "survival",
    survival,
    COLUMNS,
    METHODS,
    heading=_("How long conversations stay open"),
    empty=_("There is no conversations.csv with turns and ends."),
    further=FURTHER,
    rearrange=in_file,
    aside=("end", "at_risk"),
)
