"""The pages of questionnaires: all there are, one of them, and the form in which someone makes one."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from dialogue.documents import DocumentError
from studies.access.access import Viewer, drafts_of, studies_of
from studies.builder.draft_pages import title_of
from studies.instruments.definitions import Questionnaire
from studies.instruments.loading import (
    LARGEST_FILE,
    PAIRWISE,
    RATING_SCALE,
    SITE,
    instrument_ids,
    load,
    path_of,
    read_object,
)
from studies.participation.language import instrument_language
from studies.questionnaires import storage
from studies.questionnaires.checking import check_data, read_upload
from studies.questionnaires.document import QUESTIONNAIRE, Described, compose, describe
from studies.questionnaires.forms import QuestionnaireForm, UploadForm, initial_of, walk_boxes
from studies.questionnaires.lines import LinesError, read_questions
from studies.questionnaires.preview import list_stored_items, preview_in_all
from studies.questionnaires.uses import Uses, find_uses
from studies.workbench.access import researchers_only

OF_DRAFT = re.compile(r"drafts/\d+/([a-z_.]+/(\d+/)?)?")  # below the pages of researchers, where someone may come from


@dataclass(frozen=True)
class ShownUses:
    """The uses of a questionnaire as an account may see them: those of others are only counted."""

    studies: list[str]
    drafts: list[tuple[str, str]]  # address and title
    others: int
    is_used: bool
    is_fixed: bool


@dataclass(frozen=True)
class Line:
    """A questionnaire in the list."""

    id: str
    title: str
    kind: str
    questions: int
    uses: ShownUses | None = None


def kind_name(kind: str) -> str:
    """Return the kind in words; of one that a package has brought, its name."""
    names = {
        QUESTIONNAIRE: _("Questionnaire"),
        RATING_SCALE: _("Rating form"),
        PAIRWISE: _("Comparison"),
        "interview": _("Interview"),
        "quiz": _("Quiz"),
        "reply_flag": _("Mark on a reply"),
        "form": _("Form"),
    }
    return names.get(kind, kind)


def show_uses(uses: Uses, user: Viewer) -> ShownUses:
    visible = set(studies_of(user).values_list("pk", flat=True))
    own_drafts = set(drafts_of(user).values_list("pk", flat=True))
    studies = sorted(study.key for study in uses.studies if study.pk in visible)
    drafts = [
        (reverse("research-draft", args=[draft.pk]), title_of(draft))
        for draft in sorted(uses.drafts, key=lambda one: one.pk)
        if draft.pk in own_drafts
    ]
    others = len(uses.studies) + len(uses.drafts) - len(studies) - len(drafts)
    return ShownUses(studies, drafts, others, is_used=bool(uses), is_fixed=bool(uses.fixed_by))


def line_of(questionnaire: Questionnaire, uses: ShownUses | None = None) -> Line:
    title = questionnaire.title[instrument_language()]
    return Line(questionnaire.id, title, kind_name(questionnaire.kind), len(questionnaire.items), uses)


# All.


@require_GET
@researchers_only
def list_all(request: HttpRequest) -> HttpResponse:
    return show_list(request)


def show_list(request: HttpRequest, *, faults: Iterable[str] = (), status: int = 200) -> HttpResponse:
    own = SITE.instruments
    uses = find_uses(own)
    context = {
        "own": [line_of(one, show_uses(uses[id], request.user)) for id, one in own.items()],
        "built_in": [line_of(load(id)) for id in instrument_ids() if id not in own],
        "left_out": [str(error) for error in SITE.find_faults().values()],
        "upload": UploadForm(),
        "faults": list(faults),
        "back": find_back(request),
        "is_list": True,
    }
    return render(request, "studies/research/questionnaires.html", context, status=status)


@require_POST
@researchers_only
def upload(request: HttpRequest) -> HttpResponse:
    form = UploadForm(request.POST, request.FILES)
    if not form.is_valid():
        return show_list(request, faults=[_("Choose a file first. It must not be empty.")], status=400)
    file = form.cleaned_data["file"]
    try:
        questionnaire, data = read_upload(file.read(LARGEST_FILE + 1), file.name)
        storage.store(questionnaire.id, data)
    except DocumentError as error:
        return show_list(request, faults=[str(fault) for fault in error.faults], status=400)
    except storage.IdTaken:
        return show_list(request, faults=[f"id: {_('there is an instrument of this id already')}"], status=400)
    messages.success(request, saved_message())
    return redirect_with_back(request, "research-questionnaire", questionnaire.id)


def saved_message() -> str:
    return _("The questionnaire is saved. Drafts of studies can choose it now.")


def find_back(request: HttpRequest) -> str:
    """Return the page of a draft from which someone came, to return there; empty where there is none."""
    back = request.POST.get("back") or request.GET.get("back", "")
    here = reverse("research-studies")
    return back if back.startswith(here) and OF_DRAFT.fullmatch(back.removeprefix(here)) else ""


def redirect_with_back(request: HttpRequest, name: str, *arguments: str) -> HttpResponse:
    back = find_back(request)
    address = reverse(name, args=arguments)
    return redirect(f"{address}?{urlencode({'back': back})}" if back else address)


# One.


def get_questionnaire(instrument: str) -> Questionnaire:
    if instrument not in instrument_ids():
        raise Http404
    return load(instrument)


def get_own(instrument: str) -> Questionnaire:
    """Return a questionnaire that was made on this site."""
    own = SITE.instruments.get(instrument)
    if own is None:
        raise Http404
    return own


def get_shown_uses(request: HttpRequest, instrument: str) -> ShownUses:
    return show_uses(find_uses([instrument])[instrument], request.user)


@require_GET
@researchers_only
def one(request: HttpRequest, instrument: str) -> HttpResponse:
    questionnaire = get_questionnaire(instrument)
    is_own = instrument in SITE.instruments
    context = {
        "questionnaire": questionnaire,
        "line": line_of(questionnaire, get_shown_uses(request, instrument) if is_own else None),
        "is_own": is_own,
        "has_form": describe_for_form(questionnaire) is not None,
        "previews": preview_in_all(questionnaire),
        "stored": list_stored_items(questionnaire),
        "back": find_back(request),
    }
    return render(request, "studies/research/questionnaire.html", context)


@require_GET
@researchers_only
def download(request: HttpRequest, instrument: str) -> HttpResponse:
    get_questionnaire(instrument)
    headers = {"Content-Disposition": f'attachment; filename="{instrument}.json"'}
    return HttpResponse(path_of(instrument).read_bytes(), content_type="application/json", headers=headers)


@require_http_methods(["GET", "POST"])
@researchers_only
def remove(request: HttpRequest, instrument: str) -> HttpResponse:
    """Ask first, then remove the questionnaire, unless a study or a draft uses it."""
    questionnaire = get_own(instrument)
    uses = get_shown_uses(request, instrument)
    if request.method == "POST" and not uses.is_used:
        storage.remove(instrument)
        messages.success(request, _("The questionnaire is deleted."))
        return redirect("research-questionnaires")
    context = {"line": line_of(questionnaire, uses)}
    status = 409 if request.method == "POST" else 200
    return render(request, "studies/research/questionnaire_remove.html", context, status=status)


# The form.


def describe_for_form(questionnaire: Questionnaire) -> Described | None:
    """Return what the form would show; None for one that would not be the same after it."""
    data = read_object(path_of(questionnaire.id))
    described = describe(questionnaire, data)
    boxes = dict(walk_boxes(described)) if described else {}
    try:
        read = read_questions({code: boxes[f"questions_{code}"] for code in questionnaire.title}) if described else []
    except LinesError:
        return None
    return described if described and read == list(described.questions) else None


@require_http_methods(["GET", "POST"])
@researchers_only
def new(request: HttpRequest) -> HttpResponse:
    """Show the form, its preview, or store what it says. The address may say what stands in it at first: `kind`, or
    `copy`, another questionnaire."""
    if request.method == "POST":
        return answer_form(request, QuestionnaireForm(request.POST))
    copied = request.GET.get("copy", "")
    described = describe_for_form(load(copied)) if copied in instrument_ids() else None
    kind = RATING_SCALE if request.GET.get("kind") == RATING_SCALE else QUESTIONNAIRE
    return show_form(request, QuestionnaireForm(initial=initial_of(described, kind)))


@require_http_methods(["GET", "POST"])
@researchers_only
def edit(request: HttpRequest, instrument: str) -> HttpResponse:
    """Show the form of a questionnaire that no one can have met yet."""
    questionnaire = get_own(instrument)
    described = describe_for_form(questionnaire)
    if described is None or get_shown_uses(request, instrument).is_fixed:
        messages.error(request, _("This questionnaire cannot be changed any more. You can copy it as a new one."))
        return redirect_with_back(request, "research-questionnaire", instrument)
    if request.method == "POST":
        return answer_form(request, QuestionnaireForm(request.POST, fixed_id=instrument), questionnaire)
    return show_form(request, QuestionnaireForm(initial=initial_of(described), fixed_id=instrument), questionnaire)


def answer_form(request: HttpRequest, form: QuestionnaireForm, before: Questionnaire | None = None) -> HttpResponse:
    """Show what is wrong or how it looks, or store it. `before`: the questionnaire that it changes."""
    if not form.is_valid():
        return show_form(request, form, before, status=422)
    if before and request.POST.get("version") != before.version:
        return show_conflict(request, form, before)
    described: Described = form.cleaned_data["described"]
    data = compose(described, next_version(before))
    if request.POST.get("act") != "save":
        return show_form(request, form, before, data)
    try:
        storage.store(described.id, data, replaces=before.version if before else None)
    except storage.ChangedMeanwhile:
        return show_conflict(request, form, before)
    except storage.IdTaken:
        form.add_error("key", _("Another questionnaire has the short name “%(key)s”.") % {"key": described.id})
        return show_form(request, form, before, status=409)
    messages.success(request, saved_message())
    return redirect_with_back(request, "research-questionnaire", described.id)


def show_conflict(request: HttpRequest, form: QuestionnaireForm, before: Questionnaire | None) -> HttpResponse:
    form.add_error(None, _("Not saved: someone else has changed this questionnaire meanwhile."))
    return show_form(request, form, before, status=409)


def next_version(before: Questionnaire | None) -> str:
    """Return the version: how many times it was saved."""
    return str(int(before.version) + 1) if before and before.version.isdecimal() else "1"


def show_form(
    request: HttpRequest,
    form: QuestionnaireForm,
    before: Questionnaire | None = None,
    data: Mapping[str, Any] | None = None,
    *,
    status: int = 200,
) -> HttpResponse:
    """Show the form; with `data`, also what they look like to people."""
    shown = check_data(json.loads(json.dumps(data)), data["id"], data["id"]) if data else None
    context = {
        "form": form,
        "before": before,
        "line": line_of(before) if before else None,
        "previews": preview_in_all(shown) if shown else (),
        "stored": list_stored_items(shown) if shown else (),
        "back": find_back(request),
    }
    return render(request, "studies/research/questionnaire_form.html", context, status=status)
