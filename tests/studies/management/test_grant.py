"""`grant`: roles from the shell."""

import json

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from studies.models import Membership
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return factories.study()


@pytest.fixture
def ada():
    return User.objects.create(username="ada")


def roles():
    return list(Membership.objects.values_list("user__username", "role"))


def test_a_role_is_given_and_the_account_can_then_sign_in(study, ada, capsys):
    call_command("grant", "demo", "ada", "researcher", "--json")

    assert roles() == [("ada", "researcher")]
    assert User.objects.get().is_staff
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "ada in demo: researcher"
    assert json.loads(lines[-1])["roles"] == ["researcher"]


def test_a_role_given_twice_is_there_once(study, ada):
    call_command("grant", "demo", "ada", "admin")
    call_command("grant", "demo", "ada", "admin")
    assert roles() == [("ada", "admin")]


def test_a_role_is_taken_away(study, ada):
    factories.grant(study, ada, "researcher", "safety_officer")
    call_command("grant", "demo", "ada", "researcher", "--remove")
    assert roles() == [("ada", "safety_officer")]


@pytest.mark.parametrize(
    ("user", "role", "said"),
    [
        ("bo", "admin", "There is no account bo"),
        ("ada", "coder", "stay blind"),
    ],
)
def test_what_cannot_be_given_is_refused(user, role, said, study, ada):
    factories.grant(study, ada, "researcher")
    with pytest.raises(CommandError, match=said) as refusal:
        call_command("grant", "demo", user, role)
    assert (refusal.value.returncode, roles()) == (2, [("ada", "researcher")])


def test_the_last_admin_stays(study, ada):
    factories.grant(study, ada, "admin")
    with pytest.raises(CommandError, match="A study needs an admin"):
        call_command("grant", "demo", "ada", "admin", "--remove")
    assert roles() == [("ada", "admin")]
