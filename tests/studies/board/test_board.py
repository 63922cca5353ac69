"""The board of a study: what waits, the funnel, who is here, arms that fail, balance, and money."""

import re
from datetime import timedelta
from decimal import Decimal

import pytest
from django.urls import reverse
from django.utils import timezone

from dialogue.models import Call, Conversation, Job, RiskEvent, Spending
from dialogue.models.conversation import Status as ConversationStatus
from studies.board.arms import get_arms
from studies.board.consumers import BoardConsumer, get_state
from studies.board.funnel import get_funnel
from studies.board.money import get_money
from studies.board.presence import get_presence
from studies.data import erasure
from studies.models import Participation, Receipt, StoppedArm, Study
from studies.participation.enrolment import invite
from tests import factories

pytestmark = pytest.mark.django_db

PLAN = [
    {"kind": "consent", "key": "consent"},
    {"kind": "questionnaire", "key": "run1.mood", "instrument": "mood", "run": 1},
    {"kind": "chat", "key": "run1.chat", "run": 1},
    {"kind": "chat", "key": "run2.chat", "run": 2},
    {"kind": "debrief", "key": "debrief"},
]


@pytest.fixture
def study():
    return factories.study("demo")


@pytest.fixture
def desk(client, django_user_model):
    client.force_login(
        django_user_model.objects.create_user("researcher", password="x", is_staff=True, is_superuser=True)
    )
    return client


def arms_of(study, test="no"):
    return get_arms(study, study.current(), test=test)


def test_a_board_that_lets_no_one_in_does_not_say_that_nothing_needs_attention(desk):
    factories.study("real", arms=(factories.remote_arm("a1"), factories.remote_arm("a2")))
    text = desk.get(reverse("research-study", args=["real"])).content.decode()
    assert ("No real people can come in yet" in text, "Nothing needs your attention" in text) == (True, False)


@pytest.mark.parametrize(
    ("enrolment", "stage", "is_shown"), [(True, "open", True), (True, "paused", False), (False, "open", False)]
)
def test_board_shows_the_address_at_which_anyone_may_join(desk, enrolment, stage, is_shown):
    study = factories.study("calm", open_enrolment=enrolment)
    Study.objects.filter(pk=study.pk).update(stage=stage)
    text = desk.get(reverse("research-study", args=["calm"])).content.decode()
    assert ("http://testserver/open/calm/" in text) == is_shown


# The funnel


def test_funnel_counts_who_reached_each_step_is_there_and_left_there(study):
    invite(study)
    factories.person(study, plan=[*PLAN[:1], {"kind": "chats", "key": "chats"}, PLAN[-1]], position=1)
    factories.person(study, plan=PLAN, position=2)
    factories.person(study, plan=PLAN, position=3, status="withdrawn")
    factories.person(study, plan=PLAN, position=3, status="timed_out")
    factories.person(study, plan=PLAN, position=5, status="completed")
    factories.person(study, plan=PLAN, position=1, is_test=True)

    funnel = get_funnel(study, test="no")

    assert [(stage.label, stage.reached, stage.here, dict(stage.left)) for stage in funnel.stages] == [
        ("Invited or came by the open link", 6, 1, {}),
        ("Consent", 5, 0, {}),
        ("Conversation 1", 5, 2, {}),
        ("Conversation 2", 3, 0, {"withdrawn": 1, "timed_out": 1}),
        ("Debrief", 1, 0, {}),
        ("Completed", 1, 0, {}),
    ]
    assert [stage.width for stage in funnel.stages] == [1000, 833, 833, 500, 167, 167]
    assert funnel.unknown == 0


def test_whom_the_screening_does_not_let_on_is_counted_at_the_screening(study):
    plan = [{"kind": "screening", "key": "screening"}, *PLAN]
    for status, outcome in [("screened_out", "exclude"), ("in_review", "review_by_person"), ("active", "include")]:
        factories.person(study, plan=plan, position=1, status=status, outcome={"kind": outcome})
    _invited, screening, consent, *_rest = get_funnel(study, test="no").stages
    assert (screening.reached, screening.here, dict(screening.left)) == (3, 1, {"screened_out": 1})
    assert (consent.reached, consent.here, dict(consent.left)) == (1, 1, {})


def test_funnel_says_how_many_left_without_a_trace_and_whom_the_team_erased(study):
    for kind in (Receipt.Kind.DELETED, Receipt.Kind.ERASED, Receipt.Kind.ERASED):
        erasure.erase(factories.person(study), kind=kind)
    funnel = get_funnel(study, test="no")
    assert (funnel.unknown, funnel.erased) == (1, 2)
    assert [stage.reached for stage in get_funnel(study, test="yes").stages] == [0, 0]


# Presence


@pytest.mark.parametrize(
    ("seconds", "state"), [(0, "here"), (120, "here"), (121, "idle"), (1800, "idle"), (1801, "gone")]
)
def test_presence_goes_by_the_last_sign_of_life(seconds, state, study):
    now = timezone.now()
    factories.person(study, plan=PLAN, position=2, last_seen_at=now - timedelta(seconds=seconds))
    found = get_presence(study, test="no", now=now)
    assert {key: number for key, number in found.counted.items() if number} == {state: 1}
    assert len(found.people) == (state != "gone")


def test_a_message_and_a_draft_are_signs_of_life(study):
    now = timezone.now()
    writer = factories.person(study, plan=PLAN, position=2, last_seen_at=now - timedelta(hours=1))
    factories.run_with_turns(study, writer, status=ConversationStatus.OPEN)
    typist = factories.person(study, plan=PLAN, position=0, last_seen_at=now - timedelta(hours=1))
    typist.drafts.create(step="consent", answers={})
    assert get_presence(study, test="no").counted["here"] == 2


def test_people_without_a_reply_or_an_arm_are_stuck_and_people_who_wait_for_us_are_not_listed(study):
    talker = factories.person(study, plan=PLAN, position=2, last_seen_at=timezone.now())
    run = factories.run_with_turns(study, talker, status=ConversationStatus.OPEN)
    factories.add_turn(run.conversation, 3, text="Hello?", state="failed")
    without = factories.person(study, plan=[{"kind": "chats", "key": "chats"}], order=[])
    factories.person(study, plan=PLAN, position=2, status="held", last_seen_at=timezone.now())

    found = get_presence(study, test="no")

    assert found.counted == {"stuck": 2, "halted": 0, "here": 0, "idle": 0, "gone": 0}
    assert {person.code for person in found.people} == {talker.code, without.code}


def test_people_whom_the_team_has_paused_are_listed_however_long_ago_they_were_here(study):
    long_ago = timezone.now() - timedelta(days=3)
    paused = factories.person(study, plan=PLAN, position=2, last_seen_at=long_ago, paused_at=long_ago)
    found = get_presence(study, test="no")
    assert found.counted == {"stuck": 0, "halted": 1, "here": 0, "idle": 0, "gone": 0}
    assert [person.code for person in found.people] == [paused.code]


# Arms


def test_balance_counts_what_results_keep_and_what_people_under_way_hold(study):
    def met(**fields):
        return factories.run_with_turns(study, factories.person(study, **fields))

    met(status="completed")
    met(status="completed", excluded=True)
    invalid = met(status="completed")
    invalid.valid = False
    invalid.save()
    met()  # amber is closed, birch is still to come
    factories.person(study, order=["birch", "amber"])
    factories.person(study, order=["birch", "amber"], status="withdrawn")

    rows = {row.key: [(cell.completed, cell.under_way) for cell in row.cells] for row in arms_of(study).rows}

    assert rows == {
        "amber": [(2, 0), (0, 1)],
        "birch": [(0, 1), (0, 1)],
        "cedar": [(0, 0), (0, 0)],
        "delta": [(0, 0), (0, 0)],
        "ember": [(0, 0), (0, 0)],
    }


def failing(study):
    return {row.key: row.failure for row in arms_of(study).failing()}


def test_an_arm_fails_from_its_first_message_without_a_reply_on_until_it_answers_again(study):
    run = factories.run_with_turns(study, factories.person(study), status=ConversationStatus.OPEN)
    assert failing(study) == {}
    since = timezone.now() - timedelta(minutes=3)
    turn = factories.add_turn(run.conversation, 3, state="failed", created_at=since)
    Call.objects.create(purpose="reply", conversation=run.conversation, kind="scripted", status="server", error="502")

    failure = failing(study)["amber"]
    assert (failure.since, failure.messages, failure.reason) == (since, 1, "server: 502")

    other = factories.run_with_turns(study, factories.person(study), status=ConversationStatus.OPEN, turns=[])
    factories.add_turn(other.conversation, 1, replied_at=timezone.now())
    assert failing(study) == {}
    assert turn.state == "failed"


def test_a_reply_that_is_late_is_a_failure_and_one_under_way_is_none(study):
    run = factories.run_with_turns(study, factories.person(study), status=ConversationStatus.OPEN)
    turn = factories.add_turn(run.conversation, 3, state="waiting")
    assert failing(study) == {}
    turn.created_at = timezone.now() - timedelta(minutes=6)
    turn.save()
    assert failing(study)["amber"].reason == ""


def test_an_arm_without_its_key_is_told(study):
    remote = {"kind": "openai_compatible", "base_url": "https://models.example.org/v1", "model": "m"}
    study.current().arms.filter(key="birch").update(**remote, api_key_env="BIRCH_KEY_OF_THE_BOARD")
    assert [(row.key, row.unset_key) for row in arms_of(study).failing()] == [("birch", "BIRCH_KEY_OF_THE_BOARD")]


# Money


def test_money_adds_replies_by_arm_and_jobs_by_title(study, settings):
    settings.DAILY_BUDGET = Decimal(8)
    run = factories.run_with_turns(study, factories.person(study, is_test=True))
    call = {"purpose": "reply", "conversation": run.conversation, "kind": "x"}
    Call.objects.create(**call, status="ok", cost=Decimal("0.5"))
    Call.objects.create(**call, status="ok")
    Call.objects.create(**call, status="started", cost=Decimal(9))
    Job.objects.create(
        kind="judge", scope="demo", title="demo (standard)", plan={}, spent=Decimal(1), budget=Decimal(3)
    )
    Job.objects.create(kind="judge", scope="demo", title="demo (standard)", plan={}, spent=Decimal(2))
    Job.objects.create(kind="judge", scope="another", title="demo (standard)", plan={}, spent=Decimal(7))
    Spending.objects.create(day=timezone.now().date(), amount=Decimal(2))

    money = get_money(study)

    assert [(row.what, row.amount, row.budget, row.calls, row.unpriced) for row in money.rows] == [
        ("amber", "0.50", "", 2, 1),
        ("demo (standard)", "3.00", "3.00", None, 0),
    ]
    assert (money.total, money.unpriced) == ("3.50", 1)
    assert (money.today, money.day_budget, money.percent) == ("2.00", "8.00", 25)


# What waits


def waiting(desk):
    shown = desk.get("/research/demo/", {"test": "no"}).context["waiting"]
    return [(str(one.label), one.number, one.url, one.grave) for one in shown]


def test_nothing_waits_in_an_empty_study(desk, study):
    assert waiting(desk) == []


def test_what_waits_comes_first_on_the_board_the_gravest_at_the_top(desk, study):
    held = factories.person(study, plan=PLAN, status="held")
    event = RiskEvent.objects.create(subject=held.code, source="message", level=3)
    factories.person(study, plan=PLAN, status="in_review")
    run = factories.run_with_turns(study, factories.person(study, plan=PLAN), status=ConversationStatus.OPEN)
    factories.add_turn(run.conversation, 3, state="failed")

    assert waiting(desk) == [
        ("Open safety events", 1, "/research/demo/risks/?test=no", True),
        ("People held for safety", 1, "/research/demo/people/?status=held&test=no", True),
        ("Arms that do not answer", 1, "#arms-title", True),
        ("Messages without a reply", 1, "/research/demo/conversations/?sort=-failed&test=no", True),
        ("People to review", 1, "/research/demo/people/?status=in_review&test=no", False),
    ]
    shown = desk.get("/research/demo/", {"test": "no"}).context["waiting"]
    assert shown[0].since == event.created_at


def test_what_renews_itself_leaves_out_the_money(desk, study):
    whole, part = (desk.get("/research/demo/", {"live": live}).content.decode() for live in ("", "yes"))
    assert ('id="money-title"' in whole, 'id="money-title"' in part) == (True, False)
    assert 'data-part="funnel"' in part


# The socket


def test_state_of_the_board_changes_with_what_happens(study):
    def state():
        found = str(get_state(study))
        seen.append(found)
        return found

    seen = []
    state()
    person = factories.person(study)
    state()
    Participation.objects.filter(pk=person.pk).update(last_seen_at=timezone.now())
    state()
    run = factories.run_with_turns(study, person, status=ConversationStatus.OPEN)
    state()
    run.conversation.turns.filter(number=1).update(state="failed")
    state()
    study.current().arms.filter(key="amber").update(paused=True)
    state()
    RiskEvent.objects.create(subject=person.code, source="message", level=3)
    state()
    assert len(set(seen)) == len(seen) == 7
    assert str(get_state(study)) == seen[-1]
    assert Conversation.objects.count() == 1


def test_socket_of_the_board_tells_readers_nothing_of_safety(study):
    before = BoardConsumer().read_state(study)
    RiskEvent.objects.create(subject=factories.person(study).code, source="message", level=3)
    after = BoardConsumer().read_state(study)
    assert before != after
    assert all(re.fullmatch("[0-9a-f]{64}", frame.pop("state")) for frame in (before, after))
    assert before == after == {"type": "board"}


def test_an_arm_that_a_stopping_rule_has_paused_says_so_until_somebody_decides(study, desk, django_user_model):
    arms = study.current().arms
    arms.filter(key="amber").update(paused=True)
    StoppedArm.objects.create(study=study, arm=arms.get(key="amber"), rule={"count": "events"}, count=4, of=9)
    page = " ".join(desk.get(reverse("research-study", args=["demo"])).content.decode().split())
    assert "by a stopping rule of the study" in page
    assert "See which rule" not in page  # an admin stays blind to how safe each arm is
    resume = reverse("research-resume-arm", args=["demo", "amber"])
    assert "A stopping rule" in desk.get(resume).context["question"].warning

    desk.post(resume, {"reason": "the officer has agreed"})
    desk.post(reverse("research-pause-arm", args=["demo", "amber"]), {"reason": "slow"})
    page = desk.get(reverse("research-study", args=["demo"])).content.decode()
    assert "by a stopping rule of the study" not in page
    assert desk.get(resume).context["question"].warning == ""
