"""Misconfiguration that is better told at the start than found by a person in the middle of a conversation."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django.core.checks import Warning as Caution

from dialogue.providers.base import ProviderError
from dialogue.providers.recorded import recording


@register
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


@register
def recorded_answers_are_there_and_known_of(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    if not settings.REPLAY:
        return []
    try:
        recording(Path(settings.REPLAY))
    except ProviderError as fault:
        return [Error(f"REPLAY: {fault.detail}", hint="Name a file of `export_calls`, or none.", id="dialogue.E001")]
    return [
        Caution(
            f"No model is asked: answers come from {settings.REPLAY}, in chats too.",
            hint="Leave REPLAY out to ask models.",
            id="dialogue.W002",
        )
    ]
