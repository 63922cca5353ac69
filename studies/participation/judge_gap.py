"""Judge gaps: how far a judge's final scores are from people's."""

from collections.abc import Iterable
from typing import NamedTuple

from django.core.cache import caches
from django.db import connection
from django.db.models import Avg, Count, F, Max, Q, QuerySet

from studies.models import Answer, Rater, Study
from studies.models.pair import order_of
from studies.models.response import RaterKind
from studies.participation.responses import answers_to_instructed_items

MOMENT = "final"
OF_PLAIN_JUDGES = Q(response__rater__kind=RaterKind.JUDGE) & ~Q(response__rater__code__contains="~")  # not probes
NO_PEOPLE = (RaterKind.JUDGE, RaterKind.SIMULATED_SEEKER)
ROUNDING = 1e-9  # a gap of exactly the limit may come out slightly below it
KEPT_SECONDS = 600


class JudgeGap(NamedTuple):
    """The gap of one judge in one conversation.

    `points`: the judge's mean minus people's over the `items` that both scored. `run`, `rater`: keys of rows.
    """

    run: int
    rater: int
    points: float
    items: int


def largest_gaps(study: Study, judge: Rater | None = None, *, at_least: float = 0.0) -> dict[int, JudgeGap]:
    """Return by run the gap of this judge, or the largest one; none below `at_least` points.

    The result is cached until an answer comes or goes: a reader of a list asks for it again and again, and 20 000
    conversations take seconds. Scores are never changed.
    """
    last, number = Answer.objects.aggregate(last=Max("pk"), number=Count("pk")).values()
    key = f"judge_gaps:{study.pk}:{judge.pk if judge else 'any'}:{last}:{number}"
    gaps = caches["own"].get_or_set(key, lambda: largest_gap_by_run(judge_gaps(study, judge)), KEPT_SECONDS)
    return {run: distance for run, distance in gaps.items() if abs(distance.points) >= at_least - ROUNDING}


def largest_gap_by_run(gaps: Iterable[JudgeGap]) -> dict[int, JudgeGap]:
    """Return the largest gap of each run; of two equal ones that of the first judge."""
    return {distance.run: distance for distance in sorted(gaps, key=lambda one: (abs(one.points), -one.rater))}


def judge_gaps(study: Study, judge: Rater | None = None) -> list[JudgeGap]:
    """Return a gap for each conversation and judge with an item that people scored too.

    The database pairs the means: for 20 000 conversations they would be half a million rows.
    """
    by_judges = Q(response__rater=judge) if judge else OF_PLAIN_JUDGES
    judged, judged_values = item_means(study, by_judges, "rater").query.sql_with_params()
    rated, rated_values = item_means(study, ~Q(response__rater__kind__in=NO_PEOPLE)).query.sql_with_params()
    query = (
        "SELECT judged.run, judged.rater, AVG(judged.mean - rated.mean), COUNT(*) "  # noqa: S608 - Django's own SQL
        f"FROM ({judged}) judged JOIN ({rated}) rated "
        "ON rated.run = judged.run AND rated.instrument = judged.instrument AND rated.item = judged.item "
        "GROUP BY judged.run, judged.rater"
    )
    with connection.cursor() as cursor:
        cursor.execute(query, [*judged_values, *rated_values])
        return [JudgeGap(*row) for row in cursor.fetchall()]


def item_means(study: Study, raters: Q, *also_by: str) -> QuerySet:
    """Return the mean of each item of a conversation, over raters and replicates."""
    answers = Answer.objects.filter(
        raters,
        ~answers_to_instructed_items(),
        response__run__study=study,
        response__is_rating=True,
        response__moment=MOMENT,
        value__isnull=False,
    )
    names = {"run": "response__run", "instrument": "response__instrument", "rater": "response__rater"}
    parts = ["run", "instrument", *also_by]
    named = answers.annotate(**{part: F(names[part]) for part in parts})
    return named.values(*parts, "item").annotate(mean=Avg("value")).order_by()


def rating_judges(study: Study) -> QuerySet[Rater]:
    """Return the judges that rate. A judge of pairs is a rater for each order of their sides, and left out."""
    of_pairs = [order_of(RaterKind.JUDGE, side) for side in ("a", "b")]
    return study.raters.filter(kind=RaterKind.JUDGE).exclude(strategy__in=of_pairs).order_by("code", "strategy")


def judge_name(rater: Rater) -> str:
    return f"{rater.code} {rater.strategy}".strip()
