"""The sample size of a planned study: people and conversations."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import atanh, ceil, sqrt, tanh
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray
from scipy import special  # noqa: TID253

from studies.analysis.planning import BOUNDS, LEAST_EFFECT, QUESTIONS, SIMULATED, Nearby, Need, Wish

Array = NDArray[np.float64]

PLANNED = {"correlation": "r", "width": "r", "icc": "icc", "paired": "d"}  # the value that one has to guess
NEARBY = (-0.1, -0.05, 0.0, 0.05, 0.1)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)
_NORMAL = NormalDist()


def need(wish: Wish) -> Need:
    """Return the sample size for one of QUESTIONS. Raises ValueError with a line for each fault of the wish."""
    require_valid(wish)
    needed = _NEEDED[wish.question](wish)
    people = people_for(needed, wish)
    conversations = people * wish.per_person * (2 if wish.question == "paired" else 1)
    return Need(
        needed=needed,
        exact=exact_n_for_correlation(wish.r, wish.power, wish.alpha) if wish.question == "correlation" else None,
        design_effect=design_effect(wish.per_person, wish.within),
        people=people,
        invited=ceil(people / (1 - wish.dropout)),
        conversations=conversations,
        ratings=conversations * (wish.raters if wish.question == "icc" else 1),
        nearby=[_nearby(other) for other in _others(wish)],
    )


def require_valid(wish: Wish) -> None:
    """Raise ValueError with a line for each fault."""
    if faults := list(faults_of(wish)):
        raise ValueError("\n".join(faults))


def faults_of(wish: Wish) -> Iterator[str]:
    if wish.question not in (*QUESTIONS, *SIMULATED):
        yield f"question: {wish.question!r} is not one of {', '.join((*QUESTIONS, *SIMULATED))}"
    for name, (least, most) in BOUNDS.items():
        if not least <= getattr(wish, name) <= most:
            yield f"{name}: {getattr(wish, name):g} does not lie between {least:g} and {most:g}"
    effect = {"correlation": "r", "paired": "d"}.get(wish.question)
    if effect and abs(getattr(wish, effect)) < LEAST_EFFECT:
        yield f"{effect}: must be at least {LEAST_EFFECT:g} away from 0"


def _others(wish: Wish) -> Iterator[Wish]:
    name = PLANNED[wish.question]
    for step in NEARBY:
        other = replace(wish, **{name: round(getattr(wish, name) + step, 10)})
        if not list(faults_of(other)):
            yield other


def _nearby(wish: Wish) -> Nearby:
    needed = _NEEDED[wish.question](wish)
    people = people_for(needed, wish)
    each = wish.per_person * (2 if wish.question == "paired" else 1)
    return Nearby(getattr(wish, PLANNED[wish.question]), needed, people, people * each)


def design_effect(per_person: float, within: float) -> float:
    """Return the factor by which clusters multiply a variance: 1 + (m - 1) ρ (Kish 1965, Survey Sampling,
    section 5.4)."""
    return 1 + (per_person - 1) * within


def people_for(needed: int, wish: Wish) -> int:
    return ceil(round(needed * design_effect(wish.per_person, wish.within) / wish.per_person, 9))


def n_for_correlation(r: float, power: float, alpha: float) -> int:
    """Return n for a two-sided test of r = 0 by Fisher's z: ((z_α/2 + z_β) / atanh r)² + 3 (Cohen 1988, chapter 3)."""
    sum_of_z = _NORMAL.inv_cdf(1 - alpha / 2) + _NORMAL.inv_cdf(power)
    return ceil((sum_of_z / atanh(abs(r))) ** 2 + 3)


def exact_n_for_correlation(r: float, power: float, alpha: float) -> int:
    near = n_for_correlation(r, power, alpha)
    return _smallest(lambda n: power_of_correlation(r, n, alpha) >= power, near, least=4)


def power_of_correlation(r: float, n: int, alpha: float) -> float:
    """Return the power of the two-sided t test of r in a bivariate normal population.

    Given one variable, t is noncentral with δ = r / √(1 - r²) · √S, where S is chi-square with n - 1 degrees of freedom
    (Gatsonis & Sampson 1989, doi 10.1037/0033-2909.106.3.516); the mean over S is by Gauss and Legendre.
    """
    critical = special.stdtrit(n - 2, 1 - alpha / 2)
    spread = special.chdtri(n - 1, (1 - _NODES) / 2)
    delta = abs(r) / sqrt(1 - r * r) * np.sqrt(spread)
    return float(_WEIGHTS @ _beyond(critical, n - 2, delta) / 2)


def half_width_of_correlation(r: float, n: int, alpha: float = 0.05) -> float:
    """Return half the length of Fisher's interval of an r from n independent rows."""
    reach = _NORMAL.inv_cdf(1 - alpha / 2) / sqrt(n - 3)
    return (tanh(atanh(r) + reach) - tanh(atanh(r) - reach)) / 2


def n_for_half_width(r: float, half_width: float, alpha: float) -> int:
    def narrow(n: int) -> bool:
        return half_width_of_correlation(r, n, alpha) <= half_width

    # The width of a normal interval, which Fisher's tends to.
    near = ceil((_NORMAL.inv_cdf(1 - alpha / 2) * (1 - r * r) / half_width) ** 2) + 3
    return _smallest(narrow, near, least=4)


def n_for_icc(icc: float, raters: int, half_width: float, alpha: float) -> int:
    """Return the targets that `raters` raters each rate, for an ICC of single ratings (Bonett 2002, doi
    10.1002/sim.1108, formula 3, with his correction for two raters)."""
    z, width = _NORMAL.inv_cdf(1 - alpha / 2), 2 * half_width
    spread = (1 - icc) ** 2 * (1 + (raters - 1) * icc) ** 2 / (raters * (raters - 1))
    correction = 5 * icc if raters == 2 and icc >= 0.7 else 0
    return max(2, ceil(8 * z * z * spread / width**2 + 1 + correction))


def n_for_paired(d: float, power: float, alpha: float) -> int:
    """Return the pairs for a two-sided paired t test of a standardised mean difference d_z."""
    sum_of_z = _NORMAL.inv_cdf(1 - alpha / 2) + _NORMAL.inv_cdf(power)
    return _smallest(lambda n: power_of_paired(d, n, alpha) >= power, ceil((sum_of_z / d) ** 2), least=2)


def power_of_paired(d: float, n: int, alpha: float) -> float:
    critical, delta = special.stdtrit(n - 1, 1 - alpha / 2), np.array([abs(d) * sqrt(n)])
    return float(_beyond(critical, n - 1, delta)[0])


def _beyond(critical: float, df: int, delta: Array) -> Array:
    """Return the probability that noncentral t lies outside ± `critical`."""
    inner, below = (special.nctdtr(df, delta, bound) for bound in (critical, -critical))
    # It is nan where it is below 1e-18.
    return np.asarray(1 - np.nan_to_num(inner) + np.nan_to_num(below))


def _smallest(enough: Callable[[int], bool], near: int, *, least: int) -> int:
    """Return the smallest n from `least` on that is enough, if every larger n is enough too; the search begins at
    `near`."""
    n = max(near, least)
    while not enough(n):
        n += 1
    while n > least and enough(n - 1):
        n -= 1
    return n


_NEEDED: dict[str, Callable[[Wish], int]] = {
    "correlation": lambda wish: n_for_correlation(wish.r, wish.power, wish.alpha),
    "width": lambda wish: n_for_half_width(wish.r, wish.half_width, wish.alpha),
    "icc": lambda wish: n_for_icc(wish.icc, wish.raters, wish.half_width, wish.alpha),
    "paired": lambda wish: n_for_paired(wish.d, wish.power, wish.alpha),
}
