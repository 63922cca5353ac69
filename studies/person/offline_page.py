"""The page that a person's browser keeps for a time without a network, and the script that shows it then.

The page is the same for everyone who reads a language in a country: it tells nothing of a person or a study.
"""

from base64 import b64encode
from functools import cache
from hashlib import sha256

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.safestring import mark_safe
from django.views.decorators.http import require_safe

from dialogue.safety.resources import get_listed_country, get_phone_lines

STYLES = ("css/tokens.css", "css/offline_page.css")
WORKER = "js/offline_worker.js"
# It is shown where nothing can be fetched, so its style stands in it.
POLICY = "default-src 'none'; style-src 'sha256-{hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


@require_safe
def offline_page(request: HttpRequest, country: str) -> HttpResponse:
    """Show the numbers of a country that a phone reaches without the internet."""
    if get_listed_country(country) != country:
        raise Http404
    style = "".join(map(read_static, STYLES))
    context = {"lines": get_phone_lines(country), "style": mark_safe(style)}  # noqa: S308 - files of ours
    page = render(request, "offline_page.html", context)
    page["Content-Security-Policy"] = POLICY.format(hash=b64encode(sha256(style.encode()).digest()).decode())
    return page


@require_safe
def offline_worker(_request: HttpRequest) -> HttpResponse:
    """Return the script. From the folder of static files it could not answer for pages."""
    headers = {"Service-Worker-Allowed": "/"}
    return HttpResponse(read_static(WORKER), content_type="text/javascript; charset=utf-8", headers=headers)


@cache
def read_static(name: str) -> str:
    return (settings.BASE_DIR / "static" / name).read_text(encoding="utf-8")
