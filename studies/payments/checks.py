"""The warning at a server's start if there is no key for contact data."""

from typing import Any

from django.core.checks import CheckMessage, register
from django.core.checks import Warning as Caution

from studies.payments.sealing import has_key

HOW = (
    "Set CONTACT_KEY to a key that this command prints: python -c "
    '"from cryptography.fernet import Fernet; print(Fernet.generate_key().decode())"'
)


@register("emostudy")
def contact_key_is_set(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Warn where contact data cannot be stored."""
    if has_key():
        return []
    message = "Contact data such as Prolific IDs are not stored, because there is no key to encrypt them."
    return [Caution(message, hint=HOW, id="studies.W002")]
