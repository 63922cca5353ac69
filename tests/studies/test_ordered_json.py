"""Profiles are prompts, line by line: every database keeps their lines in the order of the file."""

import pytest

from dialogue.seekers.profiles import from_content, load_profiles, write_for_seeker
from studies.design.reading import INSTRUMENTS
from studies.models import Card
from studies.seeker_profiles.selection import keep
from tests import factories

pytestmark = pytest.mark.django_db

DEMO = load_profiles(INSTRUMENTS / "seeker_profiles_demo.json")


def test_seekers_are_told_of_themselves_in_the_order_of_the_file():
    study = factories.study("ordered")
    keep(study, DEMO, origin="seeker_profiles_demo.json")
    stored = {
        row.key: write_for_seeker(from_content(row.content), detail="full") for row in study.seeker_profiles.all()
    }
    assert stored == {profile.id: write_for_seeker(profile, detail="full") for profile in DEMO}


def test_card_keeps_the_order_of_its_profile():
    said = {"D": {"occupation": "师傅", "age": 30}, "P": {"zz": 1, "a": {"y": [0.5], "bb": "…"}}, "C": {}, "S": {}}
    card = Card.objects.create(study=factories.study("ordered"), key="one", language="zh", profile=said)
    assert repr(Card.objects.get(pk=card.pk).profile) == repr(said)
