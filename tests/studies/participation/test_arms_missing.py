"""Whatever is paused or gone, nobody meets a server error: they read that the study cannot go on, and researchers see
who waits."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from studies.design.spec import OrderSpec
from studies.models import Arm, Study
from studies.models.participation import Status
from tests import factories
from tests.people import Person

pytestmark = pytest.mark.django_db

STALLED = "The study cannot continue right now"
KEPT = "Your answers are kept."
BLOCK_PLAN = OrderSpec(counsellors=4, raters_per_arm=2)


@pytest.fixture
def study():
    return factories.study()


@pytest.fixture
def desk():
    client = Client()
    client.force_login(User.objects.create(username="ada", is_staff=True))
    return client


def pause_all(study: Study) -> None:
    study.current().arms.update(paused=True)


def delete_all(study: Study) -> None:
    study.current().arms.all().delete()


def put_back(study: Study) -> None:
    factories.study(study.key)  # as load_study does
    Arm.objects.filter(protocol__study=study).update(paused=False)


def go_to_the_last_form(person: Person) -> None:
    """Before the conversations."""
    while not person.row.plan or person.row.steps()[person.row.position + 1].kind != "chats":
        assert person.send(person.answers()).status_code == 302
        person.row.refresh_from_db()


def waiting(desk, key="demo"):
    """What the overview says: how many wait, and which tracks nobody can begin in."""
    shown = desk.get(f"/research/{key}/").context
    return shown["stuck"].without_arms, [str(track) for track in shown["lacks_arms"]]


@pytest.mark.parametrize("lose", [pause_all, delete_all])
def test_one_who_comes_anew_may_begin_once_there_are_arms(lose, desk, study):
    lose(study)
    person = Person()

    page = person.page()
    assert (page.status_code, STALLED in page.content.decode()) == (200, True)
    assert person.row.status == Status.INVITED
    assert waiting(desk) == (0, ["Participant", "Counsellor"])
    put_back(study)
    assert STALLED not in person.page().content.decode()
    assert person.step.kind == "language"


@pytest.mark.parametrize("lose", [pause_all, delete_all])
def test_one_under_way_keeps_their_answers_and_goes_on_once_there_are_arms(lose, desk, study):
    person = Person()
    go_to_the_last_form(person)
    lose(study)

    assert person.send(person.answers()).status_code == 302
    page = person.page()
    assert (page.status_code, STALLED in page.content.decode(), KEPT in page.content.decode()) == (200, True, True)
    assert person.step.kind == "chats"
    assert waiting(desk)[0] == 1
    assert person.send({}).status_code == 302
    if lose is pause_all:
        put_back(study)
        assert STALLED not in person.page().content.decode()
        assert (person.step.run, waiting(desk)[0]) == (1, 0)


def test_one_whose_next_arm_is_gone_reads_that_the_study_cannot_go_on(desk, study):
    person = Person()
    person.go_to("chat", run=1)
    arm = Arm.objects.get(protocol=study.current(), key=person.row.order[0])
    arm.delete()

    page = person.page()
    assert (page.status_code, STALLED in page.content.decode()) == (200, True)
    assert person.client.post("/study/", {"step": person.step.key, "checkpoint": "5"}).status_code == 302
    assert waiting(desk)[0] == 1
    arm.save()
    assert STALLED not in person.page().content.decode()
    assert waiting(desk)[0] == 0


def test_a_conversation_that_was_opened_needs_its_arm_no_more(desk, study):
    person = Person()
    person.go_to("chat", run=1)
    person.page()
    delete_all(study)

    assert STALLED not in person.page().content.decode()
    assert waiting(desk)[0] == 0


def test_a_counsellor_whose_row_has_no_arm_in_use_waits(desk):
    study = factories.study("rows", order=BLOCK_PLAN)
    person = Person("rows", track="counsellor")
    go_to_the_last_form(person)
    pause_all(study)

    assert person.send(person.answers()).status_code == 302
    assert STALLED in person.page().content.decode()
    assert waiting(desk, "rows") == (1, ["Participant", "Counsellor"])


def test_reviewers_need_no_arms(desk, study):
    pause_all(study)
    person = Person(track="reviewer")

    assert STALLED not in person.page().content.decode()
    assert person.step.kind != "invited"


@pytest.mark.parametrize(("in_use", "lacking"), [(2, []), (1, ["Participant", "Counsellor"])])
def test_each_person_needs_as_many_arms_as_they_are_to_meet(in_use, lacking, desk):
    study = factories.study("two", order=OrderSpec(arms_per_person=2))
    study.current().arms.filter(number__gte=in_use).update(paused=True)

    assert study.current().arms.filter(paused=False).count() == in_use
    assert waiting(desk, "two") == (0, lacking)
