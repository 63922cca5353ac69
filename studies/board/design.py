"""The page of a study's design. It is changed in a draft or in its file."""

from collections.abc import Iterator
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from dialogue.templatetags.languages import listed, name_of_language
from studies.allocation.card_blocks import shown_rows
from studies.board.model_checks import checks_of_models
from studies.design.spec import StudySpec
from studies.design.writing import dump_study
from studies.instruments.own_instruments import find_own
from studies.models import Participation, Protocol, Study
from studies.participation.step_kinds import KINDS
from studies.setup.model_keys import unset_keys
from studies.workbench import labels
from studies.workbench.access import show, study_page, study_page_after_timeouts


@require_GET
@study_page_after_timeouts
def design(request: HttpRequest, study: Study) -> HttpResponse:
    protocol = study.current()
    spec = protocol.spec()
    context = {
        "protocol": protocol,
        "spec": spec,
        "steps": list(steps_of(spec)),
        "words": words_of(spec),
        "languages": list(map(name_of_language, spec.languages)),
        "oncall": [one.name for one in spec.safety.oncall],
        "unset_keys": list(models_without_key(spec)),
        "unset_variables": {key.variable for key in unset_keys(spec)},
        "arms": protocol.arms.all(),
        "judges": protocol.judges.all(),
        "versions": study.protocols.count(),
        "own_questionnaires": find_own(protocol.design),
        "cards": study.cards.filter(retired=False).count(),
        **checks_of_models(study, protocol),
        **block_plan(request, protocol),
    }
    return show(request, study, "design", context)


def steps_of(spec: StudySpec) -> Iterator[tuple[str, str, str]]:
    """Yield each step's label, instrument and track; the track is empty if all have the step."""
    for step in spec.steps:
        track = "" if step.track == "all" else str(Participation.Track(step.track).label)
        yield KINDS[step.kind].label, step.instrument, track


def models_without_key(spec: StudySpec) -> Iterator[tuple[str, str]]:
    """Yield each model whose key is not set, by name, with the variable."""
    for unset in unset_keys(spec):
        yield f"{labels.word(labels.MODELS, unset.role)} {unset.key}".strip(), unset.variable


def words_of(spec: StudySpec) -> dict[str, str]:
    return {
        "selection": labels.word(labels.SELECTIONS, spec.selection),
        "topic": labels.word(labels.TOPICS, spec.chat.topic),
        "order": labels.word(labels.ORDERS, spec.order.design),
        "strata": listed(labels.word(labels.STRATA, factor) for factor in spec.order.strata),
    }


def block_plan(request: HttpRequest, protocol: Protocol) -> dict[str, Any]:
    """Return the counsellors' block plan; empty if they get arms like all others. Test data has a plan of its own."""
    if protocol.spec().order.counsellors is None:
        return {}
    is_test = request.GET.get("test") == "yes"
    rows = shown_rows(protocol, is_test=is_test)
    longest = max(len(row.places) for row in rows)
    gaps = [range(longest - len(row.places)) for row in rows]
    return {
        "plan_rows": list(zip(rows, gaps, strict=True)),
        "positions": range(1, longest + 1),
        "plan_of_tests": is_test,
    }


@require_GET
@study_page
def study_file(request: HttpRequest, study: Study) -> HttpResponse:
    return study_file_of(study.current())


def study_file_of(protocol: Protocol) -> HttpResponse:
    name = f"{protocol.study.key}-v{protocol.version}.toml"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(dump_study(protocol.spec()), content_type="application/toml; charset=utf-8", headers=headers)
