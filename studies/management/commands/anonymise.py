import sys
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from studies.data.anonymising import anonymise, describe_rules
from studies.data.erasure import NotFinished
from studies.management.command import Command as Base


class Command(Base):
    help = (
        "Takes identifiers and free text out of a closed study, in place of deleting it: words of people and replies, "
        "reasons, notes, recordings, codes and links. Scores, chosen options, numbers, times, language and country "
        "stay. Exports on this server are removed, and can be made anew. It cannot be undone; type the study's key to "
        "confirm."
    )

    def add(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY")
        parser.add_argument("--confirm", metavar="STUDY", help="the study's key once more, instead of typing it")

    def work(self, study: str, confirm: str | None, **_options: Any) -> dict[str, Any]:
        study_row = self.study(study)
        if not study_row.is_finished():
            self.refuse_unfinished(study)
        if confirm is None and sys.stdin.isatty():
            for name, rule in describe_rules():
                self.stdout.write(f"{name.replace('_', ' ')}: {rule}")
            confirm = input(f"Type {study} to anonymise it for good: ")
        if confirm != study:
            self.refuse(f"Nothing was changed. Confirm with --confirm {study}.")
        try:
            records = anonymise(study_row)
        except NotFinished:
            self.refuse_unfinished(study)
        for kind, count in {**records.deleted, **records.cleared}.items():
            if count:
                self.say(f"{kind.replace('_', ' ')}: {count} {'deleted' if kind in records.deleted else 'cleared'}")
        for folder in records.folders:
            self.say(f"files removed: {folder}")
        for path in records.failed:
            self.say(f"could not be removed: {path}. A running server tries again once an hour; or delete it yourself.")
        for path in records.remaining:
            self.say(f"still names someone, delete it unless it must stay: {path}")
        return {"study": study, **asdict(records)}
