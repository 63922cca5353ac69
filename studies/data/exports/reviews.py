"""reviews.csv, adjudications.csv, calibration.csv: the work of second raters. Their scores are in ratings.csv."""

from typing import NamedTuple

from django.db.models import Q, QuerySet

from studies.data.exports.columns import (
    CONVERSATION_MEANING,
    REDACTED,
    Filter,
    Rows,
    Table,
    conversation,
    conversation_of,
    integer,
    number,
    query_table,
    rows_of_things,
    text,
    time,
    words,
)
from studies.models import Adjudication, Review, Study
from studies.second_raters.review_work import CalibratedItem, get_calibration

# reviews.csv

REVIEWER = "the reviewer's code, as rater in ratings.csv"
VIGNETTE = "the key of an invented dialogue with known scores"

REVIEWS = (
    text("plan", "the name of the plan", "plan__name"),
    text("reviewer", REVIEWER, "reviewer__code"),
    text("conversation", f"{CONVERSATION_MEANING}; empty for a vignette", conversation_of("item__run__")),
    text("vignette", f"{VIGNETTE}; empty for a conversation"),
    integer("replicate", "2 where a conversation that they had rated came again, as in ratings.csv"),
    time("given_at", "when it was given to them; where they came back to it after its time was over, when they did"),
    time("done_at", "when the last of its scales was sent; of a vignette when they had seen the known scores"),
    time("declined_at", "when it went back to the others, unrated"),
    text("declined_because", "why", values=Review.Because.values),
    words("declined_note", "why, in their words"),
    REDACTED,
)


def reviews(study: Study, only: Filter) -> QuerySet[Review]:
    """Return the reviews of a study.

    Real reviewers work on real conversations alone, and artificial ones on test data.
    """
    rows = Review.objects.filter(plan__study=study).order_by("plan", "pk")
    return rows if only.include_tests else rows.filter(reviewer__is_test=False)


# adjudications.csv

ADJUDICATIONS = (
    conversation("run__"),
    text("instrument", "the rating scale"),
    text("item", "the item's key"),
    number("score", "what a researcher decided where reviewers differ", unit="points"),
    words("reason", "why"),
    time("decided_at", "when it was decided last"),
    REDACTED,
)


def adjudications(study: Study, only: Filter) -> QuerySet[Adjudication]:
    return Adjudication.objects.filter(run__in=only.runs(study)).order_by("pk")


# calibration.csv


class RatedItem(NamedTuple):
    review: Review
    item: CalibratedItem


CALIBRATION = (
    text("reviewer", REVIEWER, "review.reviewer.code"),
    text("vignette", VIGNETTE, "review.vignette"),
    text("item", "the item's key in the scale of the vignettes", "item.item"),
    number("score", "what the reviewer gave", "item.score", "points"),
    number("known", "what is known of it", "item.reference", "points"),
)


def rated_vignettes(study: Study, only: Filter) -> QuerySet[Review]:
    rows = reviews(study, only).exclude(Q(vignette="") | Q(scores={}))
    return rows.select_related("reviewer").order_by("pk")


def calibration(study: Study, only: Filter) -> Rows:
    rated = rated_vignettes(study, only)
    return rows_of_things(
        CALIBRATION, (RatedItem(review, item) for review in rated for item in get_calibration(review))
    )


def count_calibration(study: Study, only: Filter) -> int:
    return sum(map(len, rated_vignettes(study, only).values_list("scores", flat=True)))


TABLES = (
    query_table("reviews", "a conversation or vignette that was given to a reviewer", REVIEWS, reviews),
    query_table("adjudications", "a decision on an item on which reviewers differ", ADJUDICATIONS, adjudications),
    Table("calibration", "a reviewer's score of one item of a vignette", CALIBRATION, calibration, count_calibration),
)
