"""System checks that report misconfiguration at the start, before it breaks a conversation."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, register
from django.core.checks import Warning as Caution


@register("emostudy")
def console_email_only_for_loopback(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    if settings.LOOPBACK_ONLY or not settings.EMAIL_BACKEND.endswith("console.EmailBackend"):
        return []
    return [
        Caution(
            "No mail can be sent to the person on call.",
            hint="Set EMAIL_URL, for example smtp+tls://user:password@mail.example.org:587",
            id="dialogue.W001",
        )
    ]
