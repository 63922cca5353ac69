"""Misconfiguration of alarms that is better told at the start than found when someone is in danger."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, register
from django.core.checks import Warning as Caution


@register("emostudy")
def alarms_hold_links(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Warn where the address for the links of alarms is not known."""
    if settings.BASE_URL:
        return []
    return [
        Caution(
            "Alarms to the people on call hold no whole link.",
            hint="Set BASE_URL to the address at which people reach this server, as https://study.example.org",
            id="studies.W001",
        )
    ]
