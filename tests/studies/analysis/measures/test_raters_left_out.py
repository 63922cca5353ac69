import numpy as np
import pandas as pd  # noqa: TID253
import pytest

from studies.analysis.bootstrap import Array
from studies.analysis.measures.raters_left_out import Ratings, without_people_and_raters


def study(seed: int, people: int = 12, raters: int = 9) -> tuple[Ratings, Array, Array]:
    """Three conversations of each person; each has one to three of the raters."""
    random = np.random.default_rng(seed)
    worth = random.normal(size=3 * people)
    rows = [
        (target, rater)
        for target in range(3 * people)
        for rater in random.choice(raters, size=1 + target % 3, replace=False)
    ]
    targets, who = np.array(rows).T
    strict = random.normal(size=raters)
    scores = worth[targets] + strict[who] + random.normal(size=len(rows))
    return Ratings(scores, targets, who), worth + random.normal(size=3 * people), np.repeat(np.arange(people), 3)


def z_of(data: pd.DataFrame) -> float:
    means = data.groupby("target").agg(score=("score", "mean"), judge=("judge", "first"))
    return float(np.arctanh(means["score"].corr(means["judge"])))


def test_leaving_out_equals_a_plain_loop() -> None:
    ratings, judge, clusters = study(1)
    data = pd.DataFrame({"target": ratings.targets, "rater": ratings.raters, "score": ratings.scores})
    data = data.assign(judge=judge[data["target"]], person=clusters[data["target"]])
    found = without_people_and_raters(ratings, judge, clusters)
    assert found.estimate == pytest.approx(z_of(data))
    for place, by in enumerate((["person"], ["rater"], ["rater", "person"])):
        slow = [z_of(data.drop(part.index)) for _, part in data.groupby(by)]
        assert found.left_out[place] == pytest.approx(slow, rel=1e-9)
    assert found.clusters() == (12, 9)
    assert str(found.interval().method) == "two-way jackknife (people × raters), Student's t"


def test_interval_is_not_shorter_than_that_of_people_alone() -> None:
    ratings, judge, clusters = study(2, raters=8)
    found = without_people_and_raters(ratings, judge, clusters)
    people = found.left_out[0]
    assert found.spread().error ** 2 >= people.var() * (len(people) - 1) * (1 - 1e-9)


def test_raters_differ_only_if_conversations_of_several_people_have_others() -> None:
    targets = np.repeat(np.arange(4), 2)
    people = np.array([0, 0, 1, 1])
    same = Ratings(np.arange(8.0), targets, np.tile([0, 1], 4))
    own = Ratings(np.arange(8.0), targets, np.array([0, 1, 0, 1, 2, 3, 2, 3]))
    others = Ratings(np.arange(8.0), targets, np.array([0, 1, 1, 2, 0, 2, 0, 1]))
    assert [one.differ(people) for one in (same, own, others)] == [False, False, True]
