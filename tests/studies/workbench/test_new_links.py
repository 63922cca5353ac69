"""The page of links that were made just now."""

import time

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client

from studies.models import Participation
from studies.workbench.new_links import SHOWN

pytestmark = pytest.mark.django_db


@pytest.fixture
def page(desk, study) -> str:
    """The address to which the form leads."""
    return desk.post(f"/research/{study.key}/invite/", {"count": 2, "track": "participant"})["Location"]


def test_reloading_shows_the_same_links_and_makes_no_more(desk, page):
    first, second = desk.get(page), desk.get(page)
    assert len(first.context["links"]) == 2
    assert first.context["links"] == second.context["links"]
    assert Participation.objects.count() == 2


def test_links_are_shown_to_the_session_that_made_them_alone(desk, page):
    other = Client()
    other.force_login(User.objects.get(username="ada"))
    refused = other.get(page)
    assert refused.status_code == 410
    assert "These links are no longer shown" in refused.content.decode()
    assert "/j/" not in refused.content.decode()


def test_links_are_not_shown_after_a_few_minutes(desk, page, monkeypatch):
    later = time.time() + SHOWN + 5
    monkeypatch.setattr("time.time", lambda: later)
    assert desk.get(page).status_code == 410


def test_what_is_kept_holds_no_link_in_plain(desk, page, study):
    kept = cache.get(f"new-links:{study.pk}:{page.strip('/').rpartition('/')[2]}")
    assert kept
    assert "/j/" not in kept
    assert "/j/" not in str(desk.session.items())
