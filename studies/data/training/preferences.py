"""Two supporters before the same words: which reply is preferred, if any. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations

from studies.data.training.scores import DECIMALS, mean_of
from studies.data.training.talk import Scores


@dataclass(frozen=True)
class Candidate:
    """A reply to what others replied to as well."""

    run: int
    turn: int
    arm: str
    reply: str
    scores: Scores


@dataclass(frozen=True)
class Preference:
    chosen: Candidate
    rejected: Candidate
    score_chosen: float
    score_rejected: float


class Dropped(StrEnum):
    """The reasons why two replies make no row, in the order in which they are asked."""

    SAME_REPLY = "same_reply"
    NO_COMMON_RATER = "no_common_rater"
    NO_MARGIN = "within_margin"
    LOW_SCORE = "below_min_score"
    SAME = "exact_duplicate"
    ALIKE = "near_duplicate"


def meetings(candidates: Iterable[Candidate]) -> Iterator[tuple[Candidate, Candidate]]:
    """Yield the pairs of replies of every two arms.

    Where arms have several replies each, the first meets the first and the second the second. So no reply is chosen for
    its score, and no opening counts more than once a conversation.
    """
    by_arm: defaultdict[str, list[Candidate]] = defaultdict(list)
    for one in sorted(candidates, key=lambda one: (one.run, one.turn)):
        by_arm[one.arm].append(one)
    for first, second in combinations(sorted(by_arm), 2):
        yield from zip(by_arm[first], by_arm[second], strict=False)


def preference(
    first: Candidate, second: Candidate, *, margin: float, min_score: float | None = None
) -> Preference | Dropped:
    """Return which of two replies those who rated both prefer, or why the two make no row.

    Strict and lenient raters would otherwise decide it.
    """
    if first.reply.strip() == second.reply.strip():
        return Dropped.SAME_REPLY
    raters = sorted(first.scores.keys() & second.scores.keys())
    if not raters:
        return Dropped.NO_COMMON_RATER
    ours, others = mean_of(first.scores, raters), mean_of(second.scores, raters)
    if round(abs(ours - others), DECIMALS) < margin:
        return Dropped.NO_MARGIN
    if min_score is not None and max(ours, others) < min_score:
        return Dropped.LOW_SCORE
    return Preference(first, second, ours, others) if ours > others else Preference(second, first, others, ours)
