"""The shared parts of a draft's pages: who may see them, the sections as navigation, and how a change is stored."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.translation import gettext as _

from dialogue.documents import DocumentError, parse_toml
from studies.builder.document import NAME, StudyDocument
from studies.builder.drafts import CheckedDraft, check_draft
from studies.builder.pasted_keys import forget_pasted_keys
from studies.builder.sections import get_sections
from studies.models import StudyDraft
from studies.workbench.access import researchers_only


def draft_page(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Make a view into a page of one draft: `view(request, draft, …)`. While it changes, no one else changes it."""

    @researchers_only
    @wraps(view)
    @transaction.atomic
    def wrapper(request: HttpRequest, draft: int, *args: Any, **kwargs: Any) -> HttpResponse:
        rows = StudyDraft.objects.all()
        if request.method == "POST":
            rows = rows.select_for_update()
        return view(request, get_object_or_404(rows, pk=draft), *args, **kwargs)

    return wrapper


def show_draft(
    request: HttpRequest,
    draft: StudyDraft,
    template: str,
    context: Mapping[str, Any],
    checked: CheckedDraft | None = None,
    *,
    status: int = 200,
) -> HttpResponse:
    """Show a page of a draft, with the sections as its navigation."""
    checked = checked or check_draft(draft)
    page_context = {
        "draft": draft,
        "draft_title": title_of(draft),
        "navigation": [{"label": "", "pages": navigation(request, draft, checked)}],
        "left": sum(map(len, checked.faults.values())),
        **context,
    }
    return render(request, f"studies/research/{template}.html", page_context, status=status)


def title_of(draft: StudyDraft) -> str:
    """Return the title of the draft's study, as far as it can be read."""
    try:
        values = parse_toml(draft.text.encode(), NAME)
    except DocumentError:
        values = {}
    return str(values.get("key") or _("Unnamed study"))


def read_document(draft: StudyDraft) -> StudyDocument | None:
    """Return the file; None where it is no TOML, so that only its text can be mended."""
    try:
        return StudyDocument(draft.text)
    except DocumentError:
        return None


def navigation(request: HttpRequest, draft: StudyDraft, checked: CheckedDraft) -> list[dict[str, Any]]:
    """Return the links of the navigation, with how much each section still needs."""
    counts = checked.count_by_section()
    rows = [{"url": reverse("research-draft", args=[draft.pk]), "label": _("Draft"), "count": 0}]
    for section in get_sections():
        url = reverse("research-draft-section", args=[draft.pk, section.slug])
        rows.append({"url": url, "label": section.title, "count": counts.get(section.slug, 0)})
    rows.append({"url": reverse("research-draft-text", args=[draft.pk]), "label": _("The file"), "count": 0})
    longest = max((row["url"] for row in rows if request.path.startswith(row["url"])), key=len, default="")
    return [{**row, "here": row["url"] == longest} for row in rows]


def store(request: HttpRequest, draft: StudyDraft, **new: Any) -> None:
    """Store a change and say so."""
    if draft.change(**new):
        forget_pasted_keys(draft)
        draft.save()
        messages.success(request, _("Saved."))
    else:
        messages.info(request, _("Nothing has changed."))
