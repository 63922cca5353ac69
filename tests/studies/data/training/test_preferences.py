"""Which of two replies is preferred, and which meet at all."""

import pytest

from studies.data.training.preferences import Candidate, Dropped, Preference, meetings, preference


def reply(arm: str, text: str = "", run: int = 1, **scores: float) -> Candidate:
    return Candidate(run=run, turn=1, arm=arm, reply=text or f"I am {arm} {run}.", scores=scores)


def judged(first: Candidate, second: Candidate, margin: float = 0.5, **options: float) -> Preference | Dropped:
    return preference(first, second, margin=margin, **options)


def test_the_better_one_is_chosen_from_either_side():
    good, bad = reply("a", j=4), reply("b", j=2)
    assert judged(good, bad) == judged(bad, good) == Preference(good, bad, 4, 2)


def test_only_raters_of_both_count():
    """The strict rater met one of them alone: over all raters it would be 2.5 to 4."""
    strictly, kindly = reply("a", j=4, strict=1), reply("b", j=3)
    assert judged(strictly, kindly) == Preference(strictly, kindly, 4, 3)
    assert judged(reply("a", j=4), reply("b", k=1)) is Dropped.NO_COMMON_RATER
    assert judged(reply("a"), reply("b")) is Dropped.NO_COMMON_RATER


@pytest.mark.parametrize(("margin", "decided"), [(0.5, True), (0.51, False)])
def test_the_margin_itself_is_enough(margin, decided):
    """4.1 - 3.6 is a little less than 0.5 in floating point."""
    assert isinstance(judged(reply("a", j=4.1), reply("b", j=3.6), margin=margin), Preference) is decided


def test_the_same_words_are_not_preferred_to_themselves():
    assert judged(reply("a", "Hm. ", j=5), reply("b", "Hm.", j=1)) is Dropped.SAME_REPLY


def test_the_least_score_is_asked_of_the_chosen_one_alone():
    both = reply("a", j=4), reply("b", j=1)
    assert isinstance(judged(*both, min_score=4), Preference)
    assert judged(*both, min_score=4.1) is Dropped.LOW_SCORE


def test_every_two_arms_meet_and_each_reply_meets_another_arm_once():
    replies = [reply(arm, run=run) for run, arm in enumerate("abcab")]
    met = [(first.arm, first.run, second.arm, second.run) for first, second in meetings(reversed(replies))]
    assert met == [("a", 0, "b", 1), ("a", 3, "b", 4), ("a", 0, "c", 2), ("b", 1, "c", 2)]


def test_one_arm_meets_nobody():
    assert list(meetings([reply("a", run=1), reply("a", run=2)])) == []
