"""Signing in, with a limit to guessing."""

import hashlib
from typing import Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.models import AbstractBaseUser
from django.contrib.auth.views import LoginView, LogoutView
from django.core.cache import cache
from django.utils.translation import gettext_lazy as _

TRIES = 10
MINUTES = 15


class SignInForm(AuthenticationForm):
    """Counts every try before it looks at the password, so that many at once are no way round the limit."""

    error_messages = {
        **AuthenticationForm.error_messages,
        "wait": _("Too many tries for this name. Please wait %(minutes)s minutes and try again."),
        "no_researcher": _("This account may not see the researchers' pages."),
    }

    def clean(self) -> dict[str, Any]:
        tries = one_more_try(self.cleaned_data.get("username", ""))
        if tries > TRIES:
            raise forms.ValidationError(self.error_messages["wait"], code="wait", params={"minutes": MINUTES})
        cleaned = super().clean()
        cache.delete(tries_key(self.cleaned_data["username"]))
        return cleaned

    def confirm_login_allowed(self, user: AbstractBaseUser) -> None:
        super().confirm_login_allowed(user)
        if not user.is_staff:
            raise forms.ValidationError(self.error_messages["no_researcher"], code="no_researcher")


def one_more_try(name: str) -> int:
    """How many tries there were for this name since its first one within the last minutes, this one included."""
    key = tries_key(name)
    cache.add(key, 0, timeout=MINUTES * 60)
    return cache.incr(key)


def tries_key(name: str) -> str:
    return f"sign-in:{hashlib.sha256(name.casefold().encode()).hexdigest()}"


class SignIn(LoginView):
    template_name = "studies/research/sign_in.html"
    authentication_form = SignInForm


class SignOut(LogoutView):
    http_method_names = ["post", "options"]
