"""`build_profiles --expand` with a writer and a validator behind a real HTTP server, killed in the middle: the same
command makes the rest and pays for nothing twice."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.llm_server import running
from tests.server import ROOT, environment

COUNT, AT_ONCE = 8, 2
PATIENCE = 120
MODELS = """
[[judges]]
key = "checker"
title = "Looks whether a profile is consistent"
kind = "openai_compatible"
base_url = "{url}"
model = "flaky-1-status-429"
provider = "Test Lab"

[seeker]
kind = "openai_compatible"
base_url = "{url}"
model = "flaky-1-break+late-150+echo"
provider = "Test Lab"
"""
EXPAND = (
    *("build_profiles", "demo", "--expand", str(ROOT / "fixtures" / "instruments" / "seeker_profiles_demo.json")),
    *("--count", str(COUNT), "--validator", "checker", "--concurrency", str(AT_ONCE), "--json"),
)


class Place:
    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url = folder, url
        self.env = environment(folder / "var", 8000)

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "manage.py", *words],
            cwd=ROOT,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def manage(self, *words: str) -> str:
        process = self.start(*words)
        out, told = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, told
        return out

    def asked(self) -> int:
        with urllib.request.urlopen(f"{self.url.removesuffix('/v1')}/asked") as answer:
            return len(json.load(answer))

    def made(self) -> list[tuple[str, str]]:
        """The further profiles: their keys and their seeds."""
        with closing(sqlite3.connect(self.folder / "var" / "emostudy.sqlite3")) as database:
            return database.execute("SELECT key, seed FROM studies_seekerprofile WHERE origin = 'expanded'").fetchall()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with running() as url:
        place = Place(tmp_path, url)
        text = (ROOT / "fixtures" / "studies" / "demo.toml").read_text(encoding="utf-8")
        text = text.replace("providers = []", 'providers = ["Test Lab"]')
        before, seeker, after = text.partition("\n[seeker]\n")
        assert seeker, "the demonstration has a seeker"
        rest = after[after.find("\n[") :] if "\n[" in after else ""
        (tmp_path / "demo.toml").write_text(before + "\n" + rest + MODELS.format(url=url), encoding="utf-8")
        place.manage("migrate", "-v0")
        place.manage("load_study", str(tmp_path / "demo.toml"))
        yield place


def test_killed_expansion_makes_the_rest_and_pays_nothing_twice(place: Place) -> None:
    cut = place.start(*EXPAND)
    give_up = time.monotonic() + PATIENCE
    while place.asked() < COUNT:
        assert cut.poll() is None, cut.communicate()
        assert time.monotonic() < give_up
        time.sleep(0.02)
    os.killpg(cut.pid, signal.SIGKILL)
    cut.communicate()

    summary = json.loads(place.manage(*EXPAND).splitlines()[-1])
    assert summary["stored"] + summary["made_before"] == COUNT
    assert summary["refused"] == summary["failed_reasons"] == {}
    # Each of a writer's and a validator's questions fails once; what was under way at the end is asked again.
    assert 4 * COUNT <= place.asked() <= 4 * COUNT + AT_ONCE
    asked = place.asked()
    again = json.loads(place.manage(*EXPAND).splitlines()[-1])
    assert (again["stored"], again["made_before"], place.asked()) == (0, COUNT, asked)

    made = place.made()
    assert len({key for key, _ in made}) == len(made) == COUNT
    assert max(Counter(seed for _, seed in made).values()) == 1
