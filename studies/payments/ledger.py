"""The payment ledger: what people are owed by the study's rule, corrections, and what was paid.

The rule is that of the version with which a person began. What it says is booked once a person is over; where it later
says more, as after they were let back, the difference is booked too. It never takes anything back but the bonus of
people who were excluded. Test data is not paid.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.utils import timezone

from studies.design.payment_spec import PaymentSpec, count_minutes, exact, get_owed
from studies.models import LedgerEntry, Participation, Study
from studies.models.participation import OVER, Status
from studies.participation.time_spent import seconds_spent

Kind = LedgerEntry.Kind
ADDS = (Kind.DUE, Kind.BONUS, Kind.CORRECTION)  # to what is owed
ZERO = Decimal(0)
SAME_PRESS = timedelta(seconds=10)  # within which an equal correction is the same one, sent twice


class NotAsSeen(Exception):
    """The account has changed since it was looked at."""


@dataclass
class Account:
    """The ledger of one person in one currency, summed. `paid_entry`: the last payment that is not undone; `person`:
    None once they are erased."""

    record_code: str
    person: Participation | None
    currency: str
    sums: dict[str, Decimal] = field(default_factory=lambda: dict.fromkeys(Kind.values, ZERO))
    minutes: int | None = None
    rate: Decimal | None = None
    paid_entry: LedgerEntry | None = None

    @property
    def code(self) -> str:
        """Return the person's code; of someone who is erased, their record code."""
        return self.person.code if self.person else self.record_code

    def add(self, entry: LedgerEntry) -> None:
        self.sums[entry.kind] += entry.amount
        if entry.kind == Kind.DUE:
            self.minutes, self.rate = entry.minutes, entry.rate
        elif entry.kind == Kind.PAID and not hasattr(entry, "undone_by"):
            self.paid_entry = entry

    @property
    def owed(self) -> Decimal:
        """Return the whole sum that the person gets."""
        return sum((self.sums[kind] for kind in ADDS), ZERO)

    @property
    def paid(self) -> Decimal:
        return self.sums[Kind.PAID] - self.sums[Kind.UNDONE]

    @property
    def balance(self) -> Decimal:
        """Return the unpaid amount; negative after an overpayment."""
        return self.owed - self.paid


def get_accounts(study: Study) -> list[Account]:
    """Return the accounts of everyone who has an entry, in the order of their codes."""
    entries = study.ledger.select_related("participation__payee", "undone_by")
    accounts: dict[tuple[str, str], Account] = {}
    for entry in entries:
        new = Account(entry.record_code, entry.participation, entry.currency)
        accounts.setdefault((entry.record_code, entry.currency), new).add(entry)
    return sorted(accounts.values(), key=lambda account: (account.code, account.currency))


@transaction.atomic
def book_owed(study: Study) -> int:
    """Book what the study's rule owes to people who are over; return how many entries are new."""
    Study.objects.select_for_update().get(pk=study.pk)
    rules = {protocol.pk: protocol.spec().payment for protocol in study.protocols.all()}
    accounts = {account.record_code: account for account in get_accounts(study)}
    people = study.participations.people().filter(status__in=OVER, protocol__isnull=False, record_code__isnull=False)
    entries = [
        entry
        for person in people.order_by("pk")
        if (rule := rules[person.protocol_id])
        for entry in new_entries(person, rule, accounts.get(person.record_code, open_account(person, rule.currency)))
    ]
    LedgerEntry.objects.bulk_create(entries)
    return len(entries)


def open_account(person: Participation, currency: str) -> Account:
    """Return the account of a person who has no entry yet."""
    return Account(person.record_code or "", person, currency)


def new_entries(person: Participation, rule: PaymentSpec, account: Account) -> list[LedgerEntry]:
    """Return the entries that bring the account in line with the rule."""
    own = {"study_id": person.study_id, "participation": person, "currency": rule.currency}
    own["record_code"] = account.record_code
    minutes = count_minutes(get_seconds(person))
    share = person.position / len(person.plan) if person.plan else 0.0
    more = get_owed(rule, status=person.status, minutes=minutes, share=share) - account.sums[Kind.DUE]
    entries = []
    if more > 0:
        timed = {"minutes": minutes, "rate": rule.get_rate()} if rule.per_hour else {}
        entries.append(LedgerEntry(kind=Kind.DUE, amount=more, **own, **timed))
    if bonus := missing_bonus(person, rule, account):
        entries.append(LedgerEntry(kind=Kind.BONUS, amount=bonus, **own))
    return entries


def get_seconds(person: Participation) -> int:
    """Return the time they spent; it is stored for people who completed, left or were timed out."""
    return person.active_seconds or seconds_spent(person)


def missing_bonus(person: Participation, rule: PaymentSpec, account: Account) -> Decimal:
    """Return the bonus that is not booked yet; negative where it is taken back from someone who was excluded."""
    booked = account.sums[Kind.BONUS]
    if person.excluded:
        return -booked
    return max(exact(rule.bonus) - booked, ZERO) if person.status == Status.COMPLETED else ZERO


@transaction.atomic
def pay(study: Study, seen: Mapping[str, Decimal], user: AbstractBaseUser, *, reason: str = "") -> list[LedgerEntry]:
    """Book that people were paid their balance. `seen`: by code, the balance that was looked at. Raises NotAsSeen where
    one has changed since, and then books nothing."""
    Study.objects.select_for_update().get(pk=study.pk)
    now = timezone.now()  # one time for all tells what was booked together
    return [
        enter(study, account, Kind.PAID, account.balance, user, reason=reason, at=now)
        for account in get_seen(study, seen)
    ]


def get_seen(study: Study, seen: Mapping[str, Decimal]) -> list[Account]:
    """Return the accounts of these codes. Raises NotAsSeen where a balance is not the one that was looked at."""
    due = {account.code: account for account in get_accounts(study) if account.balance > 0}
    changed = sorted(code for code, amount in seen.items() if code not in due or due[code].balance != amount)
    if changed:
        raise NotAsSeen(", ".join(changed))
    return [due[code] for code in seen]


def get_last_booking(accounts: Iterable[Account]) -> list[LedgerEntry]:
    """Return the payments booked together last that are not undone; empty where there are fewer than two."""
    paid = [account.paid_entry for account in accounts if account.paid_entry]
    last = max(paid, key=lambda entry: entry.at, default=None)
    booking = [entry for entry in paid if last and (entry.at, entry.by_name) == (last.at, last.by_name)]
    return booking if len(booking) > 1 else []


def get_booking(payment: LedgerEntry) -> list[LedgerEntry]:
    """Return the payments that were booked together with this one and are not undone."""
    together = {"study": payment.study, "kind": Kind.PAID, "at": payment.at, "by_name": payment.by_name}
    return list(LedgerEntry.objects.filter(undone_by=None, **together))


@transaction.atomic
def undo(payment: LedgerEntry, user: AbstractBaseUser) -> bool:
    """Book that a payment did not happen; False where that was booked before."""
    fresh = LedgerEntry.objects.select_for_update().get(pk=payment.pk)
    if LedgerEntry.objects.filter(undoes=fresh).exists():
        return False
    account = Account(fresh.record_code, fresh.participation, fresh.currency)
    enter(fresh.study, account, Kind.UNDONE, fresh.amount, user, undoes=fresh)
    return True


@transaction.atomic
def correct(
    person: Participation, amount: Decimal, currency: str, user: AbstractBaseUser, *, reason: str
) -> LedgerEntry:
    """Book more for a person, or less where `amount` is negative; once where a form is sent twice in a moment."""
    study = Study.objects.select_for_update().get(pk=person.study_id)
    same = {"kind": Kind.CORRECTION, "amount": amount, "currency": currency, "by": user, "reason": reason}
    lately = timezone.now() - SAME_PRESS
    earlier = study.ledger.filter(participation=person, at__gte=lately, **same).first()
    return earlier or enter(study, open_account(person, currency), Kind.CORRECTION, amount, user, reason=reason)


def enter(
    study: Study, account: Account, kind: Kind, amount: Decimal, user: AbstractBaseUser, **more: Any
) -> LedgerEntry:
    return LedgerEntry.objects.create(
        study=study,
        participation=account.person,
        record_code=account.record_code,
        kind=kind,
        amount=amount,
        currency=account.currency,
        by=user,
        by_name=user.get_username(),
        **more,
    )


def get_totals(accounts: Iterable[Account]) -> dict[str, dict[str, Decimal]]:
    """Return owed, paid and to be paid, by currency."""
    totals: dict[str, dict[str, Decimal]] = {}
    for account in accounts:
        sums = totals.setdefault(account.currency, {"owed": ZERO, "paid": ZERO, "balance": ZERO})
        for name in sums:
            sums[name] += getattr(account, name)
    return dict(sorted(totals.items()))
