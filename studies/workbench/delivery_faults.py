"""Why a mail server or a webhook did not take a message: a code with values, and the words for it.

The words say what to do to whoever runs the server, or edits the design.
"""

import smtplib
import ssl
from collections.abc import Mapping
from typing import Any, ClassVar

from django.conf import settings
from django.utils import translation
from django.utils.translation import gettext_lazy

from dialogue.coded import Coded
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


class DeliveryFault(Coded):
    """Why a message was not taken. `place`: the mail server, as host:port."""

    VALUES: ClassVar = {
        **dict.fromkeys(
            ("no_contact", "bad_address", "no_mail", "hook_slow", "hook_certificate", "hook_not_reached"), ()
        ),
        **dict.fromkeys(("not_reached", "slow", "broken_off", "no_tls", "password"), ("place",)),
        **dict.fromkeys(("not_offered", "recipient"), ("place", "detail")),
        "sender": ("place", "sender", "detail"),
        "refused": ("place", "number", "detail"),
        "unwritable": ("kind",),
        "hook_status": ("status",),
        "unsigned": ("detail",),
    }

    def __str__(self) -> str:
        return labels.word(WORDS, self.code) % self.values

    def in_english(self) -> str:
        """Return the line for the log, which is English on every page."""
        with translation.override("en"):
            return str(self)


def describe_fault(data: Mapping[str, Any]) -> str:
    """Say a stored fault in the language of the page; "" for none."""
    return str(DeliveryFault.from_json(data)) if data else ""


def name_mail_fault(error: OSError | ValueError) -> DeliveryFault:
    """Return why no mail was sent, from an error of Django's mail or of smtplib, whose errors are OSErrors."""
    place = f"{settings.EMAIL_HOST}:{settings.EMAIL_PORT}"
    match error:
        case smtplib.SMTPAuthenticationError():
            return DeliveryFault.of("password", place=place)
        case smtplib.SMTPSenderRefused():
            return DeliveryFault.of("sender", place=place, sender=error.sender, detail=_quote(error.smtp_error))
        case smtplib.SMTPRecipientsRefused():
            _number, said = next(iter(error.recipients.values()))
            return DeliveryFault.of("recipient", place=place, detail=_quote(said))
        case smtplib.SMTPResponseException():
            return DeliveryFault.of("refused", place=place, number=error.smtp_code, detail=_quote(error.smtp_error))
        case smtplib.SMTPNotSupportedError():
            return DeliveryFault.of("not_offered", place=place, detail=_quote(str(error)))
        case smtplib.SMTPException():  # smtplib hides what ended the connection behind an error of its own
            return DeliveryFault.of(
                "slow" if isinstance(error.__context__, TimeoutError) else "broken_off", place=place
            )
        case TimeoutError():
            return DeliveryFault.of("slow", place=place)
        case ssl.SSLError():
            return DeliveryFault.of("no_tls", place=place)
        case ValueError():
            return DeliveryFault.of("bad_address")
    return DeliveryFault.of("not_reached", place=place)


def name_hook_fault(error: NotTaken) -> DeliveryFault:
    return DeliveryFault.of(error.code, **error.values)


def _quote(words: bytes | str) -> str:
    """Return what a server said in one line that ends with a full stop."""
    text = words.decode(errors="replace") if isinstance(words, bytes) else words
    line = " ".join(text.split())[:CUT]
    return line if line.endswith(".") else f"{line}."
