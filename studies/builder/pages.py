"""The pages of a whole draft: what is left to do, its file, loading and removing it."""

import re
from typing import Any, NamedTuple

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from dialogue.documents import DocumentError
from dialogue.templatetags.languages import listed
from studies.access.granting import make_founder, may_load
from studies.builder.document import StudyDocument
from studies.builder.draft_pages import draft_page, read_document, show_draft, store, title_of
from studies.builder.drafts import LANGUAGE_NAMES, CheckedDraft, check_draft, foresee, load_draft
from studies.builder.pasted_keys import refuse_pasted_keys
from studies.builder.place_words import describe_place
from studies.builder.sections import Section, get_sections, owner_of
from studies.design.contradictions import remarks
from studies.design.differences import compare
from studies.design.reading import StudyFileError
from studies.design.writing import dump_to_compare
from studies.instruments.own_instruments import find_own
from studies.models import Amendment, Study, StudyDraft
from studies.participation.durations import remark_on_times
from studies.participation.language import CODES
from studies.setup.storage import AmendmentNeeded, AmendmentReason, LacksLanguages, NamesModels


class LeftToDo(NamedTuple):
    """A fault: the address of its field, its place in the file, what is wrong, and how pages call the place."""

    address: str
    place: str
    message: str
    label: str


@require_GET
@draft_page
def outline(request: HttpRequest, draft: StudyDraft) -> HttpResponse:
    """Show what is left to do, section by section."""
    checked = check_draft(draft)
    counts, document = checked.count_by_section(), read_document(draft)
    context = {
        "sections": [(section, counts.get(section.slug, 0)) for section in get_sections()],
        "groups": group_by_section(draft, checked),
        "is_ready": checked.spec is not None,
        "is_broken": document is None,
        "own_questionnaires": find_own(document.get(())) if document else [],
    }
    return show_draft(request, draft, "builder_outline", context, checked)


def group_by_section(draft: StudyDraft, checked: CheckedDraft) -> list[tuple[Section, list[LeftToDo]]]:
    """Return the sections with faults, each with what is left to do there."""
    groups: dict[str, list[LeftToDo]] = {}
    document = read_document(draft)
    for place, texts in checked.faults.items():
        left = [LeftToDo(locate(draft, place), place, message, describe_place(document, place)) for message in texts]
        groups.setdefault(owner_of(place), []).extend(left)
    return [(section, groups[section.slug]) for section in get_sections() if section.slug in groups]


def locate(draft: StudyDraft, place: str) -> str:
    """Return the address of the field with a fault: where a language lacks its text, of the whole field."""
    slug = owner_of(place)
    field = place.rpartition(".")[0] if place.rpartition(".")[2] in CODES else place
    number = re.match(r"\[(\d+)\]", place[len(slug) :]) if place.startswith(slug) else None
    if number is None:
        return f"{reverse('research-draft-section', args=[draft.pk, slug])}#{field}"
    return f"{reverse('research-draft-row', args=[draft.pk, slug, int(number[1]) - 1])}#{field}"


@require_http_methods(["GET", "POST"])
@draft_page
def load(request: HttpRequest, draft: StudyDraft) -> HttpResponse:
    """Ask first, then load the draft as a study."""
    checked = check_draft(draft)
    if checked.spec is None:
        messages.error(request, _("The draft cannot be loaded yet. See what is left to do below."))
        return redirect("research-draft", draft.pk)
    if not may_load(request.user, checked.spec.key):
        messages.error(
            request, _("Another study has the key “%(key)s” already. Choose another key.") % {"key": checked.spec.key}
        )
        return redirect("research-draft", draft.pk)
    effect = foresee(checked.spec)
    form = AmendmentForm(request.POST or None) if effect == "amended" else None
    if request.method != "POST" or (form and not form.is_valid()):
        return load_page(request, draft, checked, form)
    try:
        loaded = load_draft(draft, form.explain(request.user) if form else None)
    except NamesModels as error:
        message = _("People who are asked again read this text, and it names %(names)s. Please leave that out.")
        if form:
            form.add_error("reason", message % {"names": error})
        return load_page(request, draft, checked, form)
    except LacksLanguages as error:
        message = _(
            "People who are taking part in %(languages)s would be asked for their consent in a language that is not "
            "theirs. Keep that language, or do not ask again."
        )
        if form:
            names = listed(LANGUAGE_NAMES[language] for language in error.languages)
            form.add_error("asks_again", message % {"languages": names})
        return load_page(request, draft, checked, form)
    except (StudyFileError, AmendmentNeeded):  # an instrument or an address has come or gone, or the study was opened
        messages.error(request, _("The draft cannot be loaded yet. See what is left to do below."))
        return redirect("research-draft", draft.pk)
    if loaded.outcome == "created":
        make_founder(loaded.protocol.study, request.user)
    message = _("The study is loaded, version %(number)s.") % {"number": loaded.protocol.version}
    messages.success(request, message)
    return redirect("research-life" if loaded.outcome == "amended" else "research-design", loaded.protocol.study.key)


def load_page(
    request: HttpRequest, draft: StudyDraft, checked: CheckedDraft, form: "AmendmentForm | None"
) -> HttpResponse:
    """Say what loading will do; of an amendment, also what changes, and ask why."""
    assert checked.spec is not None  # noqa: S101 - the caller has looked
    is_own = draft.study is not None and draft.study.key == checked.spec.key
    context: dict[str, Any] = {"spec": checked.spec, "effect": foresee(checked.spec), "is_own": is_own, "form": form}
    context["remarks"] = [*remarks(checked.spec), *remark_on_times(checked.spec)]
    study = Study.objects.filter(key=checked.spec.key).first()
    if study:
        before = study.current()
        lines = list(compare(dump_to_compare(before.full_spec()), dump_to_compare(checked.spec)))
        context |= {"lines": lines, "old": before.version, "new": before.version + 1, "stage": study.stage}
        context["under_way"] = study.under_way()
    status = 422 if form and form.is_bound else 200
    return show_draft(request, draft, "builder_load", context, checked, status=status)


class AmendmentForm(forms.Form):
    """Why the design changes after the study was opened."""

    reason = forms.CharField(
        label=gettext_lazy("What has changed, and why"),
        max_length=Amendment._meta.get_field("reason").max_length,
        widget=forms.Textarea(attrs={"rows": 3, "class": "short"}),
    )
    asks_again = forms.BooleanField(
        label=gettext_lazy("Ask people who have signed for their consent again; they read the text above"),
        required=False,
    )

    def explain(self, user: Any) -> AmendmentReason:
        name: str = user.get_username()
        data = self.cleaned_data
        return AmendmentReason(data["reason"], by_name=name, by=user, asks_again=data["asks_again"])


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
        faults = [
            f"{place}: {message}".removeprefix(": ") for place, each in checked.faults.items() for message in each
        ]
        return show_draft(request, draft, "builder_text", {"text": draft.text, "faults": faults}, checked)
    typed = request.POST.get("text", "").replace("\r\n", "\n")
    try:
        refuse_pasted_keys(StudyDocument(typed))
    except DocumentError as error:
        context = {"text": typed, "unsaved": [str(fault) for fault in error.faults]}
        return show_draft(request, draft, "builder_text", context, status=400)
    store(request, draft, text=typed)
    return redirect("research-draft-text", draft.pk)
