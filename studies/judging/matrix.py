"""Progress of judges: judge × strategy × instrument, with what is done, missing and failed, and what it has cost."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from django import forms
from django.db.models import Count, Exists, OuterRef, QuerySet, Sum
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from dialogue.jobs.store import sum_reserved
from dialogue.judges.probes import SIGN
from dialogue.judges.strategies import get_strategies
from dialogue.models import Call, Job, JobItem
from dialogue.providers.prices import format_amount
from studies.design.spec import ArmSpec
from studies.judging.planning import KIND, ratings_of_track, runs_to_judge, track_of_simulated
from studies.models import Answer, Response, Study
from studies.models.response import RaterKind
from studies.workbench import labels
from studies.workbench.access import study_page
from studies.workbench.asking_first import ask_first
from studies.workbench.paid_work import BUDGET
from studies.workbench.rating_tables import title_of

FINAL = "final"
FAILED = (JobItem.State.FAILED, JobItem.State.QUARANTINED)


class BudgetForm(forms.Form):
    budget = forms.DecimalField(
        label=gettext_lazy("Budget of this run (optional)"),
        min_value=0,
        max_digits=12,
        decimal_places=6,
        required=False,
    )


@dataclass(frozen=True)
class Cell:
    """Final ratings with one instrument. `unscored`: done, but no score could be read in the answer; `failed`: asked,
    and given up for now; these are missing too."""

    done: int
    missing: int
    failed: int
    unscored: int


@dataclass(frozen=True)
class Row:
    """A judge with one strategy. `cost`: of all its jobs so far, empty if a price is unknown; `budget`: of
    the last one, if it had one; `gone`: the study file has the judge no longer, but its ratings are kept."""

    judge: str
    strategy: str
    label: str
    cells: Sequence[Cell]
    cost: str
    budget: str
    gone: bool = False

    def work(self) -> str:
        """Return the value that the row's button sends."""
        return f"{self.judge} {self.strategy}"


@dataclass(frozen=True)
class Matrix:
    instruments: Sequence[str]
    conversations: int
    rows: Sequence[Row]

    def titles(self) -> list[str]:
        return [title_of(instrument) for instrument in self.instruments]


def get_matrix(study: Study, judges: Sequence[ArmSpec]) -> Matrix:
    """Return a row for each judge and strategy, and for those that have rated and are in the study no longer; variants
    of judges (probes) are not among them."""
    totals, conversations = count_totals(study)
    done, failed, unscored = count_done(study), count_failed(study), count_unscored(study)
    jobs = {row["title"]: row for row in sum_jobs(study)}
    rows = []
    keys = [judge.key for judge in judges]
    there = [(key, strategy) for key in keys for strategy in get_strategies()]
    gone = {(key, strategy) for key, strategy, _instrument in done if key not in keys and SIGN not in key}
    for key, strategy in [*there, *sorted(gone)]:
        spent = jobs.get(f"{key} ({strategy})", {})
        cells = []
        for instrument, number in totals.items():
            place = key, strategy, instrument
            cells.append(Cell(done[place], max(0, number - done[place]), failed[place], unscored[place]))
        rows.append(
            Row(
                judge=key,
                strategy=strategy,
                label=labels.strategy_name(strategy),
                cells=cells,
                cost="" if spent.get("unpriced") else format_amount(spent.get("spent") or Decimal(0)),
                budget="" if spent.get("budget") is None else format_amount(spent["budget"]),
                gone=key not in keys,
            )
        )
    return Matrix(list(totals), conversations, rows)


def count_totals(study: Study) -> tuple[Counter[str], int]:
    """Count the final ratings that a judge can give, by instrument, and the conversations."""
    chats = {protocol.pk: protocol.spec().chat for protocol in study.protocols.all()}
    totals: Counter[str] = Counter()
    conversations = 0
    runs = runs_to_judge(study).select_related(None).prefetch_related(None).order_by()
    rows = runs.values_list("protocol", "participation__track", "condition").annotate(Count("pk"))
    for protocol, track, condition, number in rows:
        conversations += number
        for instrument in ratings_of_track(chats[protocol], track or track_of_simulated(condition)):
            totals[instrument] += number
    return totals, conversations


def count_done(study: Study) -> Counter[tuple[str, str, str]]:
    return count_by_place(query_final(study))


def count_unscored(study: Study) -> Counter[tuple[str, str, str]]:
    """Count the answers in which no score could be read."""
    scored = Answer.objects.filter(response=OuterRef("pk"), value__isnull=False)
    return count_by_place(query_final(study).exclude(Exists(scored)))


def query_final(study: Study) -> QuerySet[Response]:
    return Response.objects.filter(
        rater__study=study, rater__kind=RaterKind.JUDGE, moment=FINAL, replicate=1, run__in=runs_to_judge(study)
    ).order_by()


def count_by_place(responses: QuerySet[Response]) -> Counter[tuple[str, str, str]]:
    rows = responses.values_list("rater__code", "rater__strategy", "instrument").annotate(Count("pk"))
    return Counter({(code, strategy, instrument): number for code, strategy, instrument, number in rows})


def count_failed(study: Study) -> Counter[tuple[str, str, str]]:
    """Count the items that failed and were not answered since. Their configuration begins with their rater's number."""
    raters = {str(rater.pk): (rater.code, rater.strategy) for rater in study.raters.filter(kind=RaterKind.JUDGE)}
    items = JobItem.objects.filter(job__scope=study.key, job__kind=KIND, role=KIND, state__in=FAILED)
    counts: defaultdict[tuple[str, str, str], int] = defaultdict(int)
    for configuration, payload in items.values_list("configuration", "payload"):
        rater = raters.get(configuration.partition("-")[0])
        if rater and payload["moment"] == FINAL:
            counts[*rater, payload["instrument"]] += 1
    return Counter(counts)


def sum_jobs(study: Study) -> list[dict]:
    jobs = Job.objects.filter(scope=study.key, kind=KIND).order_by()
    last = dict(jobs.order_by("pk").values_list("title", "budget"))
    rows = jobs.values("title").annotate(spent=Sum("spent"))
    titles, reserved = dict(jobs.values_list("pk", "title")), Counter[str]()
    for job, amount in sum_reserved(titles).items():
        reserved[titles[job]] += amount
    calls = Call.objects.filter(item__job__in=jobs, cost=None).exclude(status="started")
    unpriced = set(calls.values_list("item__job__title", flat=True))
    return [
        {
            "title": row["title"],
            "spent": row["spent"] - reserved[row["title"]],
            "budget": last[row["title"]],
            "unpriced": row["title"] in unpriced,
        }
        for row in rows
    ]


@require_POST
@study_page
def start_judge(request: HttpRequest, study: Study) -> HttpResponse:
    """Ask what a judge with one strategy would cost, and whether to start it."""
    judge, _space, strategy = request.POST.get("work", "").partition(" ")
    form = BudgetForm(request.POST)
    keys = [one.key for one in study.current().spec().judges]
    if judge not in keys or strategy not in get_strategies() or not form.is_valid():
        raise Http404
    budget = form.cleaned_data["budget"]
    options = [] if budget is None else [f"{BUDGET}={budget}"]
    return ask_first(study, "judge", [judge, strategy, *options], back="research-judges")
