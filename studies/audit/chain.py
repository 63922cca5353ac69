"""The chain of the audit log: add an entry, and find out whether someone has changed it.

Each study has a chain of its own, and the installation has one for what belongs to no study. Each entry holds the hash
of the one before, so whoever changes, removes or inserts one has to write all later ones anew.
"""

from collections.abc import Iterator
from typing import NamedTuple

from django.db import transaction
from django.utils import timezone

from studies.audit.acting import get_actor
from studies.models import AuditChain, AuditEntry

INSTALLATION = ""  # the key of what belongs to no study


@transaction.atomic
def record(study_key: str, act: AuditEntry.Act, thing: AuditEntry.Thing, code: str = "") -> AuditEntry:
    """Add what is being done now to the log of a study; call it in the transaction that does it, as its last part,
    since others wait for the lock until that ends."""
    chain, _is_new = AuditChain.objects.select_for_update().get_or_create(study_key=study_key)
    actor = get_actor()
    entry = AuditEntry(
        study_key=study_key,
        number=chain.length + 1,
        at=timezone.now(),
        account=actor.account,
        by_name=actor.name,
        act=act,
        thing=thing,
        code=code,
        source=actor.source,
        request=actor.request,
        before=chain.last_hash,
    )
    entry.hash = entry.compute_hash()
    entry.save()
    chain.length, chain.last_hash = entry.number, entry.hash
    chain.save(update_fields=["length", "last_hash"])
    return entry


class Fault(NamedTuple):
    """The first entry of a chain that does not fit. `entry`: its number; None where only the end does not fit."""

    entry: int | None
    message: str


class CheckedChain(NamedTuple):
    """The outcome of the check of one chain."""

    study_key: str
    entries: int
    last_hash: str
    fault: Fault | None


def check_chain(study_key: str) -> CheckedChain:
    """Compute a chain anew."""
    number, last = 0, ""
    for entry in AuditEntry.objects.filter(study_key=study_key).order_by("number").iterator():
        fault = find_fault(entry, number + 1, last)
        if fault:
            return CheckedChain(study_key, number, last, fault)
        number, last = entry.number, entry.hash
    return CheckedChain(study_key, number, last, find_fault_at_end(study_key, number, last))


def find_fault(entry: AuditEntry, number: int, before: str) -> Fault | None:
    if entry.number != number:
        return Fault(number, f"entry {number} is missing")
    if entry.before != before:
        return Fault(number, f"entry {number} does not follow the entry before it")
    if entry.hash != entry.compute_hash():
        return Fault(number, f"entry {number} is not as it was written")
    return None


def find_fault_at_end(study_key: str, number: int, last: str) -> Fault | None:
    end = AuditChain.objects.filter(study_key=study_key).first() or AuditChain()
    if end.length > number:
        return Fault(number + 1, f"entry {number + 1} is missing; {end.length} were written")
    if (end.length, end.last_hash) != (number, last):
        return Fault(None, f"the log ends with entry {number}, but its end was written as entry {end.length}")
    return None


def list_chains() -> Iterator[str]:
    """Yield the keys of all chains: the installation's first, then by key."""
    ends = set(AuditChain.objects.values_list("study_key", flat=True))
    yield from sorted(ends | set(AuditEntry.objects.order_by().values_list("study_key", flat=True).distinct()))
