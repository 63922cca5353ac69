"""Rating scales in an order of items of each person's own."""

import re

import pytest

from studies.data.exports.columns import Filter
from studies.data.exports.tables import RATINGS, ratings
from studies.design.spec import StudySpec
from studies.instruments.loading import load
from studies.models import Answer, Study
from tests import factories
from tests.people import Person

pytestmark = pytest.mark.django_db
ITEMS = [item.key for item in load("emoharbor_10").rated_items()]


def shuffling(on: bool) -> Study:
    spec: StudySpec = factories.demo_spec()
    return factories.study(display={**spec.display, "shuffle_items": on})


def shown_items(person: Person) -> list[str]:
    """Walk to the next rating and return its items as the page shows them."""
    person.go_to("rating", run=person.step.run or 1)
    page = person.page().content.decode()
    found = re.findall(r'name="([a-z_]+)"', page)
    return [name for name in dict.fromkeys(found) if name in ITEMS]


def test_each_person_has_an_order_and_keeps_it_for_all_their_partners():
    shuffling(on=True)
    orders = []
    for _ in range(3):
        person = Person()
        first = shown_items(person)
        assert sorted(first) == sorted(ITEMS)
        person.send(person.answers())
        person.go_to("chat", run=2)
        assert shown_items(person) == first
        orders.append(tuple(first))
    assert len(set(orders)) == 3
    assert tuple(ITEMS) not in orders


def test_the_place_of_each_item_is_kept_and_exported():
    study = shuffling(on=True)
    person = Person()
    shown = shown_items(person)
    person.send(person.answers())
    stored = Answer.objects.filter(response__instrument="emoharbor_10").order_by("position")
    assert [answer.item for answer in stored if answer.item in ITEMS] == shown
    names = [column.name for column in RATINGS]
    rows = [dict(zip(names, row, strict=True)) for row in ratings(study, Filter(include_tests=True))]
    final = [row for row in rows if row["instrument"] == "emoharbor_10"]
    assert [row["item"] for row in sorted(final, key=lambda row: row["item_position"])] == shown


def test_without_the_key_everybody_sees_the_order_of_the_instrument():
    shuffling(on=False)
    assert shown_items(Person()) == ITEMS
