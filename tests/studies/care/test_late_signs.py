"""Signs of danger that are found when the person has left meanwhile, or is leaving."""

import threading
import time
from collections.abc import Callable
from dataclasses import asdict

import pytest
from django.db import connection

from dialogue.chat import assignments, inquiries, lifecycle, messages
from dialogue.models import Conversation, RiskEvent, Supporter, Turn
from dialogue.providers.base import Reply
from dialogue.safety.second_line import Answer, Finding, SecondLine
from studies.care import oncall
from studies.models import Alarm, ArmRun, Participation
from studies.models.participation import Status
from studies.participation import progress
from tests import factories

REPLY = Reply(text="", model="watch")


def person_in_chat(**fields: object) -> tuple[Participation, Conversation]:
    person = factories.person(factories.study())
    conversation = Conversation.objects.create(
        supporter=Supporter.objects.create(kind="scripted"), min_turns=3, max_turns=9, **fields
    )
    ArmRun.objects.create(
        study=person.study,
        protocol=person.protocol,
        participation=person,
        position=1,
        arm="amber",
        conversation=conversation,
    )
    return person, conversation


def end_by_completing(person: Participation) -> None:
    progress.set_status(person, Status.COMPLETED)


@pytest.mark.django_db
@pytest.mark.parametrize("level", [3, 4])
@pytest.mark.parametrize("leave", [progress.leave, end_by_completing])
def test_what_the_second_line_finds_late_alarms_and_holds_no_one_who_is_gone(
    level: int, leave: Callable[[Participation], None]
) -> None:
    person, conversation = person_in_chat(second_line=asdict(SecondLine(kind="scripted", model=f"level-{level}")))
    taken = messages.take_seeker_turn(conversation.pk, client_id="a", text="one last thing", owner="me").assignment
    assert taken is not None
    assert taken.inquiry is not None
    lifecycle.end(conversation.pk, early=True)
    leave(person)
    person.refresh_from_db()
    before = (person.status, person.ended_at)

    found = assignments.AnsweredInquiry(taken.inquiry, Answer(Finding(level, ("self",), "watch"), REPLY))
    inquiries.hold_message(taken, REPLY, found, help_seq=taken.seq)

    person.refresh_from_db()
    assert (person.status, person.ended_at) == before
    assert Alarm.objects.filter(event__level=level).exists()
    oncall.release(RiskEvent.objects.get(), by=None)
    person.refresh_from_db()
    assert (person.status, person.ended_at) == before


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one lock")
def test_message_that_shows_danger_and_one_who_leaves_wait_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    person, conversation = person_in_chat()
    errors: list[Exception] = []
    reached = threading.Event()
    handle_risk = oncall.handle_risk

    def handle_slowly(event: RiskEvent) -> None:
        reached.set()
        time.sleep(0.5)  # in which the other locks what it can
        handle_risk(event)

    def run(act: Callable[[], object]) -> None:
        try:
            act()
        except Exception as error:
            errors.append(error)
        finally:
            connection.close()

    monkeypatch.setattr(oncall, "handle_risk", handle_slowly)
    words = "I am going to kill myself tonight"
    message = threading.Thread(
        target=run,
        args=[lambda: messages.take_seeker_turn(conversation.pk, client_id="a", text=words, owner="me")],
    )
    message.start()
    assert reached.wait(30)
    run_leave = threading.Thread(target=run, args=[lambda: progress.leave(person)])
    run_leave.start()
    message.join()
    run_leave.join()

    assert errors == []
    assert Turn.objects.get(conversation=conversation).text == words
    assert Alarm.objects.exists()
