"""survival.csv: how long conversations with each arm stay open, and how they end."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253
from numpy.typing import NDArray
from scipy.stats import binomtest  # noqa: TID253

from studies.analysis.bootstrap import FEW_CLUSTERS, Array, Bootstrap, Resampled, ResampledTogether, weights
from studies.analysis.frames import Export
from studies.analysis.language import gettext_noop
from studies.analysis.measures import incidence
from studies.analysis.measures.paired import ROUNDED
from studies.analysis.rows import Row
from studies.analysis.tables.verdicts import numbered

COLUMNS = [
    "arm",
    "condition",
    "seekers",
    "statistic",
    "end",
    "turn",
    "estimate",
    "low",
    "high",
    "n",
    "at_risk",
    "clusters",
    "method",
    "note",
]
METHODS = {
    "open": gettext_noop(
        "Kaplan–Meier: share of conversations still open after each turn. Ends that count are walked_out, early, "
        "satisfied and safety; all others are censored (the cap and a regular end, technical failures, what is "
        "open); clusters resampled, where the share is 0 or 1 Wilson's interval with n = clusters that are known "
        "at that turn"
    ),
    "incidence": gettext_noop(
        "Aalen–Johansen: share that has ended in this way, against the other ends; with the open share they add up to 1"
    ),
    "median_turns": gettext_noop("first turn after which at most half are open; percentile interval"),
    "restricted_mean_turns": gettext_noop(
        "area under the open share up to the turn that is told, the last that is known of all arms"
    ),
}
OF = ["arm", "condition", "seekers"]
ENDS = ("walked_out", "early", "satisfied", "safety")
# All else is censored: the cap and people's regular end stop a conversation that might have gone on, a technical
# failure is nobody's choice, and what is open goes on.
OPEN, INCIDENCE, MEDIAN, MEAN = "open", "incidence", "median_turns", "restricted_mean_turns"
TAILS = (0.025, 0.975)
CENSORED_EARLIER = "ended before that turn by what is censored"


@dataclass(frozen=True)
class Group:
    """Conversations of one arm, condition and kind of seekers."""

    chats: pd.DataFrame

    @cached_property
    def turns(self) -> NDArray[np.intp]:
        return np.asarray(self.chats["turns"], dtype=np.intp)

    @cached_property
    def ends(self) -> NDArray[np.intp]:
        """The number of each end in ENDS, or CENSORED."""
        return np.asarray(pd.Index(ENDS).get_indexer(self.chats["end_reason"]), dtype=np.intp)

    @cached_property
    def clusters(self) -> NDArray[np.intp]:
        return numbered(self.chats["cluster"])

    @cached_property
    def counts(self) -> Array:
        return incidence.counts(self.turns, self.ends, self.clusters, len(ENDS))

    def sums(self) -> Array:
        return self.counts.reshape(len(self.counts), -1)

    def shaped(self, sums: Array) -> Array:
        return sums.reshape(*sums.shape[:-1], *self.counts.shape[1:])

    def at_risk(self, turn: int) -> int:
        return int((self.turns >= turn).sum())

    def followed(self, turn: int) -> int:
        """Clusters of which something is known at that turn: not all of their conversations were censored before."""
        known = (self.turns >= turn) | (self.ends != incidence.CENSORED)
        return len(np.unique(self.clusters[known]))

    def known_until(self) -> float:
        """The last turn of which the curve tells: infinite where all have ended before."""
        at_end = incidence.still_open(self.counts.sum(axis=0))[-1]
        return np.inf if at_end == 0 else float(self.turns.max())


def survival(export: Export, bootstrap: Bootstrap) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yields (arm, condition and seekers, their rows)."""
    for _, chats in known(export).groupby("seekers"):
        groups = {key: Group(found) for key, found in chats.groupby(OF)}
        common = horizon(groups.values())
        for key, group in groups.items():
            of = dict(zip(OF, map(str, key), strict=True))
            yield " ".join(filter(None, of.values())), list(_rows(of, group, common, bootstrap))


def known(export: Export) -> pd.DataFrame:
    """The chats with an arm of which something is known: a turn, or how they ended before the first."""
    chats = export.whole().rename(columns={"seeker_kind": "seekers"})
    begun = (chats["turns"] > 0) | ((chats["turns"] == 0) & chats["end_reason"].isin(ENDS))
    return chats[(chats["arm"] != "") & begun]


def horizon(groups: Collection[Group]) -> int:
    """The last turn up to which all curves tell; the same for all arms, so that their mean turns compare."""
    shortest = min(group.known_until() for group in groups)
    return int(shortest) if np.isfinite(shortest) else max(int(group.turns.max()) for group in groups)


def _rows(of: dict[str, str], group: Group, horizon: int, bootstrap: Bootstrap) -> Iterator[dict[str, Any]]:
    seen = [place for place in range(len(ENDS)) if (group.ends == place).any()]

    def statistics(sums: Array) -> Array:
        found = group.shaped(sums)
        curves = [incidence.still_open(found), *(incidence.incidence(found, end) for end in seen)]
        return np.concatenate([*curves, incidence.restricted_mean(found, horizon)[..., np.newaxis]], axis=-1)

    together = _resampled(statistics, group, bootstrap)
    turns = int(group.turns.max()) + 1
    for curve, end in enumerate(("", *(ENDS[place] for place in seen))):
        for turn in range(1, turns):
            about = {"statistic": INCIDENCE if end else OPEN, "end": end, "turn": turn}
            yield _share(of | about, group, together, curve * turns + turn)
    yield _median(of, group, bootstrap)
    yield _mean(of | {"statistic": MEAN, "end": "", "turn": horizon}, group, together)


def _resampled(statistics: Any, group: Group, bootstrap: Bootstrap) -> ResampledTogether:
    """Of one cluster only the estimates."""
    sums = group.sums()
    if len(sums) > 1:
        return bootstrap.resample_together(statistics, sums)
    estimates = statistics(sums[0])
    nothing = np.zeros((0, len(estimates)))
    return ResampledTogether(estimates, nothing, nothing)


def _started(of: dict[str, Any], group: Group) -> Row:
    row = Row(**of, n=len(group.chats), clusters=len(group.counts))
    turn = of["turn"]
    row.values["at_risk"] = pd.NA if turn is pd.NA else group.at_risk(turn)
    return row


def _share(of: dict[str, Any], group: Group, together: ResampledTogether, place: int) -> dict[str, Any]:
    row = _started(of, group)
    row.values["estimate"] = estimate = round(float(together.estimates[place]), ROUNDED)
    if len(group.counts) < 2:
        row.leave_out("low", "high", because="fewer than two clusters")
    elif estimate in (0, 1):
        clusters = group.followed(of["turn"])
        interval = binomtest(round(estimate * clusters), clusters).proportion_ci(method="wilson")
        row.values |= {"low": float(interval.low), "high": float(interval.high), "method": "Wilson, n = clusters"}
        if len(group.counts) < FEW_CLUSTERS:
            row.add_notes(f"interval: only {len(group.counts)} clusters, the interval may be too narrow")
    else:
        _add_interval(row, together.one(place))
    return row.finished()


def _add_interval(row: Row, resampled: Resampled) -> None:
    interval = resampled.interval()
    row.values |= {"low": interval.low, "high": interval.high, "method": f"{interval.method} cluster bootstrap"}
    row.add_notes(*resampled.notes("interval", lacking=CENSORED_EARLIER))


def _mean(of: dict[str, Any], group: Group, together: ResampledTogether) -> dict[str, Any]:
    row = _started(of, group)
    row.values["estimate"] = float(together.estimates[-1])
    if len(group.counts) < 2:
        row.leave_out("low", "high", because="fewer than two clusters")
    elif not (group.ends != incidence.CENSORED).any():
        row.leave_out("low", "high", because="all conversations are censored")
    else:
        _add_interval(row, together.one(-1))
    return row.finished()


def _median(of: dict[str, str], group: Group, bootstrap: Bootstrap) -> dict[str, Any]:
    row = _started(of | {"statistic": MEDIAN, "end": "", "turn": pd.NA}, group)
    estimate = float(incidence.median(group.counts.sum(axis=0)))
    if np.isfinite(estimate):
        row.values["estimate"] = estimate
    else:
        row.leave_out("estimate", because="more than half are open after the last turn that is known")
    _add_median_interval(row, group, bootstrap)
    return row.finished()


def _add_median_interval(row: Row, group: Group, bootstrap: Bootstrap) -> None:
    """Percentiles among whole turns; a resample that does not reach its median counts as beyond all others."""
    sums = group.sums()
    if len(sums) < 2:
        row.leave_out("low", "high", because="fewer than two clusters")
        return
    drawn = weights(len(sums), bootstrap.replicates, bootstrap.seed) @ sums
    bounds = np.quantile(incidence.median(group.shaped(drawn)), TAILS, method="inverted_cdf")
    row.values["method"] = "percentile cluster bootstrap"
    for name, bound in zip(("low", "high"), bounds, strict=True):
        if np.isfinite(bound):
            row.values[name] = float(bound)
        else:
            row.leave_out(name, because="the median is not reached")
    if len(sums) < FEW_CLUSTERS:
        row.add_notes(f"interval: only {len(sums)} clusters, the interval may be too narrow")
