"""allauth's forms of passkeys, with a field that no text breaks."""

from typing import Any

from allauth.mfa.webauthn.forms import AddWebAuthnForm, AuthenticateWebAuthnForm, ReauthenticateWebAuthnForm
from django import forms
from django.core.exceptions import ValidationError


class Credential(forms.JSONField):
    def to_python(self, value: Any) -> Any:
        """Return the value. Python refuses numbers of thousands of digits, and lists nested a thousand times."""
        try:
            return super().to_python(value)
        except (ValueError, RecursionError):
            raise ValidationError(self.error_messages["invalid"], code="invalid", params={"value": ""}) from None


class AddPasskey(AddWebAuthnForm):
    credential = Credential(widget=forms.HiddenInput)


class SignInByPasskey(AuthenticateWebAuthnForm):
    credential = Credential(widget=forms.HiddenInput)


class ConfirmByPasskey(ReauthenticateWebAuthnForm):
    credential = Credential(widget=forms.HiddenInput)
