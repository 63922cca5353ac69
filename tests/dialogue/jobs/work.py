"""A kind of job for tests: the payload of an item says what is to be done."""

import asyncio
import os
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

from django.db import connection, connections

from dialogue.jobs import store
from dialogue.jobs.calls import Caller, Question
from dialogue.jobs.group_commit import in_database
from dialogue.jobs.store import PlannedJob, WantedItem
from dialogue.models import Job, JobItem
from dialogue.providers.base import Message, ModelSettings, ProviderError
from dialogue.providers.openai_client import close_clients

HANDLERS = {"test": "tests.dialogue.jobs.work.Handler"}
STATES = JobItem.State


class Handler:
    """Asks the model of the plan the words of the item, and keeps its answer."""

    kept: ClassVar[list[int]] = []

    def __init__(self, job: Job) -> None:
        self.job = job

    def check(self) -> None:
        variable = self.job.plan.get("api_key_env")
        if variable and variable not in os.environ:
            raise ProviderError("client_error", f"The environment variable {variable} is not set.", permanent=True)

    def read(self, items: Sequence[JobItem]) -> dict[int, str]:
        if any(item.payload.get("unreadable") for item in items):
            raise ValueError("cannot be read")
        return {item.pk: item.payload["words"] for item in items if not item.payload.get("withdrawn")}

    async def work(self, item: JobItem, material: str, caller: Caller) -> str:
        if seconds := item.payload.get("seconds"):
            await asyncio.sleep(seconds)
        if reason := item.payload.get("raises"):
            raise ValueError(reason)
        if self.job.plan.get("model") is None:
            return material
        return (await caller.ask(question(material, self.job.plan, item=item.pk, job=self.job.pk))).text

    def store_outcomes(self, outcomes: Sequence[tuple[JobItem, str]]) -> list[dict[str, Any]]:
        if any(item.payload.get("unkeepable") for item, _ in outcomes):
            raise ValueError("cannot be kept")
        self.kept.extend(item.pk for item, _ in outcomes)
        return [{"answer": answer} for _, answer in outcomes]


def question(words: str, plan: Mapping[str, Any], **fields: Any) -> Question:
    asked = ModelSettings(
        "openai_compatible",
        model=plan["model"],
        base_url=plan["url"],
        max_tokens=plan.get("max_tokens"),
        extra=plan.get("extra", {}),
    )
    return Question(purpose="judge", messages=(Message("user", words),), settings=asked, **fields)


def wanted(words: str, **fields: Any) -> WantedItem:
    payload = {"words": words, **fields.pop("payload", {})}
    return WantedItem(**{"subject": words, "role": "test", "configuration": "c", "payload": payload, **fields})


def job(*items: WantedItem | str, plan: Mapping[str, Any] | None = None, **options: Any) -> PlannedJob:
    items = tuple(wanted(one) if isinstance(one, str) else one for one in items)
    return store.plan(items, kind="test", scope="tests", title="A job", plan=plan or {}, **options)


def states(**which: Any) -> dict[str, str]:
    """By subject."""
    return dict(JobItem.objects.filter(**which).values_list("subject", "state"))


def at_the_same_time(*calls: Any) -> list[Any]:
    """Each in a thread, with a connection of its own."""

    def done(call: Any) -> Any:
        try:
            return call()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(done, calls))


async def when(what: Callable[[], Any], seconds: float = 20.0) -> None:
    """Wait until the rows say so."""
    async with asyncio.timeout(seconds):
        while not await in_database(what):  # noqa: ASYNC110 - the rows tell
            await asyncio.sleep(0.02)


def run(work: Coroutine[Any, Any, Any]) -> Any:
    """In a loop of its own, that leaves nothing open."""

    async def and_close() -> Any:
        try:
            return await work
        finally:
            await close_clients()
            await in_database(connections.close_all)

    return asyncio.run(and_close())
