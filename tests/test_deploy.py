"""What deploy/browser.sh installs on a machine that lacks one thing or the other."""

import contextlib
import os
import sqlite3
import subprocess
import tarfile
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CHINESE_FONT = "/usr/share/fonts/NotoSansCJK.ttc: Noto Sans CJK SC"


def program(folder: Path, name: str, says: str = "") -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{says}\n", encoding="utf-8")
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("browser", "font", "installed"),
    [
        (True, True, ""),
        (True, False, "fontconfig fonts-noto-cjk"),
        (False, True, "chromium"),
        (False, False, "chromium fontconfig fonts-noto-cjk"),
    ],
)
def test_browser_and_fonts_are_looked_for_apart(tmp_path: Path, browser: bool, font: bool, installed: str) -> None:
    program(tmp_path, "id", "echo 0")
    program(tmp_path, "fc-list", f"echo '{CHINESE_FONT}'" if font else "")
    program(tmp_path, "apt-get", 'for word in "$@"; do last="$last $word"; done; echo "$last" >> asked')
    if browser:
        program(tmp_path, "chromium")
    subprocess.run(
        ["/bin/sh", str(ROOT / "deploy" / "browser.sh")], cwd=tmp_path, env={"PATH": str(tmp_path)}, check=True
    )
    asked = (tmp_path / "asked").read_text().splitlines() if (tmp_path / "asked").exists() else []
    assert "".join(line.rpartition("--no-install-recommends ")[2] for line in asked if "install" in line) == installed


def test_what_is_missing_is_said_where_nothing_may_be_installed(tmp_path: Path) -> None:
    program(tmp_path, "id", "echo 1000")
    told = subprocess.run(
        ["/bin/sh", str(ROOT / "deploy" / "browser.sh")],
        env={**os.environ, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert [line.partition(":")[0] for line in told.stdout.splitlines()] == [
        "*** No Chromium here",
        "*** No Chinese font here",
    ]


def test_backup_has_database_and_files_and_drops_old_ones(tmp_path: Path) -> None:
    program(
        tmp_path,
        "pg_dump",
        'for word in "$@"; do case $word in --file=*) echo "$PGPASSWORD $*" > "${word#--file=}";; esac; done',
    )
    var, backups = tmp_path / "var", tmp_path / "backups"
    for folder in (var / "exports", var / "static", backups):
        folder.mkdir(parents=True)
    (var / "exports" / "a.csv").write_text("a")
    old, recent = backups / "emostudy-old.dump", backups / "emostudy-recent.dump"
    for path, days in ((old, 20), (recent, 2)):
        path.write_text("x")
        os.utime(path, (time.time() - days * 86400,) * 2)
    environment = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "VAR_DIR": str(var),
        "DATABASE_URL": "postgresql://ada:p%40ss@x/y?sslmode=require",
    }
    subprocess.run(["/bin/sh", str(ROOT / "deploy" / "backup.sh"), str(backups)], env=environment, check=True)
    assert (old.exists(), recent.exists()) == (False, True)
    [dump] = set(backups.glob("*.dump")) - {recent}
    said = dump.read_text()
    assert said.startswith("p@ss --format=custom")
    assert said.endswith(" postgresql://ada@x/y?sslmode=require\n")
    [files] = backups.glob("*.var.tar.gz")
    with tarfile.open(files) as archive:
        assert "./exports/a.csv" in archive.getnames()
        assert "./static" not in archive.getnames()
    assert {path.stat().st_mode & 0o077 for path in backups.glob(f"{files.name.removesuffix('.var.tar.gz')}.*")} == {0}


@pytest.mark.parametrize("names_it", [False, True])
def test_backup_without_postgresql_has_what_is_still_in_the_log_of_sqlite(tmp_path: Path, names_it: bool) -> None:
    var, backups = tmp_path / "var", tmp_path / "backups"
    var.mkdir()
    (var / "secret_key").write_text("k")
    server = sqlite3.connect(var / "emostudy.sqlite3", isolation_level=None)
    server.execute("PRAGMA journal_mode=WAL")
    server.execute("CREATE TABLE people (code)")
    server.execute("INSERT INTO people VALUES ('P1')")
    environment = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    environment["VAR_DIR"] = str(var)
    if names_it:
        environment["DATABASE_URL"] = f"sqlite:///{var / 'emostudy.sqlite3'}"

    subprocess.run(["/bin/sh", str(ROOT / "deploy" / "backup.sh"), str(backups)], env=environment, check=True)

    [database] = backups.glob("*.sqlite3")
    with contextlib.closing(sqlite3.connect(database)) as copy:
        assert copy.execute("SELECT code FROM people").fetchall() == [("P1",)]
    server.close()
    [files] = backups.glob("*.var.tar.gz")
    with tarfile.open(files) as archive:
        assert sorted(archive.getnames()) == [".", "./secret_key"]


def test_service_and_proxy_fit_the_documentation() -> None:
    service = (ROOT / "deploy" / "emostudy.service").read_text(encoding="utf-8")
    hosting = (ROOT / "docs" / "hosting.md").read_text(encoding="utf-8")
    for line in ("EnvironmentFile=/etc/emostudy.env", "StateDirectory=emostudy", "WorkingDirectory=/srv/emostudy/app"):
        assert line in service
    assert "VAR_DIR=/var/lib/emostudy" in hosting
    assert "reverse_proxy 127.0.0.1:8000" in (ROOT / "deploy" / "Caddyfile").read_text(encoding="utf-8")


def test_backup_that_fails_leaves_no_half_file(tmp_path: Path) -> None:
    half = 'for word in "$@"; do case $word in --file=*) echo half > "${word#--file=}";; esac; done; exit 1'
    program(tmp_path, "pg_dump", half)
    (tmp_path / "var").mkdir()
    given = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "VAR_DIR": str(tmp_path / "var"),
        "DATABASE_URL": "postgresql://ada@x/y",
    }
    backups = tmp_path / "backups"
    command = ["/bin/sh", str(ROOT / "deploy" / "backup.sh"), str(backups)]
    assert subprocess.run(command, env=given, check=False).returncode == 1
    assert list(backups.iterdir()) == []
