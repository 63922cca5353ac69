"""A study's design, to be read; it is changed in its file or, before the first person has begun, under /admin/."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from studies.design.files import dump_study
from studies.models import Protocol, Study
from studies.views.research.access import show, study_page


@require_GET
@study_page
def design(request: HttpRequest, study: Study) -> HttpResponse:
    protocol = study.current()
    context = {
        "protocol": protocol,
        "spec": protocol.spec(),
        "arms": protocol.arms.all(),
        "judges": protocol.judges.all(),
        "versions": study.protocols.count(),
    }
    return show(request, study, "design", context)


@require_GET
@study_page
def study_file(request: HttpRequest, study: Study) -> HttpResponse:
    return study_file_of(study.current())


def study_file_of(protocol: Protocol) -> HttpResponse:
    name = f"{protocol.study.key}-v{protocol.version}.toml"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(dump_study(protocol.spec()), content_type="application/toml; charset=utf-8", headers=headers)
