"""Pages of judges: how far each is, what it would be sent about a conversation, and probes of its bias."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.conf import settings
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from dialogue.judges.fields import get_variant_without
from dialogue.judges.probes import PLAIN, SIGN, VARIANTS, WARM
from dialogue.judges.strategies import fields_to_leave_out, get_strategies
from dialogue.models import Job
from dialogue.providers.prices import load_prices
from dialogue.templatetags.languages import comma
from studies.design.spec import ArmSpec
from studies.judging import judge_fields
from studies.judging.matrix import BudgetForm, get_matrix
from studies.judging.planning import KIND, MOMENTS, runs_to_judge
from studies.judging.preview import Place, Preview, build_preview, find_run, get_places_about
from studies.judging.settings import Configuration
from studies.models import ArmRun, Study
from studies.models.response import RaterKind
from studies.workbench import labels
from studies.workbench.access import show, study_page
from studies.workbench.asking_first import ask_first
from studies.workbench.lists import Choice
from studies.workbench.model_texts import Text, without_secrets
from studies.workbench.paid_work import PAIRS
from studies.workbench.probe_words import FIELD_WORDS, ORDER_SWAP, REPEAT, REPLICATES, WORDS, strategy_choices
from studies.workbench.rating_tables import title_of
from studies.workbench.recent_tasks import recent_tasks


@dataclass(frozen=True)
class Probe:
    """A probe of bias. `done`: how many answers this judge has given to it, with all strategies; None if unknown."""

    key: str
    title: str | Promise
    about: str | Promise
    done: int | None


class ShownPrompt(NamedTuple):
    version: str
    messages: Sequence[Text]


@require_GET
@study_page
def judges(request: HttpRequest, study: Study) -> HttpResponse:
    by_key = {judge.key: judge for judge in study.current().spec().judges}
    judge = by_key.get(request.GET.get("judge", ""), next(iter(by_key.values()), None))
    code = request.GET.get("conversation", "").strip()
    run = find_run(study, code) if code else None
    places = get_places_about(run, MOMENTS) if run else []
    preview = get_preview(request, judge, run, places)
    recent = recent_tasks(study, "judge")
    context = {
        "code": code or get_newest_code(study),
        "unknown": bool(code) and run is None,
        "nothing_to_ask": run is not None and not places,
        "judge": judge,
        "matrix": get_matrix(study, list(by_key.values())) if by_key else None,
        "budget_form": BudgetForm(),
        "currency": load_prices(settings.PRICES).currency,
        "choices": list(choices(request, by_key, judge, places)),
        "preview": preview,
        "run": run,
        "prompts": [ShownPrompt(one.version, [Text(m.text, m.role) for m in one.messages]) for one in preview.prompts]
        if preview
        else [],
        "parameters": parameters(preview) if preview else "",
        "probes": list(probes(study, judge)) if judge else [],
        "fields": list(judge_fields.get_fields(study, judge)) if judge else [],
        "strategies": strategy_choices(),
        "demonstrations": study.current().demonstrations(),
        "under_way": recent["running"] or Job.objects.filter(scope=study.key, kind=KIND, state=Job.State.OPEN).exists(),
        **recent,
    }
    return show(request, study, "judges", context)


def get_newest_code(study: Study) -> str:
    """Return the code of a conversation to start with; empty if there is none."""
    run = runs_to_judge(study).order_by("-pk").first()
    return run.conversation.code if run and run.conversation else ""


def get_preview(
    request: HttpRequest, judge: ArmSpec | None, run: ArmRun | None, places: Sequence[Place]
) -> Preview | None:
    if judge is None or run is None or not places:
        return None
    strategy = choose_or_first(request.GET.get("strategy", ""), list(get_strategies()))
    variant = choose_or_first(
        request.GET.get("variant", ""), [PLAIN, *VARIANTS, *map(get_variant_without, fields_to_leave_out())]
    )
    place = next((one for one in places if one.name() == request.GET.get("place")), places[0])
    return build_preview(Configuration.of(run.study.current().spec(), judge, strategy, variant), run, place)


def choose_or_first(value: str, options: Sequence[str]) -> str:
    return value if value in options else options[0]


def choices(
    request: HttpRequest, by_key: dict[str, ArmSpec], judge: ArmSpec | None, places: Sequence[Place]
) -> Iterator[Choice]:
    get = request.GET.get
    yield Choice("judge", _("Judge"), [(key, key) for key in by_key], judge.key if judge else "")
    yield Choice("strategy", _("What the judge is shown"), strategy_choices(), get("strategy", ""))
    yield Choice("variant", _("Form of the question"), list(ways_of_asking()), get("variant", ""))
    if places:
        yield Choice("place", _("About"), [(place.name(), describe_place(place)) for place in places], get("place", ""))


def ways_of_asking() -> Iterator[tuple[str, str]]:
    yield PLAIN, _("unchanged")
    yield from ((key, str(WORDS[key][0])) for key in VARIANTS)
    for key in fields_to_leave_out():
        yield get_variant_without(key), _("without: %(field)s") % {"field": FIELD_WORDS[key][0]}


def describe_place(place: Place) -> str:
    when = labels.word(labels.MOMENTS, place.moment)
    after = _("turn %(number)s") % {"number": place.turn} if place.turn else ""
    return comma().join(part for part in (title_of(place.instrument), when, after) if part)


def parameters(preview: Preview) -> str:
    everything = {**preview.parameters(), **preview.configuration.judge.extra}
    return json.dumps(without_secrets(everything), ensure_ascii=False, indent=2)


def probes(study: Study, judge: ArmSpec) -> Iterator[Probe]:
    answers = count_by_judge(study, "responses")
    compared = count_by_judge(study, "comparisons").get(judge.key, 0)
    for key, (title, about) in WORDS.items():
        counts = {REPEAT: None, ORDER_SWAP: compared}
        yield Probe(key, title, about, counts.get(key, answers.get(f"{judge.key}{SIGN}{key}", 0)))


def count_by_judge(study: Study, what: str) -> dict[str, int]:
    """Count them by the code of the judge."""
    raters = study.raters.filter(kind=RaterKind.JUDGE)
    return dict(raters.values_list("code").annotate(number=Count(what)).order_by())


@require_POST
@study_page
def start_probe(request: HttpRequest, study: Study) -> HttpResponse:
    judge, strategy, probe = (request.POST.get(name, "") for name in ("judge", "strategy", "probe"))
    keys = [judge.key for judge in study.current().spec().judges]
    if judge not in keys or strategy not in get_strategies() or probe not in WORDS:
        raise Http404
    return ask_first(study, "judge", arguments(judge, strategy, probe), back="research-judges")


def arguments(judge: str, strategy: str, probe: str) -> list[str]:
    if probe == ORDER_SWAP:
        return [judge, PAIRS]
    variant = [] if probe == REPEAT else [f"--variant={probe}"]
    replicates = [f"--replicates={REPLICATES}"] if probe in (REPEAT, WARM) else []
    return [judge, strategy, *variant, *replicates]
