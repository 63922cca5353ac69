"""Who is alarmed first at which time."""

from datetime import UTC, datetime

import pytest

from studies.care import rota
from studies.design.safety_rules import OnCall, SafetyRules
from tests import factories

MONDAY = 23  # of November 2026


def order_at(hour: int, *, day: int = MONDAY, zone: str = "UTC", **hours: tuple[str, ...]) -> list[str]:
    contacts = tuple(OnCall(name=name, email=f"{name}@example.org", hours=some) for name, some in hours.items())
    spec = factories.replace(factories.demo_spec(), safety=SafetyRules(oncall=contacts, time_zone=zone))
    return [contact.name for contact in rota.get_order(spec, datetime(2026, 11, day, hour, 30, tzinfo=UTC))]


def test_contacts_inside_their_hours_come_first_and_nobody_is_left_out():
    hours = {"ann": ("22:00-06:00",), "ben": ("mon-fri 09:00-17:00",), "cho": ()}
    assert order_at(10, **hours) == ["ben", "cho", "ann"]
    assert order_at(23, **hours) == ["ann", "cho", "ben"]
    assert order_at(10, ann=("sun 09:00-17:00",), ben=("sat 09:00-17:00",)) == ["ann", "ben"]


def test_hours_are_of_the_zone_of_the_study():
    hours = {"ann": ("09:00-17:00",), "ben": ("17:00-09:00",)}
    assert order_at(3, zone="Asia/Shanghai", **hours) == ["ann", "ben"]
    assert order_at(3, **hours) == ["ben", "ann"]


@pytest.mark.parametrize(
    ("text", "day", "hour", "inside"),
    [
        ("fri 22:00-06:00", 27, 23, True),
        ("fri 22:00-06:00", 28, 5, True),  # the night from Friday to Saturday
        ("fri 22:00-06:00", 28, 6, False),
        ("fri 22:00-06:00", 27, 5, False),
        ("sat-mon 09:00-17:00", 23, 9, True),
        ("sat-mon 09:00-17:00", 24, 9, False),
        ("00:00-24:00", 24, 23, True),
        ("09:00-17:00", 24, 17, False),
    ],
)
def test_hours_of_a_week(text, day, hour, inside):
    assert rota.is_within([text], datetime(2026, 11, day, hour, 15)) is inside
    assert rota.is_within([], datetime(2026, 11, day, hour, 15)) is True


def test_without_a_rota_the_address_of_the_study_is_the_only_contact():
    [contact] = rota.get_contacts(factories.demo_spec())
    assert (contact.email, contact.webhook, contact.hours) == ("oncall@example.org", "", ())


def test_after_the_last_one_the_order_begins_again():
    order = [rota.Contact("ann"), rota.Contact("ben")]
    assert rota.get_next(order, []) == (order[0], False)
    assert rota.get_next(order, ["ann"]) == (order[1], False)
    assert rota.get_next(order, ["ann", "ben"]) == (order[0], True)


def test_odd_values_of_an_old_study_keep_nobody_from_being_alarmed():
    assert rota.is_within(["now and then"], datetime(2026, 11, MONDAY, 9))
    assert rota.get_zone("Mars/Olympus") == UTC
