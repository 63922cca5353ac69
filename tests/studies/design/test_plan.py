import json
from dataclasses import replace

import pytest

from studies.design.plan import Step, expand, plan_for
from studies.design.spec import ArmSpec, ChatSpec, ConsentSpec, OrderSpec, StepSpec, StudySpec

STEPS = (
    StepSpec("questionnaire", "screening"),
    StepSpec("consent"),
    StepSpec("training", "comprehension_check"),
    StepSpec("questionnaire", "mini_ipip", track="participant"),
    StepSpec("chats"),
    StepSpec("debrief"),
)


def study(**changes: object) -> StudySpec:
    spec = StudySpec(
        key="demo",
        title={"en": "Study"},
        languages=("en",),
        country="US",
        contact="a@example.org",
        oncall_email="b@example.org",
        selection="auto",
        open_enrolment=True,
        consent=ConsentSpec("consent_template", "1"),
        steps=STEPS,
        chat=ChatSpec(final_instruments=("emoharbor_10", "worst_case_4"), emotion_instrument="emotion_checkin"),
        order=OrderSpec(),
        arms=(ArmSpec("secret_a", "A", "scripted"), ArmSpec("secret_b", "B", "scripted")),
        judges=(),
    )
    return replace(spec, **changes)  # type: ignore[arg-type]


def keys(steps: tuple[Step, ...]) -> list[str]:
    return [step.key for step in steps]


def test_plan_has_the_steps_of_the_track_in_order() -> None:
    assert keys(plan_for(study(), "participant")) == [
        "screening",
        "consent",
        "training",
        "questionnaire.mini_ipip",
        "chats",
        "debrief",
    ]
    assert keys(plan_for(study(), "counsellor")) == ["screening", "consent", "training", "chats", "debrief"]


def test_plan_steps_know_their_instruments() -> None:
    instruments = [step.instrument for step in plan_for(study(), "participant")]
    assert instruments == ["screening", "consent_template", "comprehension_check", "mini_ipip", "", ""]


def test_plan_asks_for_the_language_first_where_there_are_several() -> None:
    plan = plan_for(study(languages=("en", "zh")), "participant")
    assert plan[0] == Step("language", "language")
    assert plan[1:] == plan_for(study(), "participant")


def test_plan_waits_for_selection_after_screening_where_it_is_manual() -> None:
    plan = plan_for(study(selection="manual"), "counsellor")
    assert [(step.kind, step.key) for step in plan[:3]] == [
        ("screening", "screening"),
        ("selection", "selection"),
        ("consent", "consent"),
    ]


def test_plan_ends_with_a_debrief_that_the_study_forgot() -> None:
    assert plan_for(study(steps=STEPS[:-1]), "participant") == plan_for(study(), "participant")


def test_plan_numbers_a_questionnaire_that_comes_again() -> None:
    steps = (*STEPS[:-1], StepSpec("questionnaire", "mini_ipip"), STEPS[-1])
    plan = plan_for(study(steps=steps), "participant")
    assert keys(plan)[3:] == ["questionnaire.mini_ipip", "chats", "questionnaire.mini_ipip.2", "debrief"]


def test_expand_puts_a_run_for_each_arm_in_the_place_of_the_chats() -> None:
    plan = (Step("consent", "consent"), Step("chats", "chats"), Step("debrief", "debrief"))
    assert expand(plan, study(), ("secret_b", "secret_a")) == (
        Step("consent", "consent"),
        Step("questionnaire", "run1.questionnaire.emotion_checkin.pre", "emotion_checkin", run=1, phase="pre"),
        Step("chat", "run1.chat", run=1),
        Step("rating", "run1.rating.emoharbor_10", "emoharbor_10", run=1, moment="final"),
        Step("rating", "run1.rating.worst_case_4", "worst_case_4", run=1, moment="final"),
        Step("questionnaire", "run1.questionnaire.emotion_checkin.post", "emotion_checkin", run=1, phase="post"),
        Step("between", "run1.between", "between", run=1),
        Step("questionnaire", "run2.questionnaire.emotion_checkin.pre", "emotion_checkin", run=2, phase="pre"),
        Step("chat", "run2.chat", run=2),
        Step("rating", "run2.rating.emoharbor_10", "emoharbor_10", run=2, moment="final"),
        Step("rating", "run2.rating.worst_case_4", "worst_case_4", run=2, moment="final"),
        Step("questionnaire", "run2.questionnaire.emotion_checkin.post", "emotion_checkin", run=2, phase="post"),
        Step("debrief", "debrief"),
    )


def test_expand_leaves_out_the_emotion_check_that_is_not_asked_for() -> None:
    spec = study(chat=ChatSpec(final_instruments=("emoharbor_10",)))
    runs = expand((Step("chats", "chats"),), spec, ("secret_a",))
    assert keys(runs) == ["run1.chat", "run1.rating.emoharbor_10"]


def test_blinding_question_stays_after_the_last_conversation_and_names_no_run() -> None:
    steps = (*STEPS[:-1], StepSpec("blinding", "blinding", track="participant"), STEPS[-1])
    plan = expand(plan_for(study(steps=steps), "participant"), study(), ("secret_a", "secret_b"))
    assert keys(plan)[-3:] == ["run2.questionnaire.emotion_checkin.post", "blinding", "debrief"]
    assert plan[-2] == Step("blinding", "blinding", "blinding", moment="final")
    assert "blinding" not in keys(plan_for(study(steps=steps), "counsellor"))


@pytest.mark.parametrize("count", [1, 2, 5])
def test_expanded_keys_are_unique(count: int) -> None:
    plan = expand(plan_for(study(languages=("en", "zh")), "participant"), study(), ["x"] * count)
    assert len(set(keys(plan))) == len(plan)


def test_plan_names_no_arm() -> None:
    plan = expand(plan_for(study(), "participant"), study(), ("secret_a", "secret_b"))
    assert "secret" not in json.dumps([step.to_json() for step in plan])


def test_step_survives_json() -> None:
    for step in expand(plan_for(study(), "participant"), study(), ("secret_a", "secret_b")):
        assert Step.from_json(json.loads(json.dumps(step.to_json()))) == step
