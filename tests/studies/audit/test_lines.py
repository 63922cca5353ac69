"""All that the server serves, and every command, is written down or has a reason why not."""

from collections import Counter
from pathlib import Path

import pytest

from studies.access.log_lines import (
    COMMAND_LINES,
    NAMESPACE_LINES,
    ROUTE_LINES,
    UNLOGGED_COMMANDS,
    UNLOGGED_ROUTES,
    UNLOGGED_SOCKETS,
    Act,
    Thing,
    find_logged,
)
from studies.access.table import NAMESPACES, ROUTES
from studies.management import commands
from tests.studies.access.routes import every_route, every_socket

COMMANDS = {path.stem for path in Path(commands.__file__).parent.glob("*.py")} - {"__init__"}
QUIET_ROUTES = [name for names in UNLOGGED_ROUTES.values() for name in names]
QUIET_COMMANDS = [name for names in UNLOGGED_COMMANDS.values() for name in names]


@pytest.mark.parametrize("name", sorted({route.name for route in every_route()}))
def test_every_route_is_written_down_or_has_a_reason(name):
    of_site = not name.startswith("api-") and name.partition(":")[0] in NAMESPACE_LINES
    assert name in ROUTE_LINES or name in QUIET_ROUTES or of_site, (
        f"{name!r} has no line in studies/access/log_lines.py: say what opening it or acting there is written down as, "
        "or name it under the reason why nothing is, and run manage.py write_docs."
    )


@pytest.mark.parametrize("name", sorted({name for name, _address in every_socket()}))
def test_every_websocket_has_a_reason(name):
    assert name in UNLOGGED_SOCKETS


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_is_written_down_or_has_a_reason(name):
    assert (name in COMMAND_LINES) + (name in QUIET_COMMANDS) == 1


def test_every_line_is_of_something_that_is_there_and_stands_once():
    served = {route.name for route in every_route()} | set(ROUTES)
    assert (set(ROUTE_LINES) | set(QUIET_ROUTES)) - served == set()
    assert set(NAMESPACE_LINES) == set(NAMESPACES)
    assert (set(COMMAND_LINES) | set(QUIET_COMMANDS)) - COMMANDS == set()
    assert [name for name, number in Counter([*ROUTE_LINES, *QUIET_ROUTES]).items() if number > 1] == []


def test_every_thing_and_act_is_used():
    lines = [*ROUTE_LINES.values(), *NAMESPACE_LINES.values()]
    found = [logged for line in lines for logged in (line.look, line.change) if logged]
    found += [line.logged for line in COMMAND_LINES.values()]
    assert {logged.thing for logged in found} == set(Thing)
    assert {logged.act for logged in found} == set(Act) - {Act.ERASED, Act.REFUSED}  # rules write these down


def test_looking_and_doing_differ():
    assert find_logged("research-person", "GET") == ((Act.SAW, Thing.PERSON), False)
    assert find_logged("research-person", "POST") == (None, False)
    assert find_logged("research-admit", "GET") == (None, False)
    assert find_logged("research-admit", "POST") == ((Act.CHANGED, Thing.PERSON), False)
    assert find_logged("research-access-invite", "POST") == ((Act.CHANGED, Thing.ACCESS), True)
    assert find_logged("admin:studies_study_change", "GET") == ((Act.SAW, Thing.ADMIN_SITE), False)
    assert find_logged("admin:index", "GET") == (None, False)
    assert find_logged("study", "POST") == (None, False)
