"""The columns that several tables share about the difference between two paired columns of scores."""

from collections.abc import Sequence

import numpy as np

from studies.analysis.bootstrap import FEW_CLUSTERS, Array
from studies.analysis.language import gettext_noop as _
from studies.analysis.measures import paired
from studies.analysis.notes import INTERVAL, Note
from studies.analysis.rows import Row

PRINTED = 0.001  # a smallest p above this is told


D_Z = ("d_z", "d_z_low", "d_z_high")
METHODS = {
    "d_z": _("mean over standard deviation of the differences; interval (95 %) from the noncentral t"),
    "wilcoxon_p": _(
        "sensitivity: Wilcoxon's signed-rank test of the differences, those of 0 dropped; two-sided, not adjusted"
    ),
}


def add_interval_of_difference(row: Row, differences: Array) -> None:
    """Add `low` and `high` of the mean by Student's t; with few users a BCa interval is too narrow
    (docs/developers/coverage.md)."""
    _add_test(row, differences, ("low", "high"))


def add_t_test(row: Row, differences: Array) -> None:
    """Add `low` and `high` of the mean, and `p`, by one paired t test."""
    _add_test(row, differences, ("low", "high", "p"))


def _add_test(row: Row, differences: Array, names: Sequence[str]) -> None:
    with row.leave_out_if_undefined(*names):
        test = paired.t_test(np.round(differences, paired.ROUNDED))
        row.values |= {name: getattr(test, name) for name in names}
        row.add_methods(Note("t_interval"))
        if len(differences) < FEW_CLUSTERS:
            row.add_notes(Note("few_clusters", count=len(differences)).on(INTERVAL))


def add_wilcoxon(row: Row, differences: Array) -> None:
    with row.leave_out_if_undefined("wilcoxon_p"):
        test = paired.wilcoxon(differences)
        row.values["wilcoxon_p"] = test.p
        row.add_methods(test.method.on("wilcoxon_p"))
        if test.smallest > PRINTED:
            row.add_notes(Note("smallest_p", smallest=f"{test.smallest:.4g}").on("wilcoxon_p"))


def add_d_z(row: Row, differences: Array) -> None:
    row.compute_all(D_Z, lambda: paired.d_z(differences))
