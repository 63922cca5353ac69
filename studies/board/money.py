"""Money spent on models: by arm from the ledger, by judge and other work from its jobs. Test data cost money too, so
everything counts."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.conf import settings
from django.db.models import Count, Q, Sum
from django.utils import timezone

from dialogue.models import Call, Job, Spending
from dialogue.providers.prices import format_amount, load_prices
from studies.models import Study
from studies.workbench import labels


@dataclass(frozen=True)
class Expense:
    """`calls`: None for jobs, which count items; `unpriced`: calls whose price is not known; `budget`: of one job."""

    what: str
    about: str
    amount: str
    calls: int | None = None
    unpriced: int = 0
    budget: str = ""


@dataclass(frozen=True)
class Money:
    """`today` and `day_budget` are of all studies on this server together, on this day in UTC."""

    rows: Sequence[Expense]
    total: str
    unpriced: int
    currency: str
    today: str
    day_budget: str
    percent: int


def get_money(study: Study) -> Money:
    replies, jobs = count_replies(study), count_jobs(study)
    total = sum((amount for _row, amount in [*replies, *jobs]), Decimal(0))
    spent = Spending.objects.filter(day=timezone.now().date()).values_list("amount", flat=True).first() or Decimal(0)
    budget = settings.DAILY_BUDGET
    return Money(
        rows=[row for row, _amount in [*replies, *jobs]],
        total=format_amount(total),
        unpriced=sum(row.unpriced for row, _amount in replies),
        currency=load_prices(settings.PRICES).currency,
        today=format_amount(spent),
        day_budget="" if budget is None else format_amount(budget),
        percent=min(100, round(100 * spent / budget)) if budget else 0,
    )


def count_replies(study: Study) -> list[tuple[Expense, Decimal]]:
    """Return the cost of calls outside of jobs: replies by arm, and the second line of the risk screen."""
    calls = Call.objects.filter(conversation__run__study=study, item=None).exclude(status="started").order_by()
    rows = calls.values_list("purpose", "conversation__run__arm").annotate(
        number=Count("pk"), spent=Sum("cost"), unpriced=Count("pk", filter=Q(cost=None))
    )
    return [
        (Expense(arm or "–", str(labels.word(labels.PURPOSES, purpose)), format_amount(cost), number, unpriced), cost)
        for purpose, arm, number, cost, unpriced in sorted(
            (purpose, arm, number, cost or Decimal(0), unpriced) for purpose, arm, number, cost, unpriced in rows
        )
    ]


def count_jobs(study: Study) -> list[tuple[Expense, Decimal]]:
    """Return the cost of jobs of judges, simulations and profiles; several jobs of the same work count together."""
    jobs = Job.objects.filter(scope=study.key).order_by()
    sums = {"spent": Sum("spent"), "budget": Sum("budget")}
    rows = jobs.values_list("kind", "title").annotate(**sums).order_by("kind", "title")
    return [
        (
            Expense(
                labels.job_name(title),
                str(labels.word(labels.PURPOSES, kind)),
                format_amount(spent),
                budget=show_budget(budget),
            ),
            spent,
        )
        for kind, title, spent, budget in rows
    ]


def show_budget(budget: Decimal | None) -> str:
    return "" if budget is None else format_amount(budget)
