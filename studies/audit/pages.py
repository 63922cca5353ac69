"""The audit log of a study: a list to filter, and a CSV file."""

import csv
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.utils.dateparse import parse_date
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from studies.access.table import Kind, find_need
from studies.models import AuditChain, AuditEntry, Participation, Study
from studies.workbench.access import show, study_page
from studies.workbench.csv_cells import format_cell
from studies.workbench.lists import Choice, make_choices, page_of, paging, query_with

COLUMNS = (
    *("number", "at", "account", "by_name", "act", "thing", "code", "source", "request", "before", "hash"),
    "study_key",
)
FILTERS = ("who", "act", "thing", "from", "to")


@dataclass(frozen=True)
class Row:
    """An entry as the page shows it. `person`: their code, while it is known whose record code it is."""

    entry: AuditEntry
    who: str
    person: str
    code: str


@require_GET
@study_page
def log(request: HttpRequest, study: Study) -> HttpResponse:
    entries = AuditEntry.objects.filter(study_key=study.key)
    page = page_of(filter_entries(entries, request).order_by("-number"), request)
    context = {
        "rows": rows_of(page),
        "page": page,
        "choices": choices(entries, request),
        "days": {"from": read_day(request, "from"), "to": read_day(request, "to")},
        "is_filtered": any(request.GET.get(name) for name in FILTERS),
        "unfiltered": query_with(request, page=None, **dict.fromkeys(FILTERS)),
        "query": query_with(request, page=None),
        "end": AuditChain.objects.filter(study_key=study.key).first(),
        **paging(page, request),
    }
    return show(request, study, "audit", context)


def filter_entries(entries: QuerySet[AuditEntry], request: HttpRequest) -> QuerySet[AuditEntry]:
    """Filter by who, act and thing, and by days in UTC, both included."""
    filters = {"by_name": request.GET.get("who"), "act": request.GET.get("act"), "thing": request.GET.get("thing")}
    entries = entries.filter(**{field: value for field, value in filters.items() if value})
    if first := read_day(request, "from"):
        entries = entries.filter(at__gte=datetime.combine(first, time.min, UTC))
    if last := read_day(request, "to"):
        entries = entries.filter(at__lte=datetime.combine(last, time.max, UTC))
    return entries


def read_day(request: HttpRequest, name: str) -> date | None:
    """Return the day in the address; None if it is not a date."""
    try:
        return parse_date(request.GET.get(name, ""))
    except ValueError:  # such as the 30th of February
        return None


def choices(entries: QuerySet[AuditEntry], request: HttpRequest) -> list[Choice]:
    names = entries.exclude(by_name="").order_by("by_name").values_list("by_name", flat=True).distinct()
    return make_choices(
        request,
        [
            ("who", _("Who"), [(name, name) for name in names]),
            ("act", _("Act"), AuditEntry.Act.choices),
            ("thing", _("What"), AuditEntry.Thing.choices),
        ],
    )


def rows_of(entries: Iterable[AuditEntry]) -> list[Row]:
    all_entries = list(entries)
    people = people_by_record_code({entry.code.partition("/")[0] for entry in all_entries})
    return [row_of(entry, people) for entry in all_entries]


def people_by_record_code(codes: Iterable[str]) -> dict[str, str]:
    return dict(Participation.objects.filter(record_code__in=codes).values_list("record_code", "code"))


def row_of(entry: AuditEntry, people: Mapping[str, str]) -> Row:
    first, slash, rest = entry.code.partition("/")
    person = people.get(first, "")
    return Row(entry, entry.by_name or describe_nameless(entry), person, f"{slash}{rest}" if person else entry.code)


def describe_nameless(entry: AuditEntry) -> str:
    is_person = find_need(entry.source, "POST", {}) == Kind.PERSON
    return _("the person themself") if is_person else _("the server itself")


@require_GET
@study_page
def log_file(request: HttpRequest, study: Study) -> StreamingHttpResponse:
    """Send the entries that the page shows, all pages of them, the oldest first; not the one about this file."""
    end = AuditChain.objects.filter(study_key=study.key).first() or AuditChain()
    so_far = AuditEntry.objects.filter(study_key=study.key, number__lte=end.length)
    entries = filter_entries(so_far, request).order_by("number")
    response = StreamingHttpResponse(csv_lines(entries), content_type="text/csv; charset=utf-8")
    name = f"audit_log_{study.key}.csv"
    response["Content-Disposition"] = content_disposition_header(as_attachment=True, filename=name)
    return response


class Echo:
    """A file for the CSV writer that gives each line back."""

    def write(self, line: str) -> str:
        return line


def csv_lines(entries: QuerySet[AuditEntry]) -> Iterator[Any]:
    writer = csv.writer(Echo())
    yield writer.writerow(COLUMNS)
    for values in entries.values_list(*COLUMNS).iterator():
        yield writer.writerow([format_cell(value) for value in values])
