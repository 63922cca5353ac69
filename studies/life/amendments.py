"""The page of one version of a study's design: what changed in it, line beside line, and the whole of it."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_GET

from studies.board.design import study_file_of
from studies.design.differences import compare
from studies.design.writing import dump_study, dump_to_compare
from studies.models import Protocol, Study
from studies.workbench.access import show, study_page


@require_GET
@study_page
def version(request: HttpRequest, study: Study, version: int) -> HttpResponse:
    protocol = get_object_or_404(Protocol, study=study, version=version)
    before = study.protocols.filter(version__lt=version).order_by("-version").first()
    context = {
        "protocol": protocol,
        "before": before,
        "amendment": getattr(protocol, "amendment", None),
        "lines": list(compare(*map(write_to_compare, (before, protocol)))) if before else [],
        "text": dump_study(protocol.full_spec()),
        "people": protocol.participations.people().count(),
        "tests": protocol.participations.test_data().count(),
    }
    return show(request, study, "life_version", context)


@require_GET
@study_page
def version_file(_request: HttpRequest, study: Study, version: int) -> HttpResponse:
    return study_file_of(get_object_or_404(Protocol, study=study, version=version))


def write_to_compare(protocol: Protocol) -> str:
    return dump_to_compare(protocol.full_spec())
