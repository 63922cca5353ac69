"""The preview of a draft: each step as people would see it, on a phone and on a desktop. Nothing of it is kept: the
study and the person that a page needs are made in a transaction that is rolled back."""

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone, translation
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_GET

from dialogue.documents import Place
from dialogue.languages import get_language
from studies.builder.document import StudyDocument
from studies.builder.draft_pages import read_document, show_draft
from studies.builder.drafts import CheckedDraft, check_draft, folder_of, get_languages
from studies.design.contradictions import OF_MAIL
from studies.design.plan import Step, expand, plan_for
from studies.design.spec import StudySpec
from studies.models import Participation, Protocol, StudyDraft
from studies.models.participation import TRACKS_OF_PEOPLE, Status
from studies.participation.enrolment import invite
from studies.participation.language import CODES, instrument_language
from studies.participation.step_kinds import KINDS, Visit
from studies.person.study import show
from studies.setup.storage import load_spec
from studies.workbench.access import researchers_only

CHAT = "chat"  # the step that needs scripts, which the frame does not run
BLANK = "…"  # stands for what the draft does not say yet
ADDRESSES, SOMEBODY = ("contact", "oncall_email"), "someone@example.org"
STAND_IN = {"kind": "scripted", "model": "mirror"}  # for a model that the draft does not name yet


@dataclass(frozen=True)
class ShownStep:
    """A step in the list: its number in the plan, what it is, and whether it is the one that is shown."""

    number: int
    label: str
    about: str
    here: bool


@require_GET
@researchers_only
def preview(request: HttpRequest, draft: int) -> HttpResponse:
    """Show the steps of a track in their order, and one of them in two widths."""
    study_draft = get_object_or_404(StudyDraft, pk=draft)
    checked = check_draft(study_draft)
    spec = checked.spec or complete(study_draft, checked)
    track, language, number = read_choice(request, spec)
    steps = walk(spec, track) if spec else ()
    if kind := request.GET.get("of"):
        number = next((place for place, step in enumerate(steps) if step.kind == kind), number)
    context = {
        "tracks": [(track, Participation.Track(track).label) for track in TRACKS_OF_PEOPLE],
        "track": track,
        "languages": [(code, get_language(code).name) for code in spec.languages] if spec else (),
        "language": language,
        "steps": list(list_steps(steps, number)),
        "number": number,
        "is_complete": checked.spec is not None,
    }
    return show_draft(request, study_draft, "builder_preview", context, checked)


def read_choice(request: HttpRequest, spec: StudySpec | None) -> tuple[str, str, int]:
    """Return the track, the language and the number of the step that the address names.

    By default it is the first of each, in the language of the page.
    """
    track = request.GET.get("track", "")
    language = request.GET.get("language", "")
    number = request.GET.get("step", "0")
    languages = spec.languages if spec else ()
    own = instrument_language()
    first = own if own in languages else next(iter(languages), "")
    return (
        track if track in TRACKS_OF_PEOPLE else TRACKS_OF_PEOPLE[0],
        language if language in languages else first,
        int(number) if number.isascii() and number.isdigit() and len(number) < 5 else 0,
    )


def walk(spec: StudySpec, track: str) -> Sequence[Step]:
    """Return the steps of someone who meets one arm: further conversations look the same."""
    return expand(plan_for(spec, track), spec, [spec.arms[0].key] if spec.arms else [], track=track)


def list_steps(steps: Sequence[Step], number: int) -> Iterator[ShownStep]:
    for place, step in enumerate(steps):
        yield ShownStep(place, str(KINDS[step.kind].label), step.instrument, place == number)


def complete(draft: StudyDraft, checked: CheckedDraft) -> StudySpec | None:
    """Return the draft with a mark in the place of texts that it lacks, and a script for models; None where more is
    wrong than that."""
    document = read_document(draft)
    if document is None:
        return None
    for number in range(document.count(("arms",))):
        stand_in(document, ("arms", number))
    for place in checked.faults:
        if place in ADDRESSES:
            document.set((place,), SOMEBODY)
        elif place.startswith("consent."):
            name = place.split(".")[1]
            value = SOMEBODY if name.endswith(OF_MAIL) else BLANK
            document.set(("consent", name), dict.fromkeys(get_languages(document), value))
    filled = StudyDraft(text=document.text, files=draft.files)
    return check_draft(filled).spec


def stand_in(document: StudyDocument, arm: Place) -> None:
    if not (document.get((*arm, "base_url")) and document.get((*arm, "model"))):
        for key, value in STAND_IN.items():
            document.set((*arm, key), value)


@require_GET
@researchers_only
@xframe_options_sameorigin
def preview_step(request: HttpRequest, draft: int) -> HttpResponse:
    """Return the page of one step, as a person meets it for the first time."""
    study_draft = get_object_or_404(StudyDraft, pk=draft)
    checked = check_draft(study_draft)
    spec = checked.spec or complete(study_draft, checked)
    if spec is None:
        return render(request, "studies/research/preview_missing.html", status=404)
    track, language, number = read_choice(request, spec)
    steps = walk(spec, track)
    if number < len(steps) and steps[number].kind == CHAT:
        with translation.override(CODES[language]):
            return render(request, "studies/research/preview_chat.html", {"opening": spec.chat.opening.get(language)})
    with folder_of(study_draft) as folder, transaction.atomic(), translation.override(CODES[language]):
        loaded = load_spec(replace(spec, key=f"preview-{secrets.token_hex(8)}"), folder=folder)
        page = page_of(request, loaded.protocol, track, language, number)
        transaction.set_rollback(True)
    return page or render(request, "studies/research/preview_missing.html", status=404)


def page_of(request: HttpRequest, protocol: Protocol, track: str, language: str, number: int) -> HttpResponse | None:
    """Return the page of someone who has come to this step; None where it shows nothing by itself."""
    steps = walk(protocol.spec(), track)
    if number >= len(steps):
        return None
    person, _token = invite(protocol.study, track=track, is_test=True)
    person.protocol, person.status, person.language = protocol, Status.ACTIVE, language
    person.plan, person.position = [step.to_json() for step in steps], number
    person.order, person.order_index = [protocol.spec().arms[0].key], 0
    person.started_at = timezone.now()
    person.save()
    visit = Visit(request, person, steps[number])
    page = KINDS[steps[number].kind].show(visit)
    return show(visit, page) if page else None
