"""reviews.csv, adjudications.csv, calibration.csv: the work of second raters. Their scores are in ratings.csv."""

from django.db.models import Q, QuerySet

from studies.data.exports.columns import CONVERSATION, Filter, Rows, Table, conversation_of, integer, number, text, time
from studies.models import Adjudication, Review, Study
from studies.second_raters.review_work import calibrated

REVIEWER = text("reviewer", "the reviewer's code, as rater in ratings.csv")
VIGNETTE = text("vignette", "the key of an invented dialogue with known scores")

# reviews.csv

REVIEWS = (
    text("plan", "the name of the plan"),
    REVIEWER,
    text("conversation", f"{CONVERSATION.meaning}; empty for a vignette"),
    text("vignette", f"{VIGNETTE.meaning}; empty for a conversation"),
    integer("replicate", "2 where a conversation that they had rated came again, as in ratings.csv"),
    time("given_at", "when it was given to them; where they came back to it after its time was over, when they did"),
    time("done_at", "when the last of its scales was sent; of a vignette when they had seen the known scores"),
    time("declined_at", "when it went back to the others, unrated"),
    text("declined_because", "why", Review.Because.values),
    text("declined_note", "why, in their words"),
)


def reviews_of(study: Study, only: Filter) -> QuerySet[Review]:
    """Real reviewers work on real conversations alone, and artificial ones on test data."""
    found = Review.objects.filter(plan__study=study)
    return found if only.include_tests else found.filter(reviewer__is_test=False)


def reviews(study: Study, only: Filter) -> Rows:
    names = [column.name for column in REVIEWS[3:]]
    found = reviews_of(study, only).order_by("plan", "pk")
    yield from found.values_list("plan__name", "reviewer__code", conversation_of("item__run__"), *names).iterator()


# adjudications.csv

ADJUDICATIONS = (
    CONVERSATION,
    text("instrument", "the rating scale"),
    text("item", "the item's key"),
    number("score", "what a researcher decided where reviewers differ", "points"),
    text("reason", "why"),
    time("decided_at", "when it was decided last"),
)


def adjudications_of(study: Study, only: Filter) -> QuerySet[Adjudication]:
    return Adjudication.objects.filter(run__in=only.runs(study))


def adjudications(study: Study, only: Filter) -> Rows:
    names = [column.name for column in ADJUDICATIONS[1:]]
    yield from adjudications_of(study, only).order_by("pk").values_list(conversation_of("run__"), *names).iterator()


# calibration.csv

CALIBRATION = (
    REVIEWER,
    VIGNETTE,
    text("item", "the item's key in the scale of the vignettes"),
    number("score", "what the reviewer gave", "points"),
    number("known", "what is known of it", "points"),
)


def rated_vignettes(study: Study, only: Filter) -> QuerySet[Review]:
    return reviews_of(study, only).exclude(Q(vignette="") | Q(scores={})).select_related("reviewer").order_by("pk")


def calibration(study: Study, only: Filter) -> Rows:
    for review in rated_vignettes(study, only):
        for score in calibrated(review):
            yield review.reviewer.code, review.vignette, *score


def count_calibration(study: Study, only: Filter) -> int:
    return sum(map(len, rated_vignettes(study, only).values_list("scores", flat=True)))


TABLES = (
    Table(
        "reviews",
        "a conversation or vignette that was given to a reviewer",
        REVIEWS,
        reviews,
        lambda study, only: reviews_of(study, only).count(),
    ),
    Table(
        "adjudications",
        "a decision on an item on which reviewers differ",
        ADJUDICATIONS,
        adjudications,
        lambda study, only: adjudications_of(study, only).count(),
    ),
    Table(
        "calibration",
        "a reviewer's score of one item of a vignette",
        CALIBRATION,
        calibration,
        count_calibration,
    ),
)
