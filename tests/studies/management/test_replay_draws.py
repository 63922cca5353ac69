import json
from io import StringIO

import pytest
from django.core.management import call_command

from studies.models import Draw
from tests import factories

pytestmark = pytest.mark.django_db


def replay() -> tuple[list[str], int]:
    """The lines, and the exit code."""
    out = StringIO()
    try:
        call_command("replay_draws", "demo", "--json", stdout=out)
    except SystemExit as left:
        return out.getvalue().splitlines(), int(str(left.code))
    return out.getvalue().splitlines(), 0


def test_draws_that_give_the_same_and_factors_that_were_unknown():
    person = factories.person(factories.study())
    rule = {"design": "williams", "arms": ["amber", "birch"], "per_person": 2, "seed": 20260104}
    seen = {"orders": {"birch>amber": 2}, "completed": {}, "strata": {}}
    factories.draw(person, rule=rule, seen=seen, strata={"severity": {"level": None}})
    lines, code = replay()
    assert lines[:-1] == [
        "severity: unknown at 1 of 1 draws, which did without it",
        "demo: 1 of 1 draws give the same arms again.",
    ]
    assert json.loads(lines[-1]) == {"study": "demo", "draws": 1, "failed": 0, "unknown": {"severity": 1}}
    assert code == 0


def test_a_draw_that_gives_other_arms_is_named():
    person = factories.person(factories.study())
    rule = {"design": "williams", "arms": ["amber", "birch"], "per_person": 2, "seed": 20260104}
    factories.draw(person, rule=rule, seen={"orders": {"amber>birch": 2}, "completed": {}, "strata": {}})
    lines, code = replay()
    assert lines[0] == f"{person.code}: arms: amber>birch is stored, birch>amber was expected"
    assert code == 1
    Draw.objects.all().delete()
    assert replay()[1] == 0
