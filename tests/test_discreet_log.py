"""What the log says, and what it leaves out: by itself, and as a real server printed it."""

import io
import logging
import sqlite3
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import closing
from http.cookiejar import CookieJar
from urllib.parse import urlencode

import psycopg
import pytest
from django.db import DataError, IntegrityError

from emostudy.discreet_log import Formatter, Stream, scrub
from studies.bots.page_reader import read_page
from tests.faults.database import POSTGRES, Postgres
from tests.server import ROOT, Server, free_port, serving

ANSWER = "My sister has not\nspoken to me 'since' May"
FORBIDDEN = "sister"
TOKEN = "q7Zt1-fJ0bYw3m_XkR5uVn8sLhPaCdEgTiOyBxMzK42"
KEY = "sk-proj-Ab12Cd34Ef56Gh78Ij90"


def raised(error, cause=None):
    try:
        raise error from cause
    except type(error) as caught:
        return caught


def of_postgres():
    told = f"invalid input syntax for type json\nDETAIL:  Token is invalid.\nCONTEXT:  JSON data, line 1: {ANSWER}"
    return raised(DataError(told), psycopg.errors.InvalidTextRepresentation(told))


def logged(message, *arguments, error=None):
    record = logging.LogRecord(
        "studies", logging.ERROR, "f.py", 1, message, arguments, error and (type(error), error, error.__traceback__)
    )
    record.exc_text = "written by another handler"
    return Formatter("{levelname} {name}: {message}", style="{").format(record)


def test_error_of_the_database_is_told_by_its_kind_and_code_alone():
    text = logged("Internal Server Error: %s", "/study/draft/", error=of_postgres())
    assert "sister" not in text
    assert "CONTEXT" not in text
    assert "another handler" not in text
    assert "ERROR studies: Internal Server Error: /study/draft/" in text
    assert "DataError: (InvalidTextRepresentation, 22P02)" in text
    assert 'test_discreet_log.py", line' in text


@pytest.mark.parametrize("wrapped", ["argument", "group", "context", "task"])
def test_wherever_it_stands(wrapped):
    error = of_postgres()
    match wrapped:
        case "argument":
            text = logged("leases could not be renewed: %s", error)
        case "group":
            text = logged("broke", error=raised(ExceptionGroup("several", [error, ValueError("other")])))
        case "context":
            text = logged("broke", error=raised(RuntimeError("no place could be had"), error))
        case "task":
            text = logged(f"Task exception was never retrieved\nfuture: <Task exception={error!r}>", error=error)
    assert "sister" not in text
    assert "(InvalidTextRepresentation, 22P02)" in text


def test_sqlite_names_its_errors_too():
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(f"CREATE TABLE a (b CONSTRAINT no_{FORBIDDEN} CHECK (b <> 1))")
        with pytest.raises(sqlite3.IntegrityError) as found:
            database.execute("INSERT INTO a VALUES (1)")
    assert FORBIDDEN in str(found.value)
    text = logged("broke", error=raised(IntegrityError(*found.value.args), found.value))
    assert FORBIDDEN not in text
    assert "(IntegrityError, SQLITE_CONSTRAINT_CHECK)" in text


def test_error_of_another_kind_keeps_its_words():
    assert "ZeroDivisionError: division by zero" in logged("broke", error=raised(ZeroDivisionError("division by zero")))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"Service Unavailable: /j/{TOKEN}/", "Service Unavailable: /j/[…]/"),
        (f"GET /j/{TOKEN} 200", "GET /j/[…] 200"),
        (f"the token {TOKEN}, as it is", "the token […], as it is"),
        ("/j/mistyped-link/?a=1", "/j/[…]/?a=1"),
        ("redis://me:hunter2@host:6379/0", "redis://[…]@host:6379/0"),
        (f"Incorrect API key provided: {KEY}.", "Incorrect API key provided: […]."),
        ("Incorrect API key provided: sk-pr*****Ij90.", "Incorrect API key provided: […]."),
        ("no such key: abcd…wxyz", "no such key: […]"),
        ("no such key: abcd********", "no such key: […]"),
        ("conversation K3F9QZ, turn 3: the reply broke", "conversation K3F9QZ, turn 3: the reply broke"),
        ("/research/hearts/people/P4X/ and https://api.example.org/v1", None),
    ],
)
def test_links_and_keys_are_taken_out(text, expected):
    assert scrub(text) == (text if expected is None else expected)


def test_secrets_of_the_environment_and_parts_of_them_are_taken_out(monkeypatch, tmp_path):
    (tmp_path / "key").write_text("out-of-a-file-0123\n")
    monkeypatch.setenv("LAB_API_KEY", "no known form 0123456789abcdef")
    monkeypatch.setenv("OTHER_KEY_FILE", str(tmp_path / "key"))
    monkeypatch.setenv("GONE_KEY_FILE", str(tmp_path / "gone"))
    assert scrub("you sent 0123456789abcdef") == "you sent […]"
    assert scrub("it ends in 9abcdef") == "it ends in […]"
    assert scrub("you sent out-of-a-file-0123") == "you sent […]"


def test_access_log_is_written_without_links():
    written = io.StringIO()
    stream = Stream(written)
    stream.write(f'127.0.0.1:5 - - [01/Jan/2026] "GET /j/{TOKEN}/" 200 5\n')
    stream.flush()
    assert written.getvalue() == '127.0.0.1:5 - - [01/Jan/2026] "GET /j/[…]/" 200 5\n'


@pytest.mark.parametrize("where", ["command", "thread"])
def test_error_that_nothing_catches_is_printed_without_values(where, tmp_path):
    script = (
        "from emostudy.discreet_log import install; install()\n"
        "import threading; from django.db import DataError\n"
        "def broken(): raise DataError('it was my sister')\n"
        f"{'broken()' if where == 'command' else 't = threading.Thread(target=broken); t.start(); t.join()'}\n"
    )
    (tmp_path / "broken.py").write_text(script)
    done = subprocess.run(
        [sys.executable, str(tmp_path / "broken.py")],
        cwd=ROOT, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stderr.endswith("DataError: (DataError)\n")


# A real server


class Visitor:
    def __init__(self, server: Server) -> None:
        self.base_url = server.base_url
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))

    def ask(self, path: str, data: dict[str, str] | None = None) -> tuple[int, str]:
        body = urlencode(data).encode() if data is not None else None
        try:
            with self.opener.open(self.base_url + path, body, timeout=60) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def press(self, path: str, **fields: str) -> tuple[int, str]:
        """Send the first form that the page at this path has, but for the choice of a language in its foot."""
        page = read_page(self.ask(path)[1])
        form = page.step_form() or page.forms[0]
        return self.ask(form.action or path, {**form.hidden_values(), **fields})


def invited(server: Server, folder) -> str:
    done = server.manage("invite", "demo", "--count", "1", "--csv", str(folder / "links.csv"))
    assert done.returncode == 0, done.stderr
    return (folder / "links.csv").read_text().strip().split("/j/")[1].rstrip("/")


def test_server_tells_of_a_broken_database_without_the_link(tmp_path):
    with serving(tmp_path) as server:
        token = invited(server, tmp_path)
        with sqlite3.connect(server.database) as database:
            database.execute("ALTER TABLE studies_participation RENAME TO away")
        assert Visitor(server).ask(f"/j/{token}/")[0] == 503
        said = server.log.read_text()
    assert token not in said
    assert "/j/[…]/" in said
    assert "OperationalError: (OperationalError, SQLITE_ERROR)" in said


def test_server_tells_of_a_row_that_postgresql_refuses_without_the_answer(tmp_path):
    try:
        psycopg.connect(POSTGRES, connect_timeout=3).close()
    except psycopg.OperationalError:
        pytest.skip("no PostgreSQL answered on its standard port")
    with (
        Postgres.made(f"test_emostudy_log_{free_port()}") as database,
        serving(tmp_path, **database.environment) as server,
    ):
        visitor = Visitor(server)
        token = invited(server, tmp_path)
        visitor.press(f"/j/{token}/")
        with psycopg.connect(database.url) as connection:
            connection.execute("ALTER TABLE studies_draft ADD CHECK (answers::text NOT LIKE '%sister%')")
        assert visitor.press("/study/", language="en")[0] == 200
        page = read_page(visitor.ask("/study/")[1]).step_form()
        draft = {**page.hidden_values(), "issue_text": ANSWER}
        assert visitor.ask("/study/draft/", draft)[0] == 500
        said = server.log.read_text()
    assert "sister" not in said
    assert "IntegrityError: (CheckViolation, 23514)" in said
