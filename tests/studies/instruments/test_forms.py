import json

import pytest
from django import forms
from django.utils import translation

from dialogue.safety.resources import countries as help_countries
from studies.instruments.countries import COUNTRIES, in_order
from studies.instruments.definitions import Item, Option, Questionnaire
from studies.instruments.forms import AnswerValue, InstrumentForm, Toggle, form_for
from studies.instruments.loading import FIXTURES, load
from studies.participation.language import CODES

RATINGS = {item.key: "4" for item in load("emoharbor_10").items}
CHECK_BEFORE = {"primary_emotion": "sadness", "intensity": "4", "valence": "2", "arousal": "6", "want_support": "no"}
CHECK_AFTER = CHECK_BEFORE | {"perceived_change": "4", "intensity_of_pre_emotion": "3"}
APPLICATION = {
    "age": "30",
    "country": "IE",
    "language": "en",
    "fluency": "5",
    "llm_experience": "weekly",
    "issue_category": "work",
    "issue_text": "My manager keeps moving my shifts, I lie awake over it, and I would like to be heard first.",
    "issue_bearable": "4",
    "in_crisis": "no",
    "suicidal_2w": "no",
    "attempt_12m": "no",
    "acute_condition": "no",
    "treatment": "no",
    "support_person": "yes",
    "availability": "yes",
    "previous": "no",
}
VALUES = {"duration_total": "6 hours", "days": 14}


def emotion_form(data=None, *, phase="pre", earlier=None, language="en", order_seed=None) -> InstrumentForm:
    questionnaire = load("emotion_checkin")
    return form_for(questionnaire, language=language, phase=phase, earlier=earlier, order_seed=order_seed, data=data)


def screening_form(data=None, *, track="participant", language="en", accept_short=False) -> InstrumentForm:
    return form_for(
        load("screening"), language=language, track=track, values=VALUES, accept_short=accept_short, data=data
    )


def only(item: Item, data=None) -> InstrumentForm:
    """A form of one item, answered as `data` says; for what no instrument file has yet."""
    return form_for(Questionnaire("one", "questionnaire", "1", {"en": "One"}, (item,)), language="en", data=data)


def errors_of(form: InstrumentForm) -> dict[str, list[str]]:
    return {key: list(map(str, errors)) for key, errors in form.errors.items()}


def answer_of(form: InstrumentForm, key: str) -> AnswerValue:
    assert errors_of(form) == {}
    return next(answer for answer in form.cleaned_answers() if answer.item == key)


def test_form_has_one_field_an_item_in_the_order_of_the_file():
    form = form_for(load("emoharbor_10"), language="zh")
    assert list(form.fields) == [item.key for item in load("emoharbor_10").items] + ["comment"]
    assert form.fields["mood_improvement"].label == "这次对话有没有让您的心情变好？"
    assert form.fields["mood_improvement"].help_text == "对话对您情绪状态的积极影响。"


def test_form_preselects_nothing():
    form = form_for(load("emoharbor_10"), language="en")
    assert not any(choice.data["selected"] for row in form.rows[:-1] for choice in row.field)


def test_scale_answers_are_numbers_and_an_unwritten_remark_is_missing():
    form = form_for(load("emoharbor_10"), language="en", data=RATINGS)
    assert form.is_valid()
    assert form.cleaned_answers() == [AnswerValue(key, value=4.0) for key in RATINGS] + [
        AnswerValue("comment", missing_reason="not_answered")
    ]


@pytest.mark.parametrize("answer", ["", "0", "6", "4.5", "four"])
def test_scale_refuses_what_is_no_step(answer):
    form = form_for(load("emoharbor_10"), language="en", data=RATINGS | {"safety": answer})
    assert errors_of(form) == {"safety": ["Please choose one of the answers."]}


def test_scale_offers_every_step_though_only_some_have_words():
    field = emotion_form().fields["valence"]
    assert [value for value, _ in field.choices] == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert [words for _, words in field.choices if words] == ["Extremely unpleasant", "Neither", "Extremely pleasant"]


def test_empty_form_says_what_to_do_for_every_kind_of_item():
    messages = errors_of(screening_form({}))
    assert messages["age"] == ["Please enter a whole number from 0 to 120."]
    assert messages["country"] == ["Please choose a country or region from the list."]
    assert messages["issue_text"] == ["Please write an answer."]
    assert messages["in_crisis"] == ["Please choose one of the answers."]
    assert set(APPLICATION) == set(messages)  # all of them but the optional llm_support_use


@pytest.mark.parametrize("age", ["-1", "121", "thirty", "30.5"])
def test_integer_says_its_range(age):
    assert errors_of(screening_form(APPLICATION | {"age": age})) == {
        "age": ["Please enter a whole number from 0 to 120."]
    }


@pytest.mark.parametrize(
    ("key", "posted", "expected"),
    [
        ("age", {}, AnswerValue("age", value=30.0)),
        ("country", {}, AnswerValue("country", text="IE")),
        ("treatment", {}, AnswerValue("treatment", text="no")),
        ("treatment", {"treatment": "prefer_not"}, AnswerValue("treatment", missing_reason="prefer_not")),
        ("llm_support_use", {}, AnswerValue("llm_support_use", missing_reason="not_answered")),
        ("fluency", {}, AnswerValue("fluency", value=5.0)),
    ],
)
def test_answers_are_kept_by_kind(key, posted, expected):
    assert answer_of(screening_form(APPLICATION | posted), key) == expected


def test_given_answers_keep_declined_ones_for_the_screening_rules():
    form = screening_form(APPLICATION | {"in_crisis": "prefer_not"})
    assert errors_of(form) == {}
    given = form.given_answers()
    assert (given["in_crisis"], given["age"], "llm_support_use" in given) == ("prefer_not", 30, False)


@pytest.mark.parametrize(
    ("language", "written", "error"),
    [
        ("en", "x" * 79, "Please write a little more: at least 80 characters. There are 79 so far."),
        ("en", "x" * 80, None),
        ("zh", "字" * 29, "Please write a little more: at least 30 characters. There are 29 so far."),
        ("zh", "字" * 30, None),
        ("en", "x" * 801, "Please shorten this to 800 characters."),
    ],
)
def test_text_is_held_to_its_lengths(language, written, error):
    form = screening_form(APPLICATION | {"issue_text": written}, language=language)
    assert errors_of(form) == ({"issue_text": [error]} if error else {})


def test_short_text_is_left_to_the_screening_rules_when_told_so():
    assert answer_of(screening_form(APPLICATION | {"issue_text": "Work."}, accept_short=True), "issue_text") == (
        AnswerValue("issue_text", text="Work.")
    )


def test_text_counts_a_line_end_as_the_browser_does():
    form = screening_form(APPLICATION | {"issue_text": "x" * 798 + "\r\ny"})
    assert answer_of(form, "issue_text").text == "x" * 798 + "\ny"


def test_track_decides_what_is_asked():
    assert "issue_text" not in screening_form(track="expert").fields
    assert "pro_hours" not in screening_form(track="participant").fields


@pytest.mark.parametrize(
    ("language", "hint", "least"), [("en", "At least 80 characters.", 80), ("zh", "至少写 30 个字。", 30)]
)
def test_least_length_is_said_at_the_text(language, hint, least):
    with translation.override(CODES[language]):
        field = screening_form(language=language).fields["issue_text"]
    assert (field.help_text, field.least) == (hint, least)


def test_placeholders_are_filled():
    label = "Can you give about 6 hours within 14 days, in a private place, on a computer or phone?"
    assert screening_form().fields["availability"].label == label


def test_missing_placeholder_value_is_an_error():
    with pytest.raises(KeyError, match="duration_total"):
        form_for(load("screening"), language="en")


@pytest.mark.parametrize(("code", "names"), [one for one in help_countries() if one[0] not in ("EU", "ZZ")])
def test_countries_have_all_that_the_help_list_knows_by_the_same_names(code, names):
    assert {country.value: country.text for country in COUNTRIES}[code] == names


def test_countries_have_all_members_of_the_union_and_none_twice():
    codes = [country.value for country in COUNTRIES]
    assert set(json.loads((FIXTURES / "crisis_resources.json").read_text("utf-8"))["eu_members"]) <= set(codes)
    assert len(codes) == len(set(codes))


def test_country_is_named_in_the_language_of_the_form():
    choices = dict(screening_form(language="zh").fields["country"].choices)
    assert (choices["IE"], choices["CN"], choices["ZZ"]) == ("爱尔兰", "中国大陆", "其他国家或地区")


@pytest.mark.parametrize(
    ("language", "country", "first", "last"),
    [
        ("en", "", ["AR", "AU", "AT"], ["GB", "US", "VN", "ZZ"]),
        ("en", "IE", ["IE", "AR", "AU"], ["GB", "US", "VN", "ZZ"]),
        # 阿根廷、阿联酋、埃及、埃塞俄比亚、爱尔兰 … 智利、中国澳门、中国大陆、中国台湾、中国香港
        ("zh", "", ["AR", "AE", "EG", "ET", "IE"], ["CL", "MO", "CN", "TW", "HK", "ZZ"]),
        ("zh", "CN", ["CN", "AR", "AE"], ["CL", "MO", "TW", "HK", "ZZ"]),
    ],
)
def test_countries_stand_in_the_order_of_the_language_and_the_study_s_own_first(language, country, first, last):
    form = form_for(load("screening"), language=language, values=VALUES, country=country)
    codes = [code for code, _name in form.fields["country"].choices][1:]
    assert codes[: len(first)] == first
    assert codes[-len(last) :] == last
    assert sorted(codes) == sorted(one.value for one in COUNTRIES)


def test_name_of_a_country_is_placed_by_how_it_is_read_there():
    codes = [one.value for one in in_order(COUNTRIES, "zh")]
    assert (
        codes.index("BE") < codes.index("PE") < codes.index("IS") < codes.index("MX")
    )  # 比利时、秘鲁 (bì lǔ)、冰岛、墨西哥


def test_hidden_item_is_neither_required_nor_kept():
    declined = {key: answer for key, answer in CHECK_BEFORE.items() if key != "intensity"} | {
        "primary_emotion": "prefer_not"
    }
    form = emotion_form(declined)
    assert errors_of(form) == {}
    assert [answer.item for answer in form.cleaned_answers()] == [
        "primary_emotion",
        "valence",
        "arousal",
        "want_support",
    ]


def test_answer_to_a_hidden_item_is_dropped():
    form = emotion_form(CHECK_BEFORE | {"primary_emotion_other": "left over from another choice", "intensity": "9"})
    assert errors_of(form) == {"intensity": ["Please choose one of the answers."]}
    assert "primary_emotion_other" not in form.cleaned_data
    assert errors_of(emotion_form(CHECK_BEFORE | {"primary_emotion": "prefer_not", "intensity": "9"})) == {}


def test_item_shown_by_a_condition_is_required_as_its_file_says():
    unanswered = {key: answer for key, answer in CHECK_BEFORE.items() if key != "intensity"}
    assert errors_of(emotion_form(unanswered)) == {"intensity": ["Please choose one of the answers."]}


def test_item_shown_by_a_condition_keeps_its_answer():
    form = emotion_form(CHECK_BEFORE | {"primary_emotion": "other", "primary_emotion_other": "wistful"})
    assert answer_of(form, "primary_emotion_other") == AnswerValue("primary_emotion_other", text="wistful")


@pytest.mark.parametrize(
    ("data", "hidden"),
    [
        (None, ["primary_emotion_other"]),
        ({"primary_emotion": "other"}, []),
        ({"primary_emotion": "prefer_not"}, ["primary_emotion_other", "intensity"]),
    ],
)
def test_rows_know_what_is_hidden(data, hidden):
    assert [row.field.name for row in emotion_form(data).rows if row.hidden] == hidden


def test_rows_know_what_is_hidden_by_a_draft():
    form = emotion_form(earlier={"primary_emotion": "prefer_not"})
    assert [row.field.name for row in form.rows if row.hidden] == ["primary_emotion_other", "intensity"]


def test_rows_tell_the_page_what_depends_on_what():
    toggles = {row.field.name: row.toggles for row in emotion_form().rows if row.toggles}
    assert toggles == {
        "primary_emotion_other": [Toggle("show", "primary_emotion", "other")],
        "intensity": [Toggle("hide", "primary_emotion", "prefer_not")],
    }


@pytest.mark.parametrize(
    ("language", "earlier", "label"),
    [
        (
            "en",
            {"pre.primary_emotion": "sadness"},
            "Before the chat you chose “Sad”. How strong is that same feeling now?",
        ),
        ("zh", {"pre.primary_emotion": "sadness"}, "对话前您选择了“悲伤”。同样的这种感受，现在有多强烈？"),
        (
            "en",
            {"pre.primary_emotion": "other", "pre.primary_emotion_other": "wistful"},
            "Before the chat you chose “wistful”. How strong is that same feeling now?",
        ),
        (
            "en",
            {"pre.primary_emotion": "other"},
            "Before the chat you chose “Something else”. How strong is that same feeling now?",
        ),
    ],
)
def test_feeling_from_before_the_chat_is_named_as_it_was_chosen(language, earlier, label):
    form = emotion_form(phase="post", earlier=earlier, language=language)
    assert form.fields["intensity_of_pre_emotion"].label == label


@pytest.mark.parametrize("earlier", [{"pre.primary_emotion": "prefer_not"}, {"pre.primary_emotion": ""}, {}])
def test_feeling_that_was_not_named_is_not_asked_about_again(earlier):
    form = emotion_form(CHECK_AFTER, phase="post", earlier=earlier)
    assert "intensity_of_pre_emotion" not in form.fields
    assert errors_of(form) == {}


def test_feeling_that_was_named_is_asked_about_again():
    form = emotion_form(CHECK_AFTER, phase="post", earlier={"pre.primary_emotion": "sadness", "pre.valence": 2.0})
    assert answer_of(form, "intensity_of_pre_emotion").value == 3.0


def test_answers_from_before_the_chat_are_no_draft_of_those_after():
    form = emotion_form(phase="post", earlier={"pre.primary_emotion": "sadness", "pre.valence": 2.0})
    assert not any(choice.data["selected"] for choice in form["valence"])


def test_draft_comes_back_as_it_was():
    form = form_for(load("emoharbor_10"), language="en", earlier={"safety": 4.0, "comment": "The second half."})
    assert [choice.data["value"] for choice in form["safety"] if choice.data["selected"]] == [4]
    assert form["comment"].value() == "The second half."


def test_emotions_are_shuffled_within_their_groups_alone():
    in_file = [option.value for option in load("emotion_checkin").item("primary_emotion").options]
    shown = [value for value, _ in emotion_form(order_seed=7).fields["primary_emotion"].choices]
    assert shown != in_file
    assert sorted(shown[:13]) == sorted(in_file[:13])
    assert sorted(shown[13:17]) == sorted(in_file[13:17])
    assert shown[17:] == ["other", "prefer_not"]


def test_emotions_keep_their_order_for_one_seed():
    def orders(seed):
        return [value for value, _ in emotion_form(order_seed=seed).fields["primary_emotion"].choices]

    assert orders(7) == orders(7)
    assert orders(7) != orders(8)


def test_ratings_keep_the_order_of_their_steps_whatever_the_seed():
    form = form_for(load("emoharbor_10"), language="en", order_seed=7)
    assert [value for value, _ in form.fields["safety"].choices] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("instrument", "key", "layout"),
    [
        ("emoharbor_10", "redundancy", "stacked"),
        ("mini_ipip", "mini_01", "row"),
        ("emotion_checkin", "valence", "steps"),
        ("emotion_checkin", "primary_emotion", "words"),
        ("turn_checkpoint", "willingness", "row"),
    ],
)
def test_layout_fits_the_words(instrument, key, layout):
    rows = form_for(load(instrument), language="en").rows
    assert next(row.layout for row in rows if row.field.name == key) == layout


def test_all_ten_dimensions_look_alike():
    assert {row.layout for row in form_for(load("emoharbor_10"), language="en").rows[:-1]} == {"stacked"}


BOX = Item("adult", "checkbox", {"en": "I am at least 18 years old."})


def test_checkbox_is_kept_as_one():
    assert answer_of(only(BOX, {"adult": "on"}), "adult") == AnswerValue("adult", value=1.0)


def test_checkbox_that_is_required_must_be_ticked():
    assert errors_of(only(BOX, {})) == {
        "adult": ["Please tick this box to continue. If you do not agree, you can leave the study."]
    }


def test_checkbox_that_is_optional_is_kept_as_zero():
    optional = Item("share", "checkbox", {"en": "My data may be shared."}, required=False)
    assert answer_of(only(optional, {}), "share") == AnswerValue("share", value=0.0)


def test_error_that_a_view_adds_stays_on_the_page():
    form = screening_form(APPLICATION)
    assert form.is_valid()
    form.add_error("issue_text", "Please write a little more.")
    assert [row.field.name for row in form.rows_with_errors] == ["issue_text"]


def test_single_refuses_an_answer_that_was_not_offered():
    item = Item("colour", "single", {"en": "Which?"}, (Option("red", {"en": "Red"}), Option("blue", {"en": "Blue"})))
    assert errors_of(only(item, {"colour": "green"})) == {"colour": ["Please choose one of the answers."]}


def reasoned(data=None, **earlier) -> InstrumentForm:
    return form_for(load("emoharbor_10"), language="en", reasons=True, earlier=earlier, data=data)


def test_score_can_be_given_a_reason():
    form = reasoned(RATINGS | {"why-safety": " It stayed careful. ", "comment": "Fine."})
    assert answer_of(form, "safety") == AnswerValue("safety", value=4.0, reason="It stayed careful.")
    assert answer_of(form, "empathetic") == AnswerValue("empathetic", value=4.0)
    assert answer_of(form, "comment") == AnswerValue("comment", text="Fine.")


def test_reason_is_no_answer_of_its_own():
    form = reasoned(RATINGS | {"why-safety": "It stayed careful."})
    assert form.is_valid()
    assert set(form.given_answers()) == set(RATINGS)
    assert [answer.item for answer in form.cleaned_answers()] == [*RATINGS, "comment"]


def test_reason_has_a_limit_and_its_item_is_named_in_the_summary():
    form = reasoned(RATINGS | {"why-safety": "x" * 1000, "why-empathetic": "x" * 1001})
    assert errors_of(form) == {"why-empathetic": ["Please shorten this to 1000 characters."]}
    assert [row.field.name for row in form.rows_with_errors] == ["empathetic"]


def test_reason_of_a_draft_stands_in_its_field():
    form = reasoned(**{"why-safety": "It stayed careful."})
    reasons = {row.field.name: row.reason.value() for row in form.rows if row.reason}
    assert reasons["safety"] == "It stayed careful."
    assert len(reasons) == 10  # but none of the closing remark


def test_reasons_are_asked_for_where_the_page_wants_them_only():
    form = form_for(load("emoharbor_10"), language="en", data=RATINGS | {"why-safety": "Careful."})
    assert answer_of(form, "safety").reason == ""
    assert [row for row in form.rows if row.reason] == []


@pytest.mark.parametrize("instrument", ["mini_ipip", "worst_case_4"])
def test_radio_buttons_are_those_of_django(instrument):
    """Also with an answer, with what describes it, and with what a page must escape."""
    questionnaire = load(instrument)
    form = form_for(questionnaire, language="en", earlier={item.key: 3 for item in questionnaire.items})
    buttons = [button for field in form for button in field.subwidgets if button.data["type"] == "radio"]
    assert buttons
    for button in buttons:
        button.data["attrs"] |= {"title": "\"<&'>", "hidden": False}
        widget = {**button.data, "wrap_label": False}
        django = forms.RadioSelect()
        assert button.tag() == django._render(button.template_name, {"widget": widget}, button.renderer).strip()
    assert any("checked" in button.tag() for button in buttons)
