"""The actor of the moment: the account of a request, whoever runs a command, or the server itself."""

import getpass
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from django.http import HttpRequest

from studies.models import Task
from studies.workbench.tasks import TASK_VARIABLE


class Actor(NamedTuple):
    """Someone who acts, and the route or command by which they do. `account`: None where no account is signed in."""

    account: int | None = None
    name: str = ""
    source: str = ""
    request: str = ""


SERVER = Actor()  # it acts where no one else does, and has no name

# Asked when an entry is written: only then the API knows whose token it was.
_find_actor: ContextVar[Callable[[], Actor]] = ContextVar("find_actor", default=lambda: SERVER)


def get_actor() -> Actor:
    """Return the current actor; by default the server, which has no name."""
    return _find_actor.get()()


@contextmanager
def act_as(find: Callable[[], Actor]) -> Iterator[None]:
    """Name the one who acts within the block."""
    token = _find_actor.set(find)
    try:
        yield
    finally:
        _find_actor.reset(token)


def actor_of_request(request: HttpRequest, number: str) -> Actor:
    user = request.user
    match = request.resolver_match
    account, name = (user.pk, user.get_username()) if user.is_authenticated else (None, "")
    return Actor(account, name, match.view_name if match else "", number)


def actor_of_command(name: str, within: Actor = SERVER) -> Actor:
    """Return the account that started the command on a page, or whoever runs it on this computer.

    `within`: who acted when the command was called; one that a request calls is the act of the request's account.
    """
    if within.account is not None:
        return within._replace(source=name)
    number = os.environ.get(TASK_VARIABLE)
    task = Task.objects.select_related("started_by").filter(pk=number).first() if number else None
    if task and task.started_by:
        return Actor(task.started_by.pk, task.started_by.get_username(), name)
    return Actor(None, account_of_computer(), name)


def account_of_computer() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may run as a number without a name
        return str(os.getuid())
