"""The one place that calls pingouin, whose tables have changed their names between versions (0.6, 0.7)."""

from dataclasses import dataclass

import numpy as np
import pandas as pd  # noqa: TID253
import pingouin  # noqa: TID253

from studies.analysis.bootstrap import Array

_TYPES = {
    "ICC(1,1)": "icc_1_1",
    "ICC(A,1)": "icc_a_1",
    "ICC(C,1)": "icc_c_1",
    "ICC(1,k)": "icc_1_k",
    "ICC(A,k)": "icc_a_k",
    "ICC(C,k)": "icc_c_k",
}
FORMS = tuple(_TYPES.values())
_COLUMNS = ["Type", "ICC", "F", "df1", "df2", "pval", "CI95"]


@dataclass(frozen=True)
class MeanSquareRatios:
    """Mean square of the targets over that within targets (`one_way`) and over the residual (`two_way`)."""

    one_way: float
    two_way: float

    def raters(self, targets: int) -> float:
        """Mean square of the raters over the residual: SS within targets is the sum of both."""
        return targets * self.two_way / self.one_way - (targets - 1) if self.one_way else 1.0


def intraclass(scores: Array) -> tuple[dict[str, float], MeanSquareRatios]:
    """The six coefficients by result column, and the F ratios behind them; `scores`: targets × raters, complete.

    The frame's own intervals are rounded to two decimals, hence not returned.
    """
    targets, raters = np.indices(scores.shape)
    long = pd.DataFrame({"target": targets.ravel(), "rater": raters.ravel(), "score": scores.ravel()})
    with np.errstate(divide="ignore", invalid="ignore"):  # perfect agreement: F is infinite
        table = pingouin.intraclass_corr(data=long, targets="target", raters="rater", ratings="score")
    if list(table.columns) != _COLUMNS or list(table["Type"]) != list(_TYPES):
        raise RuntimeError(f"pingouin {pingouin.__version__} names its ICC table differently: {list(table.columns)}")
    by_type = table.set_index("Type")
    estimates = {column: float(by_type.at[name, "ICC"]) for name, column in _TYPES.items()}
    return estimates, MeanSquareRatios(float(by_type.at["ICC(1,1)", "F"]), float(by_type.at["ICC(C,1)", "F"]))
