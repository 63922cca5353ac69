"""No model can hold something of a person that erasing, anonymising and My data do not know."""

import pytest
from django.apps import apps
from django.db.models import ForeignKey, Model, OneToOneField

from dialogue.models import Conversation
from studies.data.holdings import HOLDINGS, Fate, Group
from studies.models import ArmRun, Participation

OURS = ("dialogue", "studies")
# They name people by codes, where no key of the database leads to a person.
BY_CODE = {"AdverseEvent", "Delivery", "JobItem", "RiskEvent"}


def models_that_lead_to_people() -> set[type[Model]]:
    """All models of ours with a chain of foreign keys to a person, or to a conversation."""
    found: set[type[Model]] = {Participation, ArmRun, Conversation}
    candidates = [model for model in apps.get_models() if model._meta.app_label in OURS]
    grown = True
    while grown:
        new = {model for model in candidates if model not in found and leads_to(model, found)}
        found |= new
        grown = bool(new)
    return found


def leads_to(model: type[Model], known: set[type[Model]]) -> bool:
    keys = [one for one in model._meta.get_fields() if isinstance(one, ForeignKey | OneToOneField)]
    return any(key.related_model in known for key in keys)


def test_every_model_that_leads_to_a_person_has_its_line():
    assert models_that_lead_to_people() - {holding.model for holding in HOLDINGS} == set()


def test_models_that_name_people_by_code_have_theirs():
    assert {holding.model.__name__ for holding in HOLDINGS} >= BY_CODE


def test_names_are_unlike():
    names = [holding.name for holding in HOLDINGS]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("holding", HOLDINGS, ids=lambda each: each.name)
def test_line_says_what_happens_to_words_and_free_text(holding):
    """Whatever has words of the person is deleted or cleared by an erasure, and loses them when it is anonymised."""
    if holding.words:
        assert holding.erased == Fate.DELETED
        assert holding.anonymised != Fate.KEPT or set(holding.words) <= set(holding.blanks)
    columns = {field.name for field in holding.model._meta.get_fields()}
    assert set(holding.words) | set(holding.blanks) <= columns


@pytest.mark.parametrize("holding", HOLDINGS, ids=lambda each: each.name)
def test_what_is_shown_is_in_a_shown_group(holding):
    hidden = (Group.NOTES, Group.SAFETY, Group.COMPUTERS, Group.ASSIGNMENT)
    assert bool(holding.shown) == (holding.group not in hidden)


FORBIDDEN = ("arm", "model", "supporter", "condition", "order", "cards", "profile", "reply_original", "names_itself")


@pytest.mark.parametrize("holding", HOLDINGS, ids=lambda each: each.name)
def test_nothing_is_shown_that_tells_an_arm(holding):
    parts = {part for path in holding.shown.values() for part in path.split("__")}
    assert parts & set(FORBIDDEN) == set()
