"""What the consent form says depends on the study and on the track, and what there is nothing of it leaves out."""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import pytest

from studies.design.reading import INSTRUMENTS, read_study
from studies.design.spec import StudySpec
from studies.instruments.wording import placeholders
from studies.participation.consent import Form, form_of, template
from tests.amounts import choose

FIXTURES = INSTRUMENTS.parent
TEMPLATE = template("consent_template")
CHECKPOINTS = {"en": "a few ratings after every 5 turns", "zh": "每 5 轮做一次简短评分"}
WITHOUT = {
    "participant": {
        "en": "a personal matter you choose, an overall rating",
        "zh": "个人话题聊至少 10 轮；最后总体评分",
    },
    "counsellor": {
        "en": "the invented person on a card, an overall rating",
        "zh": "虚构人物聊至少 10 轮；最后总体评分",
    },
}
SWITCHES = ("if_interview", "if_training", "if_profit", "if_more_than_minimal", "if_emergency_contact")
ALWAYS_THERE = ("n_arms", "min_turns")  # by the design
FILLED = {"en": "Xx", "zh": "某某"}
# What is left hanging where a value is missing: marks in a row, an empty bracket, a mark or a word at the end that
# wants something after it, a sentence that begins with one.
LAST_WORDS = "(through|by|(?:sent|write|complain) to|at|until|and|or|with|about|within)"
DANGLING = {
    "en": re.compile(rf"\{{\{{|  | [,.;:)]|[,;:]\s*[,.;:]|\(\s*\)|\(,|[:,;]$|^[,.;:a-z]|\b{LAST_WORDS}[.,;]"),
    "zh": re.compile(
        r"\{\{|  |[，、；：][，、；：。]|（\s*）|（，|[：，、；]$|^[，。；：]|[。，：] "
        r"|(位于|依据|通过|发送给|以|至)[，。；]"
    ),
}


@pytest.fixture
def demo() -> StudySpec:
    known = frozenset(file.stem for file in INSTRUMENTS.glob("*.json"))
    return read_study(FIXTURES / "studies" / "demo.toml", instruments=known, prompt_folder=FIXTURES / "prompts")


def procedures(form: Form) -> str:
    return next(section.text for section in form.sections if section.key == "procedures")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_participants_are_told_of_the_ratings_during_a_conversation(demo: StudySpec, language: str) -> None:
    text = procedures(form_of(demo, language=language, track="participant"))
    assert (CHECKPOINTS[language] in text, WITHOUT["participant"][language] in text) == (True, False)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_counsellors_whom_nothing_interrupts_are_told_of_none(demo: StudySpec, language: str) -> None:
    text = procedures(form_of(demo, language=language, track="counsellor"))
    assert (CHECKPOINTS[language] in text, WITHOUT["counsellor"][language] in text) == (False, True)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_where_there_are_no_checkpoints_nobody_is_told_of_any(demo: StudySpec, language: str) -> None:
    without = replace(demo, chat=replace(demo.chat, checkpoints=(), checkpoint_instrument=""))
    assert WITHOUT["participant"][language] in procedures(form_of(without, language=language, track="participant"))


@pytest.mark.parametrize(
    ("track", "own", "of_others"),
    [
        ("participant", "a personal matter you choose", "in the role of an invented person"),
        ("counsellor", "in the role of an invented person", "a personal matter you choose"),
    ],
)
def test_each_track_reads_of_what_it_does_itself(demo: StudySpec, track: str, own: str, of_others: str) -> None:
    text = whole(form_of(demo, language="en", track=track))
    assert (own in text, of_others in text) == (True, False)


@pytest.mark.parametrize(
    ("topic", "said"),
    [
        ("choose", "You may change the topic between programs."),
        ("change", "You talk about another matter with each program."),
        ("keep", "You talk about the same matter with each program."),
    ],
)
def test_participants_read_what_becomes_of_their_topic(demo: StudySpec, topic: str, said: str) -> None:
    chosen = replace(demo, chat=replace(demo.chat, topic=topic))
    assert said in procedures(form_of(chosen, language="en", track="participant"))
    assert said not in procedures(form_of(chosen, language="en", track="counsellor"))


# Values that there are none of


def whole(form: Form) -> str:
    return "\n".join([*(section.text for section in form.sections), *(text for _key, _required, text in form.boxes)])


def lines(form: Form) -> Iterator[str]:
    """Every section as a whole, every sentence, and the text of every box."""
    for text in whole(form).split("\n"):
        yield text
        yield from filter(None, re.split(r"(?<=[.!?])\s+(?=[A-Z(])|(?<=[。！？])\s*", text))


def hanging(form: Form) -> list[str]:
    return [line for line in lines(form) if DANGLING[form.language].search(line)]


def with_values(spec: StudySpec, empty: tuple[str, ...], flags: tuple[str, ...] = ()) -> StudySpec:
    """A study that gives every value but these, which it says to be empty."""
    assert spec.consent is not None
    values = {name: FILLED for name in TEMPLATE["placeholders"] if name not in ALWAYS_THERE}
    values |= {name: {"en": "", "zh": ""} for name in empty}
    consent = replace(spec.consent, providers=(), values=values, flags=flags)
    return replace(spec, consent=consent, gone_after_days=None, chat=replace(spec.chat, checkpoints=(5, 7, 10)))


def named_together() -> list[tuple[str, ...]]:
    """The placeholders of each section and each box, which alone can change what the others' sentences look like."""
    texts = [section["text"] for section in TEMPLATE["sections"]] + TEMPLATE["checkboxes"]
    found = (placeholders(text["en"]) + placeholders(text["zh"]) for text in texts)
    return sorted({tuple(sorted(set(names) - set(ALWAYS_THERE))) for names in found} - {()})


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("track", ["participant", "counsellor"])
@pytest.mark.parametrize("flags", [(), SWITCHES, ("if_cross_border", *SWITCHES)])
def test_no_sentence_hangs_whichever_values_are_empty(
    demo: StudySpec, flags: tuple[str, ...], track: str, language: str
) -> None:
    for names in named_together():
        for count in choose(usual=sorted({0, 1, len(names)}), full=range(len(names) + 1)):
            for empty in combinations(names, count):
                form = form_of(with_values(demo, empty, flags), language=language, track=track)
                assert hanging(form) == [], empty


@pytest.mark.parametrize("language", ["en", "zh"])
def test_form_without_any_value_still_stands(demo: StudySpec, language: str) -> None:
    form = form_of(with_values(demo, tuple(TEMPLATE["placeholders"])), language=language, track="participant")
    assert hanging(form) == []
    assert FILLED[language] not in whole(form)
    assert len(form.sections) == len(TEMPLATE["sections"]) - 1  # that of counsellors


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_value_that_a_study_gives_is_on_its_form(demo: StudySpec, language: str) -> None:
    given = [name for name in TEMPLATE["placeholders"] if name not in ALWAYS_THERE]
    assert demo.consent is not None
    values = {name: {"en": f"<{name}>", "zh": f"<{name}>"} for name in given}
    chat = replace(demo.chat, conversations_per_day=2)
    spec = replace(demo, chat=chat, consent=replace(demo.consent, values=values, flags=SWITCHES))
    text = whole(form_of(spec, language=language, track="participant"))
    assert [name for name in given if f"<{name}>" not in text] == []


@pytest.mark.parametrize("track", ["participant", "counsellor"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_demonstration_says_nothing_of_what_it_has_none_of(demo: StudySpec, track: str, language: str) -> None:
    form = form_of(demo, language=language, track=track)
    assert hanging(form) == []
    absent = {
        "en": ("50 CNY", "nothing", "nobody", "skip questions", " 0 "),
        "zh": ("50 元", "无人", "（演示）可查看", "跳过问题"),
    }
    assert [words for words in absent[language] if words in whole(form)] == []
    unpaid = {"en": "You are not paid for taking part.", "zh": "参加本研究没有报酬。"}
    assert unpaid[language] in whole(form)
    assert "safety_contact" not in [key for key, _required, _text in form.boxes]


def test_box_and_sentence_about_the_one_on_call_say_no_more_than_is_so(demo: StudySpec) -> None:
    read_only = form_of(with_values(demo, ("oncall_channel",)), language="en", track="participant")
    sentence = "In each of these cases Xx may read the last messages and your answer. On-call hours: Xx."
    assert sentence in whole(read_only)
    assert "Xx may read the last messages." in {key: text for key, _, text in read_only.boxes}["safety_contact"]
