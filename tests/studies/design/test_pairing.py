from collections import Counter
from itertools import combinations

import pytest

from studies.design.pairing import Candidate, DrawnPair, draw_pairs


def everybody(people: int = 6, arms: str = "abc", turns: int = 3) -> list[Candidate]:
    """Each person once with each arm."""
    return [
        Candidate(run=10 * person + number, contestant=arm, seeker=f"P{person}", turns=tuple(range(1, turns + 1)))
        for person in range(people)
        for number, arm in enumerate(arms)
    ]


def drawn(candidates: list[Candidate], *, count: int, replies: bool = False, seed: int = 1) -> list[DrawnPair]:
    return draw_pairs(candidates, replies=replies, count=count, seed=seed)


def runs_of(pairs: list[DrawnPair]) -> list[tuple[int, int, int | None]]:
    return [(pair.a.run, pair.b.run, pair.turn) for pair in pairs]


@pytest.mark.parametrize(("count", "each"), [(18, {6}), (9, {3}), (7, {2, 3}), (1, {1})])
def test_every_two_contestants_meet_equally_often(count, each):
    pairs = drawn(everybody(), count=count)
    met = Counter(pair.contest() for pair in pairs)
    assert (sum(met.values()), set(met.values())) == (count, each)


def test_pairs_are_of_one_seeker_while_there_are_such():
    pairs = drawn(everybody(people=4), count=18)
    by_contest = {contest: [one for one in pairs if one.contest() == contest] for contest in combinations("abc", 2)}
    assert {contest: sum(pair.is_matched() for pair in of) for contest, of in by_contest.items()} == dict.fromkeys(
        by_contest, 4
    )
    assert {len(of) for of in by_contest.values()} == {6}


def test_no_pair_comes_twice_and_there_are_at_most_all():
    pairs = drawn(everybody(people=3), count=1000)
    assert len(runs_of(pairs)) == len(set(runs_of(pairs))) == 3 * 3 * 3


def test_a_is_the_contestant_that_comes_first_in_the_alphabet():
    assert {pair.contest() for pair in drawn(everybody(), count=30)} == {("a", "b"), ("a", "c"), ("b", "c")}


def test_conversations_are_used_about_equally_often():
    pairs = drawn(everybody(people=5), count=3 * 10)
    uses = Counter(run for pair in pairs for run in (pair.a.run, pair.b.run))
    assert set(uses.values()) == {4}


def test_replies_are_of_the_same_turn_and_spread_over_people_first():
    pairs = drawn(everybody(people=4, arms="ab", turns=3), count=4, replies=True)
    assert {pair.a.seeker for pair in pairs} == {"P0", "P1", "P2", "P3"}
    all_of_them = drawn(everybody(people=4, arms="ab", turns=3), count=12, replies=True)
    assert sorted((pair.a.seeker, pair.turn) for pair in all_of_them) == [
        (f"P{person}", turn) for person in range(4) for turn in (1, 2, 3)
    ]
    assert all(pair.is_matched() for pair in all_of_them)


def test_reply_that_only_one_side_has_is_never_asked_about():
    pair = [Candidate(1, "a", seeker="P", turns=(1, 2)), Candidate(2, "b", seeker="P", turns=(2, 3))]
    assert runs_of(drawn(pair, count=9, replies=True)) == [(1, 2, 2)]


def test_what_must_be_alike_is_alike():
    candidates = [
        Candidate(1, "a", same=("en",), seeker="P", turns=(1,)),
        Candidate(2, "b", same=("zh",), seeker="P", turns=(1,)),
        Candidate(3, "b", same=("en",), turns=(1,)),
    ]
    assert runs_of(drawn(candidates, count=9)) == [(1, 3, None)]


def test_seed_alone_decides():
    candidates = everybody()
    assert runs_of(drawn(candidates, count=9)) == runs_of(drawn(candidates[::-1], count=9))
    assert runs_of(drawn(candidates, count=9)) != runs_of(drawn(candidates, count=9, seed=2))


def test_one_contestant_alone_meets_nobody():
    assert drawn(everybody(arms="a"), count=5) == []
