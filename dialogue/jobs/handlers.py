"""Handlers of jobs. settings.JOB_HANDLERS names them by kind of job, because dialogue knows nothing of studies."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from django.conf import settings
from django.utils.module_loading import import_string

from dialogue.jobs.calls import Caller, Question
from dialogue.models import Job, JobItem

ItemOutcome = tuple[JobItem, Any]


class Handler(Protocol):
    """Does the work of one job. Created once for each job and process."""

    def check(self) -> None:
        """Raise ProviderError where this process cannot do the work, for example without the model's key."""

    def read(self, items: Sequence[JobItem]) -> Mapping[int, Any]:
        """Return what the work needs from the database, by item. An item that is missing here is dropped."""

    async def work(self, item: JobItem, material: Any, caller: Caller) -> Any:
        """Ask models and return the outcome. After a crash it may run twice, and paid answers come from the ledger."""

    def store_outcomes(self, outcomes: Sequence[ItemOutcome]) -> Sequence[Mapping[str, Any]]:
        """Store the outcomes in the transaction that marks the items done. Return what to count of each, with `valid`
        for whether it is of use, where that is known."""


class BatchHandler(Handler, Protocol):
    """The handler of a job whose items may be asked in batches."""

    def questions(self, item: JobItem, material: Any) -> Sequence[Question]:
        """Return what `work` always asks first; nothing where each question needs an earlier answer."""


def handler_for(job: Job) -> Handler:
    handler: Handler = import_string(settings.JOB_HANDLERS[job.kind])(job)
    return handler
