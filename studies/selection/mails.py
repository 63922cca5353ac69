"""Mails that tell applicants how it was decided. The addresses are in a file of the researcher's, never stored."""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.mail import EmailMessage
from django.core.validators import validate_email
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from dialogue.languages import CODES, get_language
from studies.design.spec import StudySpec
from studies.models import SelectionDecision, Study
from studies.models.participation import digest

CODE, ADDRESS, URL = "code", "address", "url"
HEADER = (CODE, ADDRESS)  # and URL, where the file has it
WAITING, MAILED = "undecided", "mailed_before"


class AddressesRefused(Exception):
    """The file has faults, so no mail is sent. `faults`: one line each."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("\n".join(faults))
        self.faults = faults


@dataclass(frozen=True)
class Mail:
    """A mail to be sent. `line`: of the file, by which a failure is told; `url`: their personal link, or empty."""

    line: int
    address: str
    url: str
    decision: SelectionDecision

    def write(self, spec: StudySpec) -> EmailMessage:
        person = self.decision.participation
        language = person.language if person.language in CODES else spec.languages[0]
        with translation.override(get_language(language).django):
            subject, text = _("Your application to a study"), self.text(spec, spec.title[language])
        sender = settings.DEFAULT_FROM_EMAIL
        host = sender.rpartition("@")[2].rstrip(">") or "localhost"
        headers = {"Message-ID": f"<selection.{self.decision.pk}@{host}>", "Auto-Submitted": "auto-generated"}
        reply_to = [spec.contact] if is_address(spec.contact) else None
        return EmailMessage(subject, text, sender, [self.address], headers=headers, reply_to=reply_to)

    def text(self, spec: StudySpec, title: str) -> str:
        paragraphs = self.write_admission(title) if self.decision.admitted else self.write_decline(title)
        about = {"contact": spec.contact, "person": self.decision.participation.code}
        questions = _(
            "Do you have questions, or do you want your answers deleted? Write to %(contact)s and give your code "
            "%(person)s."
        )
        return "\n\n".join([*paragraphs, questions % about]) + "\n"

    def write_admission(self, title: str) -> Iterator[str]:
        yield _("You applied to take part in “%(title)s”. You have been chosen: thank you for taking part.") % {
            "title": title
        }
        if self.url:
            yield _("Continue with your personal link:")
            yield self.url
        else:
            yield _("To continue, open your personal link again.")
        yield _("Keep the link to yourself: whoever opens it continues in your place.")

    def write_decline(self, title: str) -> Iterator[str]:
        yield _("You applied to take part in “%(title)s”.") % {"title": title}
        yield _(
            "Thank you for applying, and for what you wrote. Only a few people can take part, and this time you were "
            "not chosen. This says nothing about you or about what you described. The study ends here for you."
        )
        yield _("Your personal link still shows where you can find help.")


def is_address(text: str) -> bool:
    try:
        validate_email(text)
    except ValidationError:
        return False
    return True


# The file


def read_mails(study: Study, path: Path) -> tuple[list[Mail], dict[str, int]]:
    """Return the mails that a file asks for, and how many people in it get none, by reason. Raises AddressesRefused."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.DictReader(file)
        if missing := [name for name in HEADER if name not in (reader.fieldnames or ())]:
            raise AddressesRefused([f"{path}:1: the column {name} is missing" for name in missing])
        rows = [(reader.line_num, {key: (value or "").strip() for key, value in row.items() if key}) for row in reader]
    people = {person.code: person for person in study.participations.select_related("selection_decision")}
    content = _File(path, people)
    for line, row in rows:
        content.take(line, row)
    if content.faults:
        raise AddressesRefused(content.faults)
    return content.mails, content.left_out


class _File:
    """The outcome of reading the rows of a file. A fault names a line and never an address."""

    def __init__(self, path: Path, people: Mapping[str, Any]) -> None:
        self.path, self.people = path, people
        self.mails: list[Mail] = []
        self.left_out = {WAITING: 0, MAILED: 0}
        self.faults: list[str] = []
        self.lines: dict[str, int] = {}

    def take(self, line: int, row: Mapping[str, str]) -> None:
        code, address, url = row[CODE], row[ADDRESS], row.get(URL, "")
        person = self.people.get(code)
        if fault := self.fault_of(person, code, address, url):
            self.faults.append(f"{self.path}:{line}: {fault}")
            return
        self.lines[code] = line
        decision = getattr(person, "selection_decision", None)
        if decision is None:
            self.left_out[WAITING] += 1
        elif decision.mailed_at is not None:
            self.left_out[MAILED] += 1
        else:
            self.mails.append(Mail(line, address, url, decision))

    def fault_of(self, person: Any, code: str, address: str, url: str) -> str:
        if person is None:
            return f"code: the study has no one with the code {code!r}"
        if code in self.lines:
            return f"code: {code} is on line {self.lines[code]} already"
        if not is_address(address):
            return "address: is not a mail address"
        if url and digest(get_token(url)) != person.token_hash:
            return f"url: is not the personal link of {code}"
        return ""


def get_token(url: str) -> str:
    """Return the last part of a personal link."""
    return urlsplit(url).path.rstrip("/").rpartition("/")[2]


# Sending


def send_mails(
    mails: Sequence[Mail], spec: StudySpec, on_mail: Callable[[], None] = lambda: None
) -> list[tuple[Mail, str]]:
    """Send mails, and store of each one taken by the mail server when that was. Return those not taken, with why."""
    failed = []
    for mail in mails:
        try:
            mail.write(spec).send()
        except OSError as error:  # smtplib's errors are OSErrors; their texts may hold the address
            failed.append((mail, type(error).__name__))
        else:
            SelectionDecision.objects.filter(pk=mail.decision.pk).update(mailed_at=timezone.now())
        on_mail()
    return failed
