"""The base of commands that work through a job: their options, the work itself, and its summary."""

import asyncio
import signal
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from decimal import ROUND_DOWN, Decimal, InvalidOperation
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from dialogue.jobs import batch_store, store
from dialogue.jobs.batcher import run_batcher
from dialogue.jobs.estimate import Estimate
from dialogue.jobs.failures import commonest_details
from dialogue.jobs.group_commit import in_database
from dialogue.jobs.reasons import Reason
from dialogue.jobs.runner import Runner
from dialogue.jobs.store import PlannedJob
from dialogue.models import Call, Job, JobItem
from dialogue.providers.base import ModelSettings, ProviderError
from dialogue.providers.prices import PriceFileError, Prices, format_amount, load_prices
from dialogue.providers.registry import get_recording, is_free
from studies.management.command import Command, Progress
from studies.simulation import estimate_words
from studies.simulation.choice import Unfit, refuse_unreachable
from studies.workbench.job_words import describe_stop
from studies.workbench.labels import one_or_more
from studies.workbench.task_words import describe_outages

TOO_MUCH, SMALLEST = 10**6, Decimal("0.000001")  # what Job.budget has room for
LOOK = 0.5  # seconds between two looks at how far it is
States = JobItem.State
HOW_TO_GO_ON = {
    "job_budget": "Run the same command with a higher --budget to continue.",
    "day_budget": "Run the same command tomorrow (UTC), or with a higher DAILY_BUDGET, to continue.",
}


class JobCommand(Command):
    """The base class. Subclasses plan a job and hand it to `work_on`."""

    def run_work(self, options: dict[str, Any]) -> dict[str, Any]:
        if settings.REPLAY:
            self.refuse_unplayable(options)
            self.stderr.write(f"No model is asked: answers come from {settings.REPLAY} (REPLAY).")
        return super().run_work(options)

    def refuse_unplayable(self, options: dict[str, Any]) -> None:
        if options["background"]:
            self.refuse("--background: a runner elsewhere would ask models. Leave it out where REPLAY is set.")
        try:
            get_recording()
        except ProviderError as fault:
            self.refuse(f"REPLAY: {fault.detail}")

    def add_job_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--concurrency", type=int, default=4, metavar="C", help="calls at once at one endpoint (default 4)"
        )
        parser.add_argument(
            "--budget", metavar="X", help="stop before more than X is spent, in the price table's currency"
        )
        parser.add_argument(
            "--background", action="store_true", help="only plan it; the runner beside the server does it"
        )
        parser.add_argument(
            "--retry-quarantined",
            action="store_true",
            help="also retry what failed the same way in three commands in a row, or is too long for the model",
        )
        parser.add_argument(
            "--estimate",
            action="store_true",
            help="estimate calls, tokens and cost from the prompts of three of them; asks no model",
        )

    def add_limit_argument(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--limit",
            type=int,
            metavar="N",
            help="do at most N this time (for example 3 as a trial; the model is called, and you pay for it)",
        )

    def refuse_below_one(self, options: dict[str, Any], *names: str) -> None:
        for name in names:
            if options[name] is not None and options[name] < 1:
                self.refuse(f"--{name.replace('_', '-')} must be at least 1.")

    def refuse_above(self, options: dict[str, Any], **most: int) -> None:
        for name, number in most.items():
            if options[name] > number:
                self.refuse(f"--{name.replace('_', '-')} must be at most {number}.")

    def job_options(self, options: dict[str, Any], models: Mapping[str, ModelSettings]) -> dict[str, Any]:
        """Return the options of a job. Each of `models` needs its key, and a price if there is a budget."""
        self.refuse_unreachable(models)
        return {
            "budget": self.budget(options["budget"], models.values()),
            "attended": not options["background"],
            "retry_quarantined": options["retry_quarantined"],
        }

    def refuse_unreachable(self, models: Mapping[str, ModelSettings]) -> None:
        try:
            for name, model in models.items():
                refuse_unreachable(name, model)
        except Unfit as error:
            self.refuse(str(error))

    def budget(self, text: str | None, models: Iterable[ModelSettings]) -> Decimal | None:
        prices = self.prices()
        if text is None and settings.DAILY_BUDGET is None:
            return None
        for model in models:
            if not is_free(model.kind) and prices.price_of(model.model, model.base_url, store.today()) is None:
                self.refuse(
                    f"{'DAILY_BUDGET' if text is None else '--budget'}: {settings.PRICES} has no price for "
                    f"{model.model!r}, so what is spent cannot be known. Enter it, with 0 for a model of your own."
                )
        return None if text is None else self.amount(text)

    def prices(self) -> Prices:
        try:
            return load_prices(settings.PRICES)
        except PriceFileError as error:
            self.refuse(str(error))

    def amount(self, text: str) -> Decimal:
        try:
            amount = Decimal(text)
        except InvalidOperation:
            amount = Decimal(-1)
        if not (amount.is_finite() and amount >= 0):
            self.refuse(f"--budget: {text!r} is not an amount. Give a number of 0 or more, such as 2.50.")
        if amount >= TOO_MUCH:
            self.refuse(f"--budget: must be less than {TOO_MUCH:,}.")
        return amount.quantize(SMALLEST, ROUND_DOWN)

    def say_estimate(self, estimate: Estimate) -> dict[str, Any]:
        for line in estimate_words.lines(estimate):
            self.say(line)
        return {"estimate": estimate_words.as_summary(estimate)}

    def say_counts(self, counts: Mapping[str, int]) -> None:
        """Print each count that is not 0."""
        for what, count in counts.items():
            if count:
                self.say(f"{count} {what}.")

    def say_planned(self, planned: PlannedJob, one: str = "item", more: str = "items") -> None:
        waiting = one_or_more(planned.items, f"{one} waits", f"{more} wait")
        self.say(f"Job {planned.job.pk}: {planned.items} {waiting} for a runner.")

    def work_on(self, job: Job, label: str, *, at_once: int) -> None:
        """Work on a job until it is done, here or by others. After a signal it gives back what is not done."""
        self.items_at_start = list(job.items.values_list("pk", "role"))
        with self.progress(store.count_states(job.pk).total(), label) as progress:
            asyncio.run(run_job(job, progress, at_once=at_once))
        job.refresh_from_db()
        if job.reason:
            self.say(f"{describe_stop(job)} {HOW_TO_GO_ON.get(job.reason['code'], '')}".rstrip())

    def job_summary(self, job: Job, role: str, *, planned: int, **only: Any) -> dict[str, Any]:
        """Return how the job's items of this role ended. Missing items were withdrawn or erased meanwhile.

        `only`: filters of them.
        """
        ended = list(self.ends(job, role, **only))
        counts = Counter(state for state, *_ in ended)
        failed = Counter((failure, detail) for _, failure, detail in ended if failure)
        waiting = counts[States.WAITING] + counts[States.WORKING]
        in_background = job.state == Job.State.OPEN
        return {
            "job": job.pk,
            "done": counts[States.DONE],
            "erased": max(planned - len(ended), 0),
            "quarantined": counts[States.QUARANTINED],
            "failed": counts[States.FAILED] + counts[States.QUARANTINED],
            "failed_reasons": dict(Counter(failure for failure, _ in failed.elements())),
            "failed_details": commonest_details(failed),
            "left": 0 if in_background else waiting,
            **({"waiting": waiting} if in_background else {}),
            "cost": float(job.spent),
            "unpriced": is_unpriced(job),
            "budget_reached": job.state == Job.State.BUDGET,
        }

    def ends(self, job: Job, role: str, **only: Any) -> Iterator[tuple[str, str, str]]:
        """Yield state, failure and its detail of each item."""
        for some in store.chunks(self.items_of_role(job, role)):
            yield from JobItem.objects.filter(pk__in=some, **only).values_list("state", "failure", "detail")

    def items_of_role(self, job: Job, role: str) -> list[int]:
        """Return the items of this role, also those that a second call of the same command took over."""
        items_at_start = getattr(self, "items_at_start", None) or job.items.values_list("pk", "role")
        return [pk for pk, of_role in items_at_start if of_role == role]


def failure_counts(summary: Mapping[str, Any]) -> dict[str, int]:
    """Return counts for `say_counts`, each with its commonest detail, and advice if nothing is retried
    automatically."""
    failed = describe_failures(summary["failed_reasons"], summary["failed_details"])
    waits, them = ("waits", "it") if summary["quarantined"] == 1 else ("wait", "them")
    why = "too long, or failed the same way three times"
    quarantine = f"of them {waits} in quarantine ({why}): --retry-quarantined tries {them} again"
    return {**failed, quarantine: summary["quarantined"]}


def describe_failures(reasons: Mapping[str, int], details: Mapping[str, str]) -> dict[str, int]:
    """Return counts by sentence. A detail is a sentence of its own and gets its full stop here."""
    sentences = {reason: f". {detail.rstrip('.')}" for reason, detail in details.items()}
    return {f"failed: {reason}{sentences.get(reason, '')}": count for reason, count in reasons.items()}


def is_unpriced(job: Job) -> bool:
    """Return whether some of its calls have no price, so that `spent` is not its whole cost."""
    return Call.objects.filter(item__job=job, cost=None).exists()


def in_brackets(counts: Mapping[str, int]) -> str:
    listed = ", ".join(f"{what} {count}" for what, count in counts.items())
    return f" ({listed})" if listed else ""


def worker(*, at_once: int, job: int | None = None) -> Any:
    """Return a runner in this process, or with a broker one that sends the work to Celery's workers."""
    if not settings.CELERY_BROKER_URL:
        return Runner(at_once=at_once, job=job)
    from dialogue.jobs.broker import Dispatcher  # Celery is installed only where there is a broker

    return Dispatcher(job)


async def run_job(job: Job, progress: Progress, *, at_once: int) -> None:
    runner = worker(at_once=at_once, job=job.pk)
    stop_on_signals(runner.stopping)
    label = progress.label
    watching = asyncio.create_task(watch_progress(job, progress, label))
    async with run_batcher(job.pk):
        try:
            await runner.run(until_done=True)
        finally:
            watching.cancel()
        if runner.stopping.is_set():
            await in_database(store.end, job.pk, Job.State.STOPPED, Reason.of("signal"))
    await in_database(show_progress, job, progress, label)


def stop_on_signals(stopping: asyncio.Event) -> None:
    """Let Ctrl-C and SIGTERM end the work in good order; a second one ends it at once."""
    if threading.current_thread() is not threading.main_thread():
        return
    loop = asyncio.get_running_loop()

    def stop(number: signal.Signals) -> None:
        loop.remove_signal_handler(number)
        stopping.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop, number)


async def watch_progress(job: Job, progress: Progress, label: str) -> None:
    while True:
        await asyncio.sleep(LOOK)
        await in_database(show_progress, job, progress, label)


def show_progress(job: Job, progress: Progress, label: str) -> None:
    """Show the progress with the cost so far, the provider's word on its batches, and where nothing has ended since the
    last look, which models are asked again."""
    counts, at_provider = store.count_states(job.pk), batch_store.describe_progress(job.pk)
    total = counts.total()
    done = total - counts[States.WAITING] - counts[States.WORKING]
    held_up = list(filter(None, [at_provider, *(describe_outages([job]) if done == progress.done else [])]))
    spent = Job.objects.values_list("spent", flat=True).get(pk=job.pk)
    label = ", ".join([label, *held_up, *([f"{format_amount(spent)} spent"] if spent else [])])
    if held_up and label != progress.label and not (progress.quiet or progress.bar):
        sys.stderr.write(f"{label}\n")
    progress.set(done, total, label)
