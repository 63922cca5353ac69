"""How far a person is: one measure, which never falls, whatever the way is."""

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from studies.design.plan import Step, expand, plan_for
from studies.design.spec import StepSpec, StudySpec
from studies.instruments.interview_guide import pages_of, sections_for
from studies.instruments.loading import load
from studies.models import Participation
from studies.person.outline import outline
from studies.second_raters.reviews import PlanOptions, Source, make_plan
from tests import factories
from tests.people import Person

pytestmark = pytest.mark.django_db

SCORES = {item.key: "4" for item in load("emoharbor_10").items}


def interviewed(spec: StudySpec) -> StudySpec:
    interview = StepSpec("interview", "interview_guide", mode="self")
    return replace(spec, key="asked", steps=(*spec.steps[:-1], interview, spec.steps[-1]))


WAYS = {
    "demo": lambda spec: spec,
    "asked": interviewed,
    "chosen": lambda spec: replace(spec, key="chosen", selection="manual"),
    "brief": lambda spec: replace(spec, key="brief", order=replace(spec.order, arms_per_person=2)),
}


def walked(spec: StudySpec, track: str) -> Iterator[tuple[Participation, Step]]:
    """Step by step, with the conversations put into the plan where their order is drawn."""
    study = factories.load_study(spec).protocol.study
    person, plan = factories.person(study, track=track, order=[]), list(plan_for(spec, track))
    while person.position < len(plan):
        if plan[person.position].kind == "chats":
            person.order = [arm.key for arm in spec.arms][: spec.arms_per_person(track)]
            plan = list(expand(plan, spec, person.order, track=track))
        person.plan = [step.to_json() for step in plan]
        yield person, plan[person.position]
        person.position += 1


@pytest.mark.parametrize("track", ["participant", "counsellor", "reviewer"])
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
def test_share_never_falls_on_any_way_and_agrees_with_the_minutes_that_are_left(way, track):
    spec = way(factories.demo_spec())
    # What was shown is not kept here: the measure itself does not fall.
    seen = [outline(person, step, spec) for person, step in walked(spec, track)]
    percents, left = [each.percent for each in seen], [each.minutes_left for each in seen]
    assert percents == sorted(percents)
    assert left == sorted(left, reverse=True)
    assert (percents[0], percents[-1] < 100) == (0, True)
    agreeing = [abs(left[0] * (1 - each.percent / 100) - each.minutes_left) <= 1 + left[0] / 100 for each in seen]
    assert all(agreeing), seen


def shown(person: Person) -> tuple[int, int]:
    """The percentage and the minutes in the head of the page."""
    html = person.page().content.decode()
    bar = re.search(r'<progress class="progress__bar"\s+value="(\d+)"\s+max="100"', html)
    minutes = re.search(r"about (\d+) minutes? left", html)
    return int(bar[1]), int(minutes[1])


def test_interview_counts_as_the_minutes_that_its_guide_gives_it():
    study = factories.load_study(interviewed(factories.demo_spec())).protocol.study
    person = Person(study.key)
    steps = plan_for(study.current().spec(), "participant")
    place = next(at for at, step in enumerate(steps) if step.kind == "interview")
    Participation.objects.update(position=place, status="active", plan=[step.to_json() for step in steps])
    seen = [shown(person)]
    for page in pages_of(sections_for(load("interview_guide"), "participant"))[:-1]:
        person.send({"part": str(page.number)})
        seen.append(shown(person))
    assert seen == sorted(seen, key=lambda each: (each[0], -each[1]))
    whole = seen[0][1] / (1 - seen[0][0] / 100)
    assert all(abs(whole * (1 - percent / 100) - left) <= 1 + whole / 100 for percent, left in seen), seen


def test_share_stays_where_more_work_has_come():
    study = factories.study()
    for name, count in {"first": 2, "second": 30}.items():
        for _ in range(count):
            factories.run_with_turns(study)
        if name == "first":
            plan(study, name)
            reviewer = Person("demo", track="reviewer")
            reviewer.go_to("questionnaire")
            reviewer.send({item.key: "on" for item in load("reviewer_agreement").items})
            reviewer.send({"checkpoint": reviewer.page().context["place"], **SCORES})
            before = shown(reviewer)
    plan(study, "second")
    after = shown(reviewer)
    assert after[0] == before[0] > 0
    assert after[1] > before[1]


def plan(study, name):
    make_plan(study, PlanOptions(name=name, instruments=("emoharbor_10",), source=Source(), calibration=False))
