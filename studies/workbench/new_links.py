"""Personal links that were made just now, on a page that can be reloaded.

A form that makes links leads here, so that reloading the page makes no more of them. The database has only hashes of
links. Until the page expires they are kept in the cache, encrypted with a key that needs both SECRET_KEY and the
session of whoever made them.
"""

import json
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.crypto import salted_hmac
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from studies.models import Study
from studies.workbench.access import navigation, show, study_page

if TYPE_CHECKING:
    from cryptography.fernet import Fernet  # slow to load

SHOWN = 600  # seconds
NAME_BYTES = 8  # of a page's name, which has two letters for each
Link = tuple[str, str, str]  # code, track, address


def redirect_to_links(
    request: HttpRequest, study: Study, links: Sequence[Link], *, is_test: bool = False, back: str = ""
) -> HttpResponse:
    """Keep the links for ten minutes, and redirect to their page. `back`: the address of the form's page."""
    page = secrets.token_hex(NAME_BYTES)
    text = json.dumps({"links": list(links), "is_test": is_test, "back": back})
    cache.set(name_of(study, page), get_box(request).encrypt(text.encode()).decode(), SHOWN)
    return redirect("research-links", study.key, page)


@require_GET
@never_cache
@study_page
def links_page(request: HttpRequest, study: Study, page: str) -> HttpResponse:
    data = read_links(request, study, page)
    context = {**data, "minutes": SHOWN // 60, "navigation": navigation(request, study, here=data.get("back", ""))}
    return show(request, study, "links", context, status=200 if data else 410)


def read_links(request: HttpRequest, study: Study, page: str) -> dict[str, Any]:
    """Return the data that `redirect_to_links` stored; empty if they have expired or belong to another session."""
    from cryptography.fernet import InvalidToken

    sealed = cache.get(name_of(study, page)) if len(page) == 2 * NAME_BYTES else None
    try:
        data: dict[str, Any] = json.loads(get_box(request).decrypt(sealed.encode(), ttl=SHOWN)) if sealed else {}
    except InvalidToken:
        return {}
    return data


def name_of(study: Study, page: str) -> str:
    return f"new-links:{study.pk}:{page}"


def get_box(request: HttpRequest) -> "Fernet":
    from cryptography.fernet import Fernet

    digest = salted_hmac("emostudy.new_links", request.session.session_key or "", algorithm="sha256").digest()
    return Fernet(urlsafe_b64encode(digest))
