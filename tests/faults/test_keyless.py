"""Celery where no worker can do the work: none has the key, or none is there."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import tomlkit

from tests.faults.site import Broker, Site, is_there, site_on
from tests.faults.workers import KEY, conversations, study
from tests.llm_server import running
from tests.server import ROOT

VARIABLE = "KEY_THAT_NO_WORKER_HAS"
ITEMS = 12
PATIENCE = 7  # seconds: long enough for one further delivery
LONGEST = 120  # seconds
NOT_THERE = "PostgreSQL, Redis or RabbitMQ did not answer on its standard port: no job waited for a worker on it"
BEFORE = """
from django.core.management import call_command
call_command("migrate", verbosity=0, interactive=False)
call_command("load_study", "{folder}/keyless.toml", verbosity=0)
call_command("import_conversations", "{key}", "{folder}/keyless.jsonl", verbosity=0)
"""
JUDGE = """
from django.core.management import call_command
from dialogue.jobs import broker
broker.NOBODY = {patience}
call_command("judge", "{key}", judge="judge", strategy="standard", replicates={replicates})
"""


@pytest.fixture(params=["redis", "rabbitmq"])
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    broker: Broker = request.param
    if not is_there("postgres", broker):
        pytest.skip(NOT_THERE)
    with running() as url, site_on("postgres", tmp_path, f"test_emostudy_keyless_{os.getpid()}", broker) as site:
        whole = study(url)
        whole["judges"][0]["api_key_env"] = VARIABLE
        (tmp_path / "keyless.toml").write_text(tomlkit.dumps(whole), encoding="utf-8")
        (tmp_path / "keyless.jsonl").write_text("\n".join(map(json.dumps, conversations())), encoding="utf-8")
        site.run(BEFORE.format(folder=tmp_path, key=KEY))
        yield site


def judge(site: Site) -> subprocess.CompletedProcess[str]:
    """The command itself has the key."""
    code = JUDGE.format(patience=PATIENCE, key=KEY, replicates=ITEMS // len(list(conversations())))
    command = [sys.executable, "manage.py", "shell", "-c", code]
    env = site.env | {VARIABLE: "sk-of-the-command-alone"}
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=LONGEST)


def wait_for_workers(site: Site) -> None:
    give_up = time.monotonic() + LONGEST
    while site.said().count(" ready.") < len(site.celery()):
        assert time.monotonic() < give_up, site.said()
        time.sleep(0.2)


def test_command_says_that_no_worker_has_the_key_and_stops(site: Site) -> None:
    with site.working([[*one, "-l", "INFO"] for one in site.celery()]):
        wait_for_workers(site)
        told = judge(site)
    assert told.returncode == 1, told
    assert f"Stopped: no Celery worker can do this. The environment variable {VARIABLE} is not set." in told.stdout
    assert f"{ITEMS} left for the next time." in told.stdout
    deliveries = len(re.findall(r"Task dialogue\.run_item\[.*\] received", site.said()))
    assert ITEMS <= deliveries <= ITEMS + 6
    assert site.database.rows("SELECT count(*) AS number FROM dialogue_call") == [{"number": 0}]


def test_command_says_that_no_worker_is_there_and_stops(site: Site) -> None:
    told = judge(site)
    assert told.returncode == 1, told
    assert f"Stopped: no Celery worker has taken anything from the queue {site.env['CELERY_QUEUE']} for" in told.stdout
