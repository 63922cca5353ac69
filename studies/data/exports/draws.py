"""draws.csv: how each person got their arms, with all that the draw was told, so that it can be replayed."""

import json
from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet

from studies.data.exports.columns import Filter, Then, integer, query_table, text, time
from studies.models import Draw, Study

UNKNOWN = "unknown"


def describe_strata(strata: Mapping[str, Mapping[str, Any]]) -> str:
    return "; ".join(f"{factor}={own['level'] or UNKNOWN}" for factor, own in sorted(strata.items()))


def write_plainly(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


COLUMNS = (
    text("participant", "the person's code", "participation__code"),
    text("track", "in which role they take part", "participation__track"),
    integer("protocol_version", "of the study, in which they were drawn", "participation__protocol__version"),
    integer("number", "of the draw in this version and track, from 0; of a block plan the row, from 0"),
    time("drawn_at", "when"),
    integer("rule_version", "version of the rule by which it was drawn", "version"),
    text(
        "design",
        "williams, blocks or random; rows: the counsellors' block plan",
        Then("rule", lambda rule: rule["design"]),
    ),
    integer("seed", "of the draws", Then("rule", lambda rule: rule["seed"])),
    text(
        "arms",
        "the keys of the arms that could be drawn, joined by >",
        Then("rule", lambda rule: ">".join(rule["arms"])),
    ),
    text("order", "the arms that were drawn, in their order, joined by >", Then("order", ">".join)),
    text("cards", "the role cards that were drawn with them, joined by >", Then("cards", ">".join)),
    text(
        "strata",
        "the person's level of each factor by which the study balances, as factor=level; unknown: the factor was not "
        "known when they were drawn, so the draw did without it",
        Then("strata", describe_strata),
    ),
    text(
        "candidates",
        "the orders that the rule held equally good, joined by spaces; the seed decided among them",
        Then("candidates", " ".join),
    ),
    text(
        "seen",
        "what the draw was told, as JSON: how many people who held a place had each order, how many of them had "
        "completed, and in strata the same for people of the person's level; of a block plan the rows that were held",
        Then("seen", write_plainly),
    ),
    text("rule", "all settings of the rule, as JSON", Then("rule", write_plainly)),
    text("scores", "the scores behind strata, with the cuts between thirds, as JSON", Then("strata", write_plainly)),
)


def draws_of(study: Study, only: Filter) -> QuerySet[Draw]:
    return Draw.objects.filter(participation__in=only.participations(study)).order_by("pk")


DRAWS = query_table("draws", "the draw of a person's arms", COLUMNS, draws_of)
