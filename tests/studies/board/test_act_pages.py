"""What the team does to a running study from its pages: each asks for a reason, is stored, and can be taken back."""

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from dialogue.chat import assignments
from studies.board import act_pages
from studies.models import BoardAct, Consent, Participation
from studies.participation import exclusions
from studies.participation.enrolment import invite
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return factories.study("demo")


@pytest.fixture
def desk(client, django_user_model):
    client.force_login(
        django_user_model.objects.create_user("researcher", password="x", is_staff=True, is_superuser=True)
    )
    return client


def address(name, *rest):
    return reverse(f"research-{name}", args=["demo", *rest])


def acts():
    return [(act.kind, act.by_name, act.reason) for act in BoardAct.objects.order_by("pk")]


def test_pages_are_for_researchers_and_change_nothing_before_there_is_a_reason(study, desk):
    run = factories.run_with_turns(
        study, person := factories.person(study, plan=[{"kind": "consent", "key": "consent"}])
    )
    code = run.conversation.code
    pages = [("pause-arm", "amber"), ("resume-arm", "amber"), ("mark-invalid", code), ("mark-valid", code),
             ("reissue-link", person.code)]  # fmt: skip
    for name, about in pages:
        assert Client().post(address(name, about), {"reason": "why"}).status_code == 403
        assert desk.get(address(name, about)).status_code == 200
        assert desk.post(address(name, about), {"reason": " "}).status_code == 422
    assert acts() == []
    assert desk.get(address("pause-arm", "nothing")).status_code == 404
    assert desk.get(address("mark-invalid", "nothing")).status_code == 404
    assert desk.get(address("reissue-link", "nothing")).status_code == 404


# Arms


def paused(study):
    return set(study.current().arms.filter(paused=True).values_list("key", flat=True))


def test_an_arm_is_paused_and_resumed_with_who_and_why(study, desk):
    assert desk.post(address("pause-arm", "amber"), {"reason": "slow today"})["Location"] == address("study")
    assert paused(study) == {"amber"}
    page = desk.get(address("study")).content.decode()
    assert "researcher: slow today" in page
    assert address("resume-arm", "amber") in page

    desk.post(address("pause-arm", "amber"), {"reason": "again"})
    desk.post(address("resume-arm", "amber"), {"reason": "fast again"})
    assert paused(study) == set()
    assert acts() == [("arm_paused", "researcher", "slow today"), ("arm_resumed", "researcher", "fast again")]
    assert "slow today" not in desk.get(address("study")).content.decode()


def test_a_pause_that_would_stop_the_study_is_warned_of(study, desk):
    def warning():
        return desk.get(address("pause-arm", "amber")).context["question"].warning

    assert warning() == ""  # each person meets all arms that there are
    assert "They then have 4 conversations instead of 5" in desk.get(address("pause-arm", "amber")).content.decode()
    protocol = study.current()
    protocol.design["order"]["arms_per_person"] = 5
    protocol.save()
    assert "no one new can start (Participant, Counsellor)" in warning()
    assert "They then have" not in desk.get(address("pause-arm", "amber")).content.decode()


# Conversations


def test_a_conversation_is_left_out_and_counted_again_with_who_and_why(study, desk):
    run = factories.run_with_turns(study, factories.person(study))
    code = run.conversation.code
    desk.post(address("mark-invalid", code), {"reason": "a phone call came in"})
    run.refresh_from_db()
    assert run.valid is False
    page = " ".join(desk.get(address("conversation", code)).content.decode().split())
    assert "Left out by researcher" in page
    assert "a phone call came in" in page

    desk.post(address("mark-invalid", code), {"reason": "twice"})
    desk.post(address("mark-valid", code), {"reason": "it did not matter"})
    desk.post(address("mark-valid", code), {"reason": "twice"})
    run.refresh_from_db()
    assert run.valid is True
    assert [(kind, reason) for kind, _by, reason in acts()] == [
        ("marked_invalid", "a phone call came in"), ("marked_valid", "it did not matter")
    ]  # fmt: skip


def test_coders_and_the_mark_do_not_undo_each_other(study, desk, django_user_model):
    run = factories.run_with_turns(study, factories.person(study))
    code = run.conversation.code
    desk.post(address("mark-invalid", code), {"reason": "noise"})
    coders = [django_user_model.objects.create_user(name) for name in ("one", "two")]
    for coder in coders:
        exclusions.decide(subject=run, coder=coder, keep=False, reason="careless")
    exclusions.withdraw_decision(subject=run, coder=coders[0])
    run.refresh_from_db()
    assert run.valid is False  # by the mark

    exclusions.decide(subject=run, coder=coders[0], keep=False, reason="careless")
    desk.post(address("mark-valid", code), {"reason": "no noise"})
    run.refresh_from_db()
    assert run.valid is False  # by the coders

    exclusions.withdraw_decision(subject=run, coder=coders[0])
    run.refresh_from_db()
    assert run.valid is True


def test_what_an_import_left_out_cannot_be_counted_here(study, desk):
    run = factories.run_with_turns(study, valid=False)
    desk.post(address("mark-valid", run.conversation.code), {"reason": "please"})
    run.refresh_from_db()
    assert (run.valid, acts()) == (False, [])
    assert "by two coders or by the file" in desk.get(address("conversation", run.conversation.code)).content.decode()


# Links


def enter(client, token):
    return client.post(reverse("join", args=[token]), {"act": "start"})


def test_a_new_link_replaces_the_old_one_and_its_browsers(study, desk):
    person, old = invite(study)
    browser, another = Client(), Client()
    enter(browser, old)
    assert browser.get("/study/").status_code == 200

    page = desk.post(address("reissue-link", person.code), {"reason": "lost it"}, follow=True)
    [(code, _track, url)] = page.context["links"]
    new = url.removeprefix("http://testserver/j/").strip("/")

    assert code == person.code
    assert browser.get("/study/").status_code == 403
    assert enter(another, old).status_code in (403, 404)
    enter(another, new)
    assert another.get("/study/").status_code == 200
    assert acts() == [("link_reissued", "researcher", "lost it")]
    assert "New link by researcher: lost it" in desk.get(address("person", person.code)).content.decode()


def test_people_whose_data_were_erased_get_no_new_link(study, desk):
    person = factories.person(study, plan=[], status="withdrawn")
    assert desk.get(address("reissue-link", person.code)).status_code == 404
    assert address("reissue-link", person.code) not in desk.get(address("person", person.code)).content.decode()


# People


PLAN = [{"kind": "language", "key": "language"}, {"kind": "chats", "key": "chats"}]


@pytest.fixture
def someone(study):
    """A person who has begun and agreed, at their browser."""
    person, token = invite(study)
    browser = Client()
    enter(browser, token)
    browser.get("/study/")
    person.refresh_from_db()
    Consent.objects.create(
        participation=person, instrument="consent", version="1", text_hash="x", language="en", boxes={}
    )
    Participation.objects.filter(pk=person.pk).update(status="active", language="en", order=["amber", "birch"])
    person.refresh_from_db()
    return person, browser


def text_of(page):
    return " ".join(page.content.decode().split())


def test_person_is_paused_and_continues_where_they_were(study, desk, someone):
    person, browser = someone
    before = text_of(browser.get("/study/"))
    run = factories.run_with_turns(study, person, status="open")
    assert desk.post(address("pause-person", person.code), {"reason": "checks their account"})["Location"] == address(
        "person", person.code
    )
    run.conversation.refresh_from_db()
    assert run.conversation.suspended is True
    page = browser.get("/study/")
    assert "The research team has paused your part" in text_of(page)
    assert 'data-waits="paused"' in page.content.decode()
    assert browser.get("/help/").status_code == 200
    browser.post("/study/ask/", {"text": "Why am I paused?"})
    assert person.questions.get().text == "Why am I paused?"
    shown = text_of(desk.get(address("person", person.code)))
    assert "researcher: checks their account" in shown
    assert address("pause-person", person.code) not in shown
    board = text_of(desk.get(address("study"), {"test": "all"}))
    assert "paused by the team" in board
    assert address("resume-person", person.code) in board
    assert "People whom the team has paused" in board

    desk.post(address("pause-person", person.code), {"reason": "again"})
    desk.post(address("resume-person", person.code), {"reason": "all is well"})
    desk.post(address("resume-person", person.code), {"reason": "again"})
    run.conversation.refresh_from_db()
    assert run.conversation.suspended is False
    assert text_of(browser.get("/study/")).split("<h1")[1][:200] == before.split("<h1")[1][:200]
    assert acts() == [
        ("person_paused", "researcher", "checks their account"), ("person_resumed", "researcher", "all is well")
    ]  # fmt: skip


def test_answers_on_a_page_that_was_open_before_the_pause_are_kept(study, desk, someone):
    person, browser = someone
    before = person.position
    step = person.steps()[before]
    desk.post(address("pause-person", person.code), {"reason": "a call"})
    browser.post("/study/", {"step": step.key, "language": "en"})
    person.refresh_from_db()
    assert person.position == before + 1
    assert "Your part is paused" in text_of(browser.get("/study/"))


def test_person_is_ended_kindly_with_a_code_and_what_the_rule_pays(study, desk, someone):
    person, browser = someone
    run = factories.run_with_turns(study, person, status="open")
    end = address("end-person", person.code)
    told = "You told us that you are ill. Get well soon!"
    assert "What they read as the reason, in English" in text_of(desk.get(end))
    assert desk.post(end, {"reason": "ill", "told": told, "code": "P0000000"}).status_code == 422
    assert desk.post(end, {"reason": "ill", "told": " ", "code": person.code}).status_code == 422
    person.refresh_from_db()
    assert person.status == "active"

    assert desk.post(end, {"reason": "ill", "told": told, "code": person.code})["Location"] == address(
        "person", person.code
    )
    person.refresh_from_db()
    run.conversation.refresh_from_db()
    assert (person.status, run.conversation.end_reason) == ("ended", "withdrawn")
    assert person.ended_at is not None
    page = text_of(browser.get("/study/"))
    assert "Your part of the study ends here. Thank you" in page
    assert f"<blockquote> {told} </blockquote>" in page
    assert person.completion_code in page
    assert len(person.completion_code) == 10
    assert "resource__channels" in page
    shown = text_of(desk.get(address("person", person.code)))
    assert "Part ended by researcher: ill" in shown
    assert end not in shown
    desk.post(end, {"reason": "twice", "told": "twice", "code": person.code})
    assert acts() == [("person_ended", "researcher", "ill")]


def test_nobody_is_ended_in_the_middle_of_a_reply(study, desk, someone):
    person, _browser = someone
    run = factories.run_with_turns(study, person, status="open")
    now = timezone.now()
    turn = factories.add_turn(
        run.conversation, 3, state="waiting", owner="a process", lease_until=now + assignments.LEASE
    )
    page = desk.post(address("end-person", person.code), {"reason": "ill", "told": "You are ill.", "code": person.code})
    assert page.status_code == 409
    assert "A reply is being written to them." in text_of(page)
    person.refresh_from_db()
    assert (person.status, acts()) == ("active", [])

    turn.lease_until = now - assignments.LEASE  # no one is fetching it any more
    turn.save()
    desk.post(address("end-person", person.code), {"reason": "ill", "told": "You are ill.", "code": person.code})
    person.refresh_from_db()
    assert person.status == "ended"


@pytest.mark.parametrize("status", ["invited", "held", "in_review", "completed", "withdrawn", "stopped", "timed_out"])
def test_only_people_for_whom_the_study_waits_are_paused_or_ended(study, desk, status):
    person = factories.person(study, status=status, plan=PLAN)
    for name in ("pause-person", "resume-person", "end-person"):
        desk.post(address(name, person.code), {"reason": "why", "told": "why", "code": person.code})
        assert address(name, person.code) not in desk.get(address("person", person.code)).content.decode()
    person.refresh_from_db()
    assert (person.status, person.paused_at, acts()) == (status, None, [])


def test_people_who_have_not_agreed_are_not_ended_but_can_be_paused(study, desk):
    person = factories.person(study, status="applied", plan=[{"kind": "consent", "key": "consent"}])
    desk.post(address("end-person", person.code), {"reason": "why", "told": "why", "code": person.code})
    desk.post(address("pause-person", person.code), {"reason": "why"})
    person.refresh_from_db()
    assert (person.status, person.is_paused()) == ("applied", True)


@pytest.mark.django_db(transaction=True)
def test_sockets_are_told_of_a_pause_after_it_is_committed(study, desk, someone, monkeypatch):
    """Other processes read from the database what they show."""
    person, _browser = someone
    run = factories.run_with_turns(study, person, status="open")
    told = []
    monkeypatch.setattr(
        act_pages, "tell_sockets", lambda notices: told.append((connection.in_atomic_block, len(list(notices))))
    )

    desk.post(address("pause-person", person.code), {"reason": "checks their account"})

    run.conversation.refresh_from_db()
    assert run.conversation.suspended
    assert told == [(False, 1)]
