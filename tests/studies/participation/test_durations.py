"""The minutes that a study tells, and those that its steps take."""

from dataclasses import replace

import pytest

from studies.design.contradictions import remarks
from studies.design.plan import Step
from studies.design.spec import StepSpec
from studies.models import Participation
from studies.participation.durations import estimate_minutes, read_minutes, remark_on_times
from studies.participation.step_kinds import KINDS, Way
from tests import factories

pytestmark = pytest.mark.django_db


def told(spec, **values):
    given = {name: {"en": text, "zh": text} for name, text in values.items()}
    return replace(spec, consent=replace(spec.consent, values={**spec.consent.values, **given}))


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("90 minutes", 90),
        ("1 hour 30 minutes", 90),
        ("1.5 h", 90),
        ("1,5 hours", 90),
        ("2 小时", 120),
        ("1 小时 30 分钟", 90),
        ("an afternoon", 0),
    ],
)
def test_minutes_are_read_from_a_text(text, minutes):
    assert read_minutes(text) == minutes


def test_demonstration_tells_about_what_it_takes():
    assert list(remark_on_times(factories.demo_spec())) == []


def test_time_far_from_that_of_the_steps_is_remarked_for_each_track():
    spec = told(factories.demo_spec(), duration_total="20 minutes")
    assert list(remark_on_times(spec)) == [
        f"The consent form says 20 minutes (consent.duration_total), but the steps of the {track} track take about "
        f"{estimate_minutes(spec, track)} minutes."
        for track in ("participant", "counsellor")
    ]


def test_track_that_a_study_does_not_have_is_not_remarked():
    spec = told(factories.demo_spec(), duration_total="20 minutes")
    steps = tuple(replace(step, track="all") for step in spec.steps)
    alone = replace(spec, steps=steps, role_play=replace(spec.role_play, cards=()))
    [remark] = remark_on_times(alone)
    assert "participant track" in remark


def test_text_without_a_time_is_not_remarked():
    assert list(remark_on_times(told(factories.demo_spec(), duration_total="some time"))) == []


def test_interview_takes_the_minutes_of_its_guide():
    spec = told(factories.demo_spec(), interview_minutes="10")
    way = Way(Participation(track="counsellor"), spec, 1, "")
    work = KINDS["interview"].work(Step("interview", "interview", "interview_guide", mode="self"), way)
    assert (work.done, work.left) == (0, 75)


@pytest.mark.parametrize(("value", "is_far"), [("10", True), ("about 45", True), ("60", False), ("", False)])
def test_consent_form_far_from_the_minutes_of_the_guide_is_remarked(value, is_far):
    spec = factories.demo_spec()
    interview = StepSpec("interview", "interview_guide", mode="self", track="counsellor")
    asked = told(replace(spec, steps=(*spec.steps[:-1], interview, spec.steps[-1])), interview_minutes=value)
    said = (
        f"The consent form says {value} minutes for the interview (consent.interview_minutes), but its guide "
        "(interview_guide) is made for 75 on the counsellor track."
    )
    remarked = [one.replace("says 45", f"says {value}") for one in remark_on_times(asked) if "interview_min" in one]
    assert remarked == [said] * is_far


def test_interview_about_dimensions_that_counsellors_have_rated_is_remarked():
    spec = factories.demo_spec()
    interview = StepSpec("interview", "interview_guide", mode="self")
    said = (
        "Counsellors rate worst_case_4 after each conversation, so the interview asks about dimensions that they know."
    )
    assert said not in remarks(spec)
    asked = replace(spec, steps=(*spec.steps[:-1], interview, spec.steps[-1]))
    assert said in remarks(asked)
    assert said not in remarks(replace(asked, chat=replace(asked.chat, counsellor_instruments=("role_fidelity",))))
    of_participants = replace(interview, track="participant")
    assert said not in remarks(replace(spec, steps=(*spec.steps[:-1], of_participants, spec.steps[-1])))
