"""The parts of each walk, and what its page says of who was asked."""

from dataclasses import replace
from pathlib import Path

import pytest
from django.conf import settings

from studies.design.reading import read_study
from studies.design.spec import StudySpec
from studies.instruments.loading import instrument_ids
from studies.participation.consent import template_ids
from studies.replication.invented_people import invent_counsellors, invent_participants
from studies.replication.papers import Results, read_paper
from studies.replication.replication_page import Page, table
from studies.replication.walks import Walk

WORDS = {
    "in_form": "In form.",
    "people_are_scripts": "Scripts.",
    "yes": "Yes.",
    "needs_people": "People.",
    "not_offered": "No.",
    "no_numbers": "None.",
}


def spec_of(paper: str) -> StudySpec:
    path = settings.FIXTURES / "studies" / f"replicate_{paper}.toml"
    known = [*instrument_ids(), *template_ids()]
    return read_study(path, instruments=known, prompt_folder=settings.FIXTURES / "prompts", reserved_keys=())


def with_a_model(spec: StudySpec) -> StudySpec:
    model = replace(spec.arms[0], kind="openai_compatible", base_url="https://example.org/v1", provider="Test Lab")
    return replace(spec, arms=(model, *spec.arms[1:]))


def walk_of(paper: str, spec: StudySpec | None = None) -> Walk:
    return Walk(paper, spec or spec_of(paper), Path("/walk"), "attuned", 200, 1)


def names(walk: Walk) -> list[str]:
    return [part.label.split()[0] for part in walk.parts()]


def test_walk_on_scripts_has_people() -> None:
    simulated, judged, people = ["simulate"], ["judge"], ["import_conversations", "import_ratings"]
    assert names(walk_of("emoharbor")) == [
        *(simulated + judged + people + judged * 3 + simulated * 2),
        *("plan_pairs", "judge_pairs"),
    ]
    assert names(walk_of("worst_case")) == [*(simulated * 2 + people + judged + simulated * 5)]


@pytest.mark.parametrize("paper", ["emoharbor", "worst_case"])
def test_walk_with_a_model_invents_nobody(paper: str) -> None:
    walk = walk_of(paper, with_a_model(spec_of(paper)))
    assert not {"import_conversations", "import_ratings"} & set(names(walk))
    assert (walk.is_scripted(), walk_of(paper).is_scripted()) == (False, True)


def test_walk_whose_evaluator_is_a_model_is_not_scripted() -> None:
    spec = spec_of("emoharbor")
    evaluator = replace(spec.arms[0], kind="openai_compatible", key="evaluator")
    assert not walk_of("emoharbor", replace(spec, evaluator=evaluator)).is_scripted()


def verdicts(walk: Walk) -> set[str]:
    page = Page(walk, read_paper(walk.paper), Results(walk.folder), "en", WORDS)
    return {page.verdict(entry).split(" ")[0] for entry in page.paper.entries if entry.compare in ("models", "people")}


def test_page_never_calls_a_walk_on_scripts_comparable() -> None:
    spec = spec_of("emoharbor")
    assert verdicts(walk_of("emoharbor", spec)) == {"In", "Scripts."}
    assert verdicts(walk_of("emoharbor", with_a_model(spec))) == {"Yes.", "People."}


def test_invented_people_talk_with_every_arm_and_are_the_same_each_time() -> None:
    spec = spec_of("emoharbor")
    talks = list(invent_participants(spec, each=2))
    assert len(talks) == 2 * len(spec.languages) * len(spec.arms)
    assert all(talk.id.startswith("invented-") and len(talk.turns) == 10 for talk in talks)
    assert talks == list(invent_participants(spec, each=2))


def test_each_arm_has_three_invented_counsellors() -> None:
    spec = spec_of("worst_case")
    raters = {arm.key: {talk.person for talk in invent_counsellors(spec) if talk.arm == arm.key} for arm in spec.arms}
    assert {len(people) for people in raters.values()} == {3}
    assert len(set.union(*raters.values())) == 8


def test_cells_of_a_table_may_hold_bars() -> None:
    assert list(table([["a"], ["b|c"]])) == ["| a |", "| --- |", "| b\\|c |"]
