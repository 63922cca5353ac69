"""Adjustment of the p values of a family of tests; results keep the order.

statsmodels has these too, but makes Python collect its garbage each time: a tenth of a second, and families are many.
"""

from collections.abc import Sequence

import numpy as np
from scipy.stats import false_discovery_control  # noqa: TID253


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust by Holm 1979, Scandinavian Journal of Statistics 6:65."""
    order = np.argsort(p_values)
    stepped = np.maximum.accumulate(np.asarray(p_values)[order] * np.arange(len(order), 0, -1))
    adjusted = np.empty(len(order))
    adjusted[order] = np.minimum(stepped, 1)
    found: list[float] = adjusted.tolist()
    return found


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Adjust by Benjamini & Hochberg 1995, doi 10.1111/j.2517-6161.1995.tb02031.x."""
    found: list[float] = false_discovery_control(p_values).tolist() if len(p_values) else []
    return found
