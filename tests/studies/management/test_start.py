"""`make run` has a runner of jobs beside its server, once there are jobs."""

import os
import re
import shutil
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from studies.management.commands.start import Command
from tests.faults.database import SQLite
from tests.server import ROOT, Server, environment, serving

SIMULATE = ("simulate", "demo", "--seeker", "average", "--arms", "amber", "--limit", "2", "--max-turns", "2")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("start")


def children(server: Server) -> list[int]:
    assert server.process is not None
    found = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children")
    if not found.exists():
        pytest.skip("this system does not tell whose child a process is")
    return [int(pid) for pid in found.read_text().split()]


def jobs(server: Server) -> list[str]:
    return [row["state"] for row in SQLite(server.database).rows("SELECT state FROM dialogue_job")]


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until(what: Callable[[], bool]) -> None:
    give_up = time.monotonic() + 60
    while not what():
        assert time.monotonic() < give_up
        time.sleep(0.1)


def test_runner_beside_the_server_does_what_was_planned_and_ends_with_it(folder: Path) -> None:
    with serving(folder, with_jobs=True, from_empty=True) as server:
        assert children(server) == []
        assert server.manage(*SIMULATE, "--background").returncode == 0
        wait_until(lambda: jobs(server) == ["done"])
        (runner,) = children(server)
        assert b"run_jobs" in Path(f"/proc/{runner}/cmdline").read_bytes()
        assert os.getpriority(os.PRIO_PROCESS, runner) > 0
        server.kill9()
        wait_until(lambda: not is_alive(runner))
    assert "Traceback" not in server.log.read_text()
    assert len(server.log.read_text().splitlines()) == 4  # the links and how to sign in


def test_server_of_a_test_has_none(folder: Path) -> None:
    (folder / "without").mkdir()
    with serving(folder / "without") as server:
        assert children(server) == []


@pytest.fixture
def careless_umask() -> Iterator[None]:
    """As a login shell has it."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def readable_by_others(folder: Path) -> list[str]:
    paths = [folder, *folder.rglob("*")]
    return [str(path) for path in paths if stat.S_IMODE(path.stat().st_mode) & 0o077]


@pytest.mark.usefixtures("careless_umask")
def test_no_other_account_can_read_what_is_written(tmp_path: Path) -> None:
    var = tmp_path / "var"
    (var / "export").mkdir(parents=True)
    (var / "emostudy.sqlite3").touch()
    (var / "notes.csv").touch()  # as an earlier version left them
    assert len(readable_by_others(var)) == 4
    with serving(tmp_path) as server:
        assert readable_by_others(var) == []
        assert server.manage("export", "demo", "--out", str(tmp_path / "data")).returncode == 0
        assert server.manage("export", "demo", "--out", str(var / "export" / "demo")).returncode == 0
        assert (server.database.with_name("emostudy.sqlite3-wal")).exists()
        assert readable_by_others(var) == []
    assert readable_by_others(tmp_path / "data") == []


def test_taken_port_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        told = subprocess.run(
            [sys.executable, "manage.py", "start"],
            cwd=ROOT,
            env=environment(tmp_path / "var", port),
            capture_output=True,
            text=True,
            timeout=100,
        )
    assert (told.returncode, told.stdout) == (2, "")
    assert told.stderr == (
        f"emostudy: PORT: {port} is already in use on 127.0.0.1. Choose another port, for example PORT={port + 1}.\n"
    )
    assert not (tmp_path / "var" / "researcher_password").exists()


def test_server_on_the_net_prints_its_own_address_and_no_password(tmp_path: Path) -> None:
    own = {"SECRET_KEY": "a key that is long enough for a server on the net, and no one else's at all"}
    with serving(tmp_path, BASE_URL="https://study.example.org", ALLOWED_HOSTS="127.0.0.1", **own) as server:
        printed = server.log.read_text().splitlines()
    password = tmp_path / "var" / "researcher_password"
    assert "researcher: https://study.example.org/research/" in printed
    assert f"sign in as: researcher   password: in {password}" in printed
    assert password.read_text() not in "\n".join(printed)
    assert any("(studies.W002) Contact data such as Prolific IDs are not stored" in line for line in printed)
    assert any("(security.W012) SESSION_COOKIE_SECURE is not set to True" in line for line in printed)


def test_start_on_a_full_disk_says_which_folder_needs_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: SimpleNamespace(free=7_000_000))
    with pytest.raises(SystemExit, match=r"emostudy: VAR_DIR: .* has 7 MB left, and the start needs 32 MB"):
        Command().refuse_full_disk()


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (None, "cannot be read: No such file or directory"),
        ('versoin = "1"', 'versoin: unknown key; did you mean "version"'),
    ],
)
def test_start_with_a_faulty_price_file_says_what_is_wrong(
    text: str | None, fault: str, tmp_path: Path, settings
) -> None:
    file = tmp_path / "prices.toml"
    settings.PRICES = str(file)
    if text is not None:
        file.write_text(text)
    with pytest.raises(SystemExit, match=re.escape(f"emostudy: PRICES: {file}: {fault}")):
        Command().refuse_faulty_prices()
