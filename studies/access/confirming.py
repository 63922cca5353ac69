"""Whether whoever sits at a browser has shown lately that the account is theirs, and has a second factor where one is
required.

Signing in counts, and so does a password, code or passkey given again. A page that asks again is refused to browsers
that have waited for longer; allauth's pages then ask, and lead back.
"""

import time
from urllib.parse import urlencode

from allauth.account.internal.flows.login import get_authentication_records
from allauth.mfa.utils import is_mfa_enabled
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _

from studies.access.access import Viewer
from studies.access.table import RIGHTS, SAFE_METHODS
from studies.models import Membership

TO_OPEN = settings.ACCOUNT_REAUTHENTICATION_TIMEOUT  # seconds
TO_SEND = 3 * TO_OPEN  # seconds: a form that was opened in time is not lost while it is filled in
OWN_PAGES = ("mfa_", "account_", "research-account")  # how the names of routes begin on which a second factor is set up


def is_confirmed(request: HttpRequest, seconds: float = TO_OPEN) -> bool:
    records = get_authentication_records(request, request.user)
    return bool(records) and time.time() - records[-1]["at"] < seconds


def is_confirmed_for(request: HttpRequest) -> bool:
    return is_confirmed(request, TO_OPEN if request.method in SAFE_METHODS else TO_SEND)


def ask_again(request: HttpRequest) -> HttpResponse:
    """Lead to the page that asks for the password, and from there to this page, or to the one with this form."""
    if request.method not in SAFE_METHODS:
        messages.info(request, _("Nothing has been done yet. Please confirm that it is you, and send the form again."))
    query = urlencode({REDIRECT_FIELD_NAME: get_address_of_page(request)}, safe="/")
    return redirect(f"{reverse('account_reauthenticate')}?{query}")


def get_address_of_page(request: HttpRequest) -> str:
    """Return the address of the page that is asked for, or of the one whose form is sent."""
    if request.method in SAFE_METHODS:
        return request.get_full_path()
    page = request.headers.get("Referer", "")
    is_ours = url_has_allowed_host_and_scheme(page, {request.get_host()}, require_https=request.is_secure())
    return page if is_ours else reverse("research-studies")


def lacks_second_factor(user: Viewer) -> bool:
    """Return whether the account must set up a second factor (REQUIRE_MFA) and has not."""
    return settings.REQUIRE_MFA and is_powerful(user) and not is_mfa_enabled(user)


def is_powerful(user: Viewer) -> bool:
    """Return whether the account may do anything for which it is asked again."""
    roles = {role for right in RIGHTS.values() if right.asks_again for role in right.roles}
    return user.is_superuser or Membership.objects.filter(user_id=user.pk, role__in=roles).exists()
