"""Researchers' pages of interviews: the list, the page of one interview, files, coding, and all interviews as a
document."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.db import transaction
from django.db.models import Count, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, QueryDict, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from dialogue.input_checks import LARGEST_KEY, int_from
from studies.access.table import Act
from studies.instruments.interview_guide import rated_instruments
from studies.interviews import attachments, coding, materials, schedule
from studies.interviews.interview_record import Record, flag_in_words, record_of, score_in_words
from studies.interviews.note_forms import NOTE_LIMIT, NoteForm, NotesForm
from studies.models import (
    Attachment,
    CandidateDimension,
    Interview,
    InterviewNote,
    Participation,
    Passage,
    Study,
)
from studies.participation import counts
from studies.participation.language import instrument_language
from studies.participation.progress import current_step
from studies.workbench.access import show, study_page, title_of
from studies.workbench.lists import ROWS_PER_PAGE, paging

# The document is one file with its own style, and may load nothing else.
DOCUMENT_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
FILE_POLICY = "default-src 'none'; sandbox"


# The list


@dataclass(frozen=True)
class Row:
    """A row of the list. `shape` is the CSS modifier of the state's sign."""

    person: Participation
    written: bool
    state: str
    shape: str
    waits: bool  # at the step, for a researcher


def row_of(person: Participation) -> Row:
    interview = getattr(person, "interview", None)
    written = schedule.is_written(person)
    over = interview is not None and interview.ended_at is not None
    waits = not (written or over or person.is_over()) and current_step(person).kind == schedule.INTERVIEW
    if over:
        return Row(person, written, _("Done"), "done", False)
    if interview:
        return Row(person, written, _("Under way"), "going", waits)
    return Row(person, written, _("Not started"), "attention" if waits else "waiting", waits)


def people_with_interview(study: Study, test: str) -> list[Participation]:
    """Return the people of the study whose plan has an interview."""
    people = counts.filter_by_test(study.participations.all(), test).select_related("study", "interview")
    return [person for person in annotate_counts(people).order_by("pk") if schedule.step_of(person)]


def annotate_counts(people: QuerySet[Participation]) -> QuerySet[Participation]:
    return people.annotate(
        notes=Count("interview__notes", distinct=True),
        files=Count("interview__attachments", distinct=True),
        codes=Count("interview__passages", distinct=True),
    )


def test_filter(request: HttpRequest, study: Study) -> str:
    return request.GET.get("test", counts.default_data(study))


@require_GET
@study_page
def people(request: HttpRequest, study: Study) -> HttpResponse:
    test = test_filter(request, study)
    page = Paginator([row_of(person) for person in people_with_interview(study, test)], ROWS_PER_PAGE).get_page(
        request.GET.get("page")
    )
    context = {"test": test, "page": page, "rows": page.object_list, **paging(page, request)}
    return show(request, study, "interviews", context)


# One interview


def person_for(study: Study, code: str) -> Participation:
    person = get_object_or_404(study.participations.select_related("protocol", "study"), code=code)
    if schedule.step_of(person) is None:
        raise Http404
    return person


def interview_for(study: Study, code: str) -> Interview:
    return get_object_or_404(
        Interview.objects.select_related("participation__study"), participation=person_for(study, code)
    )


@require_GET
@study_page
def interview(request: HttpRequest, study: Study, code: str) -> HttpResponse:
    person = person_for(study, code)
    return interview_page(request, study, person, notes_form(person))


def interview_page(
    request: HttpRequest, study: Study, person: Participation, form: NotesForm, *, status: int = 200
) -> HttpResponse:
    held, language = schedule.interview_of(person), instrument_language()
    tables = materials.score_tables(person, language, only=instruments_rated(person))
    about = rated_instruments(schedule.guide_of(person))
    record = record_of(person, held, language)
    context = {
        "person": person,
        "row": row_of(person),
        "record": record,
        "takes_notes": held is not None and schedule.takes_notes(held) and request.access.may(Act.INTERVIEW),
        "form": form,
        "parts": [(part.section, [form.box(question) for question in part.questions]) for part in record.sections],
        "dropped": candidates_to_drop(request, person),
        "talks": materials.talks_of(person),
        "flags": materials.replies_with_flags(person, language),
        "tables": [table for table in tables if table.instrument in about],
        "other_tables": [table for table in tables if table.instrument not in about],
        "partners": partners(person) if held and held.ended_at else [],
    }
    return show(request, study, "interview", context, status=status)


def notes_form(person: Participation, data: QueryDict | None = None) -> NotesForm:
    return NotesForm(person, list(note_choices(person, instrument_language())), data)


def instruments_rated(person: Participation) -> set[str]:
    return set(materials.ratings_of(person).order_by().values_list("response__instrument", flat=True))


def partners(person: Participation) -> list[tuple[int, str]]:
    """Return which arm each partner was. Call it only for closed interviews."""
    return list(person.runs.order_by("position").values_list("position", "arm"))


def note_choices(person: Participation, language: str) -> Iterator[tuple[str, str]]:
    """Yield the subjects of a note: a reply that the person flagged, or one of their scores."""
    for flag in materials.flags_of(person):
        yield f"flag:{flag.pk}", flag_in_words(flag, language)
    for rating in materials.ratings_of(person):
        yield f"rating:{rating.pk}", score_in_words(rating, language)


def interview_action(
    rule: Callable[[HttpRequest, Participation], None], message: object
) -> Callable[[HttpRequest, Study, str], HttpResponse]:
    """Return the view of a button on the interview's page.

    It changes nothing if the person answers alone, because they begin and end it.
    """

    @require_POST
    @study_page
    def view(request: HttpRequest, study: Study, code: str) -> HttpResponse:
        person = person_for(study, code)
        if schedule.is_written(person):
            messages.info(
                request,
                _("%(code)s answers in writing. The interview ends when they send the last page.") % {"code": code},
            )
        else:
            rule(request, person)
            messages.success(request, str(message) % {"code": code})
        return redirect("research-interview", study.key, code)

    return view


def start_interview(request: HttpRequest, person: Participation) -> None:
    schedule.start(person, interviewer=request.user)


def reopen_interview(_request: HttpRequest, person: Participation) -> None:
    schedule.reopen(get_object_or_404(Interview, participation=person))


start = interview_action(start_interview, gettext_lazy("The interview with %(code)s has started."))
reopen = interview_action(reopen_interview, gettext_lazy("The interview with %(code)s is open again."))


# Notes and candidate dimensions


@require_POST
@study_page
def save_notes(request: HttpRequest, study: Study, code: str) -> HttpResponse:
    """Save everything on the page at once, so that text next to another box's button is not lost."""
    held = interview_for(study, code)
    if not schedule.takes_notes(held):
        messages.error(request, _("The interview is closed. Open it again to add notes."))
        return redirect("research-interview", study.key, code)
    form = notes_form(held.participation, request.POST)
    if not form.is_valid():
        return interview_page(request, study, held.participation, form, status=422)
    with transaction.atomic():
        noted = [add_note(request, held, *each) for each in form.notes()]
        changed = change_candidates(request, held.participation, form)
        closed = "close" in request.POST and not schedule.is_written(held.participation)
        if closed:
            schedule.close(held)
    if closed:
        text = _("The interview is closed. %(code)s continues when they next open their link.")
        messages.success(request, text % {"code": code})
    elif noted or changed:
        messages.success(request, _("Saved"))
    return redirect("research-interview", study.key, code)


def add_note(request: HttpRequest, held: Interview, question: str, text: str, about: str) -> InterviewNote:
    ties = ties_of(held.participation, about)
    return held.notes.create(question=question, text=text, author=request.user, **ties)


def ties_of(person: Participation, subject: str) -> dict[str, int]:
    """Return the foreign keys of a note's subject, if it is this person's own."""
    kind, _colon, text = subject.partition(":")
    number = int_from(text, 1, LARGEST_KEY)
    own = {"flag": materials.flags_of, "rating": materials.ratings_of}
    if kind in own and number is not None and own[kind](person).filter(pk=number).exists():
        return {f"{kind}_id": number}
    return {}


def change_candidates(request: HttpRequest, person: Participation, form: NotesForm) -> bool:
    """Save the candidate that the interviewer entered and delete those that are ticked."""
    gone, named = candidates_to_drop(request, person), form.candidate()
    for candidate in gone:
        candidate.delete()
    if named:
        person.candidate_dimensions.update_or_create(study=person.study, name=named.pop("name"), defaults=named)
    return bool(gone or named)


def candidates_to_drop(request: HttpRequest, person: Participation) -> list[CandidateDimension]:
    """Return the candidates that are ticked for removal; none if the person answers alone, because the list
    is theirs."""
    ticked = [] if schedule.is_written(person) else request.POST.getlist("drop")
    return [candidate for candidate in person.candidate_dimensions.all() if str(candidate.pk) in ticked]


@require_http_methods(["GET", "POST"])
@study_page
def note(request: HttpRequest, study: Study, code: str, number: int) -> HttpResponse:
    """Show a note and save its new text; an empty text removes the note and its coded passages."""
    held = interview_for(study, code)
    note = get_object_or_404(held.notes, pk=number)
    form = NoteForm(note, request.POST if request.method == "POST" and schedule.takes_notes(held) else None)
    if not form.is_valid():
        context = {"person": held.participation, "form": form}
        return show(request, study, "interview_note", context, status=422 if form.is_bound else 200)
    if text := form.cleaned_data["text"]:
        note.text = text
        note.save(update_fields=["text"])
    else:
        held.passages.filter(source=f"note:{note.pk}").delete()
        note.delete()
    messages.success(request, _("Saved"))
    return redirect("research-interview", study.key, code)


# Files


class FileForm(forms.Form):
    file = forms.FileField(label=gettext_lazy("File"))
    agreed = forms.BooleanField(
        label=gettext_lazy("They agreed to be recorded, separately from the consent form"), required=False
    )


@require_http_methods(["GET", "POST"])
@study_page
def files(request: HttpRequest, study: Study, code: str) -> HttpResponse:
    held = interview_for(study, code)
    if request.method == "GET":
        return files_page(request, study, held, FileForm())
    form = FileForm(request.POST, request.FILES)
    if form.is_valid():
        try:
            attachments.attach(
                held, form.cleaned_data["file"], agreed=form.cleaned_data["agreed"], added_by=request.user
            )
        except attachments.FileRefused as refusal:
            form.add_error("file", str(refusal))
    if form.errors:
        return files_page(request, study, held, form, status=400)
    messages.success(request, _("The file has been attached."))
    return redirect("research-interview-files", study.key, code)


def files_page(
    request: HttpRequest, study: Study, held: Interview, form: FileForm, *, status: int = 200
) -> HttpResponse:
    context = {
        "person": held.participation,
        "held": held,
        "files": held.attachments.order_by("pk"),
        "form": form,
        "kinds": attachments.kinds(),
        "recording": attachments.recording_consent(held.participation),
    }
    return show(request, study, "interview_files", context, status=status)


def file_for(study: Study, code: str, number: int) -> Attachment:
    return get_object_or_404(interview_for(study, code).attachments, pk=number)


@require_GET
@study_page
def file(request: HttpRequest, study: Study, code: str, number: int) -> HttpResponse | StreamingHttpResponse:
    """Send a file that the browser must save and never show or run."""
    attachment = file_for(study, code, number)
    if not attachments.file_of(attachment).exists():
        raise Http404
    headers = {
        "Content-Type": attachments.content_type(attachment),
        "Content-Disposition": content_disposition_header(True, attachment.name),
        "Content-Length": str(attachment.size),
        "Content-Security-Policy": FILE_POLICY,
        "X-Content-Type-Options": "nosniff",
    }
    return StreamingHttpResponse(attachments.read_pieces(attachment), headers=headers)


@require_http_methods(["GET", "POST"])
@study_page
def remove_file(request: HttpRequest, study: Study, code: str, number: int) -> HttpResponse:
    """Ask, then remove a file."""
    attachment = file_for(study, code, number)
    quoted = attachment.interview.passages.filter(source=f"file:{attachment.pk}").count()
    if request.method == "GET":
        context = {"person": attachment.interview.participation, "file": attachment, "quoted": quoted}
        return show(request, study, "interview_file_remove", context)
    attachments.remove(attachment)
    messages.success(request, _("The file has been removed."))
    return redirect("research-interview-files", study.key, code)


# Coding


class PassageForm(forms.Form):
    source = forms.ChoiceField(label=gettext_lazy("From"))
    text = forms.CharField(
        label=gettext_lazy("Passage"), widget=forms.Textarea(attrs={"rows": 4}), max_length=NOTE_LIMIT
    )
    code = forms.CharField(
        label=gettext_lazy("Coded as"),
        max_length=100,
        widget=forms.TextInput(attrs={"list": "codes", "autocomplete": "off"}),
    )
    memo = forms.CharField(
        label=gettext_lazy("Memo"), required=False, max_length=NOTE_LIMIT, widget=forms.Textarea(attrs={"rows": 2})
    )

    def __init__(self, sources: list[coding.Source], data: object = None) -> None:
        super().__init__(data)
        self.sources = {source.key: source for source in sources}
        self.fields["source"].choices = [(source.key, source.label) for source in sources]

    def clean_code(self) -> str:
        return " ".join(self.cleaned_data["code"].split())


@require_http_methods(["GET", "POST"])
@study_page
def code_passages(request: HttpRequest, study: Study, code: str) -> HttpResponse:
    held = interview_for(study, code)
    sources = coding.sources_of(held, instrument_language())
    if request.method == "GET":
        return coding_page(request, study, held, PassageForm(sources))
    form = PassageForm(sources, request.POST)
    if form.is_valid():
        values = dict(form.cleaned_data)
        try:
            coding.mark_passage(held, form.sources[values.pop("source")], coder=request.user, **values)
        except coding.PassageNotFound:
            form.add_error("text", _("That source does not contain these exact words."))
    if form.errors:
        return coding_page(request, study, held, form, status=400)
    return redirect("research-interview-coding", study.key, code)


def coding_page(
    request: HttpRequest, study: Study, held: Interview, form: PassageForm, *, status: int = 200
) -> HttpResponse:
    labels = {key: source.label for key, source in form.sources.items()}
    context = {
        "person": held.participation,
        "form": form,
        "sources": form.sources.values(),
        "marked": [(passage, labels.get(passage.source, passage.source)) for passage in held.passages.order_by("-pk")],
        "codes": coding.count_codes(coding.passages_of(study)),
    }
    return show(request, study, "interview_coding", context, status=status)


@require_POST
@study_page
def unmark(request: HttpRequest, study: Study, code: str, number: int) -> HttpResponse:
    get_object_or_404(interview_for(study, code).passages, pk=number).delete()
    return redirect("research-interview-coding", study.key, code)


# All interviews


def get_passages(study: Study, test: str) -> QuerySet[Passage]:
    return coding.passages_of(study).filter(
        interview__participation__in=counts.filter_by_test(study.participations.all(), test)
    )


def get_candidates(study: Study, test: str) -> QuerySet[CandidateDimension]:
    people = counts.filter_by_test(study.participations.all(), test)
    return study.candidate_dimensions.filter(participation__in=people)


@require_GET
@study_page
def codes(request: HttpRequest, study: Study) -> HttpResponse:
    test = test_filter(request, study)
    context = {
        "test": test,
        "codes": coding.count_codes(get_passages(study, test)),
        "candidates": coding.count_candidates(get_candidates(study, test)),
    }
    return show(request, study, "interview_codes", context)


@require_POST
@study_page
def rename_code(request: HttpRequest, study: Study) -> HttpResponse:
    becomes = " ".join(request.POST.get("becomes", "").split())[:100]
    if becomes:
        changed = coding.rename_code(study, was=request.POST.get("was", ""), becomes=becomes)
        messages.success(request, _("Passages renamed: %(number)s.") % {"number": changed})
    return redirect("research-interview-codes", study.key)


@require_POST
@study_page
def merge_candidates(request: HttpRequest, study: Study) -> HttpResponse:
    was, becomes = request.POST.get("was", ""), request.POST.get("becomes", "").strip()[:100]
    if becomes:
        changed = coding.merge_candidates(study, was=was, becomes=becomes)
        messages.success(
            request, _("Passages now counted as %(name)s: %(number)s.") % {"name": becomes, "number": changed}
        )
    return redirect("research-interview-codes", study.key)


@require_GET
@study_page
def document(request: HttpRequest, study: Study) -> HttpResponse:
    """Return all interviews that have begun as one file to read, print or send on."""
    test = test_filter(request, study)
    context = {
        "study": study,
        "title": title_of(study.current()),
        "made_at": timezone.now(),
        "records": list(records(study, test)),
        "codes": coding.count_codes(get_passages(study, test)),
        "candidates": coding.count_candidates(get_candidates(study, test)),
    }
    headers = {
        "Content-Disposition": content_disposition_header(True, f"{study.key}-interviews.html"),
        "Content-Security-Policy": DOCUMENT_POLICY,
    }
    return HttpResponse(render_to_string("studies/research/interviews_document.html", context), headers=headers)


def records(study: Study, test: str) -> Iterator[Record]:
    for person in people_with_interview(study, test):
        if hasattr(person, "interview"):
            yield record_of(person, person.interview, instrument_language())
