"""`python -m tests.fuzz`: hostile inputs of every kind, on SQLite and, where one answers, on PostgreSQL.

Says how many of each kind were sent, and fails if one was answered with a server error or a traceback, or was refused
and yet wrote something.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.__main__ import POSTGRES, UNSET, address, to_postgres
from tests.fuzz.amount import COUNT, REPORT

USUAL = 10_000


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=USUAL, help=f"inputs on all databases together (default {USUAL})")
    count: int = parser.parse_args().count
    postgres = address("TEST_DATABASE_URL", POSTGRES, to_postgres)
    databases = {"SQLite": {}} | ({"PostgreSQL": {"DATABASE_URL": postgres}} if postgres else {})
    codes = [fuzz(name, environ, -(-count // len(databases))) for name, environ in databases.items()]
    if not postgres:
        print("*** SKIPPED: no PostgreSQL answered on its standard port, so all inputs were sent on SQLite alone. ***")
    return max(codes)


def fuzz(name: str, environ: dict[str, str], count: int) -> int:
    """Send so many inputs on one database and print what was sent; return pytest's exit code."""
    kept = {key: value for key, value in os.environ.items() if key not in UNSET}
    with tempfile.TemporaryDirectory(prefix="emostudy-fuzz.") as folder:
        report = Path(folder) / "report.txt"
        own = {"VAR_DIR": folder, COUNT: str(count), REPORT: str(report), **environ}
        command = [sys.executable, "-m", "pytest", "tests/fuzz"]
        code = subprocess.run(command, env=kept | own, check=False).returncode
        print(f"{name}, {count} inputs:")
        print(report.read_text(encoding="utf-8") if report.exists() else "nothing was sent")
    return code


if __name__ == "__main__":
    sys.exit(main())
