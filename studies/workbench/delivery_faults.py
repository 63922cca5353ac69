"""Why a mail server or a webhook did not take a message: a code with values, and the words for it.

The words say what to do to whoever runs the server, or edits the design.
"""

import smtplib
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from django.conf import settings
from django.utils import translation
from django.utils.translation import gettext_lazy

from studies.webhooks.requests import NotTaken
from studies.workbench import labels

CUT = 300  # signs of a server's own words that are kept

WORDS: labels.Words = {
    "no_contact": gettext_lazy("The study names no one on call. Name someone in the section On call of the design."),
    "unwritable": gettext_lazy("The message could not be written (%(kind)s). The server's log says more."),
    "bad_address": gettext_lazy("The address is not valid. Correct it in the design."),
    "no_mail": gettext_lazy(
        "EMAIL_URL is not set, so this server sends no mail. Whoever runs the server sets it and restarts it."
    ),
    "not_reached": gettext_lazy(
        "No mail server was reached at %(place)s. Whoever runs the server checks host and port in EMAIL_URL, and "
        "whether a firewall is in the way."
    ),
    "slow": gettext_lazy(
        "The mail server at %(place)s took too long. Whoever runs the server checks the port in EMAIL_URL, and "
        "whether the mail server is overloaded."
    ),
    "broken_off": gettext_lazy(
        "The mail server at %(place)s closed the connection. Whoever runs the server checks the port in EMAIL_URL, and "
        "whether its address must begin with smtps:// or smtp+tls://."
    ),
    "no_tls": gettext_lazy(
        "No encrypted connection to the mail server at %(place)s. Whoever runs the server checks its certificate, and "
        "whether EMAIL_URL must begin with smtps:// (mostly port 465) or smtp+tls:// (mostly port 587)."
    ),
    "not_offered": gettext_lazy(
        "The mail server at %(place)s does not offer what EMAIL_URL asks for. It said: %(detail)s Whoever runs the "
        "server checks the port, and whether the address must begin with smtps:// or smtp+tls://."
    ),
    "password": gettext_lazy(
        "The mail server at %(place)s refused the user or the password. Whoever runs the server corrects them in "
        "EMAIL_URL, with signs such as @ written as %%40."
    ),
    "sender": gettext_lazy(
        "The mail server at %(place)s refused the sender %(sender)s. It said: %(detail)s Whoever runs the server "
        "writes an address behind from= in EMAIL_URL for which this server may send."
    ),
    "recipient": gettext_lazy(
        "The mail server at %(place)s refused the recipient. It said: %(detail)s Check the recipient's address."
    ),
    "refused": gettext_lazy(
        "The mail server at %(place)s did not take the mail. It said: %(number)s %(detail)s Whoever runs the server "
        "asks the mail server's operator."
    ),
    "hook_status": gettext_lazy(
        "The webhook answered %(status)s. Check its address in the section On call of the design."
    ),
    "hook_slow": gettext_lazy("The webhook did not answer in time. Check whether its server is well."),
    "hook_certificate": gettext_lazy("The certificate of the webhook is not valid. Its operator has to renew it."),
    "hook_not_reached": gettext_lazy(
        "The webhook could not be reached. Check its address in the section On call of the design."
    ),
    "unsigned": gettext_lazy("Sent without a signature. %(detail)s"),
}


@dataclass(frozen=True)
class Fault:
    """A code of `WORDS` with its values, of which `detail` is what the server said."""

    code: str
    values: Mapping[str, str | int]

    @classmethod
    def of(cls, code: str, /, **values: str | int) -> Self:
        return cls(code, values)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls(data["code"], data["values"])

    def as_json(self) -> dict[str, Any]:
        return {"code": self.code, "values": dict(self.values)}

    def __str__(self) -> str:
        return str(labels.word(WORDS, self.code)) % self.values

    def in_english(self) -> str:
        """Return the line for the log, which is English on every page."""
        with translation.override("en"):
            return str(self)


def describe_fault(data: Mapping[str, Any]) -> str:
    """Say a stored fault in the language of the page; "" for none."""
    return str(Fault.from_json(data)) if data else ""


def name_mail_fault(error: OSError | ValueError) -> Fault:
    """Return why no mail was sent, from an error of Django's mail or of smtplib, whose errors are OSErrors."""
    place = f"{settings.EMAIL_HOST}:{settings.EMAIL_PORT}"
    match error:
        case smtplib.SMTPAuthenticationError():
            return Fault.of("password", place=place)
        case smtplib.SMTPSenderRefused():
            return Fault.of("sender", place=place, sender=error.sender, detail=_said(error.smtp_error))
        case smtplib.SMTPRecipientsRefused():
            _number, said = next(iter(error.recipients.values()))
            return Fault.of("recipient", place=place, detail=_said(said))
        case smtplib.SMTPResponseException():
            return Fault.of("refused", place=place, number=error.smtp_code, detail=_said(error.smtp_error))
        case smtplib.SMTPNotSupportedError():
            return Fault.of("not_offered", place=place, detail=_said(str(error)))
        case smtplib.SMTPException():  # smtplib hides what ended the connection behind an error of its own
            return Fault.of("slow" if isinstance(error.__context__, TimeoutError) else "broken_off", place=place)
        case TimeoutError():
            return Fault.of("slow", place=place)
        case ssl.SSLError():
            return Fault.of("no_tls", place=place)
        case ValueError():
            return Fault.of("bad_address")
    return Fault.of("not_reached", place=place)


def name_hook_fault(error: NotTaken) -> Fault:
    return Fault.of(error.code, **error.values)


def _said(words: bytes | str) -> str:
    """Return what a server said in one line that ends with a full stop."""
    text = words.decode(errors="replace") if isinstance(words, bytes) else words
    line = " ".join(text.split())[:CUT]
    return line if line.endswith(".") else f"{line}."
