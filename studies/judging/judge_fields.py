"""Starts of a judge without one field of what it is told of the seeker, one click each."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from dialogue.judges.fields import get_variant_without
from dialogue.judges.strategies import fields_to_leave_out, get_strategies
from studies.design.spec import ArmSpec
from studies.judging.settings import Configuration
from studies.models import Study
from studies.models.response import RaterKind
from studies.workbench.access import study_page
from studies.workbench.asking_first import ask_first
from studies.workbench.probe_words import FIELD_WORDS


@dataclass(frozen=True)
class Start:
    """A start with one strategy. `strategy`: its key and its name; `done`: how many answers the judge has given so;
    None where it is not told the field with this strategy."""

    strategy: str
    name: str | Promise
    done: int | None


@dataclass(frozen=True)
class Field:
    key: str
    title: str | Promise
    about: str | Promise
    starts: list[Start]


def get_fields(study: Study, judge: ArmSpec) -> Iterator[Field]:
    answers = count_answers(study)
    for key in fields_to_leave_out():
        starts = []
        for strategy in get_strategies().values():
            if strategy.fields:
                rater = Configuration(judge, strategy.name, get_variant_without(key)).rater
                done = answers.get((rater, strategy.name), 0) if key in strategy.fields else None
                starts.append(Start(strategy.name, _(strategy.label), done))
        yield Field(key, *FIELD_WORDS[key], starts)


def count_answers(study: Study) -> dict[tuple[str, str], int]:
    """Count the answers by code and strategy of the judge."""
    raters = study.raters.filter(kind=RaterKind.JUDGE).annotate(number=Count("responses")).order_by()
    return {(code, strategy): number for code, strategy, number in raters.values_list("code", "strategy", "number")}


@require_POST
@study_page
def start_without(request: HttpRequest, study: Study) -> HttpResponse:
    judge = request.POST.get("judge", "")
    strategy, _, field = request.POST.get("without", "").partition(" ")
    entry = get_strategies().get(strategy)
    if judge not in [one.key for one in study.current().spec().judges] or entry is None or field not in entry.fields:
        raise Http404
    return ask_first(study, "judge", [judge, strategy, f"--without={field}"], back="research-judges")
