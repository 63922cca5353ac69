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
        arms=(
            ArmSpec("scripted", key="secret_a", title={"en": "A"}),
            ArmSpec("scripted", key="secret_b", title={"en": "B"}),
        ),
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


def test_plan_asks_questionnaires_that_follow_the_screening_before_the_selection() -> None:
    steps = (STEPS[0], StepSpec("questionnaire", "profile"), *STEPS[1:])
    plan = plan_for(study(selection="manual", steps=steps), "counsellor")
    assert keys(plan)[:4] == ["screening", "questionnaire.profile", "selection", "consent"]


def test_plan_ends_with_a_debrief_that_the_study_forgot() -> None:
    assert plan_for(study(steps=STEPS[:-1]), "participant") == plan_for(study(), "participant")


def test_plan_numbers_a_questionnaire_that_comes_again() -> None:
    steps = (*STEPS[:-1], StepSpec("questionnaire", "mini_ipip"), STEPS[-1])
    plan = plan_for(study(steps=steps), "participant")
    assert keys(plan)[3:] == ["questionnaire.mini_ipip", "chats", "questionnaire.mini_ipip.2", "debrief"]


def test_expand_puts_a_run_for_each_arm_in_the_place_of_the_chats() -> None:
    plan = (Step("consent", "consent"), Step("chats", "chats"), Step("debrief", "debrief"))
    assert expand(plan, study(), ("secret_b", "secret_a"), track="participant") == (
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


@pytest.mark.parametrize(
    ("topic", "track", "asked"),
    [
        ("choose", "participant", "between"),
        ("change", "participant", "new_topic"),
        ("keep", "participant", ""),
        ("choose", "counsellor", ""),
        ("change", "counsellor", ""),
        ("keep", "counsellor", ""),
    ],
)
def test_only_people_without_a_role_are_asked_for_a_topic_and_only_where_it_may_change(
    topic: str, track: str, asked: str
) -> None:
    chosen = study(chat=replace(COUNSELLORS_TOO, topic=topic))
    plan = expand((Step("chats", "chats"),), chosen, ("secret_a", "secret_b"), track=track)
    assert [step for step in plan if step.kind == "between"] == [Step("between", "run1.between", asked, run=1)]


COUNSELLORS_TOO = ChatSpec(
    checkpoint_instrument="turn_checkpoint",
    final_instruments=("emoharbor_10",),
    counsellor_instruments=("emoharbor_10", "worst_case_4", "role_fidelity"),
    emotion_instrument="emotion_checkin",
    de_roling_instrument="de_roling",
)


def test_counsellors_are_asked_more_and_step_out_of_their_role_at_last() -> None:
    plan = expand((Step("chats", "chats"),), study(chat=COUNSELLORS_TOO), ("secret_a",), track="counsellor")
    assert keys(plan) == [
        "run1.questionnaire.emotion_checkin.pre",
        "run1.chat",
        "run1.rating.emoharbor_10",
        "run1.rating.worst_case_4",
        "run1.rating.role_fidelity",
        "run1.questionnaire.de_roling.post",
    ]
    assert plan[-1] == Step("questionnaire", "run1.questionnaire.de_roling.post", "de_roling", run=1, phase="post")


def test_participants_are_asked_nothing_that_is_for_counsellors() -> None:
    without = replace(COUNSELLORS_TOO, counsellor_instruments=(), de_roling_instrument="")
    of_both = [
        expand((Step("chats", "chats"),), study(chat=chat), ("secret_a",), track="participant")
        for chat in (COUNSELLORS_TOO, without)
    ]
    assert of_both[0] == of_both[1]


def test_counsellors_keep_the_emotion_check_where_nothing_takes_its_place() -> None:
    plan = expand((Step("chats", "chats"),), study(), ("secret_a",), track="counsellor")
    assert keys(plan)[-1] == "run1.questionnaire.emotion_checkin.post"


@pytest.mark.parametrize(
    ("every", "pauses"), [({"checkpoints": (5, 10)}, (5, 10)), ({"checkpoint_every": 10}, (10, 20, 30))]
)
def test_no_checkpoint_interrupts_a_role(every: dict[str, object], pauses: tuple[int, ...]) -> None:
    chat = replace(COUNSELLORS_TOO, **every)  # type: ignore[arg-type]
    assert chat.for_track("participant").pauses() == pauses
    assert chat.for_track("counsellor").pauses() == ()


def test_expand_leaves_out_the_emotion_check_that_is_not_asked_for() -> None:
    spec = study(chat=ChatSpec(final_instruments=("emoharbor_10",)))
    runs = expand((Step("chats", "chats"),), spec, ("secret_a",), track="participant")
    assert keys(runs) == ["run1.chat", "run1.rating.emoharbor_10"]


def test_reviewers_of_whom_a_study_says_nothing_have_the_usual_work() -> None:
    assert keys(plan_for(study(), "reviewer"))[-4:] == [
        "questionnaire.reviewer_agreement",
        "reviews",
        "pairs",
        "debrief",
    ]


def test_reviewers_have_the_steps_that_a_study_gives_them() -> None:
    own = (StepSpec("training", "comprehension_check", track="reviewer"), StepSpec("reviews", track="reviewer"))
    spec = study(steps=(*STEPS, *own))
    assert keys(plan_for(spec, "reviewer"))[-3:] == ["training", "reviews", "debrief"]
    assert "reviews" not in keys(plan_for(spec, "participant"))


def test_blinding_question_stays_after_the_last_conversation_and_names_no_run() -> None:
    steps = (*STEPS[:-1], StepSpec("blinding", "blinding", track="participant"), STEPS[-1])
    plan = expand(plan_for(study(steps=steps), "participant"), study(), ("secret_a", "secret_b"), track="participant")
    assert keys(plan)[-3:] == ["run2.questionnaire.emotion_checkin.post", "blinding", "debrief"]
    assert plan[-2] == Step("blinding", "blinding", "blinding", moment="final")
    assert "blinding" not in keys(plan_for(study(steps=steps), "counsellor"))


@pytest.mark.parametrize("count", [1, 2, 5])
def test_expanded_keys_are_unique(count: int) -> None:
    plan = expand(plan_for(study(languages=("en", "zh")), "participant"), study(), ["x"] * count, track="participant")
    assert len(set(keys(plan))) == len(plan)


def test_plan_names_no_arm() -> None:
    plan = expand(plan_for(study(), "participant"), study(), ("secret_a", "secret_b"), track="participant")
    assert "secret" not in json.dumps([step.to_json() for step in plan])


def test_step_survives_json() -> None:
    for step in expand(plan_for(study(), "participant"), study(), ("secret_a", "secret_b"), track="participant"):
        assert Step.from_json(json.loads(json.dumps(step.to_json()))) == step
