"""Fields of the builder: what is shown of a value, and what is read from what was typed."""

import pytest
from django.http import QueryDict

from studies.builder.document import StudyDocument
from studies.builder.fields import UnreadError, make_fields, read_typed
from studies.builder.sections import find_section

FILE = """
key = "one"
title = {en = "A", zh = "甲"}
languages = ["zh", "en"]
contact = "both"
[chat]
checkpoints = [5, 10]
final_instruments = ["worst_case_4", "emoharbor_10"]
[display]
characters_per_second = {en = 60, zh = 20}
names = ["Sidekick", "Pal"]
[[arms]]
key = "a"
kind = "scripted"
extra = {top_p = 0.9, user = "lab"}
"""


def field(slug, key, *, number=None, text=FILE, languages=("en", "zh"), faults=()):
    section = find_section(slug)
    place = section.place if number is None else (*section.place, number)
    fields = make_fields(section.schema, place, StudyDocument(text), languages, dict(faults))
    return next(one for one in fields if one.key == key)


def test_address_for_alarms_is_needed_only_without_contacts_on_call():
    contacts = '[[safety.oncall]]\nname = "Ada"\nemail = "ada@lab.university"\n'
    assert field("basics", "oncall_email").needed
    assert not field("basics", "oncall_email", text=FILE + contacts).needed


def read(one, posted):
    return read_typed(one, QueryDict(posted))


@pytest.mark.parametrize(
    ("slug", "key", "number", "shown"),
    [
        ("basics", "title", None, ["A", "甲"]),
        ("basics", "contact", None, ["both"]),
        ("chat", "checkpoints", None, ["5, 10"]),
        ("display", "characters_per_second", None, ["60", "20"]),
        ("display", "names", None, ["Sidekick\nPal"]),
        ("arms", "extra", 0, ['top_p = 0.9\nuser = "lab"']),
        ("arms", "temperature", 0, [""]),
        ("arms", "title", 0, ["", ""]),
    ],
)
def test_value_is_shown_as_people_type_it(slug, key, number, shown):
    assert [part.value for part in field(slug, key, number=number).parts] == shown


@pytest.mark.parametrize(
    ("slug", "key", "number", "posted", "value"),
    [
        ("chat", "min_turns", None, "chat.min_turns=+4+", 4),
        ("chat", "min_turns", None, "chat.min_turns=", None),
        ("chat", "min_turns", None, "chat.min_turns=four", "four"),
        ("chat", "checkpoints", None, "chat.checkpoints=3,6、9", [3, 6, 9]),
        ("chat", "checkpoints", None, "chat.checkpoints={every = 5}", {"every": 5}),
        ("chat", "rate_each_reply", None, "chat.rate_each_reply=yes", True),
        ("chat", "rate_each_reply", None, "", None),
        ("chat", "opening", None, "chat.opening.en=Hello%21&chat.opening.zh=你好！", {"en": "Hello!", "zh": "你好！"}),
        ("chat", "opening", None, "chat.opening.en=&chat.opening.zh=", None),
        ("chat", "topic", None, "chat.topic=keep", "keep"),
        ("display", "first_piece_seconds", None, "display.first_piece_seconds=1.5", 1.5),
        ("display", "names", None, "display.names=Sidekick%0D%0A%0D%0A+Kim+", ["Sidekick", "Kim"]),
        (
            "display",
            "characters_per_second",
            None,
            "display.characters_per_second.en=50&display.characters_per_second.zh=",
            {"en": 50},
        ),
        ("arms", "extra", 0, "arms[1].extra=top_p = 0.5%0D%0Aseed = 7", {"top_p": 0.5, "seed": 7}),
        ("arms", "title", 0, "arms[1].title.en=Same&arms[1].title.zh=Same", "Same"),
        ("arms", "title", 0, "arms[1].title.en=One&arms[1].title.zh=一", {"en": "One", "zh": "一"}),
    ],
)
def test_typed_text_becomes_a_value_of_the_file(slug, key, number, posted, value):
    found = read(field(slug, key, number=number), posted)
    assert (found, type(found)) == (value, type(value))


def test_ticked_instruments_keep_the_order_of_the_file():
    one = field("chat", "final_instruments")
    ticked = "&".join(f"{one.name}={name}" for name in ("emoharbor_10", "role_fidelity", "worst_case_4"))
    assert read(one, ticked) == ["worst_case_4", "emoharbor_10", "role_fidelity"]


def test_only_rating_scales_are_offered_as_rating_scales():
    offered = {choice.value for choice in field("chat", "final_instruments").choices}
    assert {"emoharbor_10", "worst_case_4"} <= offered
    assert not offered & {"screening", "profile", "mini_ipip"}


def test_kinds_of_step_and_tracks_are_offered_in_words():
    kinds, tracks = ({c.value: c.label for c in field("steps", key, number=0).choices} for key in ("kind", "track"))
    assert kinds["chats"] == "Conversations (chats)"
    assert (tracks["participant"], tracks["all"]) == ("Participant (participant)", "all")


def test_country_is_chosen_from_a_list_with_names():
    offered = {choice.value: choice.label for choice in field("basics", "country").choices}
    assert offered["GB"] == "United Kingdom (GB)"
    assert "UK" not in offered


def test_scripts_are_offered_for_arms_that_are_scripts():
    assert field("arms", "model", number=0).offered == ("formula", "advice", "mirror", "question", "attuned")
    served = FILE.replace("scripted", "openai_compatible")
    assert field("arms", "model", number=0, text=served).offered == ()


def test_text_in_a_language_that_the_study_no_longer_has_stays():
    one = field("basics", "title", languages=("en",))
    assert read(one, "title=x&title.en=B") == {"en": "B", "zh": "甲"}


def test_value_that_is_not_offered_is_shown_and_kept():
    one = field("chat", "topic", text='[chat]\ntopic = "gone"\n')
    assert [choice.value for choice in one.choices if choice.is_chosen] == ["gone"]


def test_table_that_is_no_toml_is_refused_in_words():
    with pytest.raises(UnreadError, match=r"^Write one line for each parameter"):
        read(field("arms", "extra", number=0), "arms[1].extra=top_p: 0.5")


def test_checkpoints_that_are_no_turns_are_refused_in_their_own_words():
    with pytest.raises(UnreadError, match=r"^Write turn numbers, as 5, 10, or {every = 5}"):
        read(field("chat", "checkpoints"), "chat.checkpoints={every: 5}")


def test_opening_has_a_box_for_each_language():
    text = '[chat]\nopening = "Hello!"\n'
    parts = field("chat", "opening", text=text).parts
    assert [(part.language, part.value) for part in parts] == [("en", "Hello!"), ("zh", "Hello!")]


def test_faults_stand_at_their_field_and_at_the_languages_in_it():
    faults = {"title.zh": ["is missing"], "titles": ["is not one of ours"]}
    assert field("basics", "title", faults=faults).faults == ("is missing",)


def test_variable_tells_whether_it_is_set_and_never_its_value(monkeypatch):
    text = '[[arms]]\napi_key_env = "LAB_KEY"\n'
    monkeypatch.delenv("LAB_KEY", raising=False)
    assert field("arms", "api_key_env", number=0, text=text).note == "This variable is not set on the server yet."
    monkeypatch.setenv("LAB_KEY", "sk-secret")
    assert field("arms", "api_key_env", number=0, text=text).note == "This variable is set on the server."
