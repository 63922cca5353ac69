"""Contrasts of the fixed part of a mixed model; degrees of freedom after Satterthwaite."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2, f, norm, t  # noqa: TID253

from studies.analysis.bootstrap import Array
from studies.analysis.measures.mixed import Fit, Solution, solve

_TAIL = 0.975
_FEWEST = 2.0  # degrees of freedom, at and below which an F has no mean


@dataclass(frozen=True)
class Contrast:
    """Interval of 95 % and two-sided p, by Student's t; `df` is nan where the normal distribution has to do."""

    estimate: float
    low: float
    high: float
    df: float
    p: float


@dataclass(frozen=True)
class JointTest:
    """Wald's F that several contrasts are all 0; `df` is nan where `numerator` × F is taken as a chi-square."""

    f: float
    numerator: int
    df: float
    p: float


def contrast(found: Fit, weights: Array) -> Contrast:
    """Estimate a contrast; `weights`: one for each column of the fixed part."""
    estimate = float(weights @ _solution(found, found.positive_variances).coefficients)
    error = float(np.sqrt(_covariance(found, weights, found.positive_variances)))
    df = _degrees(found, weights)
    law = norm() if np.isnan(df) else t(df)
    half = error * float(law.ppf(_TAIL))
    return Contrast(estimate, estimate - half, estimate + half, df, float(2 * law.sf(abs(estimate) / error)))


def joint_test(found: Fit, weights: Array) -> JointTest:
    """Test that several contrasts are all 0.

    `weights`: contrasts × columns, of full rank. The denominator's degrees of freedom are those of Fai and Cornelius
    1996 (doi 10.1080/00949659608811740).
    """
    values, vectors = np.linalg.eigh(_covariance(found, weights, found.positive_variances))
    apart = vectors.T @ weights  # contrasts whose estimates are not correlated
    statistic = float(((apart @ _solution(found, found.positive_variances).coefficients) ** 2 / values).mean())
    numerator, df = len(weights), _denominator_degrees(np.array([_degrees(found, one) for one in apart]))
    p = chi2.sf(numerator * statistic, numerator) if np.isnan(df) else f.sf(statistic, numerator, df)
    return JointTest(statistic, numerator, df, float(p))


def _denominator_degrees(degrees: Array) -> float:
    """Return the degrees of freedom at which an F has the mean of these squared t statistics."""
    if (degrees <= _FEWEST).any():
        return _FEWEST
    means = float((degrees / (degrees - 2)).sum())
    return 2 * means / (means - len(degrees))


def _degrees(found: Fit, weights: Array) -> float:
    return found.degrees(lambda variances: float(_covariance(found, weights, variances)))


def _covariance(found: Fit, weights: Array, variances: Array) -> Array:
    """Return the covariance of the contrasts' estimates; `variances`: of the terms present and, last, the
    residual one."""
    return np.asarray(variances[-1] * (weights @ _solution(found, variances).covariance @ weights.T))


def _solution(found: Fit, variances: Array) -> Solution:
    return solve(found.data, np.sqrt(variances[:-1] / variances[-1]))
