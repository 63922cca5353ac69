from collections import Counter

from studies.allocation.card_choice import choose_cards

CARDS = ("a", "b", "c", "d")


def test_cards_used_least_come_first_and_none_twice_before_all_have_come():
    uses = {("x", "a"): 2, ("y", "b"): 2, ("x", "c"): 1, ("y", "d"): 1}
    assert sorted(choose_cards(CARDS, ["x", "y"], uses, seed=1, number=0)) == ["c", "d"]
    assert sorted(Counter(choose_cards(CARDS, list("uvwxyz"), {}, seed=1, number=0)).values()) == [1, 1, 2, 2]


def test_a_card_goes_to_the_arm_with_which_it_was_used_least():
    uses = {("x", "a"): 1, ("y", "b"): 1}
    for number in range(10):
        assert choose_cards(("a", "b"), ["x", "y"], uses, seed=1, number=number) == ["b", "a"]


def test_many_arms_get_cards_they_had_least_too():
    arms = list("rstuvwxyz")
    uses = {(arm, card): 5 for arm in arms for card in "abcdefghi" if card != chr(ord(arm) - 17)}
    assert choose_cards("abcdefghi", arms, uses, seed=1, number=0) == list("abcdefghi")


def test_no_cards_are_no_choice():
    assert choose_cards((), ["x"], {}, seed=1, number=0) == []
