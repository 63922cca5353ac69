from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from studies.care.alarms import CONSOLE
from studies.design.spec import StudySpec
from studies.management.command import Command as Base
from studies.selection.mails import MAILED, WAITING, AddressesRefused, Mail, read_mails, send_mails
from studies.workbench.labels import one_or_more


class Command(Base):
    help = (
        "Mails applicants the decision about them. Admitted people get their personal link, and declined people get "
        "thanks. FILE.csv has the columns code, address and, for the links, url (as invite --csv writes it). No "
        "address is stored or logged; only that a mail was sent, so that no one gets two. Without --send it shows what "
        "it would send."
    )

    def add(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY")
        parser.add_argument("file", type=Path, metavar="FILE.csv")
        parser.add_argument("--only", choices=("admitted", "declined"), help="write to these alone")
        parser.add_argument("--send", action="store_true", help="send the mails")

    def work(self, study: str, file: Path, only: str | None, send: bool, **_options: Any) -> dict[str, Any]:
        study_row = self.study(study)
        if send and settings.EMAIL_BACKEND == CONSOLE:
            self.refuse("EMAIL_URL is not set, so this server sends no mail (docs/hosting.md).")
        try:
            mails, left_out = read_mails(study_row, file)
        except AddressesRefused as refusal:
            self.refuse(str(refusal))
        except (OSError, UnicodeDecodeError) as error:
            self.refuse(f"{file}: cannot be read: {getattr(error, 'strerror', None) or 'it is not UTF-8'}")
        mails = [mail for mail in mails if only in (None, word_of(mail))]
        spec = study_row.current().spec()
        failed = self.send(mails, spec) if send else self.show(mails, spec)
        self.tell(left_out)
        return {
            "study": study,
            "mails": len(mails),
            "sent": len(mails) - failed if send else 0,
            "failed": failed,
            **left_out,
        }

    def send(self, mails: list[Mail], spec: StudySpec) -> int:
        with self.progress(len(mails), "mail_decisions") as progress:
            failed = send_mails(mails, spec, progress.step)
        for mail, why in failed:
            self.stderr.write(f"line {mail.line}: not sent ({why}). The same command tries it again.")
        sent = len(mails) - len(failed)
        self.say(f"{sent} {one_or_more(sent, 'mail was', 'mails were')} sent.")
        return len(failed)

    def show(self, mails: list[Mail], spec: StudySpec) -> int:
        """Show one mail of each kind and language."""
        examples = {(word_of(mail), mail.decision.participation.language): mail for mail in reversed(mails)}
        for (word, _language), mail in sorted(examples.items()):
            message = mail.write(spec)
            self.say(f"--- {word}, line {mail.line}: {message.subject}\n{message.body}")
        self.say(f"{len(mails)} {one_or_more(len(mails), 'mail', 'mails')} would be sent: --send sends them.")
        return 0

    def tell(self, left_out: dict[str, int]) -> None:
        if count := left_out[WAITING]:
            self.say(
                f"{count} {one_or_more(count, 'person gets', 'people get')} none: nothing has been decided on them."
            )
        if count := left_out[MAILED]:
            self.say(f"{count} {one_or_more(count, 'person has', 'people have')} had a mail before.")


def word_of(mail: Mail) -> str:
    return "admitted" if mail.decision.admitted else "declined"
