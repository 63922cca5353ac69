"""The environment: an odd value stops the start with one line that names it."""

import os
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import pytest
from django.db import connection

from emostudy import env

ROOT = Path(__file__).resolve().parents[1]


def started(tmp_path, **env):
    return subprocess.run(
        [sys.executable, "manage.py", "check"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "VAR_DIR": str(tmp_path), **env},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DEBUG", "perhaps"),
        ("PORT", "eighty"),
        ("PORT", "70000"),
        ("DATABASE_URL", "oracle://host/name"),
        ("DATABASE_URL", "postgresql://me:hunter2@host:port/name"),
        ("DATABASE_URL", "postgresql://me:hunter@2/hunter2@host/name"),
        ("DATABASE_URL", "postgresql://me:hunter2#@host/name"),
        ("DATABASE_URL", "postgresql://me:hunter2/@host/name"),
        ("DATABASE_URL", "postgresql://me:[hunter2@host/name"),
        ("DATABASE_URL", "postgresql://me:hunter2@host"),
        ("REDIS_URL", "http://host"),
        ("EMAIL_URL", "imap://host"),
        ("EMAIL_URL", "smtp://me:hunter2@host:70000/?from=me@host"),
        ("EMAIL_URL", "smtp://me:hunter2@host"),
        ("BASE_URL", "study.example.org"),
        ("EMAIL_URL", "smtp://"),
        ("HTTPS", "2"),
        ("SECRET_KEY_FILE", "/no/such/file"),
        ("SECRET_KEY_FILE", sys.executable),  # no text
        ("ALLOWED_HOSTS", "study.example.org"),
        ("ALLOWED_HOSTS", "https://localhost"),
        ("ALLOWED_HOSTS", "localhost 127.0.0.1"),
        ("ALLOWED_HOSTS", "localhost:8000"),
        ("TRUSTED_ORIGINS", "study.example.org"),
        ("TRUSTED_ORIGINS", "https://study.example.org/"),
        ("TRUSTED_ORIGINS", "https://study.example.org:port"),
        ("VAR_DIR", "/dev/null/var"),
        ("REPLAY", "/no/such/file"),
        ("REPLAY", "."),
        ("CONTACT_KEY", "too short"),
        ("CONTACT_KEY", f"{'A' * 43}=,{'A' * 44}"),
        ("REQUIRE_MFA", "admins"),
        ("MODEL_KEYS", "LAB_KEY,sk-123"),
    ],
)
def test_odd_value_stops_the_start_with_one_line_that_names_it(tmp_path, name, value):
    result = started(tmp_path, **{name: value})
    assert result.returncode != 0
    assert result.stderr.startswith(f"emostudy: {name}: ")
    assert len(result.stderr.splitlines()) == 1
    assert "hunter" not in result.stderr


def test_folder_of_another_account_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("VAR_DIR", str(tmp_path))
    monkeypatch.setattr(os, "access", lambda *_how: False)  # root may write everywhere
    with pytest.raises(SystemExit, match=f"emostudy: VAR_DIR: this account may not write into {tmp_path}"):
        env.envfolder("VAR_DIR", tmp_path)


def test_recorded_answers_are_played_in_one_process_alone(tmp_path):
    (tmp_path / "calls.jsonl").touch()
    result = started(tmp_path, REPLAY=str(tmp_path / "calls.jsonl"), CELERY_BROKER_URL="redis://127.0.0.1:1/0")
    assert result.returncode != 0
    assert result.stderr.startswith("emostudy: REPLAY: a worker elsewhere would ask models")
    assert result.stderr.count("\n") == 1


def test_password_in_an_address_is_not_repeated(tmp_path):
    assert "hunter2" not in started(tmp_path, DATABASE_URL="oracle://me:hunter2@host/name").stderr


def test_value_may_stand_in_a_file(tmp_path):
    secret = tmp_path / "key"
    secret.write_text("a long key of one's own, long enough for anyone to be content with\n")
    result = started(tmp_path, SECRET_KEY_FILE=str(secret), ALLOWED_HOSTS="study.example.org")
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("beside", [{}, {"PORT": ""}], ids=["alone", "beside an empty variable"])
def test_file_of_windows_gives_its_value(beside, tmp_path):
    (tmp_path / "port").write_text("8123\r\n", encoding="utf-8-sig")
    with patch.dict(os.environ, {"PORT_FILE": str(tmp_path / "port"), **beside}):
        assert env.envint("PORT", 8000, minimum=1, maximum=65535) == 8123


def test_empty_variable_counts_as_not_given():
    with patch.dict(os.environ, {"PORT": ""}):
        assert env.envtext("PORT", "8000") == "8000"


OWN_KEY = "a long key of one's own, long enough for anyone to be content with"


@pytest.mark.parametrize(
    ("env", "address"),
    [
        ({"PORT": "8123"}, "http://127.0.0.1:8123"),
        ({"BASE_URL": "https://study.example.org/"}, "https://study.example.org"),
        ({"SECRET_KEY": OWN_KEY, "TRUSTED_ORIGINS": "https://*.a.org,https://b.org"}, "https://b.org"),
        ({"SECRET_KEY": OWN_KEY, "ALLOWED_HOSTS": "study.example.org"}, ""),
    ],
)
def test_links_in_alarms_lead_to_the_address_that_is_known(tmp_path, env, address):
    given = {"PATH": os.environ["PATH"], "VAR_DIR": str(tmp_path), **env}
    code = "from emostudy import settings; print(settings.BASE_URL)"
    told = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=given, capture_output=True, text=True, check=True)
    assert told.stdout.strip() == address


def test_server_without_an_address_says_that_alarms_hold_no_link(tmp_path):
    result = started(tmp_path, SECRET_KEY=OWN_KEY, ALLOWED_HOSTS="study.example.org")
    assert "(studies.W001) Alarms to the people on call hold no whole link." in result.stderr


def test_server_that_does_not_answer_under_its_own_name_says_so(tmp_path):
    own = {"SECRET_KEY": OWN_KEY, "ALLOWED_HOSTS": "study.example.org", "TRUSTED_ORIGINS": "https://*.example.org"}
    assert "W003" not in started(tmp_path, **own, BASE_URL="https://study.example.org").stderr
    told = started(tmp_path, **own, BASE_URL="https://studies.example.org").stderr
    assert "(studies.W003) Links lead to studies.example.org, but whoever opens them there gets an error." in told


def test_key_made_here_is_kept_and_only_ours_to_read(tmp_path):
    assert started(tmp_path).returncode == 0
    key = tmp_path / "secret_key"
    before = key.read_text()
    assert started(tmp_path).returncode == 0
    assert key.read_text() == before
    assert key.stat().st_mode & 0o077 == 0


def test_server_without_a_key_of_its_own_serves_loopback_only(tmp_path):
    result = subprocess.run(
        [sys.executable, "manage.py", "start"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "VAR_DIR": str(tmp_path), "HOST": "0.0.0.0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode != 0
    assert result.stderr.startswith("emostudy: HOST: ")


@pytest.mark.django_db
@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL decides this by itself")
def test_sqlite_has_on_disk_what_is_committed():
    with connection.cursor() as cursor:
        (level,) = cursor.execute("PRAGMA synchronous").fetchone()
    assert level == 2  # FULL


def test_django_finds_nothing_to_say_about_a_server_behind_https(tmp_path):
    """`check --deploy`, all that is asked of a public server set; two questions are about other hosts of the domain."""
    env = {
        **{"PATH": os.environ["PATH"], "VAR_DIR": str(tmp_path), "SECRET_KEY": OWN_KEY, "HTTPS": "1"},
        **{"ALLOWED_HOSTS": "study.example.org", "BASE_URL": "https://study.example.org"},
        **{"EMAIL_URL": "smtp+tls://mail.example.org/?from=study@example.org", "CONTACT_KEY": f"{'A' * 43}="},
    }
    command = [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"]
    told = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout.strip() == "System check identified no issues (2 silenced)."
