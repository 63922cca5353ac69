"""What all commands share, seen from a shell."""

import json
from argparse import ArgumentParser

import pytest
from django.core.management import get_commands

from studies.management.command import add_base_url
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


BAD_INPUTS = [
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
]
# Commands one after the other in one process, for each takes a second or two to start.
SEVERAL = """
import contextlib, io, json, sys
from django.core.management import execute_from_command_line
for arguments in {commands!r}:
    out, errors, code = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        try:
            execute_from_command_line(["manage.py", *arguments])
        except SystemExit as end:
            code = end.code
    print(json.dumps([code, out.getvalue(), errors.getvalue()]))
"""


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


@pytest.mark.parametrize(
    ("values", "links", "address"),
    [
        ({"HTTPS": False, "BASE_URL": ""}, True, "http://127.0.0.1:8000"),
        ({"HTTPS": False, "BASE_URL": "https://study.example.org"}, True, "https://study.example.org"),
        ({"HTTPS": False, "BASE_URL": "https://study.example.org"}, False, "http://127.0.0.1:8000"),
        ({"HTTPS": True, "BASE_URL": "https://study.example.org"}, False, "https://study.example.org"),
    ],
)
def test_links_begin_with_the_servers_address_and_bots_go_through_its_proxy(settings, values, links, address):
    settings.HOST, settings.PORT = "127.0.0.1", 8000
    settings.HTTPS, settings.BASE_URL = values["HTTPS"], values["BASE_URL"]
    parser = ArgumentParser()
    add_base_url(parser, links=links)
    assert parser.parse_args([]).base_url == address


def run_several(shell, commands):
    """Return the exit code, the output and the error output of each."""
    done = shell.manage("shell", "-v0", "-c", SEVERAL.format(commands=commands))
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_every_command_explains_itself(shell):
    told = run_several(shell, [[name, "--help"] for name in OURS])
    assert [name for name, (code, out, _) in zip(OURS, told, strict=True) if code or "--json" not in out] == []


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


def test_bad_input_is_one_plain_line_and_code_2(shell):
    told = shell.manage(*BAD_INPUTS[0])
    assert (told.returncode, len(told.stderr.splitlines())) == (2, 1)
    several = run_several(shell, BAD_INPUTS)
    assert [
        (*arguments, code, errors)
        for arguments, (code, _, errors) in zip(BAD_INPUTS, several, strict=True)
        if code != 2 or len(errors.splitlines()) != 1 or "Traceback" in errors
    ] == []
