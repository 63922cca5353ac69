"""What counts as the same text, or as nearly the same."""

import random
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.data.training.duplicates import NEAR, Duplicate, SeenTexts, fold, nearly_same, pieces, similarity

WORDS = st.lists(st.sampled_from(["rain", "work", "alone", "again", "我", "难过", "sleep"]), min_size=1, max_size=12)


def random_text(length: int, seed: int) -> str:
    return "".join(random.Random(seed).choices(string.ascii_lowercase + " ", k=length))


def changed(text: str, at: int) -> str:
    return f"{text[:at]}#{text[at + 1 :]}"


@pytest.mark.parametrize(
    ("text", "same"),
    [("I feel  LOW.\n", "i feel low."), ("Ｉ　feel low.", "I FEEL LOW."), ("Straße", "STRASSE"), ("\u00e9", "e\u0301")],
)
def test_case_width_and_white_space_make_no_difference(text, same):
    assert fold(text) == fold(same)
    with SeenTexts() as seen:
        assert [seen.look(text), seen.look(same)] == [None, Duplicate.EXACT]


def test_similarity_is_the_share_of_common_pieces():
    """abcdef has abcde and bcdef, bcdefg has bcdef and cdefg: one of three in common."""
    assert pieces("abcdef") == {"abcde", "bcdef"}
    assert similarity("abcdef", "bcdefg") == pytest.approx(1 / 3)
    assert pieces("好") == {"好"}
    assert similarity("好", "好") == 1


def test_one_changed_letter_in_a_long_text_is_a_near_duplicate_and_in_a_short_one_not():
    """A letter stands in 5 pieces: of n pieces n - 5 stay, of n + 5 in all; 0.9 is reached from n = 95 on."""
    long, short = random_text(99, seed=1), random_text(60, seed=1)
    assert (len(pieces(long)), len(pieces(short))) == (95, 56)
    with SeenTexts() as seen:
        assert seen.look(long) is None
        assert seen.look(changed(long, 40)) is Duplicate.NEAR
    with SeenTexts() as seen:
        assert [seen.look(short), seen.look(changed(short, 30))] == [None, None]


def test_what_was_not_let_through_is_not_compared_with():
    """Each is near the one before it, and so on to a text that is no longer near the first: that one is kept."""
    first = random_text(200, seed=2)
    second = changed(changed(first, 20), 60)
    third = changed(changed(second, 100), 140)
    assert similarity(second, third) >= NEAR > similarity(first, third)
    with SeenTexts() as seen:
        assert [seen.look(first), seen.look(second), seen.look(third)] == [None, Duplicate.NEAR, None]


def test_near_texts_are_found_among_many():
    """Comparing all would be slow; the bands must not lose any (one in 10^7 by the formula)."""
    texts = [random_text(400, seed) for seed in range(150)]
    with SeenTexts() as seen:
        assert {seen.look(text) for text in texts} == {None}
        assert {seen.look(changed(changed(text, 30), 300)) for text in texts} == {Duplicate.NEAR}


def test_parts_are_compared_one_by_one():
    prompt = random_text(2000, seed=3)
    with SeenTexts() as seen:
        assert seen.look(prompt, "That is hard.", "Go for a walk.") is None
        assert seen.look(prompt, "That is hard.", "Have you eaten?") is None
        assert seen.look(changed(prompt, 1000), "That is hard.", "Go for a walk.") is Duplicate.NEAR
        assert seen.look(prompt, "Go for a walk.", "That is hard.") is None


@given(st.lists(WORDS.map(" ".join), max_size=25))
def test_kept_texts_are_all_different_and_stand_for_those_left_out(texts):
    with SeenTexts() as seen:
        kept = [text for text in texts if seen.look(text) is None]
    for place, text in enumerate(kept):
        assert not any(nearly_same([fold(text)], [fold(other)]) for other in kept[:place])
    assert all(any(nearly_same([fold(text)], [fold(one)]) for one in kept) for text in texts)
    with SeenTexts() as again:
        assert [text for text in kept if again.look(text) is None] == kept
