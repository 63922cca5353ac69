"""My data: what is stored of a person, as a page and as a file; how to stop; receipts."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils import timezone
from django.views.decorators.http import require_safe

from studies.care.care_page import get_zone
from studies.models import Participation
from studies.my_data.contents import NAMED, Section, get_document, get_sections
from studies.my_data.wording import PLAIN, describe, group_answers, group_messages
from studies.participation.enrolment import is_forgotten, is_unsigned
from studies.person.study import deletion_context, needs_person, page_context


@require_safe
@needs_person
def my_data(request: HttpRequest, person: Participation) -> HttpResponse:
    """Show what is stored in short, and what the person can do about it."""
    context = {
        **page_context(person),
        "sections": [section for section in get_sections(person) if section.kinds],
        "named": [] if is_forgotten(person) else NAMED,
        "receipts": person.receipts.all(),
        "is_unsigned": is_unsigned(person),
        **deletion_context(person),
    }
    return render(request, "studies/my_data/my_data.html", context)


@require_safe
@needs_person
def read_my_data(request: HttpRequest, person: Participation) -> HttpResponse:
    """Show every record, to be read or printed."""
    with timezone.override(get_zone(person)):
        sections = [show(section) for section in get_sections(person) if section.kinds]
    context = {**page_context(person), "sections": sections, "named": NAMED, "zone": get_zone(person)}
    return render(request, "studies/my_data/read.html", context)


def show(section: Section) -> dict[str, Any]:
    kinds = {kind.name: kind for kind in section.kinds}
    return {
        "section": section,
        "answers": group_answers(kinds["answers"]) if "answers" in kinds else [],
        "talks": group_messages(kinds["turns"]) if "turns" in kinds else [],
        "kinds": [(kind.title, describe(kind)) for kind in section.kinds if kind.name not in PLAIN],
    }


@require_safe
@needs_person
def download_my_data(request: HttpRequest, person: Participation) -> HttpResponse:
    """Return everything as JSON."""
    headers = {"Content-Disposition": f'attachment; filename="my-data-{person.code}.json"'}
    indented = {"ensure_ascii": False, "indent": 2}
    return JsonResponse(get_document(person), json_dumps_params=indented, headers=headers)


@require_safe
@needs_person
def download_receipt(request: HttpRequest, person: Participation, code: str) -> HttpResponse:
    """Return one of the person's own receipts as a text."""
    receipt = person.receipts.filter(code=code).first()
    if receipt is None:
        raise Http404
    text = render_to_string("studies/my_data/receipt.txt", {**page_context(person), "receipt": receipt})
    headers = {"Content-Disposition": f'attachment; filename="receipt-{receipt.code}.txt"'}
    return HttpResponse(text, content_type="text/plain; charset=utf-8", headers=headers)
