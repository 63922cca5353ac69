"""Estimates by pingouin, krippendorff and statsmodels, which cross_check.csv compares with our own.

Each function raises `Undefined` where the package gives no number. pingouin and the mixed models of statsmodels are
imported where they are needed: they take as long to import as the rest of the analysis.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, wraps
from importlib.metadata import version
from typing import ParamSpec, TypeVar

import krippendorff  # noqa: TID253
import numpy as np
import pandas as pd  # noqa: TID253
from statsmodels.tools.sm_exceptions import ConvergenceWarning  # noqa: TID253

from studies.analysis.bootstrap import Array
from studies.analysis.measures.coincidence import Level
from studies.analysis.measures.mixed import Data
from studies.analysis.rows import Undefined

PINGOUIN, KRIPPENDORFF, STATSMODELS = "pingouin", "krippendorff", "statsmodels"
ICC_ROWS = {
    "icc_1_1": "ICC(1,1)",
    "icc_a_1": "ICC(A,1)",
    "icc_c_1": "ICC(C,1)",
    "icc_1_k": "ICC(1,k)",
    "icc_a_k": "ICC(A,k)",
    "icc_c_k": "ICC(C,k)",
}
# L-BFGS, which statsmodels tries too, may stop at a variance of 0 that is not the maximum and call that converged.
METHODS = ("bfgs", "powell")

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


@dataclass(frozen=True)
class LibraryFit:
    """A mixed model as statsmodels fits it; `variances` by term, `residual` last."""

    coefficients: Array
    variances: Mapping[str, float]


@cache
def name_with_version(package: str) -> str:
    return f"{package} {version(package)}"


@contextmanager
def _silence() -> Iterator[None]:
    """Suppress a package's warnings about data that our own code refuses with a reason."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def _refuse_failures(estimate: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Turn every failure of a package into `Undefined`: a check must not stop the analysis that it checks."""

    @wraps(estimate)
    def guard(*arguments: Parameters.args, **options: Parameters.kwargs) -> Result:
        try:
            with _silence():
                return estimate(*arguments, **options)
        except Undefined:
            raise
        except Exception as error:
            raise Undefined("package_fails", error=type(error).__name__) from error

    return guard


@_refuse_failures
def pearson(x: Array, y: Array) -> float:
    import pingouin

    return _number(pingouin.corr(x, y, method="pearson")["r"].iloc[0])


@_refuse_failures
def intraclass_correlations(scores: Array) -> dict[str, float]:
    """Return all six forms by the names of our columns; `scores`: targets × raters, complete."""
    import pingouin

    long = _long(scores)
    table = pingouin.intraclass_corr(long, targets="row", raters="column", ratings="score")
    by_form = table.set_index("Type")["ICC"]
    return {name: float(by_form[row]) for name, row in ICC_ROWS.items()}


@_refuse_failures
def cronbach_alpha(scores: Array) -> float:
    """Return Cronbach's alpha; `scores`: ratings × items, complete."""
    import pingouin

    return _number(pingouin.cronbach_alpha(data=pd.DataFrame(_centre(scores)))[0])


@_refuse_failures
def repeated_measures_f(scores: Array) -> float:
    """Return F of repeated measures; `scores`: users × arms, complete."""
    import pingouin

    table = pingouin.rm_anova(data=_long(scores), dv="score", within="column", subject="row", correction=False)
    return _number(table["F"].iloc[0])


@_refuse_failures
def krippendorff_alpha(scores: Array, level: Level) -> float:
    """Return Krippendorff's alpha; `scores`: units × raters, nan where a rater did not rate."""
    return _number(krippendorff.alpha(reliability_data=scores.T, level_of_measurement=level))


@_refuse_failures
def fit_mixed_model(data: Data) -> LibraryFit:
    """Fit random intercepts of one term, or of several crossed ones, by REML."""
    if not data.terms:
        raise Undefined("no_random_term")
    spread = float(data.scores.std())
    if np.linalg.matrix_rank(data.fixed) < data.fixed.shape[1]:
        raise Undefined("sample_without_arms")
    result = _fit((data.scores - data.scores.mean()) / spread, data)
    variances = np.array([*np.ravel(result.cov_re), *result.vcomp, result.scale]) * spread**2
    # The mean that was taken off lies in the space of the fixed part, as each row is of one arm.
    shift = np.linalg.lstsq(data.fixed, np.full(len(data.scores), data.scores.mean()))[0]
    return LibraryFit(
        coefficients=np.asarray(result.fe_params) * spread + shift,
        variances=dict(zip([*data.terms, "residual"], variances.tolist(), strict=True)),
    )


def _fit(scores: Array, data: Data):  # type: ignore[no-untyped-def]  # statsmodels has no types
    from statsmodels.regression.mixed_linear_model import MixedLM, VCSpec

    if len(data.terms) == 1:
        [levels] = data.terms.values()
        model = MixedLM(scores, data.fixed, groups=levels)
    else:
        columns = [[np.eye(data.sizes[name])[levels]] for name, levels in data.terms.items()]
        labels = [[[f"{name} {level}" for level in range(data.sizes[name])]] for name in data.terms]
        components = VCSpec(list(data.terms), labels, columns)
        model = MixedLM(scores, data.fixed, groups=np.ones(len(scores)), exog_vc=components)
    warnings.simplefilter("error", ConvergenceWarning)
    for method in METHODS:
        with suppress(ConvergenceWarning, np.linalg.LinAlgError):
            result = model.fit(reml=True, method=method)
            if result.converged:
                return result
    raise Undefined("statsmodels_fails")


def _long(scores: Array) -> pd.DataFrame:
    rows, columns = scores.shape
    return pd.DataFrame(
        {
            "row": np.repeat(np.arange(rows), columns),
            "column": np.tile(np.arange(columns), rows),
            "score": _centre(scores).ravel(),
        }
    )


def _centre(scores: Array) -> Array:
    """Take the mean off, on which no estimate here depends, as sums of squares lose digits to a large one."""
    return np.asarray(scores - scores.mean())


def _number(value: object) -> float:
    number = float(value)  # type: ignore[arg-type]
    if not np.isfinite(number):
        raise Undefined("no_number_in_package")
    return number
