"""What all commands share, seen from a shell."""

import json

import pytest
from django.core.management import get_commands

from tests.server import ROOT, Server, free_port

OURS = (
    "load_study",
    "invite",
    "run_bots",
    "import_conversations",
    "import_ratings",
    "judge",
    "judge_pairs",
    "simulate",
    "benchmark",
    "import_profiles",
    "build_profiles",
    "run_jobs",
    "export",
    "export_training",
    "analyse",
    "erase",
    "replay_draws",
    "send_alarms",
    "try_oncall",
)


@pytest.fixture(scope="module")
def shell(tmp_path_factory):
    """Commands of a server that is not running, with a database of its own."""
    folder = tmp_path_factory.mktemp("shell")
    env = {"VAR_DIR": str(folder / "var"), "PATH": "/usr/bin:/bin", "PORT": str(free_port())}
    server = Server("http://127.0.0.1:1", env, folder, folder / "log")
    assert server.manage("migrate", "--verbosity", "0").returncode == 0
    return server


def test_every_command_of_ours_is_there():
    assert set(OURS) <= {name for name, app in get_commands().items() if app == "studies"}


@pytest.mark.parametrize("name", OURS)
def test_command_explains_itself(shell, name):
    told = shell.manage(name, "--help")
    assert told.returncode == 0
    assert "--json" in told.stdout


def test_faults_of_a_file_are_lines_of_file_place_and_what_is_wrong(shell, tmp_path):
    text = (ROOT / "fixtures" / "studies" / "demo.toml").read_text(encoding="utf-8")
    path = tmp_path / "broken.toml"
    path.write_text(text.replace("min_turns = 10", "min_turns = 99").replace('key = "birch"', 'key = "amber"'))
    told = shell.manage("load_study", str(path))
    assert told.returncode == 2
    lines = told.stderr.splitlines()
    assert len(lines) == 2
    assert all(line.startswith(f"{path}: ") for line in lines)


def test_summary_is_the_last_line(shell):
    told = shell.manage("load_study", str(ROOT / "fixtures" / "studies" / "demo.toml"), "--json")
    assert json.loads(told.stdout.splitlines()[-1]) == {
        "study": "demo",
        "outcome": "created",
        "version": 1,
        "stage": "open",
        "unset_keys": [],
    }


@pytest.mark.parametrize(
    "arguments",
    [
        ["export", "none", "--out", "x"],
        ["judge", "none", "--judge", "demo", "--strategy", "standard"],
        ["simulate", "none", "--seeker", "average"],
        ["export_training", "none", "--format", "sft", "--out", "x.jsonl"],
        ["erase", "none", "P2"],
        ["replay_draws", "none"],
        ["import_ratings", "none", "no.csv"],
        ["import_conversations", "none", "no.jsonl"],
        ["analyse", "no-such-folder", "--out", "x"],
        ["invite", "none", "--count", "1"],
        ["try_oncall", "none"],
    ],
)
def test_bad_input_is_one_plain_line_and_code_2(shell, arguments):
    told = shell.manage(*arguments)
    assert told.returncode == 2
    assert len(told.stderr.splitlines()) == 1
    assert "Traceback" not in told.stderr
