"""The questions that judges were asked and never answered, which belong into ratings.csv like what could not be read.

A question is gone from there once it is asked again and answered.
"""

from collections.abc import Iterator
from typing import Any

from django.db.models import F, QuerySet

from dialogue.judges.roles import ROLES, SEEKER
from dialogue.models import JobItem
from studies.data.exports.columns import Filter, conversation_of, last_turn_of, participant_of
from studies.instruments.loading import load
from studies.judging.items import judged_items
from studies.judging.planning import KIND
from studies.models import Rater, Response, Study
from studies.models.response import RaterKind

FAILED = (JobItem.State.FAILED, JobItem.State.QUARANTINED)
PLACE = ("run", "instrument", "moment", "turn", "replicate")

Place = tuple[Any, ...]  # the rater's number, and PLACE


def build_unanswered_rows(study: Study, only: Filter) -> Iterator[dict[str, Any]]:
    """Yield a row of ratings.csv for each item of the questionnaire, by the names of the columns."""
    items = list(get_failed_items(study, only))
    if not items:
        return
    raters = {str(rater.pk): rater for rater in study.raters.filter(kind=RaterKind.JUDGE)}
    places = get_answered_places(study)
    for place, item in get_places(items, raters):
        if place not in places:
            places.add(place)  # asked in two ways, it is missing once
            yield from build_rows(item, raters[parse_rater(item["configuration"])])


def count_unanswered(study: Study, only: Filter) -> int:
    return sum(1 for _ in build_unanswered_rows(study, only))


def get_failed_items(study: Study, only: Filter) -> QuerySet[JobItem, dict[str, Any]]:
    """Return the failed items, the newest first."""
    items = JobItem.objects.filter(role=KIND, state__in=FAILED, conversation__run__in=only.runs(study)).order_by("-pk")
    return items.values(
        "configuration",
        "payload",
        "replicate",
        "failure",
        "done_at",
        judged_as=F("job__plan__judge__extra__role"),
        arm=F("conversation__run__arm"),
        condition=F("conversation__run__condition"),
        code=conversation_of("conversation__run__"),
        participant=participant_of("conversation__run__"),
        last_turn=last_turn_of("conversation"),
    )


def parse_rater(configuration: str) -> str:
    """Return the number of the item's rater, as `get_configuration` writes it."""
    return configuration.partition("-")[0]


def get_places(items: list[dict[str, Any]], raters: dict[str, Rater]) -> Iterator[tuple[Place, dict[str, Any]]]:
    for item in items:
        rater, payload = parse_rater(item["configuration"]), item["payload"]
        if rater in raters:
            instrument = load(payload["instrument"]).id
            yield (int(rater), payload["run"], instrument, payload["moment"], payload["turn"], item["replicate"]), item


def get_answered_places(study: Study) -> set[Place]:
    of_judges = Response.objects.filter(rater__study=study, rater__kind=RaterKind.JUDGE)
    return set(of_judges.values_list("rater", *PLACE))


def build_rows(item: dict[str, Any], rater: Rater) -> Iterator[dict[str, Any]]:
    payload = item["payload"]
    questionnaire = load(payload["instrument"])
    for one in judged_items(questionnaire, "en"):
        yield {
            "conversation": item["code"],
            "participant": item["participant"],
            "arm": item["arm"],
            "condition": item["condition"],
            "rater": rater.code,
            "rater_kind": rater.kind,
            "strategy": rater.strategy,
            "replicate": item["replicate"],
            "instrument": questionnaire.id,
            "item": one.key,
            "moment": payload["moment"],
            "turn": payload["turn"] or item["last_turn"],
            "missing_reason": item["failure"],
            "rated_at": item["done_at"],
            "role": ROLES[item["judged_as"] or SEEKER.name].code,
        }
