import pytest

from studies.instruments.loading import load
from studies.instruments.scoring import ScaleScore, score


def scores_of(instrument, answers):
    return {scored.scale: scored for scored in score(load(instrument), answers)}


# By hand after the rule of mini_ipip.json (6 - x for keys "-"): E = 1+, 6-, 11+, 16-; A = 2+, 7-, 12+, 17-;
# C = 3+, 8-, 13+, 18-; N = 4+, 9-, 14+, 19-; O = 5+, 10-, 15-, 20-.
MINI = [5, 4, 3, 2, 1, 1, 2, 3, 4, 5, 4, 5, 2, 1, 5, 2, 1, 4, 5, 5]


def test_mini_ipip_gives_the_scores_computed_by_hand():
    answers = {f"mini_{number:02}": answer for number, answer in enumerate(MINI, 1)}
    assert score(load("mini_ipip"), answers) == [
        ScaleScore("E", (5 + 5 + 4 + 4) / 4, 4),
        ScaleScore("A", (4 + 4 + 5 + 5) / 4, 4),
        ScaleScore("C", (3 + 3 + 2 + 2) / 4, 4),
        ScaleScore("N", (2 + 2 + 1 + 1) / 4, 4),
        ScaleScore("O", (1 + 1 + 1 + 1) / 4, 4),
    ]


@pytest.mark.parametrize(
    ("keyed", "against", "expected"), [(5, 1, 5.0), (1, 5, 1.0), (3, 3, 3.0), (4, 4, None)], ids=str
)
def test_mini_ipip_reaches_both_ends_of_each_scale(keyed, against, expected):
    questionnaire = load("mini_ipip")
    answers = {item.key: against if item.reverse else keyed for item in questionnaire.items}
    # Saying 4 to everything: E, A, C and N balance two and two; O has one "+" and three "-".
    balanced = {"E": 3.0, "A": 3.0, "C": 3.0, "N": 3.0, "O": 2.5}
    wanted = balanced if expected is None else dict.fromkeys("EACNO", expected)
    assert {scored.scale: scored.score for scored in score(questionnaire, answers)} == wanted


@pytest.mark.parametrize(
    ("answered", "expected"),
    [
        (["mini_01", "mini_06", "mini_11", "mini_16"], ScaleScore("E", 3.5, 4)),
        (["mini_01", "mini_06", "mini_11"], ScaleScore("E", 4.0, 3)),
        (["mini_01", "mini_06"], ScaleScore("E", None, 2)),
        ([], ScaleScore("E", None, 0)),
    ],
)
def test_mini_ipip_needs_three_of_four(answered, expected):
    answers = {"mini_01": 5, "mini_06": 3, "mini_11": 4, "mini_16": 4}  # 5, 3, 4, 2 after reversal
    given = {key: answer if key in answered else None for key, answer in answers.items()}
    assert scores_of("mini_ipip", given)["E"] == expected


def test_bfm_50_derives_neuroticism_from_emotional_stability():
    questionnaire = load("ipip_bfm_50")
    answers = {item.key: 2 if item.reverse else 4 for item in questionnaire.items}
    stability = [item.key for item in questionnaire.items if item.scale == "ES"]
    answers[stability[0]] = 5 if questionnaire.item(stability[0]).reverse else 1  # 1 in the direction of the scale
    scored = scores_of("ipip_bfm_50", answers)
    assert scored["ES"] == ScaleScore("ES", 3.7, 10)
    assert scored["N"].score == pytest.approx(2.3)
    assert list(scored) == ["E", "A", "C", "ES", "O", "N"]


@pytest.mark.parametrize(("answered", "expected"), [(8, 2.0), (7, None)])
def test_bfm_50_derives_nothing_below_eight_answers(answered, expected):
    questionnaire = load("ipip_bfm_50")
    items = [item for item in questionnaire.items if item.scale == "ES"][:answered]
    scored = scores_of("ipip_bfm_50", {item.key: 2 if item.reverse else 4 for item in items})
    assert (scored["N"].score, scored["N"].items_answered) == (expected, answered)


def test_emoharbor_scores_facets_and_overall_without_reversing_redundancy():
    answers = dict.fromkeys([item.key for item in load("emoharbor_10").items], 3) | {"redundancy": 5, "safety": 1}
    scored = scores_of("emoharbor_10", answers)
    assert scored["conversation_quality"] == ScaleScore("conversation_quality", 3.0, 3)
    assert scored["overall"] == ScaleScore("overall", 3.0, 10)
    assert scores_of("emoharbor_10", answers | {"safety": 4})["overall"].score == pytest.approx(3.3)


def test_emoharbor_gives_no_overall_score_with_one_rating_missing():
    answers = dict.fromkeys([item.key for item in load("emoharbor_10").items], 4) | {"safety": None}
    scored = scores_of("emoharbor_10", answers)
    assert scored["overall"] == ScaleScore("overall", None, 9)
    assert scored["conversation_quality"] == ScaleScore("conversation_quality", None, 2)
    assert scored["goal_achievement"] == ScaleScore("goal_achievement", 4.0, 2)


def test_instrument_without_scales_gives_no_scores():
    assert score(load("turn_checkpoint"), {"willingness": 4}) == []


@pytest.mark.parametrize("answer", [0, 6, -1, float("nan"), float("inf")])
def test_score_refuses_an_answer_out_of_range(answer):
    with pytest.raises(ValueError, match=r"^safety: .* is outside 1 to 5$"):
        score(load("emoharbor_10"), {"safety": answer})
