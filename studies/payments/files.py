"""The ledger as CSV: for Prolific, for a bank, and whole."""

from collections.abc import Iterable, Iterator
from typing import Any

from studies.models import LedgerEntry, Study
from studies.payments.ledger import Account
from studies.payments.payees import has_payee, read_prolific_id

Rows = Iterator[Iterable[Any]]


def prolific_rows(accounts: Iterable[Account]) -> Rows:
    """Yield `id,amount` without a header, as Prolific's bulk bonus takes it, for people whose id is known.

    Raises ContactKeyError.
    """
    for account in accounts:
        if account.balance > 0 and account.person and has_payee(account.person):
            yield read_prolific_id(account.person), account.balance


def bank_rows(study: Study, accounts: Iterable[Account]) -> Rows:
    """Yield codes and amounts. Whoever pays joins them with bank details, which are not stored here."""
    yield "code", "amount", "currency", "reference"
    for account in accounts:
        if account.balance > 0:
            yield account.code, account.balance, account.currency, f"{study.key} {account.code}"


def ledger_rows(study: Study) -> Rows:
    """Yield every entry, the oldest first. The code is empty once a person is erased."""
    yield (
        "entry",
        "time",
        "code",
        "kind",
        "amount",
        "currency",
        "minutes",
        "rate",
        "reason",
        "undoes",
        "by",
        "record_code",
    )
    entries: Iterable[LedgerEntry] = study.ledger.select_related("participation")
    for one in entries:
        yield (
            *(one.pk, one.at, one.participation.code if one.participation else "", one.kind, one.amount, one.currency),
            *(one.minutes, one.rate, one.reason, one.undoes_id, one.by_name, one.record_code),
        )
