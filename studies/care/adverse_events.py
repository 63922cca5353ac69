"""Adverse events: what happened to a person and may have to do with the study, for the ethics board."""

import csv
import io
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django import forms
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dialogue.models import RiskEvent
from studies.care.acts import record_act
from studies.care.alarms import lock_event
from studies.care.sign_words import Words
from studies.models import AdverseEvent, SafetyAct, Study
from studies.workbench.csv_cells import format_cell

COLUMNS = (
    "number",
    "study",
    "person",
    "origin",
    "occurred_at",
    "severity",
    "serious",
    "expected",
    "relatedness",
    "description",
    "action",
    "outcome",
    "report_due_at",
    "reported_to",
    "reported_at",
    "entered_at",
    "entered_by",
    "changed_at",
    "record_code",
)
ENTERED = ("entered_at", "entered_by")


def get_due_time(study: Study, *, serious: bool, known_at: datetime) -> datetime:
    """Return until when an event that became known at `known_at` must have been reported."""
    rules = study.current().spec().safety
    return known_at + (timedelta(hours=rules.serious_report_hours) if serious else timedelta(days=rules.report_days))


def list_adverse_events(study: Study) -> QuerySet[AdverseEvent]:
    """Return all adverse events of the study: those to be reported first, by their deadline."""
    return study.adverse_events.select_related("event", "created_by").order_by(
        F("reported_at").asc(nulls_first=True), "report_due_at", "-occurred_at", "-pk"
    )


def is_overdue(row: AdverseEvent) -> bool:
    return row.reported_at is None and row.report_due_at is not None and row.report_due_at < timezone.now()


class AdverseEventForm(forms.ModelForm):
    """One adverse event. Times are UTC."""

    class Meta:
        model = AdverseEvent
        fields = [
            "subject",
            "occurred_at",
            "description",
            "severity",
            "serious",
            "expected",
            "relatedness",
            "action",
            "outcome",
            "reported_to",
            "reported_at",
        ]
        labels = {
            "subject": gettext_lazy("Person (their code)"),
            "occurred_at": gettext_lazy("When it happened (UTC)"),
            "description": gettext_lazy("What happened"),
            "severity": gettext_lazy("Severity"),
            "serious": gettext_lazy("Serious: death, danger to life, a stay in hospital, or lasting harm"),
            "expected": gettext_lazy("Expected: the protocol or the consent form names it"),
            "relatedness": gettext_lazy("Related to the study"),
            "action": gettext_lazy("What was done"),
            "outcome": gettext_lazy("Outcome"),
            "reported_to": gettext_lazy("Reported to"),
            "reported_at": gettext_lazy("Reported when (UTC)"),
        }
        widgets = {
            "occurred_at": forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
            "reported_at": forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
            "description": forms.Textarea(attrs={"rows": 4}),
            "action": forms.Textarea(attrs={"rows": 3}),
        }

    def __init__(self, study: Study, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.study = study

    def clean_subject(self) -> str:
        code = str(self.cleaned_data["subject"]).strip()
        if code and not self.study.participations.filter(code=code).exists():
            raise forms.ValidationError(_("No person of this study has this code."))
        return code

    def clean_occurred_at(self) -> datetime:
        return self._refuse_future(self.cleaned_data["occurred_at"])

    def clean_reported_at(self) -> datetime | None:
        moment = self.cleaned_data["reported_at"]
        return moment and self._refuse_future(moment)

    def _refuse_future(self, moment: datetime) -> datetime:
        if moment > timezone.now():
            raise forms.ValidationError(_("This time is in the future."))
        return moment

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if bool(data.get("reported_to")) != bool(data.get("reported_at")):
            self.add_error("reported_to", _("Please give both: to whom it was reported, and when."))
        return data


class ChangedMeanwhile(Exception):
    """The error that a colleague has entered or changed the adverse event since the page was opened."""


@transaction.atomic
def create_adverse_event(
    form: AdverseEventForm, *, by: AbstractBaseUser, event: RiskEvent | None = None, known: int | None = None
) -> AdverseEvent:
    """Store a new adverse event from a valid form. With `event` the two point to each other.

    `known`: how many adverse events of this sign the page named. Raises ChangedMeanwhile where there are more.
    """
    if event is not None:
        lock_event(event.pk)
        if known is not None and known != event.adverse_events.count():
            raise ChangedMeanwhile
    row = form.save(commit=False)
    row.study, row.event, row.created_by = form.study, event, by
    row.record_code = record_code_of(form.study, row.subject)
    row.origin = _origin_of(event)
    row.report_due_at = get_due_time(form.study, serious=row.serious, known_at=timezone.now())
    row.save()
    if event is not None:
        record_act(event, SafetyAct.Kind.REPORTED, by=by)
    return row


def record_code_of(study: Study, code: str) -> str:
    """Return the record code of the person with this code; empty if there is none."""
    record_code = study.participations.filter(code=code).values_list("record_code", flat=True).first()
    return record_code or ""


def _origin_of(event: RiskEvent | None) -> str:
    if event is None:
        return AdverseEvent.Origin.HAND
    is_report = event.source == RiskEvent.Source.ANSWER
    return AdverseEvent.Origin.REPORT if is_report else AdverseEvent.Origin.SIGN


@transaction.atomic
def change_adverse_event(form: AdverseEventForm, *, by: AbstractBaseUser, known: int | None = None) -> AdverseEvent:
    """Store what a valid form changes, and what stood there before.

    `known`: how many changes the page showed. Raises ChangedMeanwhile where there are more.
    """
    before = AdverseEvent.objects.select_for_update().get(pk=form.instance.pk)
    if known is not None and known != len(before.changes):
        raise ChangedMeanwhile
    row = form.save(commit=False)
    if "subject" in form.changed_data:  # one of an erased person keeps their record code
        row.record_code = record_code_of(form.study, row.subject)
    row.report_due_at = get_due_time(form.study, serious=row.serious, known_at=before.created_at)
    changed = {name: _plain(getattr(before, name)) for name in form.changed_data}
    if changed:
        entry = {"at": timezone.now().isoformat(timespec="seconds"), "by": by.get_username(), "before": changed}
        row.changes = [*before.changes, entry]
    row.save()
    return row


class ShownChange(NamedTuple):
    """A change of an adverse event: when, by whom, and what stood in each field before."""

    at: datetime
    by: str
    before: list[tuple[Words, Words]]


def describe_changes(row: AdverseEvent) -> list[ShownChange]:
    """Return the changes of an adverse event in the words of its form."""
    return [
        ShownChange(
            datetime.fromisoformat(change["at"]),
            change["by"],
            [(AdverseEventForm.Meta.labels[name], _show(name, value)) for name, value in change["before"].items()],
        )
        for change in row.changes
    ]


def _show(name: str, value: Any) -> Words:
    choices = dict(AdverseEvent._meta.get_field(name).flatchoices)
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if value and name in ("occurred_at", "reported_at"):
        return f"{datetime.fromisoformat(value):%Y-%m-%d %H:%M}"
    return choices.get(value, value) or "–"


def _plain(value: Any) -> Any:
    return value.isoformat(timespec="seconds") if isinstance(value, datetime) else value


def write_csv(rows: Iterable[AdverseEvent]) -> Iterator[str]:
    """Yield a CSV file line by line: one row for each adverse event, by `COLUMNS`, times in UTC."""
    line = io.StringIO()
    writer = csv.writer(line)
    for values in ({name: name for name in COLUMNS}, *(get_values(row) for row in rows)):
        writer.writerow([format_cell(values[name]) for name in COLUMNS])
        yield line.getvalue()
        line.seek(0)
        line.truncate()


def get_values(row: AdverseEvent) -> dict[str, Any]:
    """Return the values of an adverse event for the ethics board, by column."""
    return {
        "number": row.pk,
        "study": row.study.key,
        "person": row.subject,
        "entered_at": row.created_at,
        "entered_by": row.created_by.get_username() if row.created_by else "",
        **{name: getattr(row, name) for name in COLUMNS if name not in ("number", "study", "person", *ENTERED)},
    }
