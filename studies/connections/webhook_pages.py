"""The page of a study's webhooks: make one, try it, stop it, and see what was sent."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from dialogue.templatetags.languages import colon
from studies.connections.webhooks import MOST_WEBHOOKS, create_webhook, stop_webhook
from studies.models import Delivery, Study, Webhook
from studies.webhooks.events import PING, create_delivery
from studies.workbench.access import show, study_page
from studies.workbench.labels import Words, word

SHOWN = 50  # deliveries
FAULTS: Words = {
    "hook_status": gettext_lazy("The receiver answered %(status)s."),
    "hook_slow": gettext_lazy("The receiver did not answer in time."),
    "hook_certificate": gettext_lazy("The receiver's certificate is not valid."),
    "hook_not_reached": gettext_lazy("The receiver could not be reached. Check the address."),
}


class WebhookForm(forms.Form):
    address = forms.URLField(
        label=gettext_lazy("Address that gets the requests"),
        max_length=500,
        assume_scheme="https",
        widget=forms.TextInput(attrs={"inputmode": "url"}),
    )
    events = forms.MultipleChoiceField(
        label=gettext_lazy("Events"),
        choices=lambda: [(event.value, f"{event.value}{colon()}{event.label}") for event in Webhook.Event],
        widget=forms.CheckboxSelectMultiple,
    )

    def __init__(self, study: Study, data: Any = None) -> None:
        super().__init__(data)
        self.study = study

    def clean_address(self) -> str:
        address: str = self.cleaned_data["address"]
        if not address.startswith(("http://", "https://")):
            raise forms.ValidationError(_("The address must begin with http:// or https://."))
        return address

    def clean(self) -> dict[str, Any]:
        if self.study.webhooks.filter(stopped_at=None).count() >= MOST_WEBHOOKS:
            raise forms.ValidationError(
                _("A study has at most %(number)s webhooks. Stop one first.") % {"number": MOST_WEBHOOKS}
            )
        return super().clean() or {}


@never_cache
@require_http_methods(["GET", "POST"])
@study_page
def webhooks(request: HttpRequest, study: Study) -> HttpResponse:
    if request.method == "GET":
        return webhooks_page(request, study, WebhookForm(study))
    form = WebhookForm(study, request.POST)
    if not form.is_valid():
        return webhooks_page(request, study, form, status=422)
    new = create_webhook(study, request.user, **form.cleaned_data)
    return webhooks_page(request, study, WebhookForm(study), {"new": new})


def webhooks_page(
    request: HttpRequest, study: Study, form: WebhookForm, context: dict[str, Any] | None = None, *, status: int = 200
) -> HttpResponse:
    newest = Delivery.objects.filter(webhook__study=study).select_related("webhook")[:SHOWN]
    deliveries = [(delivery, describe_answer(delivery)) for delivery in newest]
    page_context = {"form": form, "webhooks": study.webhooks.all(), "deliveries": deliveries, **(context or {})}
    return show(request, study, "webhooks", page_context, status=status)


@require_POST
@study_page
def stop(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    stop_webhook(get_object_or_404(study.webhooks, pk=number))
    messages.success(request, _("The webhook is stopped. It gets no more requests."))
    return redirect("research-webhooks", study.key)


@require_POST
@study_page
def ping(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    create_delivery(get_object_or_404(study.webhooks.filter(stopped_at=None), pk=number), PING, {})
    messages.success(request, _("A ping is sent within seconds. Reload the page to see whether it was taken."))
    return redirect("research-webhooks", study.key)


def describe_answer(delivery: Delivery) -> str:
    """Return what came of the last try, in the language of the page: a status, or why it was not taken."""
    if not delivery.fault:
        return delivery.answer
    return word(FAULTS, delivery.fault["code"]) % delivery.fault["values"]
