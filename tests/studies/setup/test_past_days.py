"""Days of [retention] that are over are refused when they are new, and only then."""

from dataclasses import replace
from datetime import date

import pytest

from studies.design.retention_spec import RetentionSpec
from studies.setup.past_days import find_past_days
from tests import factories

pytestmark = pytest.mark.django_db

TODAY = date(2027, 3, 1)


def faults(**days: str) -> dict[str, str]:
    spec = replace(factories.demo_spec(), key="kept", retention=RetentionSpec(**days))
    return {fault.place: fault.message for fault in find_past_days(spec, TODAY)}


def test_each_day_that_is_over_is_a_fault_at_its_place():
    found = faults(delete_until="2026-06-30", contacts_until="2027-02-28", keep_until="2027-03-01")
    assert list(found) == ["retention.delete_until", "retention.contacts_until"]
    assert found["retention.delete_until"] == "is over already: today is 2027-03-01 (UTC). Choose a later day."


def test_days_that_the_study_has_already_load_and_others_do_not():
    factories.study("kept", retention=RetentionSpec(keep_until="2024-12-31"))
    assert faults(keep_until="2024-12-31") == {}
    assert list(faults(keep_until="2025-12-31")) == ["retention.keep_until"]
    assert list(faults(keep_until="2024-12-31", contacts_until="2024-12-31")) == ["retention.contacts_until"]


def test_a_study_without_days_has_none_that_are_over():
    assert find_past_days(factories.demo_spec(), TODAY) == []
