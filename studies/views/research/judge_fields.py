"""A judge asked without one field of what it is told of the seeker, one click each."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from dialogue.judges.fields import FIELDS, TOLD, variant_without
from studies import tasks
from studies.design.spec import ArmSpec
from studies.judging.settings import Configuration
from studies.models import Study
from studies.models.response import RaterKind
from studies.views.research.access import study_page

STRATEGIES = {"user_aware": gettext_lazy("user-aware"), "state_aware": gettext_lazy("state-aware")}
WORDS: dict[str, tuple[str | Promise, str | Promise]] = {
    "profile": (
        gettext_lazy("Whole profile"),
        gettext_lazy("All that is known of the person; the inner states stay."),
    ),
    "demographics": (
        gettext_lazy("Demographics"),
        gettext_lazy("Age, gender, occupation, relationship."),
    ),
    "personality": (
        gettext_lazy("Personality"),
        gettext_lazy("The Big Five, interests; of simulated seekers also habits, tastes and the way of writing."),
    ),
    "big_five": (
        gettext_lazy("Big Five"),
        gettext_lazy("The five scores alone."),
    ),
    "concern": (
        gettext_lazy("Concern"),
        gettext_lazy("What it is about, how things stand, and what is hoped for."),
    ),
    "script": (
        gettext_lazy("Script"),
        gettext_lazy("Of simulated seekers alone: how they begin, react and leave."),
    ),
    "cognition": (
        gettext_lazy("Thoughts"),
        gettext_lazy("Of each inner state: what the person thinks of the reply."),
    ),
    "emotion": (
        gettext_lazy("Feelings in words"),
        gettext_lazy("Of each inner state: whether the feeling was met."),
    ),
    "goal": (
        gettext_lazy("Goal"),
        gettext_lazy("Of each inner state: how near the person is to what it came for."),
    ),
    "emotion_score": (
        gettext_lazy("Feelings as a number"),
        gettext_lazy("Of each inner state: the number from 0 to 100."),
    ),
}


@dataclass(frozen=True)
class Start:
    """`strategy`: its key and its name; `done`: how many answers the judge has given so; None where it is not told the
    field with this strategy."""

    strategy: str
    name: str | Promise
    done: int | None


@dataclass(frozen=True)
class Field:
    key: str
    title: str | Promise
    about: str | Promise
    starts: list[Start]


def fields_of(study: Study, judge: ArmSpec) -> Iterator[Field]:
    answers = answered(study)
    for key in FIELDS:
        starts = []
        for strategy, name in STRATEGIES.items():
            rater = Configuration(judge, strategy, variant_without(key)).rater
            done = answers.get((rater, strategy), 0) if key in TOLD[strategy] else None
            starts.append(Start(strategy, name, done))
        yield Field(key, *WORDS[key], starts)


def answered(study: Study) -> dict[tuple[str, str], int]:
    """How often, by the code and the strategy of the judge."""
    raters = study.raters.filter(kind=RaterKind.JUDGE).annotate(number=Count("responses")).order_by()
    return {(code, strategy): number for code, strategy, number in raters.values_list("code", "strategy", "number")}


@require_POST
@study_page
def start_without(request: HttpRequest, study: Study) -> HttpResponse:
    """Twice does no harm: what is running already goes on alone."""
    judge = request.POST.get("judge", "")
    strategy, _, field = request.POST.get("without", "").partition(" ")
    if judge not in [known.key for known in study.current().spec().judges] or field not in TOLD.get(strategy, ()):
        raise Http404
    tasks.start(study, "judge", [judge, strategy, f"--without={field}"], request.user)
    return redirect("research-judges", study.key)
