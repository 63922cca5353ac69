"""discrimination.csv: how far raters tell the arms apart, with EmoHarbor's figures (arXiv:2601.01530, appendix E)."""

from itertools import combinations, groupby

from studies.analysis.bootstrap import Array, Bootstrap
from studies.analysis.frames import Export
from studies.analysis.language import gettext_noop as _
from studies.analysis.measures import discrimination as measures
from studies.analysis.measures import paired
from studies.analysis.measures.multiple import holm
from studies.analysis.measures.ranks import concordance, concordance_interval
from studies.analysis.notes import Note, Notes
from studies.analysis.pooling import POOLED
from studies.analysis.raters import read_group
from studies.analysis.rows import Cells, Row, Undefined
from studies.analysis.tables.arm_pairs import Compared, comparisons, differences, scores_of_pair
from studies.analysis.tables.table import Parts, Table

TEST, CORRECTION = Notes(Note("wilcoxon_by_user")), Notes(Note("holm_over_pairs"))
LEVEL = 0.05
OF_VARIANCE = ("msr", "mac", "f_oneway", "f_eq13")
REPEATED = ("f_repeated", "p_repeated")
RANKED = ("kendall_w", "friedman_p", "kendall_w_low", "kendall_w_high")
AGREED = ("icc_a_1", "icc_c_1")
CORRECTED = ("msr_corrected", "msr_low", "msr_high")
COLUMNS = [
    "raters",
    "item",
    "users",
    "models",
    "msr",
    "msr_corrected",
    "msr_low",
    "msr_high",
    "mac",
    "f_oneway",
    "f_eq13",
    "f_repeated",
    "p_repeated",
    "kendall_w",
    "pairwise_share",
    "test",
    "correction",
    "note",
    "instrument",
    "seekers",
    "condition",
    "judge",
    "strategy",
]
FURTHER = [*RANKED[1:], *AGREED]
METHODS = {
    "judge": _("* pools all judges of a strategy in one role; where there are several, each also has rows of its own"),
    "msr": _(
        "EmoHarbor's equations 9 to 11: variance of the models' means (over M) by the mean variance within a model "
        "(over U - 1), of the users that met every model"
    ),
    "msr_corrected": _(
        "msr after the share of the error in the models' means is taken off; msr_low and msr_high are its percentile "
        "interval (95 %), users resampled and the error taken off twice, at least 0"
    ),
    "mac": _("EmoHarbor's equation 12, msr / (1 + msr)"),
    "f_oneway": _("textbook F, models as independent groups"),
    "f_eq13": _("EmoHarbor's equation 13 as printed: f_oneway × (U - 1) / U"),
    "f_repeated": _(
        "F of repeated measures; p_repeated with degrees of freedom lowered by Greenhouse and Geisser's epsilon"
    ),
    "kendall_w": _(
        "concordance of the users' rankings of the models, with ties; friedman_p is its chi-square test; interval "
        "(95 %) by a jackknife of users, Student's t, on Fisher's z of the mean correlation of two users"
    ),
    "icc_a_1": _("ICC(A,1) of models × users: does one user give the models the scores that another gives?"),
    "icc_c_1": _("ICC(C,1) of models × users: the same, users' levels aside"),
    "pairwise_share": _(
        "EmoHarbor's equation 14: pairs of models that differ (p below .05 by the named test and correction) of all "
        "pairs. A pair that no one scored differently counts as p = 1. Empty where no pair shares users enough for an "
        "adjusted p below .05. No interval: a share of decisions, whose resamples would each have to be tested anew"
    ),
}


def discrimination(export: Export, bootstrap: Bootstrap) -> Parts:
    """Yield (kind of raters, its rows): all judges of a strategy together and, where there are several, each alone."""
    for raters, items in groupby(comparisons(export), key=lambda item: item.labels["raters"]):
        yield raters, [_row(item, bootstrap, judges_of(raters)) for item in items]
        ratings = export.ratings[export.ratings["group"] == raters]
        judges = sorted(set(ratings["rater"].astype(str))) if judges_of(raters) else []
        for judge in judges if len(judges) > 1 else ():
            alone = comparisons(export, ratings[ratings["rater"] == judge])
            yield f"{raters}, {judge}", [_row(item, bootstrap, judge) for item in alone]


def judges_of(raters: str) -> str:
    """Return what the column `judge` says of these raters together."""
    return POOLED if raters.startswith("judge") else ""


def _row(item: Compared, bootstrap: Bootstrap, judge: str) -> Cells:
    complete = item.complete().scores
    users, left_out = len(complete), len(item.scores) - len(complete)
    row = Row(**item.labels, judge=judge, strategy=read_group(item.labels["raters"]).strategy)
    row.values |= {"users": users, "models": len(item.arms), "test": TEST, "correction": CORRECTION}
    if users:
        _add_variances(row, complete, bootstrap)
        _add_ranks(row, complete)
    else:
        row.leave_out(*OF_VARIANCE, *CORRECTED, *REPEATED, *RANKED, *AGREED, because=Note("no_user_met_all_models"))
    _add_pairs(row, item)
    if users and left_out:
        row.add_notes(Note("users_in_pairs_alone", count=left_out, all=len(item.scores)))
    return row.cells()


def _add_variances(row: Row, scores: Array, bootstrap: Bootstrap) -> None:
    with row.leave_out_if_undefined(*OF_VARIANCE, *CORRECTED, *REPEATED, *AGREED):
        squares = measures.mean_squares(scores)
        row.values |= {
            "msr": float(squares.separation()),
            "mac": squares.agreement(),
            "f_oneway": squares.f_oneway(),
            "f_eq13": squares.f_eq13(),
        }
        row.compute("icc_a_1", squares.icc_a_1)
        row.compute("icc_c_1", squares.icc_c_1)
        _add_corrected(row, measures.separation_without_noise(scores, bootstrap))
        row.compute_all(
            REPEATED, lambda: (squares.f_repeated(), squares.p_repeated(measures.greenhouse_geisser(scores)))
        )


def add_separation(row: Row, item: Compared, bootstrap: Bootstrap) -> None:
    """Add `msr`, and `msr_corrected` with its interval, for the users that met every arm."""
    scores = item.complete().scores
    with row.leave_out_if_undefined("msr", *CORRECTED):
        if not len(scores):
            raise Undefined("no_user_met_all_models")
        row.values["msr"] = float(measures.mean_squares(scores).separation())
        corrected = measures.separation_without_noise(scores, bootstrap)
        _add_corrected(row, corrected)
        row.add_methods(corrected.interval.method)


def _add_corrected(row: Row, corrected: measures.CorrectedSeparation) -> None:
    row.values |= {"msr_low": corrected.interval.low, "msr_high": corrected.interval.high}
    row.values["msr_corrected"] = max(corrected.estimate, 0.0)
    if corrected.estimate < 0:
        less = Note("less_than_chance", estimate=f"{corrected.estimate:.3g}").on("msr_corrected")
        row.add_notes(less, Note("zero_stands_for_it"))
    row.add_notes(*corrected.notes)


def _add_ranks(row: Row, scores: Array) -> None:
    with row.leave_out_if_undefined(*RANKED):
        agreement = concordance(scores)
        row.values |= {"kendall_w": agreement.w, "friedman_p": agreement.p}
        row.compute_all(RANKED[2:], lambda: concordance_interval(scores))


def _add_pairs(row: Row, item: Compared) -> None:
    """Add the share of pairs of arms that differ.

    A pair that was met by no one cannot be tested and counts as one that does not differ.
    """
    pairs = [differences(scores_of_pair(item, arms)) for arms in combinations(item.arms, 2)]
    met = [pair for pair in pairs if len(pair)]
    if not met:
        row.leave_out("pairwise_share", because=Note("no_user_met_two_models"))
        return
    # The adjusted p that each would have if all told their arms apart as firmly as so many users can.
    able = _count(holm([2.0 ** (1 - len(pair)) for pair in met]))
    if not able:
        row.leave_out("pairwise_share", because=Note("too_few_users_for_pairs", count=max(map(len, met))))
    else:
        row.values["pairwise_share"] = _count(holm([_wilcoxon_p(pair) for pair in met])) / len(pairs)
        if able < len(met):
            row.add_notes(Note("pairs_with_enough_users", count=able, all=len(pairs)).on("pairwise_share"))
    if apart := len(pairs) - len(met):
        row.add_notes(Note("pairs_met_by_nobody", count=apart, all=len(pairs)).on("pairwise_share"))


def _count(p_values: list[float]) -> int:
    return sum(p < LEVEL for p in p_values)


def _wilcoxon_p(differences: Array) -> float:
    try:
        return paired.wilcoxon(differences).p
    except Undefined:  # none differs
        return 1.0


TABLE = Table(
    "discrimination",
    discrimination,
    COLUMNS,
    METHODS,
    heading=_("How well the arms can be told apart"),
    section="arms",
    empty=_("No one met two arms."),
    further=FURTHER,
    aside=("moment",),
)
