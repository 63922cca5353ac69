"""The page of API tokens: create one, which is shown once, and revoke."""

from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from studies.access.access import Viewer, is_installation_admin, studies_of
from studies.connections.tokens import create_token, revoke_token
from studies.models import ApiToken, Study
from studies.workbench.access import researchers_only
from studies.workbench.account_mails import API_TOKEN, tell_of_change

USUAL_DAYS, MOST_DAYS = 90, 3650


class TokenForm(forms.Form):
    name = forms.CharField(label=gettext_lazy("Name: which program will use it"), max_length=100)
    study = forms.ModelChoiceField(
        label=gettext_lazy("Study"),
        queryset=Study.objects.none(),
        required=False,
        empty_label=gettext_lazy("All studies"),
    )
    scopes = forms.MultipleChoiceField(
        label=gettext_lazy("What it may do"),
        choices=ApiToken.Scope.choices,
        initial=[ApiToken.Scope.READ],
        widget=forms.CheckboxSelectMultiple,
    )
    days = forms.IntegerField(
        label=gettext_lazy("Days until it expires (empty: never)"),
        min_value=1,
        max_value=MOST_DAYS,
        initial=USUAL_DAYS,
        required=False,
    )

    def __init__(self, user: Viewer, data: Any = None) -> None:
        super().__init__(data)
        self.fields["study"].queryset = studies_of(user).order_by("key")


@never_cache
@require_http_methods(["GET", "POST"])
@researchers_only
def tokens(request: HttpRequest) -> HttpResponse:
    if request.method == "GET":
        return tokens_page(request, TokenForm(request.user))
    form = TokenForm(request.user, request.POST)
    if not form.is_valid():
        return tokens_page(request, form, status=422)
    row, text = create_token(request.user, **form.cleaned_data)
    tell_of_change(request.user, API_TOKEN)
    return tokens_page(request, TokenForm(request.user), {"new": row, "text": text})


def tokens_page(
    request: HttpRequest, form: TokenForm, context: dict[str, Any] | None = None, *, status: int = 200
) -> HttpResponse:
    rows = tokens_of(request.user).select_related("study")
    page_context = {"form": form, "tokens": rows, **(context or {})}
    return render(request, "studies/research/tokens.html", page_context, status=status)


def tokens_of(user: Viewer) -> QuerySet[ApiToken]:
    """Return the tokens that this account may see and revoke: its own, and of an admin of the installation all."""
    return ApiToken.objects.all() if is_installation_admin(user) else ApiToken.objects.filter(created_by_id=user.pk)


@require_POST
@researchers_only
def revoke(request: HttpRequest, number: int) -> HttpResponse:
    token = get_object_or_404(tokens_of(request.user), pk=number)
    revoke_token(token, request.user)
    messages.success(request, _("The token %(name)s is revoked. Programs that use it are refused.") % {"name": token})
    return redirect("research-tokens")
