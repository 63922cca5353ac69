"""The scores that raters gave a conversation or a reply, as one number a rater. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from statistics import fmean

from studies.instruments.definitions import Item

DECIMALS = 6  # 4.1 - 3.6 is 0.5, whatever a float makes of it

Answers = Mapping[str, float]  # by item; what was not answered is not in it


def keyed_mean(answers: Answers, items: Mapping[str, Item | None]) -> float | None:
    """Return the mean of the items, reversed ones turned round; None unless all of them are answered.

    The item is None of an instrument that we do not have: its values count as they are.
    """
    if not items.keys() <= answers.keys():
        return None
    return fmean(_in_key(item, answers[key]) for key, item in items.items())


def _in_key(item: Item | None, value: float) -> float:
    if item is None or not item.reverse or item.minimum is None or item.maximum is None:
        return value
    return item.minimum + item.maximum - value


def by_rater(replicates: Iterable[tuple[str, Answers]], items: Mapping[str, Item | None]) -> dict[str, float]:
    """Return each rater's mean over the replicates in which they answered everything."""
    scores: defaultdict[str, list[float]] = defaultdict(list)
    for rater, answers in replicates:
        if (mean := keyed_mean(answers, items)) is not None:
            scores[rater].append(mean)
    return {rater: fmean(means) for rater, means in scores.items()}


def mean_of(scores: Mapping[str, float], raters: Iterable[str]) -> float:
    return round(fmean(scores[rater] for rater in raters), DECIMALS)
