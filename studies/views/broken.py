"""The page for what broke on our side. It asks the database nothing, since that may be what is away."""

import sys

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.views import defaults

AWAY = (OperationalError, InterfaceError)
NOT_AGAIN = ("password",)  # what is no answer does not stand in a page a second time


def is_away(error: BaseException | None) -> bool:
    """Whether the database is at the bottom of it."""
    while error is not None and not isinstance(error, AWAY):
        error = error.__cause__ or error.__context__
    return error is not None


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django blames the browser also where a session could not be saved because the database is away."""
    return server_error(request) if is_away(exception) else defaults.bad_request(request, exception)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Researchers have no link of their own that could be copied wrongly."""
    is_researcher = request.path.startswith(reverse("research-studies")) and request.user.is_staff
    template = "studies/research/not_found.html" if is_researcher else defaults.ERROR_404_TEMPLATE_NAME
    return defaults.page_not_found(request, exception, template_name=template)


def server_error(request: HttpRequest) -> HttpResponse:
    """A form that could not be saved is in the page once more, whole, to be sent again by one button; the key that it
    carries (studies.submissions) keeps it from being taken twice."""
    away = is_away(sys.exc_info()[1])
    kept = [] if request.method != "POST" else [(n, value) for n, values in request.POST.lists() for value in values]
    context = {"again": request.path, "kept": [(n, value) for n, value in kept if n not in NOT_AGAIN], "away": away}
    response = HttpResponse(render_to_string("500.html", context), status=503 if away else 500)
    if away:
        response["Retry-After"] = "5"
    return response
