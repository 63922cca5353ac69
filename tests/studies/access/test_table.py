"""The table has a line for all that the server serves, and no line for what it does not."""

import pytest

from studies.access.table import (
    BLIND_ROLES,
    KINDS,
    NAMESPACES,
    RIGHTS,
    ROUTES,
    SOCKETS,
    Act,
    ByArgument,
    Kind,
    Methods,
    acts_of,
    find_need,
    line_for,
)
from studies.models.membership import Role
from tests.studies.access.routes import every_route, every_socket


@pytest.mark.parametrize("name", sorted({route.name for route in every_route()}))
def test_every_route_has_a_line(name):
    assert find_need(name, "GET", {}), line_for(name)


@pytest.mark.parametrize("name", sorted({name for name, _address in every_socket()}))
def test_every_websocket_has_a_line(name):
    assert name in SOCKETS, (
        f'The websocket {name} has no line in SOCKETS of studies/access/table.py: "{name}": Act.VIEW_STUDY'
    )


def test_every_line_has_a_route():
    served = {route.name for route in every_route()}
    assert set(ROUTES) - served == set()
    assert set(NAMESPACES) - {name.split(":")[0] for name in served if ":" in name} == set()
    assert set(SOCKETS) - {name for name, _address in every_socket()} == set()


def test_every_act_is_granted_and_needed():
    needed = set()
    for need in (*ROUTES.values(), *SOCKETS.values()):
        if isinstance(need, ByArgument):
            needed |= set(need.acts.values())
        else:
            needed |= set(need) if isinstance(need, tuple) else {need}
    assert (set(RIGHTS), set(Act) - needed) == (set(Act), set())
    assert [act for act, right in RIGHTS.items() if not right.roles] == []
    assert set(KINDS) == set(Kind)


@pytest.mark.parametrize("role", sorted(BLIND_ROLES))
def test_blind_roles_have_no_act_that_shows_arms(role):
    unblind = {
        Act.SEE_ARMS,
        Act.SEE_RESULTS,
        Act.UNBLIND,
        Act.EXPORT,
        Act.SEE_ALL_SAFETY,
        Act.VIEW_PEOPLE,
        Act.VIEW_STUDY,
    }
    assert acts_of(role) & unblind == set()


def test_read_only_changes_nothing():
    changing = {act for act in Act if not act.startswith(("view_", "see_", "read_"))}
    assert acts_of(Role.READER) & changing == set()


def test_an_admin_may_do_all_but_see_the_safety_of_each_arm():
    assert set(Act) - acts_of(Role.ADMIN) == {Act.SEE_ALL_SAFETY}


def test_looking_and_changing_can_need_different_acts():
    assert isinstance(ROUTES["research-profile"], Methods)
    assert find_need("research-profile", "GET", {}) == (Act.SEE_ARMS,)
    assert find_need("research-profile", "POST", {}) == (Act.EDIT_DESIGN,)
    assert find_need("research-profile", "DELETE", {}) == (Act.EDIT_DESIGN,)


def test_an_argument_can_decide():
    assert find_need("research-start", "POST", {"command": "judge"}) == (Act.RUN_PAID_WORK,)
    assert find_need("research-start", "POST", {"command": "export"}) == (Act.EXPORT,)


def test_a_route_without_a_line_needs_what_nobody_has():
    assert find_need("research-nowhere", "GET", {}) is None
    assert '"research-nowhere": Act.VIEW_STUDY,' in line_for("research-nowhere")
