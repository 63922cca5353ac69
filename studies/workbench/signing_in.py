"""Sign in by django-allauth: by name and password, with limits to guessing that lock no one out.

Counted in the cache that all server processes share (settings.CACHES):

- A name at one address has 5 wrong passwords in 5 minutes, an address 30 in 10 minutes, whatever the names. So a
  stranger locks a name at the stranger's own address alone.
- A name has 60 in an hour from all addresses together at which it has not signed in before: for guessers with many
  addresses. Those at which it has go on working meanwhile.

An empty form counts for nothing, and a right password takes back its own try alone, not those before it.
"""

import hashlib
from threading import BoundedSemaphore, Lock
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.forms import LoginForm
from allauth.account.views import LoginView
from allauth.core import context, ratelimit
from allauth.core.internal.ratelimit import get_ip
from django.contrib.auth.models import AbstractBaseUser
from django.contrib.auth.views import LogoutView
from django.core.cache import cache
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from studies.access.confirming import is_confirmed
from studies.workbench.account_mails import tell_of_change

ELSEWHERE = "login_failed_elsewhere"  # in settings.ACCOUNT_RATE_LIMITS
NOWHERE = "0.0.0.0"  # noqa: S104 - nothing listens there
REMEMBERED = 180 * 24 * 3600  # seconds for which an address is known
# Checking a password takes up to half a second of a processor and 100 MB (Argon2), and pages have four threads: one
# check runs, one may wait.
looking, room = Lock(), BoundedSemaphore(2)


class Adapter(DefaultAccountAdapter):
    error_messages = {
        **DefaultAccountAdapter.error_messages,
        "username_password_mismatch": _("The user name or the password is wrong."),
        "too_many_login_attempts": _("Too many attempts. Please wait a few minutes and try again."),
        "busy": _("Others are signing in right now. Please try again."),
        "incorrect_password": _("That is not your password."),
        "no_researcher": _("This account has no access to the researchers' pages."),
    }

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def is_reauthentication_required(self, *, app: str, **kwargs: Any) -> bool:
        return not is_confirmed(context.request)

    def send_notification_mail(
        self, template_prefix: str, user: AbstractBaseUser, context: Any = None, email: str | None = None
    ) -> None:
        tell_of_change(user, template_prefix)

    def get_client_ip(self, request: HttpRequest) -> str:
        """Return the address, also where a request has none, such as over a socket of the machine's own."""
        return super().get_client_ip(request) if request.META.get("REMOTE_ADDR") else NOWHERE

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        return place_of(request, credentials["username"])

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        super().pre_authenticate(request, **credentials)
        name = credentials["username"]
        if cache.get(place_of(request, name)):
            return
        if not ratelimit.consume(request, action=ELSEWHERE, key=name.casefold()):
            raise self.validation_error("too_many_login_attempts")

    def authenticate(self, request: HttpRequest, **credentials: Any) -> AbstractBaseUser | None:
        if not room.acquire(blocking=False):
            raise self.validation_error("busy")
        try:
            with looking:
                user = super().authenticate(request, **credentials)
        finally:
            room.release()
        if user is None or not user.is_active:
            return None
        if not user.is_staff:
            raise self.validation_error("no_researcher")
        cache.set(place_of(request, credentials["username"]), True, REMEMBERED)
        return user


def place_of(request: HttpRequest, name: str) -> str:
    """Return the cache key of this name at this address (of IPv6, the network)."""
    place = f"{name.casefold()} {get_ip(request)}"
    return f"signed-in:{hashlib.sha256(place.encode()).hexdigest()}"


class SignInForm(LoginForm):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, label in {"login": _("User name"), "password": _("Password")}.items():
            self.fields[name].label = label
            del self.fields[name].widget.attrs["placeholder"]
        self.fields["login"].widget.attrs["autofocus"] = True


class SignIn(LoginView):
    template_name = "studies/research/sign_in.html"
    form_class = SignInForm


class SignOut(LogoutView):
    http_method_names = ["post", "options"]
