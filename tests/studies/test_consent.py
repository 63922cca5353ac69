"""What the consent form says depends on the study and on the track."""

from dataclasses import replace

import pytest

from studies.consent import Form, form_of
from studies.design.files import INSTRUMENTS, read_study
from studies.design.spec import StudySpec

FIXTURES = INSTRUMENTS.parent
CHECKPOINTS = {"en": "a few ratings after every 5 turns", "zh": "每 5 轮做几个小评分"}
WITHOUT = {"en": "a personal matter you choose, an overall rating", "zh": "聊至少 10 轮；最后总体评分"}


@pytest.fixture
def demo() -> StudySpec:
    known = frozenset(file.stem for file in INSTRUMENTS.glob("*.json"))
    return read_study(FIXTURES / "studies" / "demo.toml", instruments=known, prompt_folder=FIXTURES / "prompts")


def procedures(form: Form) -> str:
    return next(section.text for section in form.sections if section.key == "procedures")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_participants_are_told_of_the_ratings_during_a_conversation(demo: StudySpec, language: str) -> None:
    text = procedures(form_of(demo, language=language, track="participant"))
    assert (CHECKPOINTS[language] in text, WITHOUT[language] in text) == (True, False)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_counsellors_whom_nothing_interrupts_are_told_of_none(demo: StudySpec, language: str) -> None:
    text = procedures(form_of(demo, language=language, track="counsellor"))
    assert (CHECKPOINTS[language] in text, WITHOUT[language] in text) == (False, True)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_where_there_are_no_checkpoints_nobody_is_told_of_any(demo: StudySpec, language: str) -> None:
    without = replace(demo, chat=replace(demo.chat, checkpoints=(), checkpoint_instrument=""))
    assert WITHOUT[language] in procedures(form_of(without, language=language, track="participant"))
