"""Tables of an earlier version stop a start, not a conversation."""

import os
import sqlite3
import subprocess
import sys

import pytest
from django.db import connection

from studies.management.table_check import find_differences
from tests.server import ROOT


@pytest.mark.django_db
@pytest.mark.both_databases
def test_tables_of_this_version_fit():
    assert find_differences() == []


@pytest.mark.django_db
@pytest.mark.both_databases
@pytest.mark.parametrize(
    ("changes", "differences"),
    [
        (["DROP COLUMN reason"], ["dialogue_job.reason"]),
        (["ADD COLUMN mood text"], ["dialogue_job.mood"]),
        (["DROP COLUMN reason", "ADD COLUMN reason text"], ["dialogue_job.reason", "dialogue_job.reason"]),
    ],
)
def test_missing_and_odd_columns_are_found_and_text_where_json_is_needed(changes, differences):
    with connection.cursor() as cursor:
        for change in changes:
            cursor.execute(f"ALTER TABLE dialogue_job {change}")
    assert find_differences() == differences


def test_server_refuses_tables_of_an_earlier_version_and_leaves_them(tmp_path):
    def manage(command: str) -> "subprocess.CompletedProcess[str]":
        given = {"PATH": os.environ["PATH"], "VAR_DIR": str(tmp_path)}
        words = [sys.executable, "manage.py", command]
        return subprocess.run(words, cwd=ROOT, env=given, capture_output=True, text=True, check=False)

    assert manage("migrate").returncode == 0
    with sqlite3.connect(tmp_path / "emostudy.sqlite3") as database:
        database.execute("ALTER TABLE dialogue_conversation RENAME COLUMN switched_after TO changed_after")
    started = manage("start")
    assert started.returncode == 1
    assert started.stderr.startswith("emostudy: DATABASE_URL: another version of emostudy made this database")
    assert "(dialogue_conversation.changed_after, dialogue_conversation.switched_after)" in started.stderr
    with sqlite3.connect(tmp_path / "emostudy.sqlite3") as database:
        assert database.execute("SELECT count(*) FROM studies_study").fetchone() == (0,)
