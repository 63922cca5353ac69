"""The rules for a report in a browser: it may run its own script, and reach nothing.

A text of the export that were taken for a script would not run, on the researchers' pages or from a disk.
"""

import base64
import hashlib
from functools import cache
from pathlib import Path

SCRIPT = Path(__file__).with_name("report.js")


@cache
def policy() -> str:
    """Return the Content-Security-Policy of every report of this version."""
    digest = base64.b64encode(hashlib.sha256(SCRIPT.read_bytes()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'"
    )
