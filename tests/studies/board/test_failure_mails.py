"""A mail to the contact when a model has stopped answering."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.core import mail
from django.core.cache import cache
from django.utils import timezone

from dialogue.models import Turn
from dialogue.models.conversation import Status, TurnState
from studies.board import failure_mails
from studies.board.failure_mails import MESSAGES, FailureWatch
from studies.models import Stage, Study
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def nothing_told_before() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


def failing_study(messages: int = MESSAGES, **run: object) -> Study:
    study = factories.study("lab", contact="lab@example.org")
    Study.objects.filter(pk=study.pk).update(stage=Stage.OPEN)
    person = factories.person(study, is_test=bool(run.get("is_test")))
    talk = factories.run_with_turns(study, person, status=Status.OPEN, **run).conversation
    Turn.objects.filter(conversation=talk).update(replied_at=timezone.now() - timedelta(minutes=30))
    for number in range(50, 50 + messages):
        factories.add_turn(talk, number, text="my secret", state=TurnState.FAILED, reply="", replied_at=None)
    return study


def test_contact_gets_one_mail_an_hour_without_arm_or_words():
    study = failing_study()
    for _look in range(2):
        FailureWatch().look()
    [sent] = mail.outbox
    assert sent.to == ["lab@example.org"]
    assert sent.subject == "Study lab: a model does not answer"
    assert f"{MESSAGES} messages of people" in sent.body
    assert "/research/lab/" in sent.body
    for hidden in ("my secret", *study.current().arms.values_list("key", flat=True)):
        assert hidden not in sent.body


@pytest.mark.parametrize(("messages", "run"), [(MESSAGES - 1, {}), (MESSAGES, {"is_test": True})])
def test_few_messages_and_test_data_tell_no_one(messages, run):
    failing_study(messages, **run)
    FailureWatch().look()
    assert mail.outbox == []


def test_arm_that_has_answered_since_is_no_failure():
    failing_study()
    talk = Turn.objects.first().conversation
    factories.add_turn(talk, 90, replied_at=timezone.now() + timedelta(seconds=1))
    FailureWatch().look()
    assert mail.outbox == []


def test_one_process_looks_at_most_once_a_minute(django_assert_num_queries):
    watch = FailureWatch()
    watch.look()
    with django_assert_num_queries(0):
        watch.look()


def test_refused_mail_is_tried_again(settings, caplog):
    failing_study()
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
    FailureWatch().look()
    assert "could not be told" in caplog.text
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    FailureWatch().look()
    assert len(mail.outbox) == 1


def test_server_without_mail_looks_at_nothing(settings, django_assert_num_queries):
    settings.EMAIL_BACKEND = failure_mails.CONSOLE
    with django_assert_num_queries(0):
        FailureWatch().look()
