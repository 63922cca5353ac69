"""The pages of a whole draft: what is left to do, its file, loading and removing it."""

import re

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from dialogue.documents import DocumentError
from studies.builder.document import StudyDocument
from studies.builder.drafts import Checked, check_draft, foresee, load_draft
from studies.builder.frame import draft_page, read_document, show_draft, store, title_of
from studies.builder.sections import Section, get_sections, owner_of
from studies.design.reading import StudyFileError
from studies.models import StudyDraft


@require_GET
@draft_page
def outline(request: HttpRequest, draft: StudyDraft) -> HttpResponse:
    """Show what is left to do, section by section."""
    checked = check_draft(draft)
    counts = checked.count_by_section()
    context = {
        "sections": [(section, counts.get(section.slug, 0)) for section in get_sections()],
        "groups": group_by_section(draft, checked),
        "is_ready": checked.spec is not None,
        "is_broken": read_document(draft) is None,
    }
    return show_draft(request, draft, "builder_outline", context, checked)


def group_by_section(draft: StudyDraft, checked: Checked) -> list[tuple[Section, list[tuple[str, str, str]]]]:
    """Return the sections with faults; of each fault the address of its field, its place, and what is wrong."""
    groups: dict[str, list[tuple[str, str, str]]] = {}
    for place, said in checked.faults.items():
        groups.setdefault(owner_of(place), []).extend((locate(draft, place), place, message) for message in said)
    return [(section, groups[section.slug]) for section in get_sections() if section.slug in groups]


def locate(draft: StudyDraft, place: str) -> str:
    """Return the address of the field with a fault."""
    slug = owner_of(place)
    number = re.match(r"\[(\d+)\]", place[len(slug) :]) if place.startswith(slug) else None
    if number is None:
        return f"{reverse('research-draft-section', args=[draft.pk, slug])}#{place}"
    return f"{reverse('research-draft-row', args=[draft.pk, slug, int(number[1]) - 1])}#{place}"


@require_http_methods(["GET", "POST"])
@draft_page
def load(request: HttpRequest, draft: StudyDraft) -> HttpResponse:
    """Ask first, then load the draft as a study."""
    checked = check_draft(draft)
    if checked.spec is None:
        messages.error(request, _("The draft cannot be loaded yet. See what is left to do below."))
        return redirect("research-draft", draft.pk)
    if request.method != "POST":
        is_own = draft.study is not None and draft.study.key == checked.spec.key
        context = {"spec": checked.spec, "effect": foresee(checked.spec), "is_own": is_own}
        return show_draft(request, draft, "builder_load", context, checked)
    try:
        loaded = load_draft(draft)
    except StudyFileError:  # an instrument or an address has come or gone since the check
        messages.error(request, _("The draft cannot be loaded yet. See what is left to do below."))
        return redirect("research-draft", draft.pk)
    said = _("The study is loaded, version %(number)s.") % {"number": loaded.protocol.version}
    messages.success(request, said)
    return redirect("research-design", loaded.protocol.study.key)


@require_POST
@draft_page
def undo(request: HttpRequest, draft: StudyDraft) -> HttpResponse:
    if draft.earlier:
        draft.undo()
        draft.save()
        messages.success(request, _("The last change is undone."))
    else:
        messages.info(request, _("There is nothing to undo."))
    return redirect("research-draft", draft.pk)


@require_http_methods(["GET", "POST"])
@draft_page
def remove(request: HttpRequest, draft: StudyDraft) -> HttpResponse:
    """Ask first, then remove the draft. A study that was loaded from it stays."""
    if request.method != "POST":
        return show_draft(request, draft, "builder_remove", {})
    draft.delete()
    messages.success(request, _("The draft is removed."))
    return redirect("research-new-study")


@require_GET
@draft_page
def download(request: HttpRequest, draft: StudyDraft) -> HttpResponse:
    plain = "".join(sign for sign in title_of(draft) if sign.isascii() and (sign.isalnum() or sign in "_-"))
    headers = {"Content-Disposition": f'attachment; filename="{plain or "study"}.toml"'}
    return HttpResponse(draft.text, content_type="application/toml; charset=utf-8", headers=headers)


@require_http_methods(["GET", "POST"])
@draft_page
def text(request: HttpRequest, draft: StudyDraft) -> HttpResponse:
    """Show the file itself, to be edited as text."""
    if request.method != "POST":
        checked = check_draft(draft)
        faults = [f"{place}: {said}".removeprefix(": ") for place, each in checked.faults.items() for said in each]
        return show_draft(request, draft, "builder_text", {"text": draft.text, "faults": faults}, checked)
    typed = request.POST.get("text", "").replace("\r\n", "\n")
    try:
        StudyDocument(typed)
    except DocumentError as error:
        context = {"text": typed, "unsaved": [str(fault) for fault in error.faults]}
        return show_draft(request, draft, "builder_text", context, status=400)
    store(request, draft, text=typed)
    return redirect("research-draft-text", draft.pk)
