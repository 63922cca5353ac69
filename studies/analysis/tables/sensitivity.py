"""sensitivity.csv: main results as they are, with what was left out, and without flags or incidents.

Each has an estimate and its interval: final scores, of people where there are such, for every sample that differs.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253

from studies.analysis.bootstrap import (
    Bootstrap,
    number_names,
)
from studies.analysis.frames import FINAL, Export
from studies.analysis.language import gettext_noop as _
from studies.analysis.measures import correlation
from studies.analysis.measures.variance import one_way
from studies.analysis.notes import Note, Notes
from studies.analysis.pooling import is_pooled
from studies.analysis.rows import Cells, Labels, Row, Undefined
from studies.analysis.tables import quality
from studies.analysis.tables.agreement import SCALE, Paired, add_interval_of_r, paired_sides, sampling_of
from studies.analysis.tables.arm_pairs import Compared, comparisons, differences, scores_of_pair
from studies.analysis.tables.arms import arm_means
from studies.analysis.tables.discrimination import add_separation
from studies.analysis.tables.effects import add_interval_of_difference
from studies.analysis.tables.incidents import incidents
from studies.analysis.tables.reliability import UNIT, one_way_interval, single_ratings
from studies.analysis.tables.table import Parts, Table

OF = ["judge", "strategy", "raters", *SCALE]  # of both sides of a correlation
NAMED = [*OF, "arm_a", "arm_b", "seekers", "condition", "language"]
ALL, WITH, WITHOUT, UNTROUBLED = "all", "with_left_out", "without_flagged", "without_incidents"
COLUMNS = [
    *("judge", "strategy", *SCALE, "n", "note", "statistic", "raters", "arm_a", "arm_b", "seekers", "condition"),
    *("variant", "estimate", "low", "high", "clusters", "method", "language"),
]
METHODS = {
    "pearson": _("Pearson's r of a judge and a kind of people, with its interval, as in agreement.csv"),
    "mean": _("of the final scores of arm_a, as in arms.csv"),
    "difference": _("arm_a minus arm_b, over the users that met both, as in arm_pairs.csv"),
    "msr": _("how far the arms are told apart, as in discrimination.csv, of the users that met all; no interval"),
    "msr_corrected": _("msr less what the error adds to it, with its interval, as in discrimination.csv"),
    "icc_1_1": _("one-way ICC(1,1) of raters of the same conversations, with its interval as in reliability.csv"),
    "all other statistics": _(
        "of variant all: the statistics and bounds of agreement.csv, reliability.csv, arm_pairs.csv, "
        "discrimination.csv, conditions.csv, pairwise.csv and primary.csv that have no column there, of all data; "
        "their methods are said with those tables. Where there is no row, the note of the table has the reason"
    ),
    "variant": _(
        "all: as in every other table. with_left_out: also with what two coders left out. without_flagged: without "
        "what a rule of quality.csv flags. without_incidents: without conversations that were held or ended for "
        "safety, that a technical failure ended, in which a person's message got no reply, or in which an attempt at a "
        "reply failed. A sample that changes nothing has no rows. All others: how judges were "
        "asked, or how a simulated seeker was changed"
    ),
}


def sensitivity(export: Export, bootstrap: Bootstrap) -> Parts:
    """Yield (sample, its rows); r of single raters is not among them."""
    all_samples = samples(export)
    changed = {name: sample for name, sample in all_samples.items() if len(sample.ratings) != len(export.ratings)}
    unnamed = dict.fromkeys(NAMED, "")
    usual: list[Cells] = []
    for name, sample in ({ALL: export} | changed).items():
        rows = [unnamed | row for row in _of_sample(sample, bootstrap)]
        usual = usual or rows
        yield name, [row | {"variant": name} for row in (*rows, *_list_lost(usual, rows))]


def _list_lost(usual: list[Cells], rows: list[Cells]) -> Iterator[Cells]:
    """Yield a row for each estimate of the whole data that the sample cannot give."""
    there = {_key_of(row) for row in rows}
    for labels in (row for row in usual if _key_of(row) not in there):
        row = Row(**{name: labels[name] for name in ("statistic", *NAMED)}, n=0, clusters=0)
        row.leave_out("estimate", "low", "high", because=Note("sample_too_small"))
        yield labels | {"method": Notes()} | row.cells()


def _key_of(row: Cells) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("statistic", *NAMED))


def samples(export: Export) -> dict[str, Export]:
    """Return the samples by name, as METHODS describes them."""
    troubled = export.ratings["conversation"].isin(incidents(export))
    return {
        ALL: export,
        WITH: replace(
            export,
            ratings=pd.concat([export.ratings, export.left_out]),
            conversations=pd.concat([export.conversations, export.left_out_conversations]),
        ),
        WITHOUT: replace(export, ratings=without_flagged(export)),
        UNTROUBLED: replace(export, ratings=export.ratings[~troubled]),
    }


def without_flagged(export: Export) -> pd.DataFrame:
    """Return ratings without those of flagged people, those given too fast, and all of flagged conversations."""
    flagged = [row for row in quality.indices(quality.of_export(export)) if row["flagged"] == "true"]
    by_what = [(row["statistic"] in quality.OF_WHAT_WAS_SAID, row["person"], row["conversation"]) for row in flagged]
    people = {(person, conversation) for is_of_messages, person, conversation in by_what if not is_of_messages}
    flagged_conversations = {conversation for is_of_messages, _person, conversation in by_what if is_of_messages}
    rater, conversation = (export.ratings[name].astype(str) for name in ("rater", "conversation"))
    by_flagged = [(who, "") in people or (who, what) in people for who, what in zip(rater, conversation, strict=True)]
    out = conversation.isin(flagged_conversations) | pd.Series(by_flagged, index=rater.index, dtype=bool)
    return export.ratings[~out]


def _pairs(ratings: pd.DataFrame) -> dict[tuple[str, ...], Paired]:
    pairs = {tuple(one.labels.get(name, one.labels["human"]) for name in OF): one for one in paired_sides(ratings)}
    return {key: one for key, one in pairs.items() if ":" not in key[OF.index("raters")]}


def _of_sample(sample: Export, bootstrap: Bootstrap) -> Iterator[Cells]:
    for key, paired in sorted(_pairs(sample.ratings).items(), key=lambda pair: pair[0]):
        labels = dict(zip(OF, key, strict=True))
        if labels["moment"] == FINAL:
            yield _correlation(labels, paired, sample.conversations, bootstrap)
    judged = sample.ratings["rater_kind"] == "judge"
    final = sample.ratings["moment"] == FINAL
    final_export = replace(sample, ratings=sample.ratings[final & (judged.all() | ~judged)])
    yield from _means(final_export, bootstrap)
    compared = list(comparisons(final_export))
    yield from _differences(compared)
    yield from _separations(compared, bootstrap)
    yield from _iccs(final_export)


def _correlation(labels: Labels, paired: Paired, conversations: pd.DataFrame, bootstrap: Bootstrap) -> Cells:
    both = paired.scores()
    human, judge = (both[side].to_numpy(float) for side in ("human", "judge"))
    sampling = sampling_of(paired, both, conversations, bootstrap)
    row = Row(**labels, statistic="pearson", n=len(both), clusters=int(sampling.clusters.max()) + 1)
    row.compute("estimate", lambda: correlation.pearson(human, judge))
    add_interval_of_r(row, human, judge, sampling)
    return row.cells()


def _means(sample: Export, bootstrap: Bootstrap) -> Iterator[Cells]:
    for arm, rows in arm_means(sample, bootstrap):
        for row in filter(is_pooled, rows):
            yield row | {"statistic": "mean", "arm_a": arm, "estimate": row["mean"]}


def _differences(compared: Iterable[Compared]) -> Iterator[Cells]:
    for item in compared:
        for a, b in combinations(item.arms, 2):
            pair = scores_of_pair(item, (a, b))
            users = len(pair.scores)
            row = Row(**item.labels, statistic="difference", arm_a=a, arm_b=b, n=pair.n_conversations(), clusters=users)
            if users:
                between = differences(pair)
                row.values["estimate"] = float(between.mean())
                add_interval_of_difference(row, between)
            else:
                row.leave_out("estimate", "low", "high", because=Note("nobody_met_both"))
            yield row.cells()


def _separations(compared: Iterable[Compared], bootstrap: Bootstrap) -> Iterator[Cells]:
    for item in compared:
        complete = item.complete()
        row = Row(n=complete.n_conversations(), clusters=len(complete.scores))
        add_separation(row, item, bootstrap)
        cells = row.cells()
        about = item.labels | {name: cells[name] for name in ("n", "clusters", "note")}
        yield about | {"statistic": "msr", "estimate": cells["msr"]}
        bounds = {"low": cells["msr_low"], "high": cells["msr_high"], "method": cells.get("method", Notes())}
        yield about | {"statistic": "msr_corrected", "estimate": cells["msr_corrected"]} | bounds


def _iccs(sample: Export) -> Iterator[Cells]:
    """Yield the ICC of raters of a kind who rated the same conversations."""
    keys = ["group", "instrument", "moment", "item"]
    for key, scores in single_ratings(sample).groupby(keys, observed=True):
        several = scores[scores.duplicated(UNIT, keep=False)]
        if len(several):
            yield _icc(dict(zip(["raters", *keys[1:]], map(str, key), strict=True)), several, sample.conversations)


def _icc(labels: Labels, scores: pd.DataFrame, conversations: pd.DataFrame) -> Cells:
    """Return the ICC with the interval that reliability.csv has of it."""
    targets = scores.groupby(UNIT, observed=True).ngroup().to_numpy()
    of_targets = scores.assign(target=targets).groupby("target")["conversation"].first().astype(str)
    clusters = number_names(conversations.loc[of_targets, "cluster"])
    row = Row(**labels, statistic="icc_1_1", n=len(of_targets), clusters=int(clusters.max()) + 1)
    values = scores["score"].to_numpy(float)
    with row.leave_out_if_undefined("estimate", "low", "high"):
        forms = one_way(values, targets)
        row.values["estimate"] = forms.single.estimate
        with row.leave_out_if_undefined("low", "high"):
            bounded, method = one_way_interval(forms, values, targets, clusters)
            if np.isnan(bounded.single.low):
                raise Undefined("perfect_agreement" if forms.single.estimate == 1 else "no_interval")
            row.values |= {"low": bounded.single.low, "high": bounded.single.high}
            row.add_methods(method)
    return row.cells()


TABLE = Table(
    "sensitivity",
    sensitivity,
    COLUMNS,
    METHODS,
    heading=_("With and without"),
    empty=_("No final score belongs to an arm, and no judge and person scored the same conversation."),
)
