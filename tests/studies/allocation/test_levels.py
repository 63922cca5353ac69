from collections import Counter

import pytest

from studies.allocation.levels import ENOUGH, Cuts, cuts_between, level_of


def test_a_few_scores_are_cut_by_the_range_of_the_scale() -> None:
    cuts = cuts_between([1.0] * (ENOUGH - 1), minimum=1, maximum=4)
    assert cuts == Cuts(2, 3)
    assert [level_of(score, cuts) for score in (1, 2, 2.1, 3, 3.1, 4)] == ["low"] * 2 + ["middle"] * 2 + ["high"] * 2


@pytest.mark.parametrize(("people", "sizes"), [(9, (3, 3, 3)), (10, (4, 3, 3)), (11, (4, 4, 3)), (30, (10, 10, 10))])
def test_many_scores_are_cut_into_thirds_of_people(people: int, sizes: tuple[int, int, int]) -> None:
    scores = [float(number) for number in range(people)]
    cuts = cuts_between(scores[::-1], minimum=0, maximum=1000)
    found = Counter(level_of(score, cuts) for score in scores)
    assert (found["low"], found["middle"], found["high"]) == sizes


def test_equal_scores_are_in_one_third() -> None:
    cuts = cuts_between([3.0] * 20, minimum=1, maximum=5)
    assert level_of(3.0, cuts) == "low"
