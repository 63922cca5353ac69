"""The payment ledger: what the rule owes, payments and their undoing, corrections, files, and who is left out."""

from dataclasses import asdict
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone

from studies.data import erasure
from studies.data.exports.columns import Filter
from studies.data.exports.tables import TABLES
from studies.design.payment_spec import PaymentSpec, count_minutes, get_owed
from studies.models import LedgerEntry, Participation, Payee, Study
from studies.models.participation import Status
from studies.payments.ledger import NotAsSeen, book_owed, correct, get_accounts, pay, undo
from studies.payments.payees import read_prolific_id, remember_payee
from tests import factories

HOURLY = PaymentSpec(currency="EUR", per_hour=12.0, most_minutes=60, bonus=2.0, screened_out=0.5)
WHOLE = PaymentSpec(currency="GBP", amount=10.0)
ID = "5f1e2d3c4b5a69788796a5b4"


# The rule (pure)


@pytest.mark.parametrize(
    ("rule", "status", "minutes", "share", "owed"),
    [
        (HOURLY, "completed", 30, 1.0, "6.00"),
        (HOURLY, "completed", 31, 1.0, "6.20"),
        (HOURLY, "completed", 90, 1.0, "12.00"),  # no more than most_minutes
        (HOURLY, "stopped", 10, 0.2, "2.00"),
        (HOURLY, "ended", 10, 0.2, "2.00"),
        (HOURLY, "withdrawn", 10, 0.2, "2.00"),
        (HOURLY, "timed_out", 10, 0.2, "2.00"),
        (HOURLY, "screened_out", 10, 0.2, "0.50"),
        (HOURLY, "active", 10, 0.2, "0"),
        (WHOLE, "completed", 5, 1.0, "10.00"),
        (WHOLE, "stopped", 5, 0.1, "10.00"),  # for safety: as if they had completed it
        (WHOLE, "ended", 5, 0.1, "10.00"),  # by the team: likewise
        (WHOLE, "withdrawn", 5, 0.25, "2.50"),
        (WHOLE, "withdrawn", 5, 1 / 3, "3.33"),
        (WHOLE, "screened_out", 5, 0.1, "0.00"),
        (PaymentSpec(currency="GBP", amount=10.0, withdrawn="full"), "withdrawn", 5, 0.1, "10.00"),
        (PaymentSpec(currency="GBP", amount=10.0, withdrawn="none"), "timed_out", 5, 0.9, "0"),
        (PaymentSpec(currency="GBP", per_hour=12.0, withdrawn="full"), "withdrawn", 10, 0.1, "2.00"),
        (PaymentSpec(currency="GBP", per_hour=12.0, withdrawn="none"), "withdrawn", 10, 0.1, "0"),
        (PaymentSpec(currency="EUR", per_hour=0.1), "completed", 3, 1.0, "0.01"),  # 0.005, half up
    ],
)
def test_rule_says_what_is_owed(rule, status, minutes, share, owed):
    assert get_owed(rule, status=status, minutes=minutes, share=share) == Decimal(owed)


@pytest.mark.parametrize(("seconds", "minutes"), [(0, 0), (1, 1), (60, 1), (61, 2), (3600, 60)])
def test_started_minute_counts_whole(seconds, minutes):
    assert count_minutes(seconds) == minutes


# Booking

db = pytest.mark.django_db


@pytest.fixture
def ada() -> User:
    return User.objects.create(username="ada", is_staff=True, is_superuser=True)


@pytest.fixture
def study() -> Study:
    return factories.study("paid", payment=HOURLY)


def over(study: Study, status: str = "completed", minutes: int = 30, **fields: Any) -> Participation:
    fields = {"active_seconds": 60 * minutes, "ended_at": timezone.now(), **fields}
    return factories.person(study, status=status, **fields)


def entries(study: Study) -> list[tuple[str, str]]:
    return [(one.kind, str(one.amount)) for one in study.ledger.all()]


@db
def test_owed_is_booked_once_with_minutes_and_rate(study):
    over(study)

    assert [book_owed(study), book_owed(study)] == [2, 0]

    due, bonus = study.ledger.all()
    assert (due.kind, due.amount, due.minutes, due.rate, due.currency) == ("due", 6, 30, 12, "EUR")
    assert (bonus.kind, bonus.amount, bonus.by_name) == ("bonus", 2, "")


@db
def test_people_under_way_test_data_reviewers_and_others_are_not_paid(study):
    over(study, status="active")
    over(study, status="invited")
    over(study, is_test=True)
    over(study, track="reviewer")
    over(factories.study("unpaid"))

    assert book_owed(study) == book_owed(Study.objects.get(key="unpaid")) == 0


@db
def test_bonus_is_for_people_who_completed_and_goes_when_they_are_excluded(study):
    over(study, status="withdrawn")
    person = over(study)
    book_owed(study)
    assert entries(study) == [("due", "6.00"), ("due", "6.00"), ("bonus", "2.00")]

    Participation.objects.filter(pk=person.pk).update(excluded=True)
    assert [book_owed(study), book_owed(study)] == [1, 0]
    assert entries(study)[-1] == ("bonus", "-2.00")


@db
def test_more_time_after_a_return_is_booked_and_less_takes_nothing_back(study):
    person = over(study, status="timed_out", minutes=10)
    book_owed(study)
    for minutes in (25, 5):
        Participation.objects.filter(pk=person.pk).update(
            status="completed", active_seconds=60 * minutes, excluded=True
        )
        book_owed(study)

    assert entries(study) == [("due", "2.00"), ("due", "3.00")]
    (account,) = get_accounts(study)
    assert (account.owed, account.minutes) == (5, 25)


@db
def test_rule_is_that_of_the_persons_version(study):
    over(study)
    factories.study("paid", payment=WHOLE)
    over(study)

    book_owed(study)

    assert {(one.currency, one.amount) for one in study.ledger.filter(kind="due")} == {("EUR", 6), ("GBP", 10)}


@db
def test_part_of_the_whole_follows_the_steps_done():
    study = factories.study("paid", payment=WHOLE)
    over(study, status="withdrawn", plan=[{"kind": "consent", "key": str(n)} for n in range(4)], position=3)

    book_owed(study)

    assert entries(study) == [("due", "7.50")]


# Paying, undoing, correcting


@db
def test_payment_is_booked_undone_and_booked_again(study, ada):
    person = over(study)
    book_owed(study)

    (payment,) = pay(study, {person.code: Decimal("8.00")}, ada)
    (account,) = get_accounts(study)
    assert (account.owed, account.paid, account.balance, account.paid_entry) == (8, 8, 0, payment)
    assert [undo(payment, ada), undo(payment, ada)] == [True, False]
    (account,) = get_accounts(study)
    assert (account.paid, account.balance, account.paid_entry) == (0, 8, None)
    pay(study, {person.code: Decimal("8.00")}, ada)

    assert [kind for kind, _amount in entries(study)] == ["due", "bonus", "paid", "undone", "paid"]
    assert {one.by_name for one in study.ledger.filter(kind__in=("paid", "undone"))} == {"ada"}


@db
@pytest.mark.parametrize("seen", ["7.99", "8.01"])
def test_balance_that_was_not_seen_is_not_paid(seen, study, ada):
    first, second = over(study), over(study)
    book_owed(study)

    with pytest.raises(NotAsSeen, match=second.code):
        pay(study, {first.code: Decimal("8.00"), second.code: Decimal(seen)}, ada)

    assert not study.ledger.filter(kind="paid").exists()


@db
def test_nobody_is_paid_twice(study, ada):
    person = over(study)
    book_owed(study)
    pay(study, {person.code: Decimal("8.00")}, ada)

    with pytest.raises(NotAsSeen):
        pay(study, {person.code: Decimal("8.00")}, ada)


@db
def test_correction_changes_the_balance_by_an_entry_of_its_own(study, ada):
    person = over(study)
    book_owed(study)
    before = [asdict_of(one) for one in study.ledger.all()]

    correct(person, Decimal("-1.50"), "EUR", ada, reason="agreed by mail")

    (account,) = get_accounts(study)
    assert account.balance == Decimal("6.50")
    assert [asdict_of(one) for one in study.ledger.all()][: len(before)] == before


def asdict_of(entry: LedgerEntry) -> dict[str, Any]:
    return {field.attname: getattr(entry, field.attname) for field in entry._meta.fields}


@db
@pytest.mark.parametrize("wrong", [{"amount": 0}, {"kind": "undone"}])
def test_database_refuses_senseless_entries(wrong, study):
    person = over(study)
    fields = {"study": study, "participation": person, "kind": "due", "amount": 1, "currency": "EUR", **wrong}

    with pytest.raises(IntegrityError), transaction.atomic():
        LedgerEntry.objects.create(**fields)


@db
def test_erased_person_is_still_owed_but_has_no_name_anywhere(study):
    person = over(study)
    remember_payee(person, ID)

    erasure.erase(person)

    assert entries(study) == [("due", "6.00"), ("bonus", "2.00")]
    assert book_owed(study) == 0
    assert not Payee.objects.exists()


@db
def test_who_is_erased_under_way_is_paid_as_those_who_leave_early(study):
    signed, unsigned = (factories.person(study, status="active", active_seconds=600) for _ in range(2))
    signed.consents.create(instrument="consent", version="1", text_hash="0", language="en", boxes={})

    erasure.erase(signed)
    erasure.erase(unsigned)

    assert entries(study) == [("due", "2.00")]


# Prolific's ids


@db
def test_id_of_prolific_is_taken_from_the_address_of_the_open_page(study):
    study = factories.study("open", payment=HOURLY, open_enrolment=True)

    Client().post(f"/open/open/?PROLIFIC_PID={ID}&STUDY_ID=1")
    Client().post("/open/open/?PROLIFIC_PID=../../x")

    assert study.participations.count() == 2
    assert list(map(read_prolific_id, study.participations.filter(payee__isnull=False))) == [ID]


@db
def test_id_of_prolific_is_in_no_export(study):
    remember_payee(over(study), ID)

    rows = [row for table in TABLES for row in table.rows(study, Filter(include_tests=True))]
    assert ID not in str(rows)


# The page


@pytest.fixture
def desk(ada: User) -> Client:
    client = Client()
    client.force_login(ada)
    return client


PAGE = "/research/paid/payments/"


def read(response: Any) -> list[str]:
    return response.content.decode().splitlines()


@db
def test_page_books_and_shows_totals(desk, study):
    person = over(study)
    over(study, status="withdrawn", minutes=10)

    page = desk.get(PAGE)

    assert page.context["totals"] == {"EUR": {"owed": 10, "paid": 0, "balance": 10}}
    assert f'value="{person.code}:8.00"' in page.content.decode()
    assert len(entries(study)) == 3
    desk.get(PAGE)
    assert len(entries(study)) == 3


@db
@pytest.mark.parametrize("count", [1, 3])
def test_page_asks_the_database_as_often_for_many_as_for_one(count, desk, study, django_assert_num_queries):
    for _ in range(count):
        over(study)
    desk.get(PAGE)

    with django_assert_num_queries(20):
        desk.get(PAGE)


@db
def test_page_pays_what_is_ticked_and_undoes_it(desk, study):
    first, _second = over(study), over(study)
    desk.get(PAGE)

    assert desk.post(f"{PAGE}pay/", {"pay": [f"{first.code}:8.00"], "confirmed": "yes"})["Location"] == PAGE

    payment = LedgerEntry.objects.get(kind="paid")
    assert (payment.participation, payment.by_name) == (first, "ada")
    assert desk.post(f"{PAGE}{payment.pk}/undo/")["Location"] == PAGE
    assert "booked as undone" in desk.get(PAGE).content.decode()
    assert LedgerEntry.objects.get(kind="undone").undoes == payment


@db
def test_page_asks_before_it_books(desk, study):
    first, second = over(study), over(study)
    ticks = [f"{one.code}:8.00" for one in (first, second)]
    page = desk.get(PAGE).content.decode()
    assert 'name="pay"' in page
    assert "checked" not in page
    assert desk.get(PAGE, {"tick": "all"}).content.decode().count("checked") == 2

    asked = desk.post(f"{PAGE}pay/", {"pay": ticks}).content.decode()

    assert "Book 2 people as paid?" in asked
    assert "16.00" in asked
    assert first.code in asked
    assert not LedgerEntry.objects.filter(kind="paid").exists()


@db
def test_page_undoes_a_whole_booking_and_no_other(desk, study):
    first, second, third = over(study), over(study), over(study)
    desk.get(PAGE)
    desk.post(f"{PAGE}pay/", {"pay": [f"{third.code}:8.00"], "confirmed": "yes"})
    desk.post(f"{PAGE}pay/", {"pay": [f"{one.code}:8.00" for one in (first, second)], "confirmed": "yes"})
    page = desk.get(PAGE)
    booking = page.context["last_booking"]
    assert "Last booking: 2 people" in page.content.decode()

    desk.post(f"{PAGE}{booking[0].pk}/undo-all/")

    undone = LedgerEntry.objects.filter(kind="undone")
    assert {one.undoes.participation for one in undone} == {first, second}
    assert desk.get(PAGE).context["last_booking"] == []


@db
def test_page_books_no_one_where_no_one_is_ticked(desk, study):
    over(study)
    assert "Tick the people whom you have paid" in desk.post(f"{PAGE}pay/", follow=True).content.decode()


@db
def test_page_says_whose_balance_has_changed(desk, study):
    person = over(study)
    desk.get(PAGE)
    desk.post(f"{PAGE}pay/", {"pay": [f"{person.code}:5.00"]})

    assert f"the balance of {person.code} has changed" in desk.get(PAGE).content.decode()
    assert desk.post(f"{PAGE}pay/", {"pay": ["nonsense"]}).status_code == 404


@db
def test_page_books_a_correction(desk, study):
    person = over(study)

    desk.post(f"{PAGE}correct/", {"code": person.code, "amount": "-0.50", "reason": "late"})

    assert entries(study) == [("correction", "-0.50")]
    assert LedgerEntry.objects.get().reason == "late"


@db
def test_a_correction_that_is_sent_twice_in_a_moment_is_booked_once(study, ada):
    person = factories.person(study)
    for reason in ("too much", "too much", "too much again"):
        correct(person, Decimal("-0.5"), "EUR", ada, reason=reason)
    assert entries(study) == [("correction", "-0.50")] * 2
    LedgerEntry.objects.update(at=timezone.now() - timedelta(minutes=1))
    correct(person, Decimal("-0.5"), "EUR", ada, reason="too much")
    assert entries(study) == [("correction", "-0.50")] * 3


@db
@pytest.mark.parametrize("wrong", [{"code": "P0"}, {"amount": "0"}, {"amount": "NaN"}, {"reason": ""}])
def test_page_refuses_wrong_corrections(wrong, desk, study):
    person = over(study, status="active")

    page = desk.post(f"{PAGE}correct/", {"code": person.code, "amount": "1", "reason": "late", **wrong})

    assert (page.status_code, list(page.context["form"].errors)) == (422, list(wrong))
    assert entries(study) == []


@db
def test_file_for_prolific_has_ids_and_amounts_alone(desk, study):
    known = over(study)
    over(study)
    page = desk.post(f"{PAGE}ids/", {"ids": f"{known.code.lower()}\t{ID}\nP0,{ID}\n{known.code},short\n"})

    response = desk.get(f"{PAGE}prolific.csv")

    assert read(response) == [f"{ID},8.00"]
    assert response["Content-Disposition"] == 'attachment; filename="paid-payments-prolific.csv"'
    shown = page.content.decode()
    assert "Prolific IDs stored: 1." in shown
    assert f"These lines were not understood: P0,{ID}; {known.code},short" in shown
    assert page.context["payees_form"].initial["ids"] == f"P0,{ID}\n{known.code},short"  # to be mended, not lost


@db
def test_page_names_people_with_the_same_id_before_anyone_is_paid_twice(desk, study):
    once, again, other = over(study), over(study), over(study)
    remember_payee(once, ID)
    assert "the same Prolific ID" not in desk.get(PAGE).content.decode()

    remember_payee(again, ID)

    page = desk.get(PAGE).content.decode()
    warning = f"more than once: {', '.join(sorted((once.code, again.code)))}."
    assert warning in page
    assert ID not in page
    assert warning in desk.post(f"{PAGE}pay/", {"pay": [f"{once.code}:8.00"]}).content.decode()
    assert warning not in desk.post(f"{PAGE}pay/", {"pay": [f"{other.code}:8.00"]}).content.decode()
    desk.post(f"{PAGE}pay/", {"pay": [f"{one.code}:8.00" for one in (once, again)], "confirmed": "yes"})
    assert warning not in desk.get(PAGE).content.decode()  # nothing of it is left to be decided


@db
def test_file_for_a_bank_has_codes(desk, study, ada):
    due, paid = over(study), over(study)
    book_owed(study)
    pay(study, {paid.code: Decimal("8.00")}, ada)

    assert read(desk.get(f"{PAGE}bank.csv")) == [
        "code,amount,currency,reference",
        f"{due.code},8.00,EUR,paid {due.code}",
    ]


@db
def test_ledger_as_a_file_has_every_entry(desk, study, ada):
    person = over(study)
    correct(person, Decimal("-1"), "EUR", ada, reason="=cmd()")

    lines = read(desk.get(f"{PAGE}ledger.csv"))

    assert lines[0] == "entry,time,code,kind,amount,currency,minutes,rate,reason,undoes,by,record_code"
    assert [line.split(",")[3:5] for line in lines[1:]] == [["correction", "-1.00"], ["due", "6.00"], ["bonus", "2.00"]]
    assert "'=cmd()" in lines[1]
    assert desk.get(f"{PAGE}other.csv").status_code == 404


@db
def test_page_of_a_study_without_a_rule_says_how_to_get_one(desk):
    factories.study("paid")

    assert "[payment]" in desk.get(PAGE).content.decode()


@db
def test_pages_are_for_researchers(study):
    client = Client()
    client.force_login(User.objects.create(username="eve"))

    assert [client.get(path).status_code for path in (PAGE, f"{PAGE}bank.csv")] == [403, 403]
    assert [client.post(f"{PAGE}{act}/").status_code for act in ("pay", "correct", "ids", "1/undo")] == [403] * 4


def test_status_of_everybody_who_is_over_is_known():
    assert asdict(HOURLY)["withdrawn"] == "part"
    assert {"completed", "stopped", "screened_out", "withdrawn", "timed_out", "ended"} == {
        str(status) for status in Status if Participation(status=status).is_over()
    }
