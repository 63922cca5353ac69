"""The gate before every page: it looks the route up in the table and refuses whoever may not pass.

It is a middleware, so that no view can be forgotten. Views find the rights of their visitor in `request.access`, where
a study is concerned. The API answers for itself (studies.access.api), because it also knows tokens.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Any

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse

from studies.access.access import (
    Access,
    drafts_of,
    find_access,
    is_researcher,
    passes,
)
from studies.access.confirming import OWN_PAGES, ask_again, is_confirmed_for, lacks_second_factor
from studies.access.table import Act, Kind, asks_again, find_need, line_for
from studies.models.membership import Role

log = logging.getLogger(__name__)

API = "api/"
HOME = "research-study"
# The page on which each role begins that may not see the study at a glance.
HOMES = {
    Role.CODER: "research-quality",
    Role.REVIEWER: "research-conversations",
    Role.COUNSELLOR: "research-cards",
}
NOT_SHOWN = ("csrf", "password", "token", "seen")  # parts of the names of fields that no one wrote, or no one may read
OPEN_TO_STRANGERS = (Kind.ANYONE, Kind.PERSON, Kind.TOKEN)


class Gate:
    """The middleware."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: Callable[..., HttpResponse], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> HttpResponse | None:
        """Return the refusal; None if the visitor may pass."""
        route = request.resolver_match.view_name
        need = find_need(route, request.method or "", kwargs)
        if need is None:
            log.error("%s", line_for(route))
            raise PermissionDenied
        if need in OPEN_TO_STRANGERS or request.resolver_match.route.startswith(API):
            return None
        return refuse_stranger(request) or refuse(request, route, need, kwargs) or ask_for_more(request, route, need)


def refuse_stranger(request: HttpRequest) -> HttpResponse | None:
    """Return the sign-in, or for a form that was sent after the session had ended, how to keep what was written."""
    if not request.user.is_authenticated:
        if request.method == "POST":
            return render(request, "studies/research/too_long.html", {"written": list_texts(request)}, status=403)
        return redirect_to_login(request.get_full_path(), reverse("research-sign-in"))
    return None if is_researcher(request.user) else refusal(request)


def list_texts(request: HttpRequest) -> list[tuple[str, str]]:
    """Return the texts of a form that was sent, to be copied: its sender may have no other copy."""
    texts = ((name, text) for name, values in request.POST.lists() for text in values if text.strip())
    return [(name, text) for name, text in texts if not any(part in name for part in NOT_SHOWN)]


def ask_for_more(request: HttpRequest, route: str, need: Kind | tuple[Act, ...]) -> HttpResponse | None:
    """Return the page that asks for what someone who may pass has to show first; None where nothing is missing."""
    if not route.startswith(OWN_PAGES) and lacks_second_factor(request.user):
        return redirect("mfa_index")
    return ask_again(request) if asks_again(route, need) and not is_confirmed_for(request) else None


def refuse(
    request: HttpRequest, route: str, need: Kind | tuple[Act, ...], arguments: Mapping[str, Any]
) -> HttpResponse | None:
    if isinstance(need, Kind):
        return None if passes(request.user, need) else refusal(request)
    if "draft" in arguments:
        get_object_or_404(drafts_of(request.user), pk=arguments["draft"])
        return None
    access = find_access(request.user, arguments["study_key"])
    request.access = access
    if access.may_any(need):
        return None
    return redirect(home_of(access), access.study.key) if route == HOME else refusal(request)


def home_of(access: Access) -> str:
    """Return the first page of someone who may not see the study at a glance."""
    return next((page for role, page in HOMES.items() if role in access.roles), "research-access")


def refusal(request: HttpRequest) -> HttpResponse:
    return render(request, "studies/research/refused.html", status=403)
