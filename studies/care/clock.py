"""The clock of alarms: a thread of each server process that sends what is due, climbs the order of contacts, and pauses
arms by the studies' stopping rules.

All processes look into the same database, and a row belongs to whoever claims it first, so a message goes out once
however many processes there are. No other service is needed. `manage.py send_alarms` does the same once, for cron.
"""

import logging
import threading
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.db import close_old_connections

log = logging.getLogger(__name__)

TICK = 5.0  # seconds between two looks

_due = threading.Event()
_starting = threading.Lock()
_thread: threading.Thread | None = None


def send_soon() -> None:
    """Send what is due without keeping a person waiting for the page that shows them help."""
    start()
    _due.set()


def start() -> None:
    """Start the thread of this process, unless it runs."""
    global _thread
    with _starting:
        if _thread is None or not _thread.is_alive():
            _thread = threading.Thread(target=run, name="alarms", daemon=True)
            _thread.start()


def run() -> None:
    """Work for as long as the process lives."""
    from studies.care import sending, stopping_rules

    watch = stopping_rules.Watch()

    if settings.SINGLE_PROCESS:
        look(sending.free_claims)
    while True:
        look(work)
        look(watch.look)
        _due.wait(TICK)
        _due.clear()


def work() -> None:
    """Climb where nobody has acknowledged in time, and send what is due."""
    from studies.care import alarms, sending

    alarms.climb_overdue()
    sending.send_due()


def look(act: Callable[[], Any]) -> None:
    """Run one look of the clock. A fault must not stop the clock: it is logged, and the next look follows."""
    close_old_connections()
    try:
        act()
    except Exception:
        log.exception("the clock of alarms: this look failed, the next one follows")
    finally:
        close_old_connections()
