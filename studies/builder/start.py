"""The start of a draft: a template, a copy of a study, or an uploaded file; the way back from a study's design."""

from collections.abc import Iterator
from dataclasses import dataclass

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from dialogue.documents import DocumentError, check_size, read_text
from studies.access.access import Viewer, drafts_of, studies_of
from studies.access.table import Act
from studies.builder.document import NAME, StudyDocument
from studies.builder.draft_pages import title_of as title_of_draft
from studies.builder.drafts import copy_study, find_draft_of, open_draft, read_template
from studies.design.reading import LARGEST_FILE
from studies.models import Protocol, Study, StudyDraft
from studies.workbench.access import researchers_only, study_page, title_of

UPLOAD = "upload"
COPY = "copy:"
TEMPLATES: tuple[tuple[str, str | Promise, str | Promise], ...] = (
    (
        "minimal",
        gettext_lazy("The smallest study"),
        gettext_lazy("Consent, one conversation and one rating. Fill in your model, and try it."),
    ),
    (
        "emoharbor",
        gettext_lazy("EmoHarbor"),
        gettext_lazy("People choose a topic, talk with five models in balanced order, and rate ten dimensions."),
    ),
    (
        "worst_case_experts",
        gettext_lazy("When Seekers Are Hard to Help"),
        gettext_lazy("Counsellors play seekers who are hard to help, and rate the systems."),
    ),
    (
        "demo",
        gettext_lazy("The demonstration"),
        gettext_lazy("All steps and both tracks, with scripted models that need no key. Good for trying things out."),
    ),
)


class UploadForm(forms.Form):
    """A study file from the researcher's machine."""

    file = forms.FileField(label=gettext_lazy("Study file (TOML)"))


@dataclass(frozen=True)
class Begin:
    """A way to begin."""

    value: str
    title: str
    about: str


@require_http_methods(["GET", "POST"])
@researchers_only
def new(request: HttpRequest) -> HttpResponse:
    if request.method != "POST":
        return new_page(request)
    begin = request.POST.get("begin", "")
    try:
        if begin == UPLOAD:
            draft = upload_draft(request)
        elif begin.startswith(COPY):
            draft = open_copy(request, begin.removeprefix(COPY))
        else:
            draft = open_template(request, begin)
    except DocumentError as error:
        faults = [str(fault) for fault in error.faults]
        if begin == UPLOAD:
            told = _("%(file)s is not a study file that can be read. Nothing was kept of it.")
            name = request.FILES["file"].name
            faults.insert(0, told % {"file": name})
            if name.endswith(".json"):
                faults.append(_("If this is the file of a questionnaire, upload it under Questionnaires."))
        return new_page(request, faults=faults, status=400)
    if draft is None and begin == UPLOAD:
        return new_page(request, faults=[_("Choose a study file first. It must not be empty.")], status=400)
    if draft is None:
        return new_page(request, faults=[_("Choose what to begin with.")], status=400)
    messages.success(request, _("This is a draft. Nothing is visible to participants until you load it."))
    return redirect("research-draft", draft.pk)


def new_page(request: HttpRequest, *, faults: list[str] | None = None, status: int = 200) -> HttpResponse:
    context = {
        "templates": [Begin(name, str(title), str(about)) for name, title, about in TEMPLATES],
        "copies": list(copies(request.user)),
        "drafts": [(title_of_draft(draft), draft) for draft in drafts_of(request.user).select_related("study")[:50]],
        "faults": faults or [],
    }
    return render(request, "studies/research/builder_new.html", context, status=status)


def copies(user: Viewer) -> Iterator[Begin]:
    """Yield the studies whose design this account may see."""
    protocols = Protocol.objects.filter(study__in=studies_of(user, Act.SEE_ARMS))
    newest = {protocol.study_id: protocol for protocol in protocols.order_by("version").select_related("study")}
    for protocol in sorted(newest.values(), key=lambda one: one.study.key):
        yield Begin(f"{COPY}{protocol.study.key}", title_of(protocol), protocol.study.key)


def upload_draft(request: HttpRequest) -> StudyDraft | None:
    """Return a draft of the uploaded file; None where there is none. Raise DocumentError."""
    form = UploadForm(request.POST, request.FILES)
    if not form.is_valid():
        return None
    content = form.cleaned_data["file"].read(LARGEST_FILE + 1)
    check_size(content, NAME, limit=LARGEST_FILE)
    return open_draft(read_text(content, NAME), {}, request.user)


def open_copy(request: HttpRequest, key: str) -> StudyDraft | None:
    """Return a draft with the design of a study, for a new study: it has no key yet."""
    study = studies_of(request.user, Act.SEE_ARMS).filter(key=key).first()
    if study is None:
        return None
    text, files = copy_study(study.current(), for_new=True)
    document = StudyDocument(text)
    document.set(("key",), f"{key[:50]}_copy")
    return open_draft(document.text, files, request.user)


def open_template(request: HttpRequest, name: str) -> StudyDraft | None:
    if name not in {template for template, _title, _about in TEMPLATES}:
        return None
    document = StudyDocument(read_template(name))
    document.set(("key",), f"my_{name}"[:60])
    return open_draft(document.text, {}, request.user)


@require_POST
@study_page
def edit(request: HttpRequest, study: Study) -> HttpResponse:
    """Open the draft that the study was loaded from, with its comments; else a new one with the study's design."""
    draft = find_draft_of(study)
    if draft is None:
        text, files = copy_study(study.current())
        draft = open_draft(text, files, request.user, study)
    return redirect("research-draft", draft.pk)
