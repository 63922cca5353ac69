from typing import Any

from django.core.management.base import CommandParser
from django.db import connection

from studies.audit.chain import CheckedChain, check_chain, list_chains
from studies.management.command import Command as Base
from studies.models import AuditEntry
from studies.models.append_only import is_guarded

OF_INSTALLATION = "the installation"


class Command(Base):
    help = (
        "Computes the audit log anew and names the first entry that does not fit. Keep the last hash elsewhere, and "
        "give it to --holds later: so you also notice a log that was written anew as a whole."
    )

    def add(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY", nargs="?", help="one study; without it, all of them")
        parser.add_argument("--holds", metavar="HASH", help="also fail unless the log of STUDY holds this hash")

    def work(self, study: str | None, holds: str | None, **_options: Any) -> dict[str, Any]:
        if holds and not study:
            self.refuse("--holds needs a STUDY: each has a log of its own.")
        keys = [study] if study else list(list_chains())
        if study and study not in list_chains():
            self.study(study)  # without one, a log can only be that of a study that was deleted
        checked = [check_chain(key) for key in keys]
        for one in checked:
            self.say(describe(one))
        failed = [describe(one) for one in checked if one.fault]
        if holds and not AuditEntry.objects.filter(study_key=study, hash=holds).exists():
            failed.append(f"{study}: no entry has the hash {holds}.")
            self.say(failed[-1])
        if not is_guarded(connection):
            failed.append("The database lets entries be changed: the triggers of the audit log are missing.")
            self.say(failed[-1])
        return {"logs": [as_summary(one) for one in checked], "failed": failed}


def describe(one: CheckedChain) -> str:
    name = one.study_key or OF_INSTALLATION
    if one.fault:
        return f"{name}: {one.fault.message}."
    return f"{name}: {one.entries} entries fit. Last hash: {one.last_hash or 'none'}"


def as_summary(one: CheckedChain) -> dict[str, Any]:
    fault = {"entry": one.fault.entry, "message": one.fault.message} if one.fault else None
    return {"study": one.study_key, "entries": one.entries, "last_hash": one.last_hash, "fault": fault}
