"""The question before paid work: what it would cost, and whether to start it.

A form that asks for such work leads here by `ask_first`. The address of the question carries what is to be started,
signed, so nothing is stored before the answer, and a reload asks the same.
"""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from dialogue.providers.prices import format_amount
from studies.models import Study
from studies.workbench import tasks
from studies.workbench.access import navigation, show, study_page
from studies.workbench.paid_work import Quote, budget_among, quote
from studies.workbench.task_words import command_name, describe_work

VALID = 24 * 3600  # seconds for which a question can be answered


def ask_first(study: Study, command: str, arguments: Sequence[str], *, back: str) -> HttpResponse:
    """Redirect to the question. `back`: the name of the page that the form stood on."""
    work = signing.dumps([command, list(arguments), back], salt=salt_of(study))
    return redirect(f"{reverse('research-confirm', args=[study.key])}?{urlencode({'work': work})}")


def salt_of(study: Study) -> str:
    return f"paid work of study {study.pk}"


@require_http_methods(["GET", "POST"])
@study_page
def confirm(request: HttpRequest, study: Study) -> HttpResponse:
    work = (request.POST if request.method == "POST" else request.GET).get("work", "")
    try:
        command, arguments, back = signing.loads(work, salt=salt_of(study), max_age=VALID)
    except signing.BadSignature:
        messages.error(
            request, _("This page is too old or incomplete. Nothing was started. Please start again from the form.")
        )
        return redirect("research-analysis", study.key)
    if request.method == "POST":
        return start_work(request, study, command, arguments, back=back)
    context = {
        "work": work,
        "what": command_name(command),
        "about": describe_work(command, arguments),
        "by_bots": command == "run_bots",
        "back": reverse(back, args=[study.key]),
        "navigation": navigation(request, study, here=reverse(back, args=[study.key])),
        **question(quote(study, command, arguments), arguments),
    }
    return show(request, study, "confirm", context)


def question(estimate: Quote, arguments: Sequence[str]) -> dict[str, Any]:
    budgets = {_("Budget of this run"): budget_among(arguments), _("Daily budget"): settings.DAILY_BUDGET}
    limits = {name: amount for name, amount in budgets.items() if amount is not None}
    return {
        "quote": estimate,
        "facts": facts_of(estimate),
        "amount": None if estimate.cost is None else format_amount(estimate.cost),
        "budgets": [(name, format_amount(amount)) for name, amount in limits.items()],
        "too_dear": estimate.cost is not None and any(estimate.cost > amount for amount in limits.values()),
        "no_budget_kept": bool(limits) and bool(estimate.unpriced),
        "may_start": not (estimate.refusals or estimate.unset_keys or (limits and estimate.unpriced)),
    }


def facts_of(estimate: Quote) -> list[tuple[str, str]]:
    names = {
        "conversations": _("Conversations"),
        "judgements": _("Questionnaires for judges"),
        "profiles": _("Profiles"),
    }
    items = [(name, estimate.items[key]) for key, name in names.items() if estimate.items[key]]
    numbers = [
        *items,
        (_("Calls"), estimate.calls),
        (_("Input tokens"), estimate.input_tokens),
        (_("Output tokens"), estimate.output_tokens),
    ]
    return [(name, f"{number:,}") for name, number in numbers]


def start_work(request: HttpRequest, study: Study, command: str, arguments: list[str], *, back: str) -> HttpResponse:
    """Start the work. A task already running continues alone."""
    task, is_new = tasks.start(study, command, arguments, request.user)
    if is_new:
        messages.success(request, _("Started."))
    elif task.arguments == arguments:
        messages.info(request, _("This task is already in progress. Nothing new was started."))
    else:
        messages.error(request, _("Another task of this kind is in progress. Wait until it ends. Nothing was started."))
    return redirect(back, study.key)
