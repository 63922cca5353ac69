"""The language of researchers' pages. It is kept in a cookie, so that it outlives signing in and out."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from studies.participation.language import CODES, KEY

YEAR = 365 * 24 * 3600


@require_POST
def choose_language(request: HttpRequest) -> HttpResponse:
    """Store the language and go back to the page that the form stood on."""
    target = request.POST.get("next", "")
    safe = url_has_allowed_host_and_scheme(target, allowed_hosts={request.get_host()})
    response = HttpResponseRedirect(target if safe else reverse("research-studies"))
    language = request.POST.get("language", "")
    if language in CODES:
        # In a browser that also takes part in a study, the session's language has precedence.
        if KEY in request.session:
            request.session[KEY] = language
        name, secure = settings.LANGUAGE_COOKIE_NAME, settings.SESSION_COOKIE_SECURE
        response.set_cookie(name, CODES[language], max_age=YEAR, httponly=True, samesite="Lax", secure=secure)
    return response
