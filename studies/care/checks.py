"""Misconfiguration of addresses that is better told at the start than found when someone is in danger."""

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, register
from django.core.checks import Warning as Caution
from django.http.request import validate_host


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


@register("emostudy")
def addresses_are_answered(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Warn where people are led to a name under which this server answers no one."""
    hosts = {urlsplit(address).hostname or "" for address in (settings.BASE_URL, *settings.CSRF_TRUSTED_ORIGINS)}
    return [
        Caution(
            f"Links lead to {host}, but whoever opens them there gets an error.",
            hint=f"Add {host} to ALLOWED_HOSTS, or correct BASE_URL and TRUSTED_ORIGINS",
            id="studies.W003",
        )
        for host in sorted(hosts - {""})
        if "*" not in host and not validate_host(f"[{host}]" if ":" in host else host, settings.ALLOWED_HOSTS)
    ]
