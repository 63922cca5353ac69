"""Lists that the address sorts, filters and divides into pages."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.core.paginator import Page, Paginator
from django.db.models import F, QuerySet
from django.http import HttpRequest
from django.utils.functional import Promise

ROWS_PER_PAGE = 100


@dataclass(frozen=True)
class Column:
    """A column. `field` is the field to sort by; empty if it cannot be sorted."""

    key: str
    label: str
    field: str = ""
    number: bool = False


@dataclass(frozen=True)
class Heading:
    column: Column
    query: str  # the address that sorts by this column
    sort: str  # for aria-sort: ascending, descending, or empty


def headings(request: HttpRequest, columns: Sequence[Column]) -> list[Heading]:
    now = request.GET.get("sort", "")
    return [heading(request, column, now) for column in columns]


def heading(request: HttpRequest, column: Column, now: str) -> Heading:
    turned = f"-{column.key}" if now == column.key else column.key
    query = query_with(request, sort=turned, page=None) if column.field else ""
    direction = {column.key: "ascending", f"-{column.key}": "descending"}.get(now, "")
    return Heading(column, query, direction)


def query_with(request: HttpRequest, **values: str | None) -> str:
    """Return the page's query string with these values; None removes one."""
    query = request.GET.copy()
    for key, value in values.items():
        query.pop(key, None)
        if value is not None:
            query[key] = value
    return f"?{query.urlencode()}"


def sort_rows(rows: QuerySet, request: HttpRequest, columns: Sequence[Column], *, usual: str) -> QuerySet:
    """Sort by the column in the address, empty values last; by `usual` if it names no known column."""
    sort = request.GET.get("sort", "")
    fields = {column.key: column.field for column in columns if column.field}
    field = F(fields.get(sort.removeprefix("-"), usual.removeprefix("-")))
    down = (sort if sort.removeprefix("-") in fields else usual).startswith("-")
    return rows.order_by(field.desc(nulls_last=True) if down else field.asc(nulls_last=True), "pk")


def filter_rows(rows: QuerySet, request: HttpRequest, fields: Mapping[str, str]) -> QuerySet:
    """Filter by each value of the address that is named in `fields` (name in the address → field) and not empty."""
    filters = {field: request.GET[name] for name, field in fields.items() if request.GET.get(name)}
    return rows.filter(**filters)


class Choice(NamedTuple):
    """A filter: its name in the address, its options as (value, word), and the value in the address."""

    name: str
    label: str
    options: Sequence[tuple[str, str | Promise]]
    value: str


def make_choices(
    request: HttpRequest, offered: Iterable[tuple[str, str, Sequence[tuple[str, str | Promise]]]]
) -> list[Choice]:
    """Return the choices; `offered`: name, label and options of each filter."""
    return [Choice(name, label, options, request.GET.get(name, "")) for name, label, options in offered]


def page_of(rows: QuerySet, request: HttpRequest) -> Page:
    return Paginator(rows, ROWS_PER_PAGE).get_page(request.GET.get("page"))


def paging(page: Page, request: HttpRequest) -> dict[str, Any]:
    return {
        "earlier": query_with(request, page=str(page.previous_page_number())) if page.has_previous() else "",
        "later": query_with(request, page=str(page.next_page_number())) if page.has_next() else "",
    }
