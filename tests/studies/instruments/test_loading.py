import copy
import json
import re
from pathlib import Path

import pytest

from dialogue.languages import CODES
from studies.instruments.definitions import Condition
from studies.instruments.loading import FIXTURES, InstrumentError, instructed_items, instrument_ids, load
from studies.instruments.scoring import score

NOT_ANSWERED = {
    "consent_template",
    "crisis_resources",
    "seeker_behaviours",
    "seeker_profiles_demo",
    "seeker_profiles_en",
    "seeker_profiles_zh",
    "vignettes",
}


def test_instrument_ids_lists_every_file_but_those_that_nobody_answers():
    every_file = {path.stem for path in FIXTURES.glob("*.json")}
    assert set(instrument_ids()) == every_file - NOT_ANSWERED


@pytest.mark.parametrize("instrument", instrument_ids())
def test_load_finds_no_fault_in_any_instrument(instrument):
    assert load(instrument).id == instrument


@pytest.mark.parametrize(
    ("instrument", "types"),
    [
        ("mini_ipip", {"scale": 20}),
        ("ipip_bfm_50", {"scale": 50}),
        ("emoharbor_10", {"scale": 10}),
        ("worst_case_4", {"scale": 4}),
        ("turn_checkpoint", {"scale": 6, "text": 1}),
        ("emotion_checkin", {"single": 2, "text": 1, "scale": 5}),
        ("screening", {"integer": 1, "country": 1, "single": 15, "scale": 3, "text": 1}),
        ("comprehension_check", {"single": 15}),
        ("interview_guide", {"text": 28}),
        ("profile", {"text": 6, "single": 6}),
        ("reply_rating", {"scale": 1}),
        ("reply_flags", {"single": 1, "text": 1}),
        ("role_fidelity", {"scale": 2, "single": 5}),
        ("de_roling", {"scale": 3, "single": 1, "text": 1}),
        ("blinding", {"single": 1, "scale": 1, "text": 1}),
        ("pairwise_support", {"single": 5}),
        ("pairwise_seekers", {"single": 3}),
    ],
)
def test_load_reads_every_item(instrument, types):
    found = [item.type for item in load(instrument).items]
    assert {kind: found.count(kind) for kind in found} == types


def test_load_gives_the_same_object_again():
    assert load("emoharbor_10") is load("emoharbor_10")


@pytest.mark.parametrize(("instrument", "answered"), [("mini_ipip", 3), ("ipip_bfm_50", 8)])
def test_personality_scales_follow_the_missing_rule(instrument, answered):
    assert {scale.minimum_answered for scale in load(instrument).scales} == {answered}


def test_mini_ipip_reverses_the_items_its_scoring_lists():
    questionnaire = load("mini_ipip")
    reversed_numbers = [number for number, item in enumerate(questionnaire.items, 1) if item.reverse]
    assert reversed_numbers == questionnaire.raw["scoring"]["reversed_items"]


def test_emoharbor_has_five_facets_and_an_overall_scale_of_all_items():
    questionnaire = load("emoharbor_10")
    assert [(scale.key, len(scale.items)) for scale in questionnaire.scales] == [
        ("personalization_adaptation", 2),
        ("conversation_quality", 3),
        ("believability", 2),
        ("affective_understanding", 1),
        ("goal_achievement", 2),
        ("overall", 10),
    ]
    assert questionnaire.scales[-1].items == tuple(item.key for item in questionnaire.items)
    assert questionnaire.scales[-1].minimum_answered == 10


def test_emoharbor_item_holds_question_definition_and_anchors():
    item = load("emoharbor_10").item("redundancy")
    assert item.text["en"] == "Were the replies free of repetition and empty phrases?"
    assert item.label == {"en": "Freedom from repetition (Redundancy)", "zh": "简洁不重复（冗余度）"}
    assert (item.minimum, item.maximum, item.reverse) == (1, 5, False)
    assert [(option.value, option.text["en"]) for option in item.options][::4] == [
        (1, "Highly repetitive; told me nothing."),
        (5, "Every sentence counts; no repetition."),
    ]


def test_emotion_checkin_resolves_its_list_of_emotions():
    item = load("emotion_checkin").item("primary_emotion")
    assert [option.group for option in item.options] == ["neg"] * 13 + ["pos"] * 4 + ["", ""]
    assert item.options[-1].value == "prefer_not"


def test_emotion_checkin_knows_its_conditions_and_phases():
    questionnaire = load("emotion_checkin")
    assert questionnaire.item("primary_emotion_other").show_if == Condition("primary_emotion", "eq", "other")
    assert questionnaire.item("intensity_of_pre_emotion").hide_if == Condition(
        "pre.primary_emotion", "in", ["prefer_not"]
    )
    assert [item.key for item in questionnaire.items_for(phase="pre")] == [
        "primary_emotion",
        "primary_emotion_other",
        "intensity",
        "valence",
        "arousal",
        "want_support",
    ]


def test_screening_keeps_tracks_and_least_lengths():
    questionnaire = load("screening")
    text = questionnaire.item("issue_text")
    assert (text.minimum_length, text.maximum_length) == ({"en": 80, "zh": 30}, 800)
    assert [item.key for item in questionnaire.items if item.track == "expert"] == [
        "pro_qualification",
        "pro_hours",
        "pro_supervision",
        "pro_roleplay",
    ]


def test_quiz_gives_each_track_its_own_questions():
    questionnaire = load("comprehension_check")
    assert len(questionnaire.items_for(track="participant")) == 11
    assert len(questionnaire.items_for(track="expert")) == 13


@pytest.mark.parametrize("instrument", ["emoharbor_10", "worst_case_4", "turn_checkpoint", "reply_rating"])
def test_every_item_that_is_rated_has_a_short_name(instrument):
    assert [item.key for item in load(instrument).items if item.type == "scale" and not item.label] == []


@pytest.mark.parametrize("instrument", ["pairwise_support", "pairwise_seekers"])
def test_every_question_on_a_pair_has_a_short_name(instrument):
    assert [item.key for item in load(instrument).items if not item.label] == []


def test_checkpoint_takes_its_scope_as_instruction():
    assert load("turn_checkpoint").instruction == {
        "en": "Think only of the last five turns.",
        "zh": "请只考虑最近五轮。",
    }


# The wording for readers who are not the seeker


def file_of(instrument):
    return json.loads((FIXTURES / f"{instrument}.json").read_text("utf-8"))


@pytest.mark.parametrize("instrument", instrument_ids())
def test_every_wording_has_the_same_keys_and_values_in_every_language(instrument):
    first, third = load(instrument), load(instrument).in_third_person

    def told(questionnaire):
        return [
            (item.key, item.type, item.minimum, item.maximum, item.required, [option.value for option in item.options])
            for item in questionnaire.items
        ]

    assert (third.id, third.version, third.scales) == (first.id, first.version, first.scales)
    assert told(third) == told(first)
    for item in third.items:
        texts = [item.text, *([item.definition] if item.definition else []), *(one.text for one in item.options)]
        assert all(text[language].strip() for text in texts for language in CODES), item.key


@pytest.mark.parametrize("instrument", [id for id in instrument_ids() if load(id).kind == "rating_scale"])
def test_nobody_reads_you_or_i_in_the_third_person_of_a_rating_scale(instrument):
    for item in load(instrument).in_third_person.rated_items():
        texts = [item.text, *([item.definition] if item.definition else []), *(one.text for one in item.options)]
        assert not any(re.search(r"\b(I|me|my|you|your)\b", text["en"]) for text in texts), item.key
        assert not any(re.search("[您你我]", text["zh"]) for text in texts), item.key


def test_third_person_is_what_the_file_says_and_the_rest_is_shared():
    first, third = load("turn_checkpoint"), load("turn_checkpoint").in_third_person
    by_key = {item["id"]: item for item in file_of("turn_checkpoint")["items"]}
    assert third.item("willingness").text == by_key["willingness"]["third_person"]["question"]
    assert third.item("willingness").option(1).text == {"en": "Wants to stop now", "zh": "想马上结束"}
    assert third.item("empathetic").options == first.item("empathetic").options
    assert third.item("inner_thought") is first.item("inner_thought")
    assert third.instruction == first.instruction


def test_instruction_may_be_worded_for_others_too(tmp_path):
    words = {"en": "How was it for the seeker?", "zh": "对求助者来说怎么样？"}
    data = file_of("turn_checkpoint") | {"third_person": {"instruction": words}}
    (tmp_path / "turn_checkpoint.json").write_text(json.dumps(data), "utf-8")
    first = load("turn_checkpoint", tmp_path)
    assert (first.instruction, first.in_third_person.instruction) == (data["trigger"]["scope"], words)


def test_interview_asks_participants_their_own_version_and_insists_on_nothing():
    guide = load("interview_guide")
    assert [item.key for item in guide.items_for(track="participant")] == ["pq1", "pq2", "pq3", "pq4", "pq5"]
    assert [item.key[:2] for item in guide.items_for(track="expert")][::4] == ["op", "cs", "rd", "cb", "md", "rl"]
    assert not any(item.required for item in guide.items)


def test_no_question_of_the_interview_tells_where_it_comes_from():
    for item in load("interview_guide").items:
        assert not re.search(r"[(（…]|proposed|建议补", "".join(item.text.values())), item.key


def test_profile_gives_every_item_a_line_and_lets_every_choice_be_declined():
    for item in load("profile").items:
        assert item.label is not None
        assert item.type == "text" or item.options[-1].value == "prefer_not"


def test_role_fidelity_asks_for_every_behaviour_a_card_can_have():
    behaviours = json.loads((FIXTURES / "seeker_behaviours.json").read_text("utf-8"))["components"]
    asked = [item.key for item in load("role_fidelity").items if item.type == "single"]
    assert asked == [f"shown_{behaviour['key']}" for behaviour in behaviours]


@pytest.mark.parametrize("item", ["valence", "want_support"])
def test_de_roling_asks_as_the_emotion_check_does(item):
    ours, theirs = load("de_roling").item(item), load("emotion_checkin").item(item)
    assert (ours.text, ours.options, ours.minimum, ours.maximum) == (
        theirs.text,
        theirs.options,
        theirs.minimum,
        theirs.maximum,
    )


def test_reasons_that_need_a_note_are_among_the_reasons():
    questionnaire = load("reply_flags")
    assert all(questionnaire.item("reason").option(reason) for reason in questionnaire.raw["needs_note"])


def test_attribution_names_the_sources():
    assert load("emoharbor_10").raw["attribution"].startswith("Ye, J., Xiang, L., Zhang, Y., & Zong, C. (2026).")
    assert load("reply_rating").raw["attribution"] == "Project-authored"


def broken(folder: Path, change, instrument: str = "emoharbor_10") -> tuple[str, ...]:
    data = copy.deepcopy(json.loads((FIXTURES / f"{instrument}.json").read_text("utf-8")))
    change(data)
    (folder / f"{instrument}.json").write_text(json.dumps(data), "utf-8")
    with pytest.raises(InstrumentError) as caught:
        load(instrument, folder)
    return tuple(str(caught.value).splitlines())


def set_at(*path_and_value):
    *path, last, value = path_and_value

    def change(data):
        for step in path:
            data = data[step]
        data[last] = value

    return change


@pytest.mark.parametrize(
    ("instrument", "change", "fault"),
    [
        (
            "emoharbor_10",
            set_at("schema", "instrument/2"),
            'schema: "instrument/2" is not one of instrument/1; did you mean "instrument/1"?',
        ),
        ("emoharbor_10", set_at("id", "other"), 'id: must be the name of the file, "emoharbor_10"'),
        ("emoharbor_10", set_at("version", ""), "version: is missing"),
        ("emoharbor_10", set_at("dimensions", 0, "question", "zh", " "), "dimensions[1].question.zh: is missing"),
        (
            "emoharbor_10",
            set_at("dimensions", 2, "anchors", 4, "en", ""),
            "dimensions[3].anchors[5].en: is missing",
        ),
        (
            "emoharbor_10",
            set_at("dimensions", 1, "key", "problem_resolution"),
            'dimensions[2].id: "problem_resolution" is already used at dimensions[1]',
        ),
        (
            "emoharbor_10",
            set_at("dimensions", 0, "type", "slider"),
            'dimensions[1].type: "slider" is not one of scale, single, text, integer, country, checkbox',
        ),
        ("emoharbor_10", set_at("dimensions", 0, "min", 5), "dimensions[1].min: 5 is not below max, 5"),
        (
            "emoharbor_10",
            set_at("dimensions", 0, "anchors", 4, "value", 6),
            "dimensions[1].anchors: 6 is outside 1 to 5",
        ),
        (
            "blinding",
            set_at("items", 0, "options_from", "arm"),
            'items[1].options_from: "arm" is not one of arms; did you mean "arms"?',
        ),
        ("emoharbor_10", set_at("dimensions", 3, "just a word"), "dimensions[4]: must be an object"),
        (
            "mini_ipip",
            set_at("scoring", "missing", "never"),
            "scoring.missing: does not say 'at least … of' how many items",
        ),
        (
            "screening",
            set_at("questions", 2, "options", []),
            "questions[3].options: is empty: a single choice needs options",
        ),
        (
            "screening",
            set_at("questions", 2, "options", 1, "key", "en"),
            'questions[3].options[2].key: "en" is already used at questions[3].options[1]',
        ),
        (
            "screening",
            set_at("questions", 7, "max_chars", 50),
            "questions[8].min_chars.en: 80 is above the limit of 50",
        ),
        (
            "comprehension_check",
            set_at("questions", 0, "answer", "z"),
            'questions[1].answer: "z" is not one of the options',
        ),
        (
            "emotion_checkin",
            set_at("items", 1, "show_if", "q", "mood"),
            'items[2].show_if.q: there is no item "mood"',
        ),
        (
            "emotion_checkin",
            set_at("items", 1, "show_if", "op", "gt"),
            'items[2].show_if.op: "gt" is not one of eq, in',
        ),
        (
            "pairwise_support",
            set_at("answers", 2, "key", "other"),
            "comparisons[1].options: must be answered by first, tie, second",
        ),
        ("pairwise_support", set_at("reason", "zh", ""), "reason.zh: is missing"),
        ("mini_ipip", set_at("response_scale", "options", 1, "zh", ""), "response_scale.options[2].zh: is missing"),
        ("mini_ipip", set_at("itmes", []), 'itmes: unknown key; did you mean "items"?'),
        (
            "screening",
            set_at("questions", 2, "optoins", []),
            'questions[3].optoins: unknown key; did you mean "options"?',
        ),
        ("comprehension_check", set_at("pass_rule", "of", 0), "pass_rule.of: must be at least 1"),
        ("interview_guide", set_at("sections", 0, "minutes", "5"), "sections[1].minutes: must be a whole number"),
        (
            "emoharbor_10",
            set_at("dimensions", 1, "third_person", "question", "zh", ""),
            "dimensions[2].third_person.question.zh: is missing",
        ),
        (
            "emoharbor_10",
            set_at("dimensions", 1, "third_person", "anchors", 0, "value", 2),
            "dimensions[2].third_person.anchors: must have the values of the item's own: 1, 2, 3, 4, 5",
        ),
        (
            "emoharbor_10",
            set_at("dimensions", 1, "third_person", "label", {}),
            "dimensions[2].third_person.label: unknown key",
        ),
        (
            "emoharbor_10",
            set_at("third_person", {"instruction": {"en": "x"}}),
            "third_person.instruction.zh: is missing",
        ),
    ],
)
def test_load_names_file_and_key_of_a_fault(tmp_path, instrument, change, fault):
    assert f"{instrument}.json: {fault}" in broken(tmp_path, change, instrument)


# Items that tell people what to answer


def with_item(folder: Path, instrument: str = "de_roling", body: str = "items", **item):
    """The instrument with one more item, which tells people to answer 4."""
    data = json.loads((FIXTURES / f"{instrument}.json").read_text("utf-8"))
    words = {"en": "Choose 4 here.", "zh": "此题请选择 4。"}
    usual = {"id": "reading", "type": "scale", "min": 1, "max": 5, "instructed": 4, **words, "question": words}
    data[body].append(usual | item)
    (folder / f"{instrument}.json").write_text(json.dumps(data), "utf-8")
    return load(instrument, folder)


CHOICE = {
    "type": "single",
    "options": [{"key": key, "en": key, "zh": key} for key in ("green", "blue", "prefer_not")],
}


@pytest.mark.parametrize("item", [{}, {"instructed": 1}, {**CHOICE, "instructed": "blue"}])
def test_an_item_may_tell_people_one_of_its_own_values(tmp_path, item):
    asked = with_item(tmp_path, **item)
    assert asked.item("reading").instructed == item.get("instructed", 4)
    assert [each.key for each in asked.items if each.instructed is not None] == ["reading"]


@pytest.mark.parametrize(
    ("item", "wrong"),
    [
        ({"instructed": 6}, "6 is not one of the item's own values"),
        ({"instructed": "4"}, "'4' is not one of the item's own values"),
        ({"instructed": 4.0}, "4.0 is not one of the item's own values"),
        ({"instructed": True}, "True is not one of the item's own values"),
        ({"instructed": [4]}, "[4] is not one of the item's own values"),
        ({**CHOICE, "instructed": "red"}, "'red' is not one of the item's own values"),
        ({**CHOICE, "instructed": "prefer_not"}, "'prefer_not' is not one of the item's own values"),
        ({"type": "text", "instructed": "green"}, "is for items of type scale or single, not text"),
        ({"type": "integer"}, "is for items of type scale or single, not integer"),
        ({"type": "checkbox", "instructed": 1}, "is for items of type scale or single, not checkbox"),
    ],
)
def test_an_instruction_that_cannot_be_followed_is_refused_by_file_and_item(tmp_path, item, wrong):
    with pytest.raises(InstrumentError) as caught:
        with_item(tmp_path, **item)
    [fault] = map(str, caught.value.faults)
    assert re.fullmatch(rf"items\[\d\]\.instructed: {re.escape(wrong)}", fault)


@pytest.mark.parametrize(
    ("instrument", "body", "scale"),
    [("mini_ipip", "items", {"factor": "E", "key": "+"}), ("emoharbor_10", "dimensions", {"facet": "believability"})],
)
def test_no_item_of_a_scale_can_tell_people_what_to_answer(tmp_path, instrument, body, scale):
    with pytest.raises(InstrumentError) as caught:
        with_item(tmp_path, instrument, body, **scale)
    [key] = set(scale.values()) - {"+"}
    [fault] = map(str, caught.value.faults)
    assert f'.instructed: the item counts in the scale "{key}"' in fault


@pytest.mark.parametrize(
    ("instrument", "body"),
    [
        ("profile", "items"),
        ("screening", "questions"),
        ("comprehension_check", "questions"),
        ("blinding", "items"),
        ("reply_rating", "items"),
        ("reply_flags", "items"),
        ("pairwise_support", "comparisons"),
    ],
)
def test_instruments_that_are_not_asked_item_by_item_have_no_instructed_ones(tmp_path, instrument, body):
    with pytest.raises(InstrumentError) as caught:
        with_item(tmp_path, instrument, body)
    wrong = "no item of this instrument can tell people what to answer"
    assert [fault for fault in map(str, caught.value.faults) if fault.endswith(f".instructed: {wrong}")]


def test_an_instructed_item_of_a_rating_scale_is_no_score(tmp_path):
    asked = with_item(tmp_path, "worst_case_4", "dimensions")
    rated = tuple(item.key for item in load("worst_case_4").items)
    assert tuple(item.key for item in asked.items) == (*rated, "reading")
    assert tuple(item.key for item in asked.rated_items()) == rated
    [overall] = asked.scales
    assert (overall.items, overall.minimum_answered) == (rated, 4)
    assert [(one.score, one.items_answered) for one in score(asked, dict.fromkeys(rated, 2) | {"reading": 5})] == [
        (2, 4)
    ]


def test_no_instrument_of_ours_tells_people_what_to_answer():
    assert instructed_items() == {}


def test_the_instrument_in_the_guide_for_developers_can_be_used_as_it_stands(tmp_path):
    guide = (FIXTURES.parents[1] / "docs" / "developers.md").read_text("utf-8")
    [example] = re.findall(r"```json\n(.*?)```", guide, re.DOTALL)
    (tmp_path / "work_days.json").write_text(example, "utf-8")
    told = [(item.key, item.instructed) for item in load("work_days", tmp_path).items]
    assert told == [("tired", None), ("reading", 4), ("breaks", None)]


def test_load_reports_all_faults_at_once(tmp_path):
    def change(data):
        data["version"] = ""
        data["title"].pop("zh")
        data["dimensions"][0]["anchors"][0].pop("en")

    assert broken(tmp_path, change) == (
        "emoharbor_10.json: title.zh: is missing",
        "emoharbor_10.json: version: is missing",
        "emoharbor_10.json: dimensions[1].anchors[1].en: is missing",
    )


@pytest.mark.parametrize("content", ["{", "[]"])
def test_load_refuses_what_is_no_instrument(tmp_path, content):
    (tmp_path / "broken.json").write_text(content)
    with pytest.raises(InstrumentError, match=r"^broken\.json: "):
        load("broken", tmp_path)


def test_load_refuses_an_unknown_instrument(tmp_path):
    with pytest.raises(InstrumentError, match=r"^absent\.json: "):
        load("absent", tmp_path)


def test_load_refuses_a_file_that_nobody_answers():
    with pytest.raises(
        InstrumentError, match=r"crisis_resources\.json: items: there is nothing here that a person can answer"
    ):
        load("crisis_resources")
