"""`make run`: everything from an empty folder to a served demo study; repeating it does nothing twice."""

import errno
import os
import secrets
import shutil
import socket
import sys
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandParser
from django.db import connection

from dialogue.providers.base import ProviderError
from dialogue.providers.prices import PriceFileError, load_prices
from dialogue.providers.registry import get_recording
from studies.management.command import BAD_INPUT
from studies.management.server_lock import lock_database
from studies.management.table_check import describe_differences, find_differences
from studies.models import Study

LOOPBACK = ("127.0.0.1", "::1", "localhost")
RESEARCHER = "researcher"
MEGABYTE = 1_000_000
ROOM = 32 * MEGABYTE  # static files and the first rows of SQLite need 12


class Command(BaseCommand):
    help = "Migrates, loads the demo study, makes a researcher account, and serves on HOST:PORT."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--without-jobs", action="store_true", help="run no jobs beside the server")

    def handle(self, *_args: Any, without_jobs: bool, **_options: Any) -> None:
        self.refuse_open_door()
        self.refuse_faulty_recording()
        self.refuse_faulty_prices()
        self.refuse_full_disk()
        close_to_others()
        lock = lock_database()  # before anything changes; the server takes it anew
        self.refuse_unusable_address()
        call_command("migrate", verbosity=0, interactive=False)
        if differences := find_differences():
            sys.exit(describe_differences(differences))
        if not settings.LOOPBACK_ONLY:
            self.check(include_deployment_checks=True)  # a public server says in its log what is missing
        call_command("collectstatic", verbosity=0, interactive=False)
        load_demo_once()
        password = researcher_password()
        self.tell(password)
        del lock
        serve(with_jobs=not without_jobs)

    def refuse_open_door(self) -> None:
        if settings.LOOPBACK_ONLY and settings.HOST not in LOOPBACK:
            sys.exit(f"emostudy: HOST: {settings.HOST} is not this machine alone: set a SECRET_KEY, and DEBUG off")

    def refuse_faulty_recording(self) -> None:
        try:
            get_recording()
        except ProviderError as fault:
            sys.exit(f"emostudy: REPLAY: {fault.detail}")

    def refuse_faulty_prices(self) -> None:
        try:
            load_prices(settings.PRICES)
        except PriceFileError as error:
            sys.exit(f"emostudy: PRICES: {error.path}: {'; '.join(error.faults)}")

    def refuse_unusable_address(self) -> None:
        """Refuse an address in use, because the links would lead to whoever has the port."""
        if fault := fault_of_address(settings.HOST, settings.PORT):
            self.stderr.write(f"emostudy: {fault}")
            sys.exit(BAD_INPUT)

    def refuse_full_disk(self) -> None:
        free = shutil.disk_usage(settings.VAR).free
        if free < ROOM:
            sys.exit(
                f"emostudy: VAR_DIR: {settings.VAR} has {free // MEGABYTE} MB left, and the start needs "
                f"{ROOM // MEGABYTE} MB. Make room there: old exports, reports and backups are the largest"
            )

    def tell(self, password: str) -> None:
        """Print where the server is, and how to sign in. What a server on the net prints is kept in a log, which is no
        place for a password."""
        base = settings.BASE_URL or f"http://{settings.HOST}:{settings.PORT}"
        shown = password if settings.LOOPBACK_ONLY else f"in {password_file()}"
        self.stdout.write(f"participant: {base}/open/demo/?track=participant")
        self.stdout.write(f"counsellor: {base}/open/demo/?track=counsellor")
        self.stdout.write(f"researcher: {base}/research/")
        self.stdout.write(f"sign in as: {RESEARCHER}   password: {shown}")
        self.stdout.flush()


def fault_of_address(host: str, port: int) -> str:
    """Return why no server can listen there, and what to do; empty where one can."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as Daphne does: a port just left can be taken
        try:
            probe.bind((host, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return f"PORT: {port} is already in use on {host}. Choose another port, for example PORT={port + 1}."
            reason = error.strerror or str(error)
            return f"HOST, PORT: the server cannot listen on {host}:{port} ({reason}). Choose another HOST or PORT."
    return ""


def close_to_others() -> None:
    """Make files private that an earlier version left readable for other accounts. A closed folder protects everything
    below it."""
    database = Path(settings.DATABASES["default"]["NAME"])
    files = database.parent.glob(f"{database.name}*") if connection.vendor == "sqlite" else ()
    for path in (settings.VAR, *settings.VAR.iterdir(), *files):
        if not path.is_symlink() and path.stat().st_uid == os.getuid():
            path.chmod(path.stat().st_mode & ~0o077)


def load_demo_once() -> None:
    """Load the demo study if there is none, so that a restart does not undo an admin's changes."""
    if not Study.objects.filter(key="demo").exists():
        call_command("load_study", str(settings.FIXTURES / "studies" / "demo.toml"), verbosity=0)


def password_file() -> Path:
    return Path(settings.VAR) / "researcher_password"


def researcher_password() -> str:
    """Return the account's password, created once and stored in a file that only this user can read."""
    path = password_file()
    users = get_user_model().objects
    if users.filter(username=RESEARCHER).exists():
        return path.read_text() if path.exists() else "(as it was set; change it with manage.py changepassword)"
    password = secrets.token_urlsafe(12)
    users.create_superuser(RESEARCHER, password=password)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(password)
    return password


def serve(*, with_jobs: bool) -> None:
    """Replace this process by Daphne (emostudy.server). It writes no access log, because a personal link is a path."""
    arguments = ["--bind", settings.HOST, "--port", str(settings.PORT), "--no-server-name", "--verbosity", "0"]
    arguments += ["--websocket-max-message-size", "65536", "emostudy.asgi:application"]
    if with_jobs:
        arguments.insert(0, "--with-jobs")
    os.execv(sys.executable, [sys.executable, "-m", "emostudy.server", *arguments])
