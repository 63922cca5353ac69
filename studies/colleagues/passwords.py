"""The page on which an invited colleague chooses a password, by the link in their mail."""

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.forms import SetPasswordForm
from django.contrib.auth.views import PasswordResetConfirmView
from django.http import HttpResponse
from django.urls import reverse_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from studies.colleagues.invitations import link_tokens


class PasswordForm(SetPasswordForm):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["new_password1"].label = gettext_lazy("Password")
        self.fields["new_password2"].label = gettext_lazy("The password again")
        self.fields["new_password1"].widget.attrs["autofocus"] = True


class ChoosePassword(PasswordResetConfirmView):
    """Django's page for a forgotten password. Its link holds a token that serves once, for a few days."""

    token_generator = link_tokens
    template_name = "studies/research/welcome.html"
    form_class = PasswordForm
    success_url = reverse_lazy("research-sign-in")

    def form_valid(self, form: forms.Form) -> HttpResponse:
        name = self.user.get_username()
        message = _("The password is set. Sign in with the user name %(name)s.") % {"name": name}
        messages.success(self.request, message)
        return super().form_valid(form)
