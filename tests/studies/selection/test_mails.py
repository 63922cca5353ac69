"""`mail_decisions`: real mails to a real mail server, of which nothing is stored but that they were sent."""

import csv
import json
from email import message_from_string, policy
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from studies.models import Participation, SelectionDecision, Study
from studies.models.participation import digest
from studies.selection.decisions import decide
from tests.studies.care.servers import Box, free_port, mail_server
from tests.studies.selection.people import applicant

pytestmark = pytest.mark.django_db

ADDRESS = "{}@mail.example"


@pytest.fixture
def box(settings: Any) -> Any:
    box = Box()
    with mail_server(box) as port:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", port
        yield box


def decided(study: Study, token: str, *, admits: bool, language: str = "en") -> Participation:
    person = applicant(study)
    Participation.objects.filter(pk=person.pk).update(token_hash=digest(token), language=language)
    assert decide(person, admits=admits, reason="for the records")
    return person


def file_of(folder: Path, *rows: tuple[str, ...]) -> Path:
    path = folder / "addresses.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("code", "address", "url", "name"), *rows])
    return path


def row(person: Participation, token: str = "") -> tuple[str, ...]:
    url = f"https://lab.example/j/{token}/" if token else ""
    return person.code, ADDRESS.format(person.code.lower()), url, "Ann"


def run(path: Path, *arguments: str) -> tuple[dict[str, Any], str, int]:
    out, err, code = StringIO(), StringIO(), 0
    try:
        call_command("mail_decisions", "chosen", str(path), "--json", *arguments, stdout=out, stderr=err)
    except SystemExit as stop:
        code = int(stop.code or 0)
    return json.loads(out.getvalue().splitlines()[-1]), out.getvalue() + err.getvalue(), code


def counted(summary: dict[str, Any]) -> dict[str, int]:
    return {name: count for name, count in summary.items() if name != "study" and count}


def test_each_is_told_in_their_language_and_nothing_is_kept_of_the_addresses(
    study: Study, tmp_path: Path, box: Box
) -> None:
    chosen = decided(study, "one", admits=True)
    other = decided(study, "two", admits=True, language="zh")
    declined = decided(study, "three", admits=False)
    waiting = applicant(study)
    path = file_of(tmp_path, row(chosen, "one"), row(other), row(declined, "three"), row(waiting))

    summary, told, code = run(path)
    assert (counted(summary), code, box.mails) == ({"mails": 3, "undecided": 1}, 0, [])
    assert "https://lab.example/j/one/" in told
    assert "3 mails would be sent: --send sends them.\n1 person gets none: nothing has been decided on them." in told

    summary, told, code = run(path, "--send")
    assert (counted(summary), code) == ({"mails": 3, "sent": 3, "undecided": 1}, 0)
    assert box.recipients() == [ADDRESS.format(person.code.lower()) for person in (chosen, other, declined)]
    english, chinese, thanks = box.texts()
    assert "https://lab.example/j/one/" in english
    assert f"give your code {chosen.code}." in english
    assert "To continue, open your personal link again." not in english
    assert chinese != english
    assert other.code in chinese
    assert "not chosen" in thanks
    assert "/j/" not in thanks
    assert all("for the records" not in text for text in box.texts())
    assert "@mail.example" not in told
    assert "@mail.example" not in everything_stored()
    assert not SelectionDecision.objects.filter(mailed_at=None).exists()

    summary, _, _ = run(path, "--send")
    assert counted(summary) == {"undecided": 1, "mailed_before": 3}
    assert len(box.mails) == 3


def everything_stored() -> str:
    with connection.cursor() as cursor:
        words = []
        for table in connection.introspection.table_names():
            cursor.execute(f'SELECT * FROM "{table}"')
            words.append(str(cursor.fetchall()))
    return "".join(words)


def test_only_those_asked_for_get_a_mail_and_answers_go_to_the_lab(study: Study, tmp_path: Path, box: Box) -> None:
    path = file_of(tmp_path, row(decided(study, "a", admits=True)), row(decided(study, "b", admits=False)))
    assert counted(run(path, "--send", "--only", "declined")[0]) == {"mails": 1, "sent": 1}
    [(_, source)] = box.mails
    message = message_from_string(source, policy=policy.default)
    assert message["Reply-To"] == study.current().spec().contact
    assert message["Subject"] == "Your application to a study"


def test_mail_that_was_not_taken_is_tried_again_and_its_address_is_not_told(
    study: Study, tmp_path: Path, settings: Any
) -> None:
    path = file_of(tmp_path, row(decided(study, "a", admits=True)))
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", free_port()
    summary, told, code = run(path, "--send")
    assert (counted(summary), code) == ({"mails": 1, "failed": 1}, 1)
    assert "line 2: not sent (ConnectionRefusedError)." in told
    assert "@mail.example" not in told
    box = Box()
    with mail_server(box, settings.EMAIL_PORT):
        assert counted(run(path, "--send")[0]) == {"mails": 1, "sent": 1}


def test_faults_of_the_file_are_told_together_and_nothing_is_sent(study: Study, tmp_path: Path, box: Box) -> None:
    one, other = decided(study, "one", admits=True), decided(study, "two", admits=True)
    path = file_of(
        tmp_path,
        row(one, "one"),
        row(one, "one"),
        ("nobody", "a@mail.example", "", ""),
        (other.code, "not an address", "", ""),
        row(other, "one"),
    )
    with pytest.raises(CommandError) as refusal:
        run(path, "--send")
    assert [line.removeprefix(f"{path}:") for line in str(refusal.value).splitlines()] == [
        f"3: code: {one.code} is on line 2 already",
        "4: code: the study has no one with the code 'nobody'",
        "5: address: is not a mail address",
        f"6: url: is not the personal link of {other.code}",
    ]
    assert box.mails == []


def test_file_without_its_columns_and_server_without_mail_are_refused(
    study: Study, tmp_path: Path, settings: Any
) -> None:
    path = tmp_path / "addresses.csv"
    path.write_text("code,mail\n", encoding="utf-8")
    with pytest.raises(CommandError, match="1: the column address is missing"):
        run(path)
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
    with pytest.raises(CommandError, match="EMAIL_URL is not set, so this server sends no mail"):
        run(path, "--send")
