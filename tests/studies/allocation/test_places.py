"""A study that wants a certain number of participants: who has a place, who is let in, and how even orders end."""

from collections import Counter
from datetime import timedelta
from random import Random

import pytest
from django.test import Client
from django.utils import timezone

from studies.allocation.places import count_completed, count_places_taken
from studies.design.spec import OrderSpec
from studies.models import Participation
from studies.participation import enrolment
from tests import factories
from tests.amounts import choose

pytestmark = pytest.mark.django_db

PLAN = [{"kind": "debrief", "key": "before"}, {"kind": "chats", "key": "chats"}]


def study_of(places, key="limited", **order):
    return factories.study(key, order=OrderSpec(participants=places, **order), gone_after_days=30, open_enrolment=True)


def newcomer(study, **fields):
    """One who has just opened their link."""
    person, _token = enrolment.invite(study, **fields)
    enrolment.start(person)
    return person


def set_fields(person, **fields):
    Participation.objects.filter(pk=person.pk).update(**fields)


def hours_ago(hours):
    return timezone.now() - timedelta(hours=hours)


# Who has a place


def test_nobody_new_begins_while_all_places_are_taken():
    study = study_of(2)
    assert [newcomer(study).status for _ in range(4)] == ["applied", "applied", "invited", "invited"]


@pytest.mark.parametrize("gone", [{"status": "withdrawn"}, {"status": "screened_out"}, {"excluded": True}])
def test_a_place_is_free_again_when_its_person_is_gone(gone):
    study = study_of(1)
    set_fields(newcomer(study), **gone)
    assert newcomer(study).status == "applied"


@pytest.mark.parametrize("status", ["active", "held", "in_review", "completed"])
def test_a_place_is_kept_by_who_completed_or_is_under_way(status):
    study = study_of(1)
    set_fields(newcomer(study), status=status, started_at=hours_ago(2), last_seen_at=hours_ago(1))
    assert newcomer(study).status == "invited"


def test_who_has_not_consented_within_an_hour_loses_the_place():
    study = study_of(1)
    first = newcomer(study)
    set_fields(first, started_at=hours_ago(0.9))
    assert newcomer(study).status == "invited"
    set_fields(first, started_at=hours_ago(1.1))
    assert newcomer(study).status == "applied"


def test_an_absent_person_is_timed_out_when_somebody_wants_the_place():
    study = study_of(1)
    set_fields(newcomer(study), status="active", started_at=hours_ago(40 * 24), last_seen_at=hours_ago(31 * 24))
    assert newcomer(study).status == "applied"
    assert Counter(study.participations.values_list("status", flat=True)) == {"timed_out": 1, "applied": 1}


def test_a_lease_also_ends_before_the_first_draw():
    study = study_of(1, lease_hours=48)
    set_fields(newcomer(study), status="active", started_at=hours_ago(60), last_seen_at=hours_ago(47))
    assert newcomer(study).status == "invited"
    study.participations.update(last_seen_at=hours_ago(49))
    assert newcomer(study).status == "applied"


def test_test_people_counsellors_and_studies_without_a_limit_have_places():
    study = study_of(1)
    newcomer(study)
    assert newcomer(study, is_test=True).status == "applied"
    assert newcomer(study, track="counsellor").status == "applied"
    assert count_places_taken(study) == 1
    assert newcomer(study_of(None, key="boundless")).status == "applied"


def test_versions_share_the_places():
    study = study_of(2)
    set_fields(newcomer(study), status="completed")
    factories.study("limited", order=OrderSpec(participants=2, seed=7), gone_after_days=30, open_enrolment=True)
    study.refresh_from_db()
    assert (newcomer(study).status, newcomer(study).status) == ("applied", "invited")


# What people see


def test_pages_say_that_all_places_are_taken_and_let_those_with_a_place_go_on():
    study = study_of(1)
    own, other = Client(), Client()
    _person, first = enrolment.invite(study)
    _person, second = enrolment.invite(study)
    own.post(f"/j/{first}/")
    assert own.get("/study/").status_code == 200

    for page in (other.get(f"/j/{second}/"), other.get("/open/limited/")):
        assert page.status_code == 403
        assert "All places in this study are taken" in page.text
        assert "No one new can start right now." in page.text
    assert own.get(f"/j/{first}/").status_code == 200
    assert other.get("/open/limited/?track=counsellor").status_code == 200


def test_who_loses_the_last_place_on_the_way_in_reads_it_and_can_come_later():
    study = study_of(1)
    person, token = enrolment.invite(study)
    client = Client()
    client.post(f"/j/{token}/")
    other = newcomer(study)
    page = client.get("/study/")
    assert (page.status_code, "All places in this study are taken" in page.text) == (403, True)

    set_fields(other, status="withdrawn")
    assert client.get("/study/").status_code == 200
    person.refresh_from_db()
    assert person.status == "applied"


def test_when_enough_have_completed_nobody_is_asked_to_come_back():
    study = study_of(1)
    set_fields(newcomer(study), status="completed")
    page = Client().get("/open/limited/")
    assert "Enough people have taken part" in page.text
    assert "No one new can start right now." not in page.text


# How even it ends


@pytest.mark.parametrize("seed", choose(usual=[1], full=[1, 2]))
def test_completed_orders_end_equal_whoever_drops_out(seed):
    """Ten under way at most, three in ten of whom drop out at random."""
    study = study_of(50, seed=seed)
    draw = Random(seed)
    live = []
    while count_completed(study) < 50:
        if len(live) < 10 and (person := newcomer(study)).status == "applied":
            set_fields(person, plan=PLAN, position=1, status="active")
            person.refresh_from_db()
            enrolment.draw_order(person)
            live.append(person)
            continue
        person = live.pop(draw.randrange(len(live)))
        set_fields(person, status="completed" if draw.random() >= 0.3 else draw.choice(["withdrawn", "timed_out"]))

    done = Counter(tuple(person.order) for person in study.participations.filter(status="completed"))
    assert sorted(done.values()) == [5] * 10
    assert not live
