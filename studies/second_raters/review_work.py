"""Progress of a plan, and the work of its reviewers."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import fmean, median
from typing import NamedTuple

from django.db.models import Count, QuerySet

from studies.instruments.vignettes import vignette
from studies.models import Answer, Participation, Review, ReviewPlan
from studies.models.response import RaterKind
from studies.participation.responses import answers_to_instructed_items
from studies.second_raters.reviews import AGAIN, MOMENT


class Place(NamedTuple):
    """The place of a score: one item of one scale about one conversation."""

    run: int
    instrument: str
    item: str


# place → reviewer → score
Scores = Mapping[Place, Mapping[int, float]]


@dataclass(frozen=True)
class Progress:
    wanted: int  # ratings
    done: int
    begun: int
    conversations: int
    complete: int  # conversations that have all their ratings

    def percent(self) -> int:
        return round(100 * self.done / self.wanted) if self.wanted else 0


def progress_of(plan: ReviewPlan) -> Progress:
    first = plan.reviews.filter(item__isnull=False, replicate=1)
    done = dict(first.filter(done_at__isnull=False).values_list("item").annotate(Count("pk")).order_by())
    wanted = dict(plan.items.values_list("pk", "wanted"))
    return Progress(
        wanted=sum(wanted.values()),
        done=sum(done.values()),
        begun=first.filter(done_at=None, declined_at=None).count(),
        conversations=len(wanted),
        complete=sum(done.get(item, 0) >= needed for item, needed in wanted.items()),
    )


# Reviewers


@dataclass(frozen=True)
class Work:
    """The work of one reviewer in one plan. Differences are in points; None where there is nothing to take them of.

    `distance`, `exact`: of their scores of vignettes from the known ones, mean and share. `drift`: between the two
    times that they rated the same conversation. `own`, `others`: means over what others have rated too.
    """

    reviewer: Participation
    given: int
    done: int
    declined: int
    minutes: float | None  # median of a conversation, from its being given to its being done
    distance: float | None
    exact: float | None
    drift: float | None
    own: float | None
    others: float | None

    def exact_percent(self) -> int | None:
        return None if self.exact is None else round(100 * self.exact)

    def leaning(self) -> float | None:
        """Return how far they score from others: above 0 if they score higher."""
        return None if self.own is None or self.others is None else self.own - self.others


def work_of(plan: ReviewPlan) -> list[Work]:
    """Return the work of everyone who was given anything of the plan."""
    first, again = scores_of(plan, replicate=1), scores_of(plan, replicate=AGAIN)
    reviews = plan.reviews.select_related("reviewer").order_by("reviewer__code", "reviewer", "pk")
    return [work(list(theirs), first, again) for _, theirs in groupby(reviews, key=lambda one: one.reviewer_id)]


def work(reviews: Sequence[Review], first: Scores, again: Scores) -> Work:
    reviewer = reviews[0].reviewer
    calibration = [abs(item.score - item.reference) for one in reviews for item in get_calibration(one)]
    own, others = beside_others(reviewer.pk, first)
    return Work(
        reviewer=reviewer,
        given=len(reviews),
        done=sum(one.done_at is not None for one in reviews),
        declined=sum(one.declined_at is not None for one in reviews),
        minutes=median(times) if (times := minutes_of(reviews)) else None,
        distance=mean(calibration),
        exact=mean(difference == 0 for difference in calibration),
        drift=mean(changes(reviewer.pk, first, again)),
        own=mean(own),
        others=mean(others),
    )


def mean(values: Iterable[float]) -> float | None:
    numbers = list(values)
    return fmean(numbers) if numbers else None


def minutes_of(reviews: Iterable[Review]) -> list[float]:
    done = [one for one in reviews if one.item_id and one.done_at]
    return [(one.done_at - one.given_at).total_seconds() / 60 for one in done]


class CalibratedItem(NamedTuple):
    item: str
    score: float
    reference: int


def get_calibration(review: Review) -> list[CalibratedItem]:
    """Return the reviewer's score of each item of a vignette beside the reference score."""
    if not review.vignette:
        return []
    references = vignette(review.vignette).scores
    return [CalibratedItem(item, score, references[item].score) for item, score in review.scores.items()]


def changes(reviewer: int, first: Scores, again: Scores) -> list[float]:
    twice = [place for place in again if reviewer in again[place] and reviewer in first.get(place, {})]
    return [abs(again[place][reviewer] - first[place][reviewer]) for place in twice]


def beside_others(reviewer: int, scores: Scores) -> tuple[list[float], list[float]]:
    """Return their scores of what others have rated too, and the means of these others."""
    shared = [by for by in scores.values() if reviewer in by and len(by) > 1]
    others = [fmean(score for rater, score in by.items() if rater != reviewer) for by in shared]
    return [by[reviewer] for by in shared], others


def answers_in(plan: ReviewPlan) -> QuerySet[Answer]:
    """Return the scores that reviewers gave the plan's conversations, in its scales."""
    return Answer.objects.filter(
        ~answers_to_instructed_items(),
        response__run__review_items__plan=plan,
        response__rater__kind=RaterKind.REVIEWER,
        response__rater__participation__isnull=False,
        response__instrument__in=plan.instruments,
        response__moment=MOMENT,
        value__isnull=False,
    )


def scores_of(plan: ReviewPlan, *, replicate: int) -> dict[Place, dict[int, float]]:
    scores: dict[Place, dict[int, float]] = defaultdict(dict)
    rows = answers_in(plan).filter(response__replicate=replicate)
    for run, instrument, item, reviewer, value in rows.values_list(
        "response__run", "response__instrument", "item", "response__rater__participation", "value"
    ):
        scores[Place(run, instrument, item)][reviewer] = value
    return scores
