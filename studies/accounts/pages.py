"""The page Your account: password, second factor, and the browsers that are signed in."""

from typing import Any

from allauth.account.forms import ChangePasswordForm
from allauth.account.views import PasswordChangeView
from allauth.mfa.models import Authenticator
from allauth.mfa.utils import is_mfa_enabled
from allauth.usersessions.internal.flows.sessions import end_other_sessions
from allauth.usersessions.models import UserSession
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_POST

from studies.access.confirming import lacks_second_factor
from studies.workbench.access import researchers_only

Kind = Authenticator.Type
# What a User-Agent header holds → what people call it; the first that is found, since most claim to be several.
BROWSERS = {"Edg": "Edge", "OPR": "Opera", "Firefox": "Firefox", "Chrome": "Chrome", "Safari": "Safari"}
SYSTEMS = {
    "Windows": "Windows", "iPhone": "iPhone", "iPad": "iPad", "Android": "Android", "Mac OS": "macOS", "Linux": "Linux"
}  # fmt: skip


@require_GET
@researchers_only
def account(request: HttpRequest) -> HttpResponse:
    authenticators = Authenticator.objects.filter(user_id=request.user.pk).order_by("pk")
    codes = authenticators.filter(type=Kind.RECOVERY_CODES).first()
    context = {
        "app": authenticators.filter(type=Kind.TOTP).first(),
        "passkeys": authenticators.filter(type=Kind.WEBAUTHN),
        "codes": codes,
        "has_factor": is_mfa_enabled(request.user, [Kind.TOTP, Kind.WEBAUTHN]),
        "must_have_factor": lacks_second_factor(request.user),
        "sessions": [
            (session, name_browser(session.user_agent))
            for session in sorted(UserSession.objects.purge_and_list(request.user), key=lambda one: one.created_at)
        ],
    }
    return render(request, "studies/accounts/account.html", context)


def name_browser(user_agent: str) -> str:
    """Return the browser and the system as "Firefox, Windows"; what it says of itself where it is neither of ours."""
    parts = [next((name for word, name in names.items() if word in user_agent), "") for names in (BROWSERS, SYSTEMS)]
    return ", ".join(filter(None, parts)) or user_agent


@require_POST
@researchers_only
def sign_out_elsewhere(request: HttpRequest) -> HttpResponse:
    end_other_sessions(request, request.user)
    messages.success(request, _("All other browsers are signed out."))
    return redirect("mfa_index")


class PasswordForm(ChangePasswordForm):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        labels = {
            "oldpassword": gettext_lazy("Your present password"),
            "password1": gettext_lazy("New password"),
            "password2": gettext_lazy("The new password again"),
        }
        for name, label in labels.items():
            self.fields[name].label = label
            self.fields[name].widget.attrs.pop("placeholder", None)


class ChangePassword(PasswordChangeView):
    """A new password; other browsers are signed out, because their sessions were opened by the old one."""

    template_name = "studies/accounts/password.html"
    form_class = PasswordForm
    success_url = reverse_lazy("mfa_index")

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not request.user.has_usable_password():
            raise Http404  # where the page of a first password would be; that one has a link in a mail
        return super().dispatch(request, *args, **kwargs)
