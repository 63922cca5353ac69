"""`replicate` with models behind a real HTTP server that streams and fails: it comes to its end, and if it was killed
on the way, the same command pays for nothing twice and ends with the same tables."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.amounts import choose
from tests.llm_server import running
from tests.server import NOT_INHERITED, ROOT

AT_ONCE = 4  # calls, as the command has it
PATIENCE = 240  # seconds for one part of a walk, on slow machines
# They differ in what they say: one answer serves equal questions, and which conversation pays for it is chance.
SAID = quote("我在听。这件事里，什么最让你难受？")
ARMS = {"busy": "flaky-1-status-429", "torn": f"flaky-1-break+late-20+say:{SAID}"}
JUDGE, SEEKER = "flaky-1-status-503", "flaky-1-streamerror"
# Measures of costs.csv that differ: by the clock, and by the calls that were cut, which the ledger keeps.
OF_ATTEMPTS = ("seconds", "first_token_seconds", "total_seconds", "calls", "failed_calls")


@dataclass(frozen=True)
class Lab:
    """A folder with a study file of models at this address."""

    folder: Path
    url: str
    paper: str

    def asked(self) -> int:
        with urllib.request.urlopen(f"{self.url.removesuffix('/v1')}/asked") as answer:
            return len(json.load(answer))

    def start(self) -> subprocess.Popen[str]:
        kept = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
        words = ["replicate", self.paper, "--study", str(self.study_file()), "--out", str(self.out)]
        return subprocess.Popen(
            [sys.executable, "manage.py", *words, "--profiles", "1", "--bootstrap", "5", "--tables-only", "--yes"],
            cwd=ROOT,
            env=kept | {"VAR_DIR": str(self.folder / "var")},
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,  # so that a test can kill all of it
        )

    @property
    def out(self) -> Path:
        return self.folder / "out"

    def study_file(self) -> Path:
        """The shipped study in one language and with models in the place of its scripts."""
        text = (ROOT / "fixtures" / "studies" / f"replicate_{self.paper}.toml").read_text(encoding="utf-8")
        head = text[: text.index("\n[[arms]]") + 1]
        for was, becomes in {
            '["en", "zh"]': '["zh"]',
            "providers = []": 'providers = ["Test Lab"]',
        }.items():
            assert head.count(was) == 1, was
            head = head.replace(was, becomes)
        tables = [self.model("[arms]", model, key) for key, model in ARMS.items()]
        tables += [self.model("[judges]", JUDGE, "remote"), self.model("seeker", SEEKER)]
        path = self.folder / "own.toml"
        path.write_text("\n".join([head, *tables]), encoding="utf-8")
        return path

    def model(self, table: str, model: str, key: str = "") -> str:
        named = f'key = "{key}"\ntitle = {{en = "{key}", zh = "{key}"}}\n' if key else ""
        where = f'kind = "openai_compatible"\nbase_url = "{self.url}"\nmodel = "{model}"\nprovider = "Test Lab"\n'
        return f"[{table}]\n{named}{where}"

    def finish(self) -> None:
        walk = self.start()
        _, told = walk.communicate(timeout=2 * PATIENCE)
        assert walk.returncode == 0, told

    def table(self, name: str, folder: str = "results") -> list[dict[str, str]]:
        with (self.out / folder / f"{name}.csv").open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        return [row for row in rows if row.get("measure") not in OF_ATTEMPTS]

    def tables(self) -> dict[str, list[dict[str, str]]]:
        return {path.stem: self.table(path.stem) for path in sorted((self.out / "results").glob("*.csv"))}

    def answered(self) -> Counter[tuple[str, str]]:
        """The calls of the ledger that were paid for, by purpose and prompt."""
        calls = self.table("calls", "export")
        return Counter((row["purpose"], row["prompt_version"]) for row in calls if row["status"] == "ok")


def kill9(walk: subprocess.Popen[str]) -> None:
    """As when the power goes: no handler runs, and nothing of it is left."""
    os.killpg(walk.pid, signal.SIGKILL)
    walk.communicate()


def wait(walk: subprocess.Popen[str], until: Callable[[], bool]) -> None:
    give_up = time.monotonic() + PATIENCE
    while not until():
        assert walk.poll() is None, walk.communicate()[1]
        assert time.monotonic() < give_up, "the walk did not come so far"
        time.sleep(0.05)


def wait_for_line(walk: subprocess.Popen[str], words: str) -> None:
    assert walk.stderr is not None
    for line in walk.stderr:
        if words in line:
            return
    raise AssertionError(f"the walk ended before it said {words!r}")


@pytest.fixture(scope="module", params=choose(usual=["emoharbor"], full=["emoharbor", "worst_case"]))
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Lab, int]:
    """A walk that nothing stopped, and how many requests it took."""
    with running() as url:
        lab = Lab(tmp_path_factory.mktemp("whole"), url, request.param)
        lab.finish()
        return lab, lab.asked()


def test_walk_with_models_that_fail_comes_to_its_end(whole: tuple[Lab, int]) -> None:
    lab, asked = whole
    calls = lab.table("calls", "export")
    assert len(calls) == asked
    assert {row["status"] for row in calls} > {"ok", "rate_limited"}
    scores = {row["arm"]: row["mean"] for row in lab.table("arms") if row["item"] == "*" and row["raters"] != "seeker"}
    assert scores.keys() == ARMS.keys()
    assert all(scores.values())
    page = (lab.out / "replication.md").read_text(encoding="utf-8")
    assert "The models are those of your study file." in page


def test_killed_walk_pays_nothing_twice_and_ends_with_the_same_tables(whole: tuple[Lab, int], tmp_path: Path) -> None:
    """Cut while seekers are simulated, halfway, and when the results are being written."""
    lab, asked = whole
    with running() as url:
        other = Lab(tmp_path, url, lab.paper)
        for share in (0.15, 0.5):
            walk = other.start()
            wait(walk, lambda share=share: other.asked() >= share * asked)
            kill9(walk)
            assert not other.out.exists()
        for words in ("parts done: export", "parts done: analyse"):
            walk = other.start()
            wait_for_line(walk, words)
            kill9(walk)
        before = other.asked()
        other.finish()
        assert other.asked() == before, "all was paid for when the results were being written"
        assert asked <= before <= asked + 2 * AT_ONCE, "what was under way when it was killed is asked again"
    assert other.tables() == lab.tables()
    assert other.answered() == lab.answered()
    assert not (tmp_path / f".out-{lab.paper}").exists()


def test_second_command_beside_a_walk_is_refused_and_one_whose_parent_was_killed_still_counts(tmp_path: Path) -> None:
    with running() as url:
        lab = Lab(tmp_path, url, "emoharbor")
        walk = lab.start()
        wait(walk, lambda: lab.asked() > AT_ONCE)
        os.kill(walk.pid, signal.SIGKILL)  # its child walks on
        second = lab.start()
        _, told = second.communicate(timeout=PATIENCE)
        assert second.returncode != 0
        assert f"is still walking in {tmp_path / '.out-emoharbor'}." in told
        kill9(walk)
