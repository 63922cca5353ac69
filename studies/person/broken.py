"""Pages for faults on our side. They never query the database, because it may be the cause."""

import re
import sys
from typing import Any

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import translation
from django.views import csrf, defaults

from dialogue.safety.resources import countries, get_listed_country, header, resources_for
from studies.api.status import healthz
from studies.instruments.countries import in_order
from studies.instruments.definitions import Option
from studies.participation.language import CODES, LANGUAGE_COOKIE, instrument_language

HELP, HEALTH = "/help/", "/healthz"
API = "/api/"  # where programs ask, which read JSON
AWAY = (OperationalError, InterfaceError)
CHINESE = ("CN", "TW", "HK", "MO")  # where pages in Chinese are read, the likeliest first
REGION = re.compile(r"\b[a-z]{2,3}-(?:[a-z]{4}-)?([a-z]{2})\b", re.IGNORECASE)  # of "zh-CN" or "zh-Hant-TW"
NOT_AGAIN = ("password",)  # fields that must not be shown in a page again


def is_away(error: BaseException | None) -> bool:
    """Return whether an error comes from an unreachable database."""
    while error is not None and not isinstance(error, AWAY):
        error = error.__cause__ or error.__context__
    return error is not None


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Show the page for a bad request, or the server's page if a session could not be saved without the database."""
    if is_away(exception):
        return server_error(request)
    if request.path.startswith(API):
        return JsonResponse({"detail": "The request cannot be read."}, status=400)
    return defaults.bad_request(request, exception)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Show the page for an unknown address; researchers get one that does not mention links."""
    shows_research = is_of_research(request) and request.user.is_staff
    template = "studies/research/not_found.html" if shows_research else defaults.ERROR_404_TEMPLATE_NAME
    return defaults.page_not_found(request, exception, template_name=template)


def is_of_research(request: HttpRequest) -> bool:
    return request.path.startswith(reverse("research-studies"))


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Show the page for a form whose token no longer holds; researchers read how to keep what they wrote."""
    template = "studies/research/too_long.html" if is_of_research(request) else csrf.CSRF_FAILURE_TEMPLATE_NAME
    return csrf.csrf_failure(request, reason, template_name=template)


def server_error(request: HttpRequest) -> HttpResponse:
    """Show the server's error page with the form that could not be saved and a button to send it again.

    Its key (studies.participation.submissions) keeps it from being accepted twice.
    """
    is_without_database = is_away(sys.exc_info()[1])
    if request.path.startswith(API):
        return fault_of_api(is_without_database)
    if is_without_database:
        return page_without_database(request)
    return HttpResponse(render_to_string("500.html", form_of(request)), status=500)


def fault_of_api(is_without_database: bool) -> HttpResponse:
    """Tell a program what it can do about a fault of ours."""
    if not is_without_database:
        return JsonResponse({"detail": "A fault of the server. Its log has the reason."}, status=500)
    content = {"detail": "The database does not answer. Try again later."}
    return JsonResponse(content, status=503, headers={"Retry-After": "5"})


def page_without_database(request: HttpRequest) -> HttpResponse:
    """Return the help page or the health check; for all other pages, what to do and every country's helplines."""
    if request.path == HEALTH:
        return healthz(request)
    language = CODES.get(request.COOKIES.get(LANGUAGE_COOKIE, "")) or translation.get_language_from_request(request)
    with translation.override(language):
        if request.path == HELP:
            likely = guess_country(request)
            context = help_lines(request.GET.get("country") or likely, first=likely)
            return HttpResponse(render_to_string("studies/help.html", context))
        context = {
            "sections": [
                (language_code, [(one.text, resources_for(str(one.value))) for one in list_countries(code)])
                for code, language_code in sorted(CODES.items(), key=lambda codes: codes[1] != language)
            ],
            "header": header(),
            **form_of(request),
        }
        response = HttpResponse(render_to_string("away.html", context), status=503)
    response["Retry-After"] = "5"
    return response


def form_of(request: HttpRequest) -> dict[str, Any]:
    """Return the address and the fields of a form, to send it again."""
    fields = [] if request.method != "POST" else [(n, value) for n, values in request.POST.lists() for value in values]
    return {"again": request.path, "fields": [(n, value) for n, value in fields if n not in NOT_AGAIN]}


def guess_country(request: HttpRequest) -> str:
    """Return the country whose lines to show first to someone unknown; "" where nothing tells.

    `study` in the address is the country of the study that they came from. It counts unless the page is in Chinese and
    that country is not: then, and without a study, the regions of the browser's languages count.
    """
    study, is_chinese = request.GET.get("study", ""), instrument_language() == "zh"
    if study and (study in CHINESE or not is_chinese):
        return study
    regions = [match.upper() for match in REGION.findall(request.headers.get("accept-language", ""))]
    candidates = {code for code, _names in countries()} & (set(CHINESE) if is_chinese else set(regions))
    return next((region for region in regions if region in candidates), CHINESE[0] if is_chinese else "")


def help_lines(country: str, *, first: str = "") -> dict[str, Any]:
    """Return the contents of the help page. `first`: the country that stands before the others, such as the study's
    own."""
    language = instrument_language()
    return {
        "resources": resources_for(country),
        "country": get_listed_country(country),
        "countries": [(one.value, one.text[language]) for one in list_countries(language, first=first)],
        "header": header()[language],
    }


def list_countries(language: str, *, first: str = "") -> list[Option]:
    """Return the entries of the list of lines in the order of a language."""
    return in_order([Option(code, names) for code, names in countries()], language, first=first)
