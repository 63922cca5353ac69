"""role_plays.csv: what was given to be played, and what is said to have been."""

import pytest

from studies.data.exports.columns import Filter
from studies.data.exports.role_plays import ROLE_PLAYS
from studies.models import RolePlay
from tests import factories

pytestmark = pytest.mark.django_db

NAMES = [column.name for column in ROLE_PLAYS.columns]


def rows(study, **only) -> list[dict]:
    return [dict(zip(NAMES, row, strict=True)) for row in ROLE_PLAYS.rows(study, Filter(**only))]


def test_a_row_tells_card_intensities_and_what_was_ticked_in_its_order():
    study = factories.study()
    run = factories.run_with_turns(study, factories.person(study, track="counsellor"))
    factories.role_play(run, "en03", played=["resistance", "low_engagement"], stepped_out=2)

    assert rows(study) == [
        {
            "conversation": run.conversation.code,
            "card": "en03",
            "low_engagement": 3,
            "resistance": 2,
            "limited_self_disclosure": 3,
            "emotional_volatility": 0,
            "rigid_negative_interpretation": 2,
            "played": "resistance;low_engagement",
            "stepped_out": 2,
        }
    ]


def test_a_row_without_a_card_leaves_the_behaviours_empty():
    study = factories.study()
    run = factories.run_with_turns(study, factories.person(study))
    RolePlay.objects.create(run=run, card={})
    [row] = rows(study)
    assert (row["card"], row["resistance"], row["played"], row["stepped_out"]) == ("", None, "", 0)


def test_test_data_is_left_out_unless_asked_for():
    study = factories.study()
    person = factories.person(study, is_test=True)
    factories.role_play(factories.run_with_turns(study, person, is_test=True))
    assert (rows(study), len(rows(study, include_tests=True))) == ([], 1)
