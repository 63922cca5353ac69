"""One number a rater; missing is never a score."""

from dataclasses import replace

import pytest

from studies.data.training.scores import by_rater, keyed_mean, mean_of
from studies.instruments.loading import load

TWO = {item.key: item for item in load("emoharbor_10").items if item.key in ("safety", "empathetic")}


def test_the_mean_is_over_the_named_items():
    assert keyed_mean({"safety": 5, "empathetic": 2, "engagement": 1}, TWO) == 3.5


def test_an_item_without_an_answer_leaves_no_score():
    assert keyed_mean({"safety": 5}, TWO) is None


def test_a_reversed_item_is_turned_round():
    reversed_one = {**TWO, "safety": replace(TWO["safety"], reverse=True)}
    assert keyed_mean({"safety": 5, "empathetic": 2}, reversed_one) == 1.5


def test_items_of_an_instrument_that_is_not_ours_count_as_they_are():
    assert keyed_mean({"warmth": 40, "depth": 20}, {"warmth": None, "depth": None}) == 30


def test_replicates_are_averaged_within_a_rater_first():
    whole = {"empathetic": 1.0}
    given = [("a", {"safety": 5, **whole}), ("a", {"safety": 1, **whole}), ("b", {"safety": 5, **whole}), ("c", whole)]
    assert by_rater(given, TWO) == {"a": 2, "b": 3}


@pytest.mark.parametrize(("raters", "mean"), [("ab", 2.5), ("b", 3)])
def test_mean_over_some_raters(raters, mean):
    assert mean_of({"a": 2, "b": 3}, list(raters)) == mean
