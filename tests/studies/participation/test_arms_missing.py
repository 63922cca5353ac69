"""Whatever is paused or gone, no one meets a server error: they read that the study cannot go on, and researchers see
who waits."""

from dataclasses import replace

import pytest
from django.contrib.auth.models import User
from django.test import Client

from studies.design.spec import OrderSpec
from studies.models import Arm, Study
from studies.models.participation import Status
from studies.setup.storage import load_spec
from tests import factories
from tests.people import Person

pytestmark = pytest.mark.django_db

STALLED = "The study cannot continue right now"
KEPT = "Your answers are kept."
BLOCK_PLAN = OrderSpec(counsellors=4, raters_per_arm=2)
STRATA: dict[str, tuple[str, ...]] = {"williams": ("language",), "blocks": ("neuroticism",), "random": ()}


@pytest.fixture
def study():
    return factories.study()


@pytest.fixture
def desk():
    client = Client()
    client.force_login(User.objects.create(username="ada", is_staff=True, is_superuser=True))
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
    """What the overview says: how many wait, and which tracks no one can begin in."""
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


def test_one_whose_version_lost_no_arm_goes_on_when_a_new_version_removes_one(desk, study):
    before = Person()
    go_to_the_last_form(before)
    chatting = Person()
    chatting.go_to("chat", run=1)
    spec = study.current().spec()
    removed = chatting.row.order[0]
    load_spec(replace(spec, arms=tuple(arm for arm in spec.arms if arm.key != removed)))

    assert before.send(before.answers()).status_code == 302
    pages = [person.page() for person in (before, chatting)]
    assert [(page.status_code, STALLED in page.content.decode()) for page in pages] == [(200, False)] * 2
    before.row.refresh_from_db()
    assert (before.row.protocol.version, removed in before.row.order) == (1, True)
    late = Person()
    late.go_to("chat", run=1)
    assert (late.page().status_code, late.row.protocol.version, removed in late.row.order) == (200, 2, False)
    assert waiting(desk)[0] == 0


@pytest.mark.parametrize("design", ["williams", "blocks", "random"])
def test_arms_that_are_paused_one_after_the_other_are_left_out_of_what_is_drawn(design, desk):
    study = factories.study("some", order=OrderSpec(design, arms_per_person=2, strata=STRATA[design]))
    people = [Person("some") for _ in range(4)]
    for person in people:
        go_to_the_last_form(person)
    for number, person in enumerate(people):
        assert person.send(person.answers()).status_code == 302
        assert person.page().status_code == 200
        person.row.refresh_from_db()
        assert len(person.row.order) == 2
        used = set(study.current().arms.filter(paused=False).values_list("key", flat=True))
        assert set(person.row.order) <= used
        study.current().arms.filter(number=number).update(paused=True)
    assert waiting(desk, "some")[0] == 0
    late = Person("some")
    assert STALLED in late.page().content.decode()
