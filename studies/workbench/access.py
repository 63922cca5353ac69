"""Access to the workbench, and the parts that every page of it shows."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.translation import gettext as _

from studies.design.spec import INTERVIEW, MANUAL
from studies.models import Protocol, Study
from studies.participation import counts, timeouts
from studies.participation.language import instrument_language


def researchers_only(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    @wraps(view)
    def wrapper(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not request.user.is_authenticated:
            return redirect_to_login(request.get_full_path(), reverse("research-sign-in"))
        if not request.user.is_staff:
            raise PermissionDenied
        return view(request, *args, **kwargs)

    return wrapper


def study_page(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Make a view into a page of one study for researchers: `view(request, study, …)`."""

    @researchers_only
    @wraps(view)
    def wrapper(request: HttpRequest, study_key: str, *args: Any, **kwargs: Any) -> HttpResponse:
        return view(request, get_object_or_404(Study, key=study_key), *args, **kwargs)

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
    shown = {
        "study": study,
        "study_title": title_of(study.current()),
        "navigation": navigation(request, study),
        **context,
    }
    return render(request, f"studies/research/{template}.html", shown, status=status)


def title_of(protocol: Protocol) -> str:
    """Return the title from the design alone, because a list of studies must not read every study's arms."""
    title = protocol.design["title"]
    return title.get(instrument_language()) or next(iter(title.values()))


def navigation(request: HttpRequest, study: Study, *, here: str = "") -> list[dict[str, Any]]:
    """Return the links of the navigation. `here`: the address of the page to which this one belongs, if its own does
    not tell."""
    features = study.features()
    open_risks = counts.open_risks(study).count()
    pages = [
        ("research-study", _("Overview"), 0),
        ("research-people", _("People"), 0),
        *([("research-applicants", _("Applicants"), 0)] if MANUAL in features else []),
        ("research-conversations", _("Conversations"), 0),
        *([("research-interviews", _("Interviews"), 0)] if INTERVIEW in features else []),
        ("research-reviews", _("Reviews"), 0),
        ("research-pairs", _("Comparisons"), 0),
        ("research-quality", _("Quality"), 0),
        ("research-risks", _("Safety desk"), open_risks),
        ("research-profiles", _("Profiles"), 0),
        ("research-benchmark", _("Benchmark"), 0),
        ("research-judges", _("Judges"), 0),
        ("research-analysis", _("Analysis"), 0),
        ("research-export", _("Export"), 0),
        ("research-design", _("Design"), 0),
    ]
    rows = [{"url": reverse(name, args=[study.key]), "label": label, "count": count} for name, label, count in pages]
    # The longest address with which this page's address begins: a person's page belongs to People.
    longest = max((row["url"] for row in rows if (here or request.path).startswith(row["url"])), key=len, default="")
    return [{**row, "here": row["url"] == longest} for row in rows]
