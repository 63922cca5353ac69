"""Jobs seen from a shell: background, budgets, being stopped. A real model server answers."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import tomlkit

from tests.faults import workers
from tests.llm_server import running
from tests.server import ROOT

JUDGE = ("--judge", "judge", "--strategy", "standard")
PRICES = 'version = "test"\ncurrency = "USD"\n[[models]]\nmodel = "*"\nsince = 2026-01-01\ninput = 0\noutput = 1000\n'


@dataclass
class Shell:
    """Commands on a database with a study of six conversations and a judge behind the server."""

    env: dict[str, str]
    url: str
    before: Counter[str] = field(default_factory=Counter)  # what the server had been asked

    def run(self, *arguments: str, **env: str) -> tuple[dict[str, Any], int, str]:
        """Summary (where there is one), exit code, and what was said to stderr."""
        told = subprocess.run(
            [sys.executable, "manage.py", *arguments], cwd=ROOT, env=self.env | env, capture_output=True, text=True
        )
        lines = told.stdout.splitlines()
        summary = json.loads(lines[-1]) if lines and "--json" in arguments else {}
        return summary, told.returncode, told.stderr

    def said(self, *arguments: str, **env: str) -> tuple[int, list[str]]:
        """Exit code and the lines of stdout."""
        told = subprocess.run(
            [sys.executable, "manage.py", *arguments], cwd=ROOT, env=self.env | env, capture_output=True, text=True
        )
        return told.returncode, told.stdout.splitlines()

    def judge(self, strategy: str, *arguments: str, **env: str) -> tuple[dict[str, Any], int, str]:
        return self.run("judge", workers.KEY, "--judge", "judge", "--strategy", strategy, "--json", *arguments, **env)

    def asked(self) -> int:
        """Since the test began. Whatever is asked here is asked once."""
        requests = Counter(workers.requests(self.url)) - self.before
        assert set(requests.values()) <= {1}
        return len(requests)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    folder = tmp_path_factory.mktemp("prepared")
    with running() as url:
        (folder / "study.toml").write_text(tomlkit.dumps(workers.study(url)), encoding="utf-8")
        (folder / "talks.jsonl").write_text("\n".join(map(json.dumps, workers.conversations())), encoding="utf-8")
        shell = Shell({"PATH": os.environ["PATH"], "VAR_DIR": str(folder / "var")}, url)
        for command in (
            ["migrate", "--verbosity", "0"],
            ["load_study", str(folder / "study.toml")],
            ["import_conversations", workers.KEY, str(folder / "talks.jsonl")],
        ):
            assert shell.run(*command)[1] == 0
        yield shell


@pytest.fixture
def shell(prepared: Shell, tmp_path: Path) -> Shell:
    """On a database of its own."""
    shutil.copytree(prepared.env["VAR_DIR"], tmp_path / "var")
    before = Counter(workers.requests(prepared.url))
    return Shell(prepared.env | {"VAR_DIR": str(tmp_path / "var")}, prepared.url, before)


@pytest.fixture
def prices(tmp_path: Path) -> str:
    """A token that is written costs 0.001, so that an answer costs about 0.02."""
    path = tmp_path / "prices.toml"
    path.write_text(PRICES, encoding="utf-8")
    return str(path)


def told(run: tuple[dict[str, Any], int, str], *names: str) -> tuple[Any, ...]:
    summary, code, _ = run
    return (*(summary[name] for name in names), code)


def test_job_in_the_background_is_planned_by_the_command_and_done_by_a_runner(shell: Shell) -> None:
    assert told(shell.judge("standard", "--background"), "done", "waiting", "left") == (0, 6, 0, 0)
    assert shell.asked() == 0
    assert shell.run("run_jobs", "--until-done") == ({}, 0, "")
    assert shell.asked() == 6
    assert told(shell.judge("standard"), "done", "skipped_existing") == (0, 6, 0)


def test_runner_that_is_to_end_when_idle_does_its_work_first(shell: Shell) -> None:
    shell.judge("standard", "--background")
    assert shell.run("run_jobs", "--idle", "0.1") == ({}, 0, "")
    assert shell.asked() == 6


def test_budget_is_kept_and_exit_is_3_and_what_is_left_is_done_later(shell: Shell, prices: str) -> None:
    budget = ("--budget", "4.2")  # without max_tokens 4096 of them are set aside
    summary, code, _ = shell.judge("standard", *budget, PRICES=prices)
    assert (code, summary["budget_reached"]) == (3, True)
    assert summary["cost"] <= 4.2
    assert 0 < summary["done"] < 6 == summary["done"] + summary["left"]
    assert told(shell.judge("standard", PRICES=prices), "done", "left") == (summary["left"], 0, 0)
    assert shell.asked() == 6


def test_budget_of_the_day_holds_over_commands(shell: Shell, prices: str) -> None:
    day = {"PRICES": prices, "DAILY_BUDGET": "4.2"}
    first, code, _ = shell.judge("standard", **day)
    assert (code, first["cost"] <= 4.2) == (3, True)
    assert told(shell.judge("standard", **day), "done", "cost") == (0, 0.0, 3)


@pytest.mark.parametrize(
    ("budget", "day", "line"),
    [
        (
            ["--budget", "0.002"],
            {},
            "Budget reached: less is left than the next call may cost. Run the same command with "
            "a higher --budget to continue.",
        ),
        (
            [],
            {"DAILY_BUDGET": "0.002"},
            "Budget of the day reached: less is left than the next call may cost. Run the same command "
            "tomorrow (UTC), or with a higher DAILY_BUDGET, to continue.",
        ),
    ],
)
def test_budget_that_is_reached_is_told_with_how_to_go_on(
    budget: list[str], day: dict[str, str], line: str, shell: Shell, prices: str
) -> None:
    code, out = shell.said("judge", workers.KEY, *JUDGE, *budget, PRICES=prices, **day)
    assert (code, out[:2]) == (3, [line, "6 left for the next time."])
    assert shell.asked() == 0


def test_runner_says_that_there_is_nothing_to_do(shell: Shell) -> None:
    code, out = shell.said("run_jobs", "--until-done")
    assert (code, len(out)) == (0, 1)
    assert out[0].startswith("Nothing to do: no job is open.")


def test_runner_says_what_waits_for_another_worker(shell: Shell, tmp_path: Path) -> None:
    study = workers.study(shell.url)
    study["judges"][0]["api_key_env"] = "KEY_OF_ANOTHER"
    (tmp_path / "study.toml").write_text(tomlkit.dumps(study), encoding="utf-8")
    assert shell.run("load_study", str(tmp_path / "study.toml"))[1] == 0
    assert shell.judge("standard", "--background", KEY_OF_ANOTHER="x")[1] == 0
    code, [line] = shell.said("run_jobs", "--until-done")
    assert code == 0
    assert line.endswith("6 items wait for a worker that can do it. See above why this one cannot.")


@pytest.mark.parametrize("seconds", ["-1", "nan"])
def test_runner_cannot_be_idle_for_less_than_nothing(seconds: str, shell: Shell) -> None:
    assert shell.run("run_jobs", "--idle", seconds)[1:] == (2, "--idle must be at least 0 seconds.\n")


@pytest.mark.parametrize("how", ["--budget", "DAILY_BUDGET"])
def test_budget_without_a_price_is_refused(how: str, shell: Shell) -> None:
    given: dict[str, Any] = {"DAILY_BUDGET": "5"} if how == "DAILY_BUDGET" else {}
    summary, code, said = shell.judge("standard", *(["--budget", "5"] if how == "--budget" else []), **given)
    assert (summary, code) == ({}, 2)
    assert said.startswith(f"{how}: ")
    assert "has no price for" in said


def test_faults_of_the_price_file_are_told_with_their_place(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(PRICES.replace("output = 1000", 'output = "dear"'), encoding="utf-8")
    for command in (["judge", workers.KEY, "--judge", "judge", "--strategy", "standard"], ["run_jobs", "--until-done"]):
        _, code, said = shell.run(*command, PRICES=str(path))
        assert (code, said.splitlines()[0].partition(": ")[0]) == (2, str(path))
        assert "models.1.output" in said


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_command_that_is_stopped_stops_its_job_and_the_same_command_goes_on(how: signal.Signals, shell: Shell) -> None:
    command = ["judge", workers.KEY, "--judge", "judge", "--strategy", "standard", "--json", "--concurrency", "1"]
    process = subprocess.Popen(
        [sys.executable, "manage.py", *command], cwd=ROOT, env=shell.env, stdout=subprocess.PIPE, text=True
    )
    wait_until(lambda: shell.asked() >= 2)
    process.send_signal(how)
    said, _ = process.communicate(timeout=60)
    summary = json.loads(said.splitlines()[-1])
    assert (process.returncode, summary["done"], summary["left"]) == (1, shell.asked(), 6 - shell.asked())
    assert "Stopped by hand. Run the same command again to continue." in said
    assert shell.run("run_jobs", "--until-done")[1] == 0
    assert shell.asked() == summary["done"]
    assert told(shell.judge("standard"), "done", "left") == (summary["left"], 0, 0)
    assert shell.asked() == 6


def wait_until(what: Callable[[], bool]) -> None:
    give_up = time.monotonic() + 60
    while not what():
        assert time.monotonic() < give_up
        time.sleep(0.02)
