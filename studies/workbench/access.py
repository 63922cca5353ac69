"""Access to the workbench, and the parts that every page of it shows."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from dialogue.providers.prices import PriceFileError
from studies.access.access import is_researcher
from studies.models import Protocol, Study
from studies.participation import timeouts
from studies.participation.language import instrument_language
from studies.workbench.pages import PAGES, get_links


def researchers_only(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Make a view into a page for researchers. The gate (studies.access.gate) has let its visitor pass."""

    @wraps(view)
    def wrapper(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not is_researcher(request.user):
            raise PermissionDenied
        return view(request, *args, **kwargs)

    return wrapper


def study_page(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Make a view into a page of one study for researchers: `view(request, study, …)`.

    Without the gate there is no `request.access`, and no page. Where the page needs prices, and someone has edited
    their file and made a fault, the page says so.
    """

    @researchers_only
    @wraps(view)
    def wrapper(request: HttpRequest, study_key: str, *args: Any, **kwargs: Any) -> HttpResponse:
        study = request.access.study
        try:
            return view(request, study, *args, **kwargs)
        except PriceFileError as error:
            return show(request, study, "price_faults", {"file": error.path, "faults": error.faults}, status=500)

    return wrapper


def study_page_after_timeouts(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Make a study page that first times out absent people, so that it shows who is still taking part."""

    @study_page
    @wraps(view)
    def wrapper(request: HttpRequest, study: Study, *args: Any, **kwargs: Any) -> HttpResponse:
        timeouts.time_out_absent(study)
        return view(request, study, *args, **kwargs)

    return wrapper


def show(
    request: HttpRequest, study: Study, template: str, context: Mapping[str, Any], *, status: int = 200
) -> HttpResponse:
    page_context = {
        "study": study,
        "study_title": title_of(study.current()),
        "navigation": navigation(request, study),
        "may": request.access,
        **context,
    }
    return render(request, f"studies/research/{template}.html", page_context, status=status)


def title_of(protocol: Protocol) -> str:
    """Return the title from the design alone, because a list of studies must not read every study's arms."""
    title = protocol.design["title"]
    return title.get(instrument_language()) or next(iter(title.values()))


def navigation(request: HttpRequest, study: Study, *, here: str = "") -> list[dict[str, Any]]:
    """Return the groups of the navigation. `here`: the address of the page to which this one belongs, if its own does
    not tell."""
    pages = [page for page in PAGES if request.access.may_look_at(page.name)]
    return get_links(study, here or request.path, pages)
