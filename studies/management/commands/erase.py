import sys
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from studies.data.erasure import NotFinished, RemovedRecords, erase, erase_everybody, erase_imported
from studies.data.erasure_proof import Proof, collect_words, search_for
from studies.data.holdings import scope_of, scope_of_imported, scope_of_study
from studies.data.test_data import remove_test_data
from studies.management.command import Command as Base
from studies.participation.counts import open_risks_of, open_risks_of_people

ELSEWHERE = (
    "emostudy looks under var/, and in its exports elsewhere and results of `analyse` beside them. Delete other "
    "results and copies yourself."
)
AGAIN = "A running server tries again once an hour; or delete it yourself."
NEXT = (
    "Look at each of these places. A file: delete it, or take the words out. A table: someone else's text or a note "
    "of your team may repeat the words; find it on the researchers' pages and remove it there. If nothing "
    "explains it, report it as a fault (SECURITY.md)."
)

IN_DANGER = (
    "This person may be in danger: a sign is open on the Safety desk. It stays there without their words, and its "
    "alarm goes on until someone acknowledges it; no message reaches the person any more once they are erased."
)

SOMEONE_IN_DANGER = (
    "Someone may be in danger: a sign is open on the Safety desk. It stays there without words, and its alarm goes on "
    "until someone acknowledges it; no message reaches the person any more once they are erased."
)


class Command(Base):
    help = (
        "Removes a person's data everywhere it went on this server, at once, says what it removed and which exports "
        "may have held the person, and then looks for the person's words in the database and every file under var/. "
        "With --imported, a person whom only imported files name. With --everyone, all people of a closed study. With "
        "--test-data, all bots and tries of a study; a version that only they have met can then change again."
    )

    def add(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY")
        parser.add_argument("participant", metavar="PARTICIPANT", nargs="?", help="the person's code")
        parser.add_argument("--imported", metavar="NAME", help="a seeker or rater as the imported file names them")
        parser.add_argument("--everyone", action="store_true", help="all people of a closed study, imported ones too")
        parser.add_argument("--test-data", action="store_true", help="all test data of the study, in place of a person")
        parser.add_argument("--yes", action="store_true", help="do not ask to type the code or name again")

    def work(
        self,
        study: str,
        participant: str | None,
        imported: str | None,
        everyone: bool,
        test_data: bool,
        yes: bool,
        **_options: Any,
    ) -> dict[str, Any]:
        if sum((bool(participant), bool(imported), everyone, test_data)) != 1:
            self.refuse("Name a person's code, or give --imported NAME, --everyone or --test-data.")
        if test_data:
            return self.erase_test_data(study)
        self.asks = not yes
        if everyone:
            return self.erase_everyone(study)
        return self.erase_imported(study, imported) if imported else self.erase_person(study, participant)

    def confirm(self, name: str, whose: str = "") -> None:
        """Ask whoever sits at a terminal to type the code or name again; refuse another. Scripts are not asked."""
        if not (self.asks and sys.stdin.isatty()):
            return
        self.stderr.write(f"This removes all data of {whose or name} at once. It cannot be undone.")
        if input(f"Type {name} to confirm: ").strip() != name:
            self.refuse(f"That is not {name}. Nothing was removed.")

    def erase_test_data(self, study: str) -> dict[str, Any]:
        study_row = self.study(study)
        with self.progress(0, "test data") as progress:
            removed = remove_test_data(study_row, lambda done, total: progress.set(done, total, "test data"))
        if not removed.people:
            self.say(f"{study} has no test data.")
            return {"study": study, "people": 0}
        self.say(f"test people: {removed.people} removed")
        for kind, count in removed.rows.items():
            if count:
                self.say(f"{kind.replace('_', ' ')}: {count} removed")
        for folder in removed.files.removed:
            self.say(f"files removed: {folder}")
        for path in removed.files.failed:
            self.say(f"could not be removed: {path}. {AGAIN}")
        for path in removed.files.remaining:
            self.say(f"still names someone of the test data: {path}")
        return {"study": study, "people": removed.people, "rows": dict(removed.rows), **asdict(removed.files)}

    def erase_person(self, study: str, participant: str | None) -> dict[str, Any]:
        person = self.study(study).participations.filter(code=participant).first()
        if person is None:
            self.refuse(f"There is no person with the code {participant!r} in the study {study!r}.")
        if open_risks_of(person).exists():
            self.stderr.write(IN_DANGER)  # also where the command is to be quiet
        self.confirm(person.code)
        words = collect_words(scope_of(person))
        removed = erase(person)
        proof = search_for(words)
        self.tell(participant or "", removed, proof)
        self.say(f"{participant}: only the code, the track, the withdrawal, payments and the receipt are kept.")
        self.say(f"receipt: {removed.receipt}")
        self.say(ELSEWHERE)
        return {"study": study, "participant": participant, **asdict(removed), "proof": asdict(proof)}

    def erase_imported(self, study: str, name: str) -> dict[str, Any]:
        study_row = self.study(study)
        self.confirm(name)
        words = collect_words(scope_of_imported(study_row, name))
        removed = erase_imported(study_row, name)
        if not any(removed.rows.values()):
            self.refuse(f"No imported conversation or rater of the study {study!r} has the name {name!r}.")
        proof = search_for(words)
        self.tell(name, removed, proof)
        self.say(f"{ELSEWHERE} The imported file itself is yours.")
        return {"study": study, "imported": name, **asdict(removed), "proof": asdict(proof)}

    def erase_everyone(self, study: str) -> dict[str, Any]:
        study_row = self.study(study)
        if not study_row.is_finished():
            self.refuse_unfinished(study)
        if self.asks and not sys.stdin.isatty():
            self.refuse(f"Nothing was removed. To delete the data of all people of {study}, add --yes.")
        if open_risks_of_people(study_row).exists():
            self.stderr.write(SOMEONE_IN_DANGER)
        self.confirm(study, f"all people of {study}")
        words = collect_words(scope_of_study(study_row))
        try:
            removed = erase_everybody(study_row)
        except NotFinished:
            self.refuse_unfinished(study)
        proof = search_for(words)
        self.tell(f"people of {study}", removed, proof)
        self.say(
            f"{study}: only codes, tracks, withdrawals, payments, adverse events without words and receipts are kept."
        )
        self.say(ELSEWHERE)
        return {"study": study, **asdict(removed), "proof": asdict(proof)}

    def tell(self, name: str, removed: RemovedRecords, proof: Proof) -> None:
        for kind, count in removed.rows.items():
            if count:
                self.say(f"{kind.replace('_', ' ')}: {count} removed")
        for folder in removed.folders:
            self.say(f"files removed: {folder}")
        for export in removed.exports:
            self.say(f"may have held {name}, delete copies: {export}")
        for path in removed.failed:
            self.say(f"could not be removed: {path}. {AGAIN}")
        for path in removed.remaining:
            self.say(f"still names {name}, delete it unless it must stay: {path}")
        if not proof.pieces:
            self.say("did not search for their words: they wrote no longer passage that is theirs alone")
            return
        tables = f"{proof.tables} tables and " if proof.tables else ""
        self.say(
            f"looked for {proof.pieces} pieces of their words in {tables}{proof.files} files ({proof.bytes} bytes): "
            f"found in {len(proof.found)}"
        )
        for place in proof.found:
            self.say(f"still holds their words: {place}")
        if proof.found:
            self.say(NEXT)
