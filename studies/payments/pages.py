"""The page of payments: what each person is owed and was paid, corrections, and files for who pays."""

import csv
import io
from collections.abc import Callable, Collection, Iterable
from decimal import Decimal, InvalidOperation
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_POST

from studies.models import LedgerEntry, Participation, Study
from studies.participation.counts import status_label
from studies.payments.files import bank_rows, ledger_rows, prolific_rows
from studies.payments.ledger import (
    Account,
    NotAsSeen,
    book_owed,
    correct,
    get_accounts,
    get_booking,
    get_last_booking,
    get_seen,
    get_totals,
    pay,
    undo,
)
from studies.payments.payees import find_shared_ids, has_payee, remember_payees
from studies.payments.sealing import ContactKeyError
from studies.workbench.access import navigation, show, study_page, study_page_after_timeouts
from studies.workbench.csv_cells import format_cell

SEPARATOR = ":"  # between code and amount in what a tick says
LONGEST_LIST = 100_000  # characters of pasted ids


class CorrectionForm(forms.Form):
    code = forms.CharField(label=gettext_lazy("Code of the person"), max_length=16)
    amount = forms.DecimalField(
        label=gettext_lazy("Amount (negative to take something back)"), max_digits=10, decimal_places=2
    )
    reason = forms.CharField(label=gettext_lazy("Why"), max_length=300)

    def __init__(self, study: Study, data: Any = None) -> None:
        super().__init__(data)
        self.study = study

    def clean_code(self) -> Participation:
        people = self.study.participations.people().filter(record_code__isnull=False)  # not of the erased
        person = people.filter(code=self.cleaned_data["code"].strip().upper()).first()
        if person is None:
            raise forms.ValidationError(_("There is no such person in this study, or it is test data."))
        if currency_of(person) is None:
            raise forms.ValidationError(_("The person's version of the study says nothing about payment."))
        return person

    def clean_amount(self) -> Decimal:
        amount: Decimal = self.cleaned_data["amount"]
        if not amount:
            raise forms.ValidationError(_("Enter an amount other than 0."))
        return amount


class PayeesForm(forms.Form):
    ids = forms.CharField(
        label=gettext_lazy("Lines of code,Prolific ID"),
        max_length=LONGEST_LIST,
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false"}),
    )


def currency_of(person: Participation) -> str | None:
    rule = person.design().payment
    return rule.currency if rule else None


@require_GET
@study_page_after_timeouts
def payments(request: HttpRequest, study: Study) -> HttpResponse:
    return payments_page(request, study, CorrectionForm(study))


def payments_page(
    request: HttpRequest,
    study: Study,
    form: CorrectionForm,
    *,
    payees_form: PayeesForm | None = None,
    status: int = 200,
) -> HttpResponse:
    """Show the page; what is owed by now is booked first."""
    book_owed(study)
    accounts = get_accounts(study)
    context = {
        "rule": study.current().spec().payment,
        "rows": [(account, status_of(account), tick_of(account)) for account in accounts],
        "totals": get_totals(accounts),
        "ticks_all": request.GET.get("tick") == "all",
        "last_booking": get_last_booking(accounts),
        "due": sum(account.balance > 0 for account in accounts),
        "with_ids": sum(account.balance > 0 and has_payee(account.person) for account in accounts),
        "shared_ids": list_shared_ids(accounts, {account.code for account in accounts if account.balance > 0}),
        "form": form,
        "key_is_derived": settings.CONTACT_KEY_IS_DERIVED,
        "payees_form": payees_form or PayeesForm(),
    }
    return show(request, study, "payments", context, status=status)


def list_shared_ids(accounts: Iterable[Account], to_be_paid: Collection[str]) -> list[str]:
    """Return the codes that have one Prolific ID, each group with someone to be paid as a text; none where the ids
    cannot be read."""
    people = {account.person.pk: account.person for account in accounts if account.person}
    try:
        shared = find_shared_ids(people.values())
    except ContactKeyError:
        return []
    return [", ".join(codes) for codes in shared if not set(codes).isdisjoint(to_be_paid)]


def status_of(account: Account) -> str:
    return str(status_label(account.person.status)) if account.person else _("erased")


def tick_of(account: Account) -> str:
    return f"{account.code}{SEPARATOR}{account.balance}" if account.balance > 0 else ""


@require_POST
@study_page
def mark_paid(request: HttpRequest, study: Study) -> HttpResponse:
    """Ask, then book the ticked balances as paid, if they are still what the page showed."""
    seen = dict(read_tick(tick) for tick in request.POST.getlist("pay"))
    if not seen:
        messages.info(request, _("Nothing was booked. Tick the people whom you have paid."))
        return redirect("research-payments", study.key)
    try:
        if not request.POST.get("confirmed"):
            return confirm_page(request, study, get_seen(study, seen))
        entries = pay(study, seen, request.user)
    except NotAsSeen as changed:
        messages.error(
            request, _("Nothing was booked, because the balance of %(codes)s has changed.") % {"codes": changed}
        )
    else:
        messages.success(request, _("Booked as paid: %(number)s people.") % {"number": len(entries)})
    return redirect("research-payments", study.key)


def confirm_page(request: HttpRequest, study: Study, accounts: list[Account]) -> HttpResponse:
    context = {
        "people": [(account, tick_of(account)) for account in accounts],
        "shared_ids": list_shared_ids(get_accounts(study), {account.code for account in accounts}),
        "sums": {currency: sums["balance"] for currency, sums in get_totals(accounts).items()},
        "navigation": navigation(request, study, here=reverse("research-payments", args=[study.key])),
    }
    return show(request, study, "payments_confirm", context)


def read_tick(tick: str) -> tuple[str, Decimal]:
    code, _separator, amount = tick.partition(SEPARATOR)
    try:
        return code, Decimal(amount)
    except InvalidOperation as error:
        raise Http404 from error


@require_POST
@study_page
def undo_payment(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    payment = get_object_or_404(study.ledger.filter(kind=LedgerEntry.Kind.PAID), pk=number)
    if undo(payment, request.user):
        messages.success(request, _("The payment is booked as undone. The amount is to be paid again."))
    return redirect("research-payments", study.key)


@require_POST
@study_page
def undo_booking(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Undo a payment and those that were booked together with it."""
    payment = get_object_or_404(study.ledger.filter(kind=LedgerEntry.Kind.PAID), pk=number)
    count = sum(undo(one, request.user) for one in get_booking(payment))
    messages.success(
        request, _("Payments booked as undone: %(number)s. They are to be paid again.") % {"number": count}
    )
    return redirect("research-payments", study.key)


@require_POST
@study_page
def correction(request: HttpRequest, study: Study) -> HttpResponse:
    form = CorrectionForm(study, request.POST)
    if not form.is_valid():
        return payments_page(request, study, form, status=422)
    person, amount = form.cleaned_data["code"], form.cleaned_data["amount"]
    correct(person, amount, currency_of(person) or "", request.user, reason=form.cleaned_data["reason"])
    messages.success(request, _("The correction is booked."))
    return redirect("research-payments", study.key)


@require_POST
@study_page
def payees(request: HttpRequest, study: Study) -> HttpResponse:
    """Store pasted Prolific IDs."""
    try:
        number, refused = remember_payees(study, request.POST.get("ids", "")[:LONGEST_LIST])
    except ContactKeyError:
        messages.error(
            request,
            _(
                "Nothing was stored, because the server has no key for contact data. Ask the server's admin to set "
                "CONTACT_KEY, and try again."
            ),
        )
        return redirect("research-payments", study.key)
    messages.success(request, _("Prolific IDs stored: %(number)s.") % {"number": number})
    if refused:
        messages.error(
            request,
            _("These lines were not understood: %(lines)s. Write one person per line: code, comma, Prolific ID.")
            % {"lines": "; ".join(refused[:5])},
        )
        left = PayeesForm(initial={"ids": "\n".join(refused)})
        return payments_page(request, study, CorrectionForm(study), payees_form=left, status=422)
    return redirect("research-payments", study.key)


FILES: dict[str, Callable[[Study, list[Account]], Iterable[Iterable[Any]]]] = {
    "prolific": lambda _study, accounts: prolific_rows(accounts),
    "bank": bank_rows,
    "ledger": lambda study, _accounts: ledger_rows(study),
}


@require_GET
@study_page_after_timeouts
def payments_file(request: HttpRequest, study: Study, name: str) -> HttpResponse:
    if name not in FILES:
        raise Http404
    book_owed(study)
    text = io.StringIO(newline="")
    rows = ([format_cell(value) for value in row] for row in FILES[name](study, get_accounts(study)))
    try:
        csv.writer(text).writerows(rows)
    except ContactKeyError:
        messages.error(request, _("No file: no key in CONTACT_KEY opens the stored Prolific IDs."))
        return redirect("research-payments", study.key)
    headers = {"Content-Disposition": f'attachment; filename="{study.key}-payments-{name}.csv"'}
    return HttpResponse(text.getvalue(), content_type="text/csv; charset=utf-8", headers=headers)
