"""Who the profiles of a study are, as the page shows it."""

import json

import pytest
from django.conf import settings
from django.urls import reverse

from studies.models import SeekerProfile, Study
from studies.seeker_profiles.spread import describe_spread

CONTENTS = [
    {"D": {"age": 19, "gender": "woman", "occupation": "nurse"}, "P": {"mbti": "INFP"}, "C": {"emotion": "sad"}},
    {"D": {"age": 20, "gender": "man"}, "P": {"mbti": "INFP"}, "C": {"emotion": "sad"}},
    {"D": {"age": 29, "gender": "woman", "occupation": ""}, "P": {}, "C": {"emotion": "angry"}},
    {"D": {"gender": "woman"}, "C": {}},
]


def shown(contents) -> dict:
    return {
        str(one.label): (one.total, [(bar.value, bar.count, bar.percent) for bar in one.bars], one.more)
        for one in describe_spread(contents)
    }


def test_values_are_counted_among_the_profiles_that_tell_them() -> None:
    assert shown(CONTENTS) == {
        "Age": (3, [("10–19", 1, 33), ("20–29", 2, 67)], 0),
        "Gender": (4, [("woman", 3, 75), ("man", 1, 25)], 0),
        "Feeling at first": (3, [("sad", 2, 67), ("angry", 1, 33)], 0),
        "MBTI": (2, [("INFP", 2, 100)], 0),
        "Occupation": (1, [("nurse", 1, 100)], 0),
    }


def test_of_many_values_the_commonest_are_shown() -> None:
    contents = [{"D": {"occupation": f"job {number}"}} for number in (*range(10), 7)]
    known, bars, more = shown(contents)["Occupation"]
    assert (known, len(bars), more) == (11, 8, 2)
    assert bars[0] == ("job 7", 2, 18)


def test_nothing_is_told_of_no_profiles() -> None:
    assert shown([]) == {}


@pytest.mark.django_db
def test_page_counts_those_that_the_filters_leave(study: Study, desk) -> None:
    for language in ("en", "zh"):
        file = settings.FIXTURES / "instruments" / f"seeker_profiles_{language}.json"
        for profile in json.loads(file.read_text(encoding="utf-8"))["profiles"]:
            SeekerProfile.objects.create(
                study=study, key=profile["id"], language=language, content=profile, origin="file"
            )
    address = reverse("research-profiles", args=[study.key])
    whole, english = (desk.get(address, given).context["spread"] for given in ({}, {"language": "en"}))
    assert [one.total for one in whole] == [80] * 6
    assert [one.total for one in english] == [40] * 6
    assert sum(bar.count for bar in english[0].bars) == 40
