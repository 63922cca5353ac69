"""Second factors by django-allauth: authenticator apps, passkeys and recovery codes."""

import base64
import hashlib
from typing import Any

from allauth.mfa.adapter import DefaultMFAAdapter
from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.utils.translation import gettext, gettext_lazy


class SecondFactors(DefaultMFAAdapter):
    error_messages = {
        **DefaultMFAAdapter.error_messages,
        "incorrect_code": gettext_lazy(
            "This code is not correct. Enter the current code of your authenticator app, or an unused recovery code."
        ),
        "other_key": gettext_lazy(
            "The server's SECRET_KEY has changed since this second factor was set up, so it cannot be checked. Ask an "
            "admin of the installation to remove it."
        ),
    }

    def encrypt(self, text: str) -> str:
        """Return the secret as it is stored: a copy of the database alone opens no account."""
        return cipher().encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        try:
            return cipher().decrypt(encrypted_text.encode()).decode()
        except InvalidToken:
            raise self.validation_error("other_key") from None

    def generate_authenticator_name(self, user: AbstractBaseUser, type: Any) -> str:
        return gettext("Passkey")

    def get_totp_label(self, user: AbstractBaseUser) -> str:
        return user.get_username()


def cipher() -> Fernet:
    key = hashlib.sha256(f"second factors {settings.SECRET_KEY}".encode()).digest()
    return Fernet(base64.urlsafe_b64encode(key))
