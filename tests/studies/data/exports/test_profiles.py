"""profiles.csv: the profiles that simulated seekers played."""

import pytest

from studies.data.exports.columns import Filter
from studies.data.exports.profiles import PROFILES
from studies.models import SeekerProfile
from tests import factories

pytestmark = pytest.mark.django_db


def test_a_played_profile_has_a_row_and_others_have_none():
    study = factories.study()
    content = {"id": "p1", "lang": "en", "D": {"alias": "Al", "age": 41, "occupation": "nurse"}, "S": {}}
    content |= {"P": {"big5": {"E": 2, "N": 4.5}, "mbti": "ISFJ"}, "C": {"problem_category": ["work", "sleep"]}}
    for key in ("p1", "p2"):
        SeekerProfile.objects.create(study=study, key=key, language="en", content=content, origin="mine.json")
    factories.run_with_turns(study, arm="amber", condition="average", profile="p1")
    names = [column.name for column in PROFILES.columns]
    [row] = [dict(zip(names, row, strict=True)) for row in PROFILES.rows(study, Filter())]
    assert row == {
        "profile": "p1",
        "language": "en",
        "origin": "mine.json",
        "age": 41,
        "gender": "",
        "nationality": "",
        "occupation": "nurse",
        "education": "",
        "relationship": "",
        "mbti": "ISFJ",
        "extraversion": 2,
        "agreeableness": None,
        "conscientiousness": None,
        "neuroticism": 4.5,
        "openness": None,
        "problem_category": "work; sleep",
        "emotion": "",
        "intensity": "",
        "seed": "",
    }


def test_profile_that_was_written_after_another_names_it():
    study = factories.study()
    content = {"id": "more-1", "lang": "en", "D": {}, "P": {}, "C": {}, "S": {}}
    SeekerProfile.objects.create(
        study=study, key="more-1", language="en", content=content, origin="expanded", seed="en01"
    )
    factories.run_with_turns(study, arm="amber", condition="average", profile="more-1")
    names = [column.name for column in PROFILES.columns]
    [row] = [dict(zip(names, row, strict=True)) for row in PROFILES.rows(study, Filter())]
    assert (row["origin"], row["seed"]) == ("expanded", "en01")
