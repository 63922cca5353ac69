"""profiles.csv: who the simulated seekers were that talked with the arms."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from django.db.models import QuerySet

from dialogue.languages import CODES
from studies.data.exports.columns import Column, Filter, Then, integer, number, query_table, text
from studies.models import SeekerProfile, Study
from studies.seeker_profiles.spread import get_part


def write_part(path: str, content: Mapping[str, Any]) -> str:
    """Return it as a cell: a profile may have any words there, or a list of them."""
    value = get_part(path, content)
    return "; ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)


def words(name: str, meaning: str, path: str) -> Column:
    return text(name, meaning, Then("content", partial(write_part, path)))


COLUMNS = (
    text("profile", "the profile's id, as in conversations.csv", "key"),
    text("language", "of the profile", values=CODES),
    text("origin", "the file that it came from; answers: a person's own; expanded: written after another profile"),
    integer("age", "of the person; a profile need not say it", Then("content", partial(get_part, "D.age")), "years"),
    words("gender", "of the person, in the profile's words", "D.gender"),
    words("nationality", "of the person", "D.nationality"),
    words("occupation", "of the person", "D.occupation"),
    words("education", "of the person", "D.education"),
    words("relationship", "of the person", "D.relationship"),
    words("mbti", "the type of personality", "P.mbti"),
    *(
        number(factor, "of the Big Five, from 1 to 5", Then("content", partial(get_part, f"P.big5.{letter}")), "points")
        for factor, letter in {
            "extraversion": "E",
            "agreeableness": "A",
            "conscientiousness": "C",
            "neuroticism": "N",
            "openness": "O",
        }.items()
    ),
    words("problem_category", "what the problem is about", "C.problem_category"),
    words("emotion", "what the seeker feels at first", "C.emotion"),
    words("intensity", "how strongly", "C.intensity"),
    text("seed", "the profile after which a model wrote this one; empty for others"),
)


def played_profiles(study: Study, only: Filter) -> QuerySet[SeekerProfile]:
    """Return the profiles of the conversations that are exported."""
    played = only.runs(study).exclude(profile="").values("profile")
    return SeekerProfile.objects.filter(study=study, key__in=played).order_by("key")


PROFILES = query_table("profiles", "a profile that a simulated seeker played", COLUMNS, played_profiles)
