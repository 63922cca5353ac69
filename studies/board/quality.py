"""Data quality: people and conversations with their indices and flags, and the decisions of two coders."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_POST

from studies.board import quality_indices
from studies.board.quality_indices import Index, OfPerson
from studies.data.exports.columns import Filter
from studies.instruments.loading import instructed_items
from studies.models import ArmRun, Decision, Participation, Study
from studies.participation import counts
from studies.participation.exclusions import Subject, Verdict, decide, disagreements, verdict, withdraw_decision
from studies.workbench.access import show, study_page
from studies.workbench.lists import Column, headings, page_of, paging

FLAGS = {
    "straight_arms": gettext_lazy(
        "The same answer to every item, in three conversations with different partners or more"
    ),
    "rating_seconds": gettext_lazy("A final rating in under 2 seconds per item"),
    "turns": gettext_lazy("Ended with fewer turns than the study asks for"),
    "message_words": gettext_lazy("Half of the messages have fewer than 4 words"),
    "message_characters": gettext_lazy("Half of the messages have fewer than 6 characters"),
    "pasted": gettext_lazy("Text was pasted into a message"),
    "instructed_missed": gettext_lazy("An instructed item was answered differently"),
    "technical": gettext_lazy("A message got no reply, or the conversation ended by a technical failure"),
}
INDICES = {
    "longstring": gettext_lazy("Longest run of equal answers"),
    "irv": gettext_lazy("Spread within a rating"),
    "identical_rows": gettext_lazy("Share of equal ratings"),
    "straight_arms": gettext_lazy("Partners with equal ratings"),
    "seconds_per_item": gettext_lazy("Seconds per item"),
    "even_odd": gettext_lazy("Big Five: even against odd items"),
    "reverse_items": gettext_lazy("Big Five: difference from reversed items"),
    "instructed_share": gettext_lazy("Instructed items: share answered as instructed"),
}
OF_CONVERSATION = {
    "turns": gettext_lazy("Turns"),
    "message_words": gettext_lazy("Words per message"),
    "message_characters": gettext_lazy("Characters per message"),
    "pasted": gettext_lazy("Pasted messages"),
    "technical": gettext_lazy("Messages without a reply"),
    "rating_seconds": gettext_lazy("Seconds for a final rating"),
    "instructed_missed": gettext_lazy("Instructed items answered differently"),
}
VERDICTS = {
    Verdict.KEEP: gettext_lazy("Kept by both coders"),
    Verdict.LEAVE_OUT: gettext_lazy("Left out by both coders"),
    Verdict.DIFFER: gettext_lazy("The coders disagree"),
}
WORDS = [("keep", gettext_lazy("Keep")), ("leave_out", gettext_lazy("Leave out"))]


class DecisionForm(forms.Form):
    word = forms.ChoiceField(label=gettext_lazy("Decision"), choices=WORDS, widget=forms.RadioSelect)
    reason = forms.CharField(
        label=gettext_lazy("Why"),
        max_length=500,
        strip=True,
        widget=forms.Textarea(attrs={"rows": 2, "class": "short"}),
    )


@dataclass(frozen=True)
class State:
    """The decisions that a coder may see: the others' only after their own."""

    mine: Decision | None
    others: list[Decision]
    decided: int
    label: str | Promise


@dataclass(frozen=True)
class Flag:
    statistic: str
    text: str | Promise


@dataclass(frozen=True)
class Measure:
    label: str | Promise
    instrument: str
    estimate: float | None
    flagged: bool


@dataclass(frozen=True)
class PersonRow:
    """A row of the list. `flags` are the person's own; `all_flags` includes those of the conversations."""

    person: Participation
    flags: list[Flag]
    all_flags: int
    values: dict[str, float | None]
    state: State
    runs: "list[RunRow]"

    def cells(self) -> list[float | None]:
        return list(self.values.values())


@dataclass(frozen=True)
class RunRow:
    run: ArmRun
    flags: list[Flag]
    state: State


def columns() -> list[Column]:
    return [
        Column("code", _("Person"), "code"),
        Column("track", _("Track"), "track"),
        Column("flags", _("Flags"), "flags", number=True),
        Column("decision", _("Decision"), "decision"),
        *(Column(name, str(label), name, number=True) for name, label in visible_indices().items()),
    ]


def visible_indices() -> dict[str, Promise]:
    """Return the indices that have a column; instructed items only if an instrument has some."""
    return {name: label for name, label in INDICES.items() if name != "instructed_share" or instructed_items()}


@require_GET
@study_page
def people(request: HttpRequest, study: Study) -> HttpResponse:
    test = request.GET.get("test", counts.default_data(study))
    participations = counts.filter_by_test(study.participations.exclude(status="invited"), test)
    participations = participations.prefetch_related("decisions__coder", "runs__conversation", "runs__decisions__coder")
    of_person: dict[str, list[Index]] = {}
    for index in quality_indices.indices(study, Filter(include_tests=True)):
        of_person.setdefault(index.person, []).append(index)
    usual = usual_instrument(study)
    rows = [
        row_of(person, of_person.get(person.code, []), request.user, usual)
        for person in participations.order_by("code")
    ]
    page = page_of(sort_rows(rows, request), request)
    context = {
        "test": test,
        "headings": headings(request, columns()),
        "page": page,
        "flags": [Flag(name, text) for name, text in FLAGS.items()],
        "differing": [subject_row(subject) for subject in disagreements(study, test=test)],
        "instrument": usual,
        "has_instructed": bool(instructed_items()),
        **paging(page, request),
    }
    return show(request, study, "quality", context)


def usual_instrument(study: Study) -> str:
    """Return the first final instrument, which gives each person one number even with several scales."""
    final = study.current().spec().chat.final_instruments
    return final[0] if final else ""


def row_of(person: Participation, indices: list[Index], coder: Any, instrument: str) -> PersonRow:
    flagged = [index for index in indices if index.flagged]
    values = {name: value_of(name, indices, instrument) for name in visible_indices()}
    runs = [run for run in person.runs.all() if run.conversation]
    return PersonRow(
        person=person,
        flags=flags_of(index for index in flagged if not index.conversation),
        all_flags=len({(index.conversation, index.statistic) for index in flagged}),
        values=values,
        state=state_of(person, coder),
        runs=[run_row(run, flagged, coder) for run in sorted(runs, key=lambda run: run.position)],
    )


def value_of(name: str, indices: Iterable[Index], instrument: str) -> float | None:
    of_person = [index for index in indices if index.statistic == name and not index.conversation]
    fitting = [index for index in of_person if index.instrument == instrument] or of_person
    return fitting[0].estimate if fitting else None


def run_row(run: ArmRun, flagged: Iterable[Index], coder: Any) -> RunRow:
    code = run.conversation.code if run.conversation else ""
    return RunRow(run, flags_of(index for index in flagged if index.conversation == code), state_of(run, coder))


def flags_of(flagged: Iterable[Index]) -> list[Flag]:
    return [Flag(name, FLAGS[name]) for name in dict.fromkeys(index.statistic for index in flagged)]


def state_of(subject: Subject, coder: Any) -> State:
    decisions = list(subject.decisions.all())
    mine = next((decision for decision in decisions if decision.coder_id == coder.pk), None)
    others = [decision for decision in decisions if mine and decision != mine]
    settled = VERDICTS.get(verdict(decisions), "")
    return State(mine, others, len(decisions), settled or (_("One coder has decided") if decisions else ""))


def sort_rows(rows: list[PersonRow], request: HttpRequest) -> list[PersonRow]:
    """Sort by flags, most first, or as the address says; empty values come last."""
    sort = request.GET.get("sort", "-flags")
    keys = {column.key for column in columns()}
    name, down = sort.removeprefix("-"), sort.startswith("-")
    name, down = (name, down) if name in keys else ("flags", True)
    there = [row for row in rows if sort_key(row, name) is not None]
    there.sort(key=lambda row: sort_key(row, name), reverse=down)  # type: ignore[arg-type, return-value]
    return there + [row for row in rows if sort_key(row, name) is None]


def sort_key(row: PersonRow, name: str) -> str | float | None:
    own: dict[str, str | float | None] = {
        "code": row.person.code,
        "track": row.person.track,
        "flags": row.all_flags,
        "decision": str(row.state.label) or None,
    }
    return own[name] if name in own else row.values[name]


@dataclass(frozen=True)
class SubjectRow:
    person: Participation | None
    conversation: str


def subject_row(subject: Subject) -> SubjectRow:
    if isinstance(subject, Participation):
        return SubjectRow(subject, "")
    return SubjectRow(subject.participation, subject.conversation.code if subject.conversation else "")


# One person


@require_GET
@study_page
def person(request: HttpRequest, study: Study, code: str) -> HttpResponse:
    return person_page(request, study, person_for(study, code))


def person_for(study: Study, code: str) -> Participation:
    rows = study.participations.prefetch_related("decisions__coder", "runs__conversation", "runs__decisions__coder")
    return get_object_or_404(rows, code=code)


@dataclass(frozen=True)
class Part:
    """The person, or one of their conversations, with its form; `key` is empty for the person."""

    key: str
    run: ArmRun | None
    measures: list[Measure]
    flags: list[Flag]
    state: State
    form: DecisionForm

    def is_open(self) -> bool:
        """Return whether the form is unfolded: there is something to decide or to correct."""
        waits = self.state.mine is None and (not self.key or bool(self.flags))
        return waits or bool(self.form.errors)


def person_page(
    request: HttpRequest, study: Study, person: Participation, sent: tuple[str, DecisionForm] | None = None
) -> HttpResponse:
    indices = quality_indices.indices(study, OfPerson(person=person))
    runs = sorted((run for run in person.runs.all() if run.conversation), key=lambda run: run.position)
    subjects: list[tuple[str, Subject]] = [("", person), *((run.conversation.code, run) for run in runs)]
    parts = [part_of(key, subject, indices, request.user, sent) for key, subject in subjects]
    context = {"person": person, "parts": parts, "wrong": sent[1] if sent else None}
    return show(request, study, "quality_person", context, status=422 if sent else 200)


def part_of(
    key: str, subject: Subject, indices: list[Index], coder: Any, sent: tuple[str, DecisionForm] | None
) -> Part:
    own = [index for index in indices if index.conversation == key]
    labels = OF_CONVERSATION if key else INDICES
    state = state_of(subject, coder)
    return Part(
        key=key,
        run=subject if isinstance(subject, ArmRun) else None,
        measures=[
            Measure(labels[index.statistic], index.instrument, index.estimate, index.flagged)
            for index in own
            if index.statistic in labels
        ],
        flags=flags_of(index for index in own if index.flagged),
        state=state,
        form=sent[1] if sent and sent[0] == key else form_for(key, state.mine),
    )


def form_for(key: str, mine: Decision | None, data: Any = None) -> DecisionForm:
    initial = {"word": "keep" if mine.keep else "leave_out", "reason": mine.reason} if mine else {}
    return DecisionForm(data, initial=initial, auto_id=f"{key or 'person'}-%s")


@require_POST
@study_page
def decision(request: HttpRequest, study: Study, code: str) -> HttpResponse:
    person = person_for(study, code)
    key = request.POST.get("conversation", "")
    subject = subject_for(person, key)
    form = form_for(key, None, request.POST)
    if not form.is_valid():
        return person_page(request, study, person, (key, form))
    data = form.cleaned_data
    decide(subject=subject, coder=request.user, keep=data["word"] == "keep", reason=data["reason"])
    messages.success(request, _("Your decision is saved."))
    return redirect("research-quality-person", study.key, code)


@require_POST
@study_page
def undo(request: HttpRequest, study: Study, code: str) -> HttpResponse:
    person = person_for(study, code)
    withdraw_decision(subject=subject_for(person, request.POST.get("conversation", "")), coder=request.user)
    messages.success(request, _("Your decision has been withdrawn."))
    return redirect("research-quality-person", study.key, code)


def subject_for(person: Participation, key: str) -> Subject:
    return get_object_or_404(person.runs, conversation__code=key) if key else person
