"""The clock: a thread of each server process that does what `studies.apps` has given it, the alarms first.

All processes look into the same database, and a row belongs to whoever claims it first, so a message goes out once
however many processes there are. No other service is needed. `manage.py send_alarms` does the same once, for cron.
"""

import atexit
import logging
import threading
import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

from django.db import close_old_connections

from dialogue.jobs.group_commit import AWAY

Act = Callable[[], Any]


class Duties(NamedTuple):
    """The duties of a server process: once at its start, at every look in this order, and once an hour."""

    beginnings: Sequence[Act] = ()
    looks: Sequence[Act] = ()
    chores: Sequence[Act] = ()


log = logging.getLogger(__name__)

TICK = 5.0  # seconds between two looks
HOUR = 3600.0  # seconds between two rounds of chores
LAST_SECONDS = 10.0  # for what is on its way when the process ends

_due = threading.Event()
_stopping = threading.Event()
_starting = threading.Lock()
_thread: threading.Thread | None = None
_load: Callable[[], Duties] = Duties


def set_loader(load: Callable[[], Duties]) -> None:
    """Say where the duties come from. They are loaded when they are first needed: most commands need none."""
    global _load
    _load = load
    get_duties.cache_clear()


@cache
def get_duties() -> Duties:
    return _load()


def send_soon() -> None:
    """Send what is due without keeping a person waiting for the page that shows them help."""
    start()
    _due.set()


def start() -> None:
    """Start the thread of this process, unless it runs."""
    global _thread
    with _starting:
        if _thread is None or not _thread.is_alive():
            _thread = threading.Thread(target=run, name="clock", daemon=True)
            _thread.start()


@atexit.register
def stop() -> None:
    """Let the thread store what it has just sent before the process ends."""
    _stopping.set()
    _due.set()
    if _thread is not None:
        _thread.join(LAST_SECONDS)


def run() -> None:
    """Work for as long as the process lives."""
    for act in get_duties().beginnings:
        look(act)
    is_away, next_round = False, 0.0
    while not _stopping.is_set():
        is_away = not look_at_all(was_away=is_away)
        if not is_away and time.monotonic() >= next_round:
            next_round = time.monotonic() + HOUR
            do_chores()
        _due.wait(TICK)
        _due.clear()


def look_at_all(*, was_away: bool) -> bool:
    """Do all looks; return False where the database did not answer the first: the others then wait."""
    first, *others = get_duties().looks
    if not look(first, was_away=was_away):
        return False
    for act in others:
        look(act)
    return True


def do_chores() -> None:
    for act in get_duties().chores:
        look(act)


def look(act: Callable[[], Any], *, was_away: bool = False) -> bool:
    """Run one look of the clock; return False where the database did not answer.

    A fault must not stop the clock: it is logged, and the next look follows. That the database is away is logged once.
    """
    close_old_connections()
    try:
        act()
    except AWAY:
        if not was_away:
            log.error("the clock: the database does not answer, the next look follows")
        return False
    except Exception:
        log.exception("the clock: this look failed, the next one follows")
    finally:
        close_old_connections()
    return True
