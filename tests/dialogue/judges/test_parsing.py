import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dialogue.judges.parsing import MOST_OBJECTS, Score, StateFields, Unscored, parse_scores, parse_state
from dialogue.judges.prompts import JudgedItem

ITEMS = (
    JudgedItem("problem_resolution", "?", 1, 5, (), ("Problem resolution", "问题解决")),
    JudgedItem(
        "response_appropriateness",
        "?",
        1,
        5,
        (),
        ("Response appropriateness (personalization)", "回应贴合度（个性化）"),
    ),
    JudgedItem("empathetic", "?", 1, 5, (), ("Empathy", "共情")),
)
GOOD = {"problem_resolution": Score(4), "response_appropriateness": Score(2), "empathetic": Score(5)}
PLAIN = '{"analysis": "ok", "evaluation": {"problem_resolution": 4, "response_appropriateness": 2, "empathetic": 5}}'
SCORES = '{"problem_resolution": 4, "response_appropriateness": 2, "empathetic": 5}'
DRAFT = PLAIN.replace("4", "1").replace("2", "1").replace("5", "1")
UNPARSEABLE = dict.fromkeys(GOOD, Unscored("unparseable"))

READABLE = {
    "as asked": f"<output>{PLAIN}</output>",
    "bare": PLAIN,
    "scores alone": SCORES,
    "code fence": f"```json\n{PLAIN}\n```",
    "chinese tag": f"<输出>\n{PLAIN}\n</输出>",
    "unclosed tag": f"<output>{PLAIN}",
    "in prose": f"As the seeker I felt {{mostly}} heard.\n\n{PLAIN}\n\nI hope this helps.",
    "trailing commas": PLAIN.replace("5}}", "5,\n  },\n}"),
    "the paper's names": PLAIN.replace("problem_resolution", "problem resolution").replace(
        "response_appropriateness", "Response Appropriateness"
    ),
    "hyphens and capitals": PLAIN.replace("problem_resolution", "Problem-Resolution"),
    "labels": '{"Problem resolution": 4, "Response appropriateness (personalization)": 2, "Empathy": 5}',
    "the other paper's name": PLAIN.replace("response_appropriateness", "Personalization"),
    "chinese names": '{"分析": "还行", "评价": {"问题解决": 4, "回应贴合度（个性化）": 2, "共情": 5}}',
    "full-width digits": PLAIN.replace(" 4,", ' "４",').replace(" 5}", " ５}"),
    "full-width punctuation": PLAIN.replace(":", "：").replace(",", "，").replace("{", "｛").replace("}", "｝"),
    "curly quotes": SCORES.replace('"', "“"),
    "curly quotes in the analysis": PLAIN.replace("ok", "说“还行”，有点空"),
    "single quotes": PLAIN.replace('"', "'"),
    "strings": PLAIN.replace("4", '"4"').replace("5", '" 5 "'),
    "out of five": PLAIN.replace("4", '"4/5"').replace("2", '"2 / 5"').replace(" 5}", ' "5/5"}'),
    "bare out of five": PLAIN.replace("4", "4/5").replace(" 5}", " 5 / 5}"),
    "points": PLAIN.replace("4", '"4分"').replace("2", "2分"),
    "echoed angle brackets": PLAIN.replace("4", "<4>").replace(" 5}", " <5>}"),
    "decimal integers": PLAIN.replace("4", "4.0").replace("2", '"2.0"'),
    "quotes amiss in the analysis": PLAIN.replace("ok", 'he said "fine" to me'),
    "newline in the analysis": PLAIN.replace("ok", "one\ntwo"),
    "last brace missing": PLAIN[:-1],
    "smiley in the analysis": PLAIN.replace("ok", "a :} and a {"),
    "smiley in flat scores": '{"analysis": "a :}", ' + SCORES[1:],
    "each with its reason": PLAIN.replace("4", '{"score": 4, "reason": "He listens."}').replace(
        " 5}", ' {"Reason": "warm", "评分": "５"}}'
    ),
    "extra keys": PLAIN.replace('"empathetic"', '"overall": 3, "Redundancy": 1, "empathetic"'),
    "confidence beside the scores": PLAIN[:-1] + ', "confidence": {"problem_resolution": 1, "empathetic": 1}}',
    "wrapped": f'{{"result": {PLAIN}, "confidence": "high"}}',
    "draft in the thoughts": f"<think>Perhaps {DRAFT}? Too harsh.</think><output>{PLAIN}</output>",
    "broken draft": f"{DRAFT[:-20]}\nLet me start again.\n{PLAIN}",
    "corrected": f"<output>{DRAFT}</output>\nOn reflection:\n<output>{PLAIN}</output>",
    "echoed form": f'<output>{{"analysis": "…", "evaluation": {{"problem_resolution": n}}}}</output>\n{PLAIN}',
    "another object after it": f'{PLAIN}\n{{"done": true}}',
}


@pytest.mark.parametrize("name", READABLE)
def test_scores_are_read_from_an_ugly_reply(name: str) -> None:
    assert parse_scores(READABLE[name], ITEMS) == GOOD


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("4.5", "not_an_integer"),
        ('"4.5"', "not_an_integer"),
        ('"4-5"', "not_an_integer"),
        ('"4 or 5"', "not_an_integer"),
        ('"4/10"', "not_an_integer"),
        ('"N/A"', "not_an_integer"),
        ('""', "not_an_integer"),
        ('"four"', "not_an_integer"),
        ("n", "not_an_integer"),
        ("true", "not_an_integer"),
        ("[4]", "not_an_integer"),
        ("NaN", "not_an_integer"),
        ("1e999", "not_an_integer"),
        ('{"level": 4}', "not_an_integer"),
        ('{"score": 4, "rating": 2}', "not_an_integer"),
        ('{"score": {"score": 4}}', "not_an_integer"),
        ('{"score": 6, "reason": "good"}', "out_of_range"),
        ('{"score": null}', "missing"),
        ("0", "out_of_range"),
        ("6", "out_of_range"),
        ("-1", "out_of_range"),
        ('"10/5"', "out_of_range"),
        ("null", "missing"),
    ],
)
def test_a_value_that_is_no_score_is_unscored_and_the_others_stand(value: str, reason: str) -> None:
    scores = parse_scores(PLAIN.replace("4", value), ITEMS)
    assert scores == GOOD | {"problem_resolution": Unscored(reason)}  # type: ignore[arg-type]


def test_a_left_out_item_is_missing() -> None:
    scores = parse_scores(PLAIN.replace('"problem_resolution": 4, ', ""), ITEMS)
    assert scores == GOOD | {"problem_resolution": Unscored("missing")}


def test_a_null_is_missing_in_a_repaired_reply_too() -> None:
    scores = parse_scores(PLAIN.replace("4", "null").replace("2", "2/5"), ITEMS)
    assert scores == GOOD | {"problem_resolution": Unscored("missing")}


def test_objects_that_each_say_something_else_are_one_verdict() -> None:
    said = [{"problem_resolution": 4}, {"response_appropriateness": 2}, {"empathetic": 5}]
    assert parse_scores("\n".join(map(json.dumps, said)), ITEMS) == GOOD
    again = parse_scores("\n".join(map(json.dumps, [*said, {"empathetic": 1}])), ITEMS)
    assert again == {**dict.fromkeys(GOOD, Unscored("missing")), "empathetic": Score(1)}


class Reading:
    """How many characters JSON was looked for in, all in all."""

    def __init__(self) -> None:
        self.characters = 0

    def raw_decode(self, text: str, start: int) -> Any:
        self.characters += len(text) - start
        return json.JSONDecoder().raw_decode(text, start)


@pytest.mark.parametrize("reply", ["{" * 40_000, '{"a":' * 4_000, '{"empathetic" ' * 5_000, "{" * 9_000 + "}" * 9_000])
def test_a_hostile_reply_is_not_looked_through_from_every_brace(reply: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reading = Reading()
    monkeypatch.setattr("dialogue.judges.parsing.DECODER", reading)
    assert parse_scores(reply, ITEMS) == UNPARSEABLE
    assert reading.characters <= MOST_OBJECTS * len(reply)


@pytest.mark.parametrize("value", ["a" + " " * 3_000 + "b '", " " * 30_000 + "'", "[" * 5_000 + "]" * 5_000])
def test_a_long_run_of_signs_is_read_at_once(value: str) -> None:
    """It took minutes: this test would not end."""
    assert not isinstance(parse_scores(f'{{"empathetic": {value}}}', ITEMS)["empathetic"], Score)


def test_a_left_out_item_is_not_taken_from_an_earlier_draft() -> None:
    scores = parse_scores(DRAFT + PLAIN.replace('"problem_resolution": 4, ', ""), ITEMS)
    assert scores["problem_resolution"] == Unscored("missing")


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "I am sorry, but I cannot rate this conversation.",
        "problem_resolution: 4, response_appropriateness: 2, empathetic: 5",
        "{}",
        "[4, 2, 5]",
        '{"evaluation": [4, 2, 5]}',
        '{"analysis": "The supporter was kind but"',
        PLAIN[:70],
        "{" * 2000,
        '{"a":' * 2000,
        PLAIN.replace(", ", "; "),
        f"{DRAFT} Corrected: {PLAIN[:-10]}",
        f'{DRAFT} Corrected: {{"analysis": "too harsh", "evaluation": [4, 2, 5]}}',
    ],
)
def test_a_reply_without_a_readable_verdict_scores_nothing(reply: str) -> None:
    assert parse_scores(reply, ITEMS) == UNPARSEABLE


def test_another_scale_is_held_to_its_own_bounds() -> None:
    item = JudgedItem("valence", "?", 0, 10, ())
    assert parse_scores('{"valence": "10/10"}', [item]) == {"valence": Score(10)}
    assert parse_scores('{"valence": "4/5"}', [item]) == {"valence": Unscored("not_an_integer")}


def test_a_key_outranks_the_label_of_another_item() -> None:
    items = [JudgedItem("safety", "?", 1, 5, (), ()), JudgedItem("trust", "?", 1, 5, (), ("Safety",))]
    assert parse_scores('{"safety": 3}', items) == {"safety": Score(3), "trust": Unscored("missing")}


@given(
    st.fixed_dictionaries({item.key: st.integers(-2, 8) for item in ITEMS}),
    st.text(),
    st.text(alphabet=st.characters(blacklist_characters="{}｛｝")),
)
@settings(max_examples=100, deadline=None)
def test_valid_json_is_read_exactly(values: dict[str, int], analysis: str, prose: str) -> None:
    written = json.dumps({"analysis": analysis, "evaluation": values}, ensure_ascii=False)
    assert parse_scores(prose + written + prose, ITEMS) == {
        key: Score(value) if 1 <= value <= 5 else Unscored("out_of_range") for key, value in values.items()
    }


@given(st.text(alphabet='{}":,45 \nproblem_resolution<>/', max_size=80))
@settings(max_examples=200, deadline=None)
def test_any_text_gives_an_answer_for_each_item(reply: str) -> None:
    assert list(parse_scores(reply, ITEMS)) == list(GOOD)


STATE = StateFields(cognition="He listens.", emotion="calmer", goal="clearer", emotion_score=62)
WRITTEN = '{"cognition": "He listens.", "emotion": "calmer", "goal": "clearer", "emotion_score": 62}'


@pytest.mark.parametrize(
    "reply",
    [
        f"<output>{WRITTEN}</output>",
        f"```\n{WRITTEN}\n```",
        WRITTEN.replace("62", '"62/100"'),
        WRITTEN.replace("emotion_score", "Emotion score").replace("62}", "62,}"),
        '{"认知": "He listens.", "情绪": "calmer", "目标": "clearer", "情绪分数": "６２"}',
        WRITTEN.replace("62", "10") + WRITTEN,
    ],
)
def test_state_is_read_from_an_ugly_reply(reply: str) -> None:
    assert parse_state(reply) == STATE


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("I feel better now.", "unparseable"),
        (WRITTEN[:-10], "unparseable"),
        (WRITTEN.replace("62", "101"), "out_of_range"),
        (WRITTEN.replace("62", "62.5"), "not_an_integer"),
        (WRITTEN.replace(', "emotion_score": 62', ""), "missing"),
        (WRITTEN.replace('"calmer"', '""'), "missing"),
        (WRITTEN.replace('"calmer"', "null"), "missing"),
    ],
)
def test_state_that_is_not_whole_is_unscored(reply: str, reason: str) -> None:
    assert parse_state(reply) == Unscored(reason)  # type: ignore[arg-type]
