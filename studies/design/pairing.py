"""Pairs of conversations side by side: drawn by a seed, evenly, of the same seeker where there are such. Pure."""

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice

WHOLE = None  # the turn of a pair of whole conversations

Contest = tuple[str, str]  # two contestants, in the order of the alphabet


@dataclass(frozen=True)
class Candidate:
    """A conversation that may stand in a pair. `same` is what both sides must have alike: the language, and the arm
    where seekers are compared. `seeker` says whose conversation it is, or is empty. `turns` have a reply."""

    run: int
    contestant: str
    same: tuple[str, ...] = ()
    seeker: str = ""
    turns: tuple[int, ...] = ()


@dataclass(frozen=True)
class DrawnPair:
    """A pair as drawn. `a` is of the contestant that is first in the alphabet; its side is drawn for each rater."""

    a: Candidate
    b: Candidate
    turn: int | None = WHOLE

    def is_matched(self) -> bool:
        return bool(self.a.seeker) and self.a.seeker == self.b.seeker

    def contest(self) -> Contest:
        return self.a.contestant, self.b.contestant


def name_seekers(kind: str, condition: str, setup: str) -> str:
    """Return the name of a kind of seekers as a contestant: `simulated average (one agent)`.

    `setup` is what an ablation changed; empty for the whole.
    """
    return " ".join(filter(None, [kind, condition, f"({setup})" if setup else ""]))


def draw_pairs(candidates: Sequence[Candidate], *, replies: bool, count: int, seed: int) -> list[DrawnPair]:
    """Return at most `count` pairs, of every two contestants equally often (or one more), in a mixed order.

    Fewer where two contestants do not have as many; no two pairs are the same. The order of `candidates` is of no
    account.
    """
    draw = random.Random(seed)
    by_contestant = group_by_contestant(sorted(candidates, key=lambda one: one.run))
    contests = list(combinations(sorted(by_contestant), 2))
    drawn = [
        pair
        for (first, second), number in share_out(contests, count, draw).items()
        for pair in _of_two(by_contestant[first], by_contestant[second], number, replies, draw)
    ]
    draw.shuffle(drawn)
    return drawn


def group_by_contestant(candidates: Iterable[Candidate]) -> Mapping[str, list[Candidate]]:
    groups: defaultdict[str, list[Candidate]] = defaultdict(list)
    for one in candidates:
        groups[one.contestant].append(one)
    return groups


def share_out(contests: Sequence[Contest], count: int, draw: random.Random) -> dict[Contest, int]:
    """Return how many pairs each contest gets; who gets one more is drawn."""
    if not contests:
        return {}
    each, rest = divmod(count, len(contests))
    luckier = set(draw.sample(range(len(contests)), rest))
    return {contest: each + (number in luckier) for number, contest in enumerate(contests)}


def _of_two(
    first: Sequence[Candidate], second: Sequence[Candidate], number: int, replies: bool, draw: random.Random
) -> Iterator[DrawnPair]:
    """Return pairs of two contestants. Those of one seeker come first, and of these each conversation once before any
    comes again."""
    matched = [pair for a in first for b in second if a.seeker == b.seeker != "" for pair in _pairs(a, b, replies)]
    draw.shuffle(matched)
    yield from islice(_taking_turns(matched), number)
    yield from islice(_cross(first, second, replies, draw), max(0, number - len(matched)))


def _pairs(a: Candidate, b: Candidate, replies: bool) -> list[DrawnPair]:
    """Return the whole conversations, or the replies of each turn that both have; nothing where they are not alike."""
    if a.same != b.same:
        return []
    turns = sorted(set(a.turns) & set(b.turns)) if replies else [WHOLE]
    return [DrawnPair(a, b, turn) for turn in turns]


def _taking_turns(pairs: Sequence[DrawnPair]) -> Iterator[DrawnPair]:
    left = list(pairs)
    while left:
        met: set[int] = set()
        later = []
        for pair in left:
            if met & {pair.a.run, pair.b.run}:
                later.append(pair)
            else:
                met |= {pair.a.run, pair.b.run}
                yield pair
        left = later


def _cross(
    first: Sequence[Candidate], second: Sequence[Candidate], replies: bool, draw: random.Random
) -> Iterator[DrawnPair]:
    """Return everyone with everyone, one step further each round, so that all are used about as often."""
    ours, others = draw.sample(list(first), len(first)), draw.sample(list(second), len(second))
    for step in range(len(others)):
        for place, a in enumerate(ours):
            possible = _pairs(a, others[(place + step) % len(others)], replies)
            if possible and not possible[0].is_matched():
                yield draw.choice(possible)
