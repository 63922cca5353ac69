"""Two workers judge while the models' servers fail in every way: two runners on SQLite, and two of Celery's."""

import csv
import json
import os
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import tomlkit

from tests.faults.judges import JUDGES, REPEATED, Judge
from tests.faults.schedule import Backend
from tests.faults.site import Site, ended, is_there, site_on
from tests.faults.workers import conversations, requests, study
from tests.llm_server import running

PATIENCE = 300.0  # seconds
KEY = "judges"
ITEMS = 10  # of EmoHarbor's ratings
NOT_THERE = "no PostgreSQL and Redis answered on their standard ports: judges' models failed on SQLite alone"
BEFORE = """
from django.core.management import call_command
call_command("migrate", verbosity=0, interactive=False)
call_command("load_study", "{folder}/judges.toml", verbosity=0)
call_command("import_conversations", "judges", "{folder}/judges.jsonl", verbosity=0)
for judge, limit in {judges}:
    call_command("judge", "judges", judge=judge, strategy="standard", limit=limit, background=True, verbosity=0)
"""
AFTER = """
from django.core.management import call_command
call_command("export", "judges", "--out", "{folder}/export", verbosity=0)
"""


@dataclass(frozen=True)
class Seen:
    items: Mapping[str, Counter[tuple[str, str]]]  # by judge: state and failure
    responses: Counter[str]  # by place
    calls: Mapping[str, Counter[str]]  # by judge: status
    ratings: Mapping[str, Mapping[tuple[str, str], list[tuple[str, str]]]]  # by judge, conversation and item
    requests: Counter[str]  # by model


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def seen(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    backend: Backend = request.param
    if not is_there(backend):
        pytest.skip(NOT_THERE)
    with ExitStack() as stack:
        url = stack.enter_context(running())
        folder = tmp_path_factory.mktemp(f"judges-{backend}")
        site = stack.enter_context(site_on(backend, folder, f"test_emostudy_judges_{os.getpid()}"))
        prepare(site, url)
        with site.working([["-m", "tests.faults.hurried", *command] for command in site.commands()]) as workers:
            assert ended(workers[-1], PATIENCE), site.said()
            assert backend == "sqlite" or [one.poll() for one in workers[:-1]] == [None, None], site.said()
        site.run(AFTER.format(folder=folder))
        return looked_at(site, url)


def prepare(site: Site, url: str) -> None:
    whole = study(url) | {"key": KEY, "judges": [as_table(judge, url) for judge in JUDGES]}
    (site.folder / "judges.toml").write_text(tomlkit.dumps(whole), encoding="utf-8")
    (site.folder / "judges.jsonl").write_text("\n".join(map(json.dumps, conversations())), encoding="utf-8")
    site.run(BEFORE.format(folder=site.folder, judges=[(judge.key, judge.conversations) for judge in JUDGES]))


def as_table(judge: Judge, url: str) -> dict[str, Any]:
    model = {"kind": "openai_compatible", "base_url": url, "model": judge.model, "provider": "Test Lab"}
    return {"key": judge.key, "title": judge.key, **model, **judge.settings}


def looked_at(site: Site, url: str) -> Seen:
    items = site.database.rows(
        "SELECT j.title, i.state, i.failure FROM dialogue_jobitem i JOIN dialogue_job j ON j.id = i.job_id"
    )
    responses = site.database.rows("SELECT rater_id, run_id, instrument, moment, turn, replicate FROM studies_response")
    seen = Seen(
        items={judge.key: Counter() for judge in JUDGES},
        responses=Counter("/".join(map(str, row.values())) for row in responses),
        calls={judge.key: Counter() for judge in JUDGES},
        ratings={judge.key: {} for judge in JUDGES},
        requests=Counter(),
    )
    for row in items:
        seen.items[row["title"].removesuffix(" (standard)")][row["state"], row["failure"]] += 1
    for row in table(site.folder, "calls"):
        seen.calls[row["judge"]][row["status"]] += 1
    for row in table(site.folder, "ratings"):
        place = row["conversation"], row["item"]
        seen.ratings[row["rater"]].setdefault(place, []).append((row["score"], row["missing_reason"]))
    for body, times in requests(url).items():
        seen.requests[json.loads(body)["model"]] += times
    return seen


def table(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / "export" / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_every_item_is_done_or_failed_for_the_right_reason(seen: Seen) -> None:
    assert seen.items == {
        judge.key: {("failed" if judge.failure else "done", judge.failure): judge.conversations} for judge in JUDGES
    }


def test_every_request_is_a_row_of_the_ledger_under_what_came_of_it(seen: Seen) -> None:
    assert seen.calls == {judge.key: judge.calls for judge in JUDGES}
    assert seen.requests == {judge.model: sum(judge.calls.values()) for judge in JUDGES}


def test_no_result_is_there_twice(seen: Seen) -> None:
    assert len(seen.responses) == sum(judge.conversations for judge in JUDGES if not judge.failure)
    assert set(seen.responses.values()) == {1}
    assert {len(rows) for found in seen.ratings.values() for rows in found.values()} == {1}


@pytest.mark.parametrize("judge", [judge for judge in JUDGES if judge.missing], ids=lambda judge: judge.key)
def test_what_did_not_come_is_missing_with_the_reason_and_no_score(judge: Judge, seen: Seen) -> None:
    rows = seen.ratings[judge.key].values()
    assert len(rows) == ITEMS * judge.conversations
    assert all(row == [("", judge.missing)] for row in rows)


@pytest.mark.parametrize("judge", [judge for judge in JUDGES if not judge.missing], ids=lambda judge: judge.key)
def test_what_came_in_the_end_is_scored_as_if_nothing_had_happened(judge: Judge, seen: Seen) -> None:
    """The scores are drawn from the prompt alone."""
    rows = seen.ratings[judge.key]
    assert len(rows) == ITEMS * judge.conversations
    assert all(score and not missing for ((score, missing),) in rows.values())
    assert judge.key in REPEATED or rows == seen.ratings["plain"]
