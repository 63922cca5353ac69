"""Under which name Prolific pays a person. It is contact data: encrypted, and in no export but the file that pays."""

import re
from collections.abc import Iterable, Iterator

from django.db import transaction

from studies.models import Participation, Payee, Study
from studies.payments.sealing import reseal, seal, unseal

PARAMETER = "PROLIFIC_PID"  # as Prolific names it in the addresses to which it sends people
AT_ONCE = 500  # rows
SEPARATOR = re.compile("[,;\t]")  # as spreadsheets copy or save two columns
PROLIFIC_ID = re.compile(r"[0-9a-f]{24}", re.ASCII)


def remember_payee(person: Participation, prolific_id: str) -> bool:
    """Store the person's id at Prolific, in the place of an earlier one; return whether it can be one.

    Raises ContactKeyError where there is no key to encrypt it.
    """
    if not PROLIFIC_ID.fullmatch(prolific_id):
        return False
    Payee.objects.update_or_create(participation=person, defaults={"sealed_id": seal(prolific_id)})
    return True


def has_payee(person: Participation) -> bool:
    return hasattr(person, "payee")


def read_prolific_id(person: Participation) -> str:
    """Return the person's id at Prolific; empty if it is not known. Raises ContactKeyError."""
    return unseal(person.payee.sealed_id) if has_payee(person) else ""


def find_shared_ids(people: Iterable[Participation]) -> list[list[str]]:
    """Return the codes of people who have the same id, group by group: someone took part more than once. Raises
    ContactKeyError."""
    codes: dict[str, list[str]] = {}
    for person in people:
        if has_payee(person):
            codes.setdefault(read_prolific_id(person), []).append(person.code)
    return [sorted(group) for group in codes.values() if len(group) > 1]


@transaction.atomic
def reseal_payees() -> int:
    """Encrypt all ids anew, by the first key; return how many. Raises ContactKeyError, and then changes nothing."""
    payees = list(Payee.objects.select_for_update().order_by("pk"))
    for payee in payees:
        payee.sealed_id = reseal(payee.sealed_id)
    Payee.objects.bulk_update(payees, ["sealed_id"], batch_size=AT_ONCE)
    return len(payees)


def remember_payees(study: Study, text: str) -> tuple[int, list[str]]:
    """Store the ids of a text with lines `code,id`; return how many, and the lines that cannot be read."""
    people = {person.code: person for person in study.participations.real()}
    refused = [line for line, code, number in read_lines(text) if not remember(people.get(code), number)]
    return sum(1 for _ in read_lines(text)) - len(refused), refused


def remember(person: Participation | None, prolific_id: str) -> bool:
    return person is not None and remember_payee(person, prolific_id)


def read_lines(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield each line that is not blank, with the code and the id in it."""
    for line in filter(None, map(str.strip, text.splitlines())):
        code, number = (*SEPARATOR.split(line, maxsplit=1), "")[:2]
        yield line, code.strip().upper(), number.strip().lower()
