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
from studies.builder.pages import LeftToDo, group_by_section
from studies.builder.place_words import read_place
from studies.builder.sections import CONSENT
from studies.design.contradictions import OF_MAIL
from studies.design.plan import Step, expand, plan_for
from studies.design.spec import CONSENT_KEYS, StudySpec
from studies.models import Participation, Protocol, StudyDraft
from studies.models.participation import TRACKS_OF_PEOPLE, Status
from studies.participation.enrolment import invite
from studies.participation.language import CODES, instrument_language
from studies.participation.step_kinds import KINDS, Visit
from studies.person.study import show
from studies.setup.storage import load_spec
from studies.workbench.access import researchers_only

CHAT = "chat"  # the step that needs scripts, which the frame does not run
ARMS, TITLE, FINAL = "arms", ("title",), ("chat", "final_instruments")
BLANK = "…"  # stands for what the draft does not say yet
ADDRESSES, SOMEBODY = (("contact",), ("oncall_email",)), "someone@example.org"
STAND_IN = {"kind": "scripted", "model": "mirror", "provider": None}  # for a model that the draft does not name yet
RATING = "emoharbor_10"  # stands for the rating that chats need
ROUNDS = 4  # of leaving out: without one thing, another may be wrong


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
        "left_out": list_left_out(study_draft, checked),
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
    """Return what the draft says of a study: with a mark in the place of texts that it lacks, a script for models, and
    without what is wrong otherwise; None where no study is left."""
    document = read_document(draft)
    if document is None:
        return None
    for number in range(document.count((ARMS,))):
        if not (document.get((ARMS, number, "base_url")) and document.get((ARMS, number, "model"))):
            stand_in(document, number)
    for _round in range(ROUNDS):
        places = {find_target(document, place) for place in map(read_place, checked.faults) if place}
        for place in sorted(places, key=in_order, reverse=True):  # the last row of a list first
            mend(document, place)
        checked = check_draft(StudyDraft(text=document.text, files=draft.files))
        if checked.spec:
            return checked.spec
    return None


def mend(document: StudyDocument, place: Place) -> None:
    """Write something in the place of a value with a fault, or leave out what has it."""
    texts = dict.fromkeys(get_languages(document), BLANK)
    if is_left_out(place):
        leave_out(document, place)
    elif place in ADDRESSES:
        document.set(place, SOMEBODY)
    elif place[-1] in CODES:
        document.set(place, BLANK)
    elif place[0] == ARMS:
        document.set(place, None)
        stand_in(document, int(place[1]))
    elif place[0] == CONSENT:
        value = SOMEBODY if str(place[1]).endswith(OF_MAIL) else BLANK
        document.set(place[:2], value if place[1] in CONSENT_KEYS else dict.fromkeys(texts, value))
    else:
        document.set(place, [RATING] if place == FINAL else texts)


def is_left_out(place: Place) -> bool:
    """Return whether the preview shows nothing in the place of something that is wrong."""
    is_filled = place in (*ADDRESSES, FINAL, TITLE) or place[-1:] in [(code,) for code in CODES]
    return not is_filled and not (place[:1] in ((ARMS,), (CONSENT,)) and len(place) > 1)


def find_target(document: StudyDocument, place: Place) -> Place:
    """Return the place that is left out: the whole table or member of a list; other places as they are."""
    number = next((depth for depth, part in enumerate(place) if isinstance(part, int)), len(place))
    is_member = is_left_out(place) and isinstance(document.get(place[:number]), list)
    return place[: number + 1] if is_member else place


def in_order(place: Place) -> list[tuple[str, int]]:
    return [("", part) if isinstance(part, int) else (part, 0) for part in place]


def leave_out(document: StudyDocument, place: Place) -> None:
    """Remove a table or a member of a list, or a key."""
    *above, last = place
    if not isinstance(last, int):
        document.set(place, None)
    elif document.has_tables(tuple(above)):
        document.remove_row(tuple(above), last)
    else:
        values = document.get(tuple(above))
        document.set(tuple(above), values[:last] + values[last + 1 :])


def list_left_out(draft: StudyDraft, checked: CheckedDraft) -> list[LeftToDo]:
    """Return what is wrong with the draft and therefore missing in the preview."""
    groups = group_by_section(draft, checked)
    return [fault for _section, faults in groups for fault in faults if is_left_out(read_place(fault.place))]


def stand_in(document: StudyDocument, arm: int) -> None:
    for key, value in STAND_IN.items():
        document.set((ARMS, arm, key), value)


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
