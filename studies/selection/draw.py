"""Draw people at random within strata. Pure: the same people and the same rule give the same draw."""

import random
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import floor

Stratum = tuple[str, ...]


@dataclass(frozen=True)
class Candidate:
    code: str
    stratum: Stratum
    score: float | None


@dataclass(frozen=True)
class Rule:
    """The rule of a draw. `proportional`: strata get places by their size; otherwise all get the same number."""

    size: int
    seed: int
    proportional: bool = False
    minimum: float | None = None

    def admits(self, candidate: Candidate) -> bool:
        """Return whether they have the minimum score, if there is one; without a score no one has it."""
        return self.minimum is None or (candidate.score is not None and candidate.score >= self.minimum)


def draw(candidates: Collection[Candidate], rule: Rule) -> list[Candidate]:
    """Return those who are drawn, by stratum and code. The order of the candidates does not matter."""
    chance = random.Random(rule.seed)
    strata = group(candidate for candidate in candidates if rule.admits(candidate))
    turns = chance.sample(sorted(strata), len(strata))  # who comes first where places are left over
    sizes = {stratum: len(strata[stratum]) for stratum in turns}
    places = share_by_size(sizes, rule.size) if rule.proportional else share_evenly(sizes, rule.size)
    drawn = [one for stratum in sorted(strata) for one in chance.sample(strata[stratum], places[stratum])]
    return sorted(drawn, key=lambda one: (one.stratum, one.code))


def group(candidates: Iterable[Candidate]) -> dict[Stratum, Sequence[Candidate]]:
    """Return the candidates of each stratum, sorted by code."""
    strata: dict[Stratum, list[Candidate]] = {}
    for candidate in sorted(candidates, key=lambda one: one.code):
        strata.setdefault(candidate.stratum, []).append(candidate)
    return dict(strata)


def share_evenly(sizes: Mapping[Stratum, int], places: int) -> Counter[Stratum]:
    """Return the places of each stratum: one each in turn, until all are given or all strata are used up."""
    shares: Counter[Stratum] = Counter()
    left = min(places, sum(sizes.values()))
    while left:
        for stratum in [one for one, size in sizes.items() if shares[one] < size][:left]:
            shares[stratum] += 1
            left -= 1
    return shares


def share_by_size(sizes: Mapping[Stratum, int], places: int) -> Counter[Stratum]:
    """Return the places of each stratum by its share of all people, rounded by the largest remainders."""
    people = sum(sizes.values())
    places = min(places, people)
    exact = {stratum: places * size / people for stratum, size in sizes.items()}
    shares = Counter({stratum: floor(share) for stratum, share in exact.items()})
    by_remainder = sorted(exact, key=lambda stratum: shares[stratum] - exact[stratum])
    shares.update(by_remainder[: places - shares.total()])
    return shares
