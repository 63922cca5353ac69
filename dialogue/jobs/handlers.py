"""Who does the work of a job. dialogue knows nothing of studies: settings.JOB_HANDLERS names them, by kind of job."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from django.conf import settings
from django.utils.module_loading import import_string

from dialogue.jobs.calls import Caller, Question
from dialogue.models import Job, JobItem

Made = tuple[JobItem, Any]


class Handler(Protocol):
    """Made once for each job and process."""

    def check(self) -> None:
        """Raises ProviderError where this process cannot do the work, as one without the key of the model."""

    def read(self, items: Sequence[JobItem]) -> Mapping[int, Any]:
        """What is needed of the database to work on them, by item. Who is not in it has nothing to be done any more."""

    async def work(self, item: JobItem, material: Any, caller: Caller) -> Any:
        """Asks models and returns what came of it. May be done twice, after a crash: what was paid for comes from the
        ledger."""

    def keep(self, made: Sequence[Made]) -> Sequence[Mapping[str, Any]]:
        """Stores it, inside the transaction that marks the items done; returns what is worth counting of each, and
        where that can be said, under `valid` whether it is of use."""


class BatchHandler(Handler, Protocol):
    """Of jobs whose items may be asked in batches."""

    def questions(self, item: JobItem, material: Any) -> Sequence[Question]:
        """What `work` will ask first, whatever comes of it; nothing where each question needs an answer before."""


def handler_for(job: Job) -> Handler:
    made: Handler = import_string(settings.JOB_HANDLERS[job.kind])(job)
    return made
