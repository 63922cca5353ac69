"""What an admin reads where a real mail server does not take a mail."""

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.handlers import Sink
from aiosmtpd.smtp import AuthResult
from django.core.mail import EmailMessage, get_connection
from django.utils.translation import override

from studies.workbench.delivery_faults import WORDS, DeliveryFault, describe_fault, name_mail_fault
from tests.studies.care.servers import free_port


class Refusing(Sink):
    """A mail server that answers `answer` to the command `at`."""

    def __init__(self, at: str, answer: str) -> None:
        super().__init__()
        self.at, self.answer = at, answer

    async def handle_MAIL(self, server, session, envelope, address, options):
        envelope.mail_from = address
        return self.answer if self.at == "MAIL" else "250 OK"

    async def handle_RCPT(self, server, session, envelope, address, options):
        envelope.rcpt_tos.append(address)
        return self.answer if self.at == "RCPT" else "250 OK"

    async def handle_DATA(self, server, session, envelope):
        return self.answer if self.at == "DATA" else "250 OK"


@contextmanager
def refusing(at: str, answer: str) -> Iterator[int]:
    options = {"authenticator": lambda *_asked: AuthResult(success=False, handled=False), "auth_require_tls": False}
    controller = Controller(Refusing(at, answer), hostname="127.0.0.1", port=free_port(), **options)
    controller.start()
    try:
        yield controller.port
    finally:
        controller.stop()


@pytest.fixture
def mailing(settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST = "127.0.0.1"
    return settings


def fault_of_a_mail() -> DeliveryFault:
    mail = EmailMessage("drill", "This is a drill.", "study@example.org", ["ann@example.org"])
    with pytest.raises((OSError, ValueError)) as caught, get_connection() as mail.connection:
        mail.send()
    return name_mail_fault(caught.value)


@pytest.mark.parametrize(
    ("at", "answer", "code", "said"),
    [
        ("MAIL", "553 not yours", "sender", "refused the sender study@example.org. It said: not yours."),
        ("RCPT", "550 no such box.", "recipient", "refused the recipient. It said: no such box."),
        ("DATA", "552 too much", "refused", "did not take the mail. It said: 552 too much."),
    ],
)
def test_refusal_of_a_server_is_told_with_its_words(mailing, at, answer, code, said):
    with refusing(at, answer) as mailing.EMAIL_PORT:
        fault = fault_of_a_mail()
    assert fault.code == code
    assert f"The mail server at 127.0.0.1:{mailing.EMAIL_PORT} {said} " in str(fault)


def test_refused_password_is_not_repeated(mailing):
    mailing.EMAIL_HOST_USER, mailing.EMAIL_HOST_PASSWORD = "study", "hunter2"
    with refusing("", "") as mailing.EMAIL_PORT:
        fault = fault_of_a_mail()
    assert fault.code == "password"
    assert "written as %40" in str(fault)
    assert "hunter2" not in str(fault)


def test_encryption_that_a_server_does_not_offer_is_told(mailing):
    mailing.EMAIL_USE_TLS = True
    with refusing("", "") as mailing.EMAIL_PORT:
        assert fault_of_a_mail().code == "not_offered"


def test_failed_handshake_asks_which_kind_of_encryption_is_meant():
    assert name_mail_fault(ssl.SSLError(1, "wrong version number")).code == "no_tls"


def test_silent_server_took_too_long(mailing):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        mailing.EMAIL_PORT, mailing.EMAIL_TIMEOUT = silent.getsockname()[1], 0.3
        assert fault_of_a_mail().code == "slow"


def test_port_without_a_server_and_unknown_host_were_not_reached(mailing):
    mailing.EMAIL_PORT = free_port()
    assert str(fault_of_a_mail()).startswith(f"No mail server was reached at 127.0.0.1:{mailing.EMAIL_PORT}.")
    mailing.EMAIL_HOST = "mail.invalid"
    assert fault_of_a_mail().code == "not_reached"


@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize("code", WORDS)
def test_stored_fault_is_said_again_with_all_its_values(code: str, language: str) -> None:
    values = {name: f"the {name}." for name in DeliveryFault.VALUES[code]}
    with override(language):
        said = describe_fault(DeliveryFault.of(code, **values).as_json())
    assert all(value in said for value in values.values())
    assert "%(" not in said
