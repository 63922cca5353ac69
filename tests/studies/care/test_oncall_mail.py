"""Mail to the one on call, against a real SMTP server."""

import socket
from collections.abc import Iterator

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.handlers import Sink
from django.core.management import call_command

from dialogue.models import RiskEvent
from studies.care import oncall
from studies.models import Participation
from tests.people import Person

pytestmark = pytest.mark.django_db


class Box(Sink):
    def __init__(self) -> None:
        super().__init__()
        self.mails: list[tuple[list[str], str]] = []

    async def handle_DATA(self, server, session, envelope):
        self.mails.append((envelope.rcpt_tos, envelope.content.decode()))
        return "250 taken"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def box(settings) -> Iterator[Box]:
    box = Box()
    controller = Controller(box, hostname="127.0.0.1", port=free_port())
    controller.start()
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", controller.port
    yield box
    controller.stop()


@pytest.fixture
def person(settings) -> Person:
    call_command("load_study", str(settings.FIXTURES / "studies" / "demo.toml"), verbosity=0)
    person = Person()
    person.go_to("chat", run=1)
    person.page()
    return person


def test_mail_reaches_the_one_on_call_without_a_word_of_the_conversation(
    box, person, django_capture_on_commit_callbacks
):
    with django_capture_on_commit_callbacks(execute=True):
        person.say("I want to kill myself")
    [(recipients, text)] = box.mails
    assert recipients == ["oncall@example.org"]
    assert person.row.code in text
    assert "kill" not in text
    assert RiskEvent.objects.get().mailed_at is not None


def test_mail_that_no_server_takes_stays_due_and_is_sent_later(
    box, person, settings, django_capture_on_commit_callbacks
):
    right, settings.EMAIL_PORT = settings.EMAIL_PORT, free_port()
    with django_capture_on_commit_callbacks(execute=True):
        person.say("I want to kill myself")
    event = RiskEvent.objects.get()
    assert event.mailed_at is None
    assert "refused" in event.mail_error.lower()
    assert person.step.kind == "held"
    settings.EMAIL_PORT = right
    assert oncall.send_due_mails() == 1
    assert oncall.send_due_mails() == 0
    assert len(box.mails) == 1


def test_alarm_is_tried_again_until_the_mail_server_is_back(box, person, settings, monkeypatch):
    right, settings.EMAIL_PORT = settings.EMAIL_PORT, free_port()
    waited: list[float] = []

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 3:
            settings.EMAIL_PORT = right

    monkeypatch.setattr(oncall.time, "sleep", sleep)
    person.say("I want to kill myself")
    oncall.keep_sending()
    assert waited == list(oncall.WAITS[:3])
    assert len(box.mails) == 1
    assert RiskEvent.objects.get().mail_error == ""


def test_address_from_before_it_was_checked_adds_no_line_to_the_head_of_a_mail(
    box, person, django_capture_on_commit_callbacks
):
    protocol = Participation.objects.get().protocol
    protocol.design["oncall_email"] = "oncall@example.org\r\nBcc: stranger@example.org"
    protocol.save()
    with django_capture_on_commit_callbacks(execute=True):
        person.say("I want to kill myself")
    event = RiskEvent.objects.get()
    assert (box.mails, event.mail_due, event.mailed_at) == ([], True, None)
    assert event.mail_error.startswith("Invalid address")
