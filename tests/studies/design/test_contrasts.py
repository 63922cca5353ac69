"""[[primary]] of a study file: what it comes to mean, and every fault with its place."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from studies.design.contrast_spec import ContrastSpec
from studies.design.writing import dump_study
from tests.studies.design.test_reading import faults_of, read, small

STRATEGIES = {"strategies": ["state_aware", "standard"], "item": "empathetic"}
ARMS = {"arms": ["b", "a"], "item": "*"}
TWO_JUDGES = [{"key": key, "kind": "scripted", "model": "judge"} for key in ("j", "k")]


def declaring(*primary: dict[str, Any], judges: int = 1, **chat: Any) -> dict[str, Any]:
    document = small() | {"judges": TWO_JUDGES[:judges], "primary": list(primary)}
    document["chat"] |= chat
    return document


def test_a_contrast_says_what_is_compared_and_the_usual_is_filled_in(tmp_path: Path) -> None:
    usual: dict[str, Any] = {"instrument": "emoharbor_10", "raters": "seeker", "moment": "final"}
    assert read(tmp_path, declaring(STRATEGIES, ARMS)).primary == (
        ContrastSpec(strategies=("standard", "state_aware"), judge="j", item="empathetic", **usual),
        ContrastSpec(arms=("a", "b"), item="*", seekers="person", **usual),
    )


@pytest.mark.parametrize(
    "contrast",
    [
        STRATEGIES | {"judge": "k", "raters": "expert", "item": "guided_exploration"},
        STRATEGIES | {"judge": "k", "raters": "reviewer", "instrument": "emoharbor_10"},
        STRATEGIES | {"judge": "k", "moment": "turn", "item": "reply_helpfulness"},
        ARMS | {"raters": "judge:user_aware", "seekers": "simulated", "condition": "worst_case", "item": "safety"},
        ARMS | {"raters": "expert", "instrument": "worst_case_4", "condition": "average"},
        ARMS | {"raters": "simulated_seeker", "condition": "average", "item": "safety"},
    ],
)
def test_what_a_contrast_says_is_kept_and_written_again(tmp_path: Path, contrast: dict[str, Any]) -> None:
    chat = {"counsellor_instruments": ["worst_case_4"], "rate_each_reply": True}
    spec = read(tmp_path, declaring(contrast, judges=2, **chat))
    [written] = tomllib.loads(dump_study(spec))["primary"]
    in_order = {name: sorted(value) if isinstance(value, list) else value for name, value in contrast.items()}
    assert written == written | in_order
    assert read(tmp_path, dump_study(spec)) == spec


FAULTS = [
    ({"item": "safety"}, "primary[1].strategies: give either strategies or arms"),
    (STRATEGIES | ARMS, "primary[1].strategies: give either strategies or arms"),
    (
        STRATEGIES | {"strategies": ["standard", "state_awar"]},
        'primary[1].strategies[2]: "state_awar" is not one of standard, user_aware, state_aware; did you mean "state_a',
    ),
    (STRATEGIES | {"strategies": ["standard"]}, "primary[1].strategies: must name two, not 1"),
    (STRATEGIES | {"strategies": ["standard", "standard"]}, 'primary[1].strategies[2]: "standard" is listed twice'),
    (STRATEGIES | {"strategies": "standard"}, "primary[1].strategies: must be a list"),
    (STRATEGIES | {"judge": "jj"}, 'primary[1].judge: "jj" is not one of j; did you mean "j"?'),
    (STRATEGIES | {"item": "empathy"}, 'primary[1].item: unknown item "empathy"; did you mean "empathetic"?'),
    (STRATEGIES | {"item": "*"}, 'primary[1].item: unknown item "*"'),
    (STRATEGIES | {"item": ""}, "primary[1].item: is missing"),
    (STRATEGIES | {"raters": "seekers"}, 'primary[1].raters: "seekers" is not one of seeker, '),
    (STRATEGIES | {"raters": "judge:standard"}, 'primary[1].raters: "judge:standard" is not one of seeker, '),
    (STRATEGIES | {"moment": "end"}, 'primary[1].moment: "end" is not one of final, checkpoint, turn'),
    (
        STRATEGIES | {"moment": "checkpoint"},
        "primary[1].moment: the study does not ask these raters for ratings at this moment",
    ),
    (STRATEGIES | {"instrument": "worst_case_4"}, 'primary[1].instrument: "worst_case_4" is not one of emoharbor_10'),
    (
        STRATEGIES | {"raters": "reviewer", "instrument": "emoharbor"},
        'primary[1].instrument: "emoharbor" is not one of ',
    ),
    (STRATEGIES | {"seekers": "person"}, "primary[1].seekers: is for contrasts of arms: leave it out"),
    (ARMS | {"arms": ["a", "c"]}, 'primary[1].arms[2]: "c" is not one of a, b'),
    (ARMS | {"arms": ["a", "b", "c"]}, "primary[1].arms: must name two, not 3"),
    (ARMS | {"judge": "j"}, "primary[1].judge: is for contrasts of strategies: leave it out"),
    (ARMS | {"itme": "safety"}, 'primary[1].itme: unknown key; did you mean "item"?'),
    (ARMS | {"moment": "checkpoint"}, 'primary[1].moment: "checkpoint" is not one of final'),
    (ARMS | {"seekers": "simulated"}, 'primary[1].seekers: "simulated" is not one of person'),
    (ARMS | {"raters": "expert"}, "primary[1].condition: is missing"),
    (ARMS | {"condition": "average"}, "primary[1].condition: is for counsellors in a role and simulated seekers"),
]


@pytest.mark.parametrize(("contrast", "fault"), FAULTS, ids=[fault for _, fault in FAULTS])
def test_a_contrast_that_cannot_be_is_refused_with_its_place(
    tmp_path: Path, contrast: dict[str, Any], fault: str
) -> None:
    found = faults_of(tmp_path, declaring(contrast))
    assert [line for line in found if line.startswith(fault)], found


def test_the_same_contrast_twice_is_refused_whatever_its_order(tmp_path: Path) -> None:
    again = {"arms": ["a", "b"], "item": "*", "raters": "seeker", "instrument": "emoharbor_10"}
    assert faults_of(tmp_path, declaring(ARMS, STRATEGIES, again)) == ["primary[3]: is the same as primary[1]"]


@pytest.mark.parametrize(
    ("judges", "fault"),
    [
        (0, "primary[1].judge: the study has no judge, and only judges have strategies"),
        (2, "primary[1].judge: is missing: there are j, k"),
    ],
)
def test_a_contrast_of_strategies_needs_its_judge(tmp_path: Path, judges: int, fault: str) -> None:
    assert faults_of(tmp_path, declaring(STRATEGIES, judges=judges)) == [fault]


def test_an_item_of_two_instruments_needs_the_name_of_one(tmp_path: Path) -> None:
    document = declaring(ARMS, final_instruments=["emoharbor_10", "worst_case_4"])
    fault = "primary[1].instrument: is missing: the item is in emoharbor_10, worst_case_4"
    assert faults_of(tmp_path, document) == [fault]
    document["primary"][0]["instrument"] = "worst_case_4"
    assert read(tmp_path, document).primary[0].instrument == "worst_case_4"


def test_primary_that_is_no_array_is_refused(tmp_path: Path) -> None:
    document = small() | {"primary": STRATEGIES}
    assert faults_of(tmp_path, document) == ["primary: must be an array of tables: [[primary]]"]
