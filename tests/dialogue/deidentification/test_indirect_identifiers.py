"""What must go before a text is published goes, and ordinary sentences stay as they are.

The shares are of sentences by the authors of the patterns, which were improved until they found these. They say more
about mistakes in later changes than about texts of other people: of new sentences, about three quarters lost all.
Ordinary sentences are also those of the risk screen, which were written for something else.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from dialogue.deidentification.indirect_identifiers import Names, collect_names, collect_repeated_names
from dialogue.deidentification.redaction import get_stand_ins, redact_for_release
from dialogue.languages import CODES
from dialogue.safety.patterns import FOLDER

SENTENCES = json.loads(Path(__file__).with_name("release_sentences.json").read_text(encoding="utf-8"))
MOST_CHANGED = 0.015  # of ordinary sentences; about half of these name a place or a person after all
BATCHES = "abcdeghikl"  # f is one that is kept for measuring the screen


def released(text: str, language: str, given: tuple[str, ...] = ()) -> str:
    return redact_for_release(text, Names(given, tuple(collect_names([text]))), language)[0]


def ordinary_sentences(language: str) -> list[str]:
    files = [FOLDER / "sentences" / f"{batch}_{language}.txt" for batch in BATCHES]
    lines = [line for file in files if file.exists() for line in file.read_text(encoding="utf-8").splitlines()]
    return [line.partition("|")[2] for line in lines if line[:1].isdigit()]


def left_in(case: dict[str, Any], language: str) -> list[str]:
    text = released(case["text"], language)
    return [part for part in case["gone"] if part in text]


@pytest.mark.parametrize("language", CODES)
def test_what_identifies_goes(language: str) -> None:
    cases = SENTENCES[language]["identifying"]
    missed = [case["text"] for case in cases if left_in(case, language)]
    print(f"{language}: {len(cases) - len(missed)} of {len(cases)} sentences without what identifies; missed: {missed}")
    assert len(cases) == 30
    assert missed == []


@pytest.mark.parametrize(("language", "least"), [("en", 23), ("zh", 27)])
def test_most_of_what_identifies_goes_from_later_sentences(language: str, least: int) -> None:
    cases = SENTENCES[language]["later"]
    missed = [case["text"] for case in cases if left_in(case, language)]
    print(f"{language}: {len(cases) - len(missed)} of {len(cases)} later sentences; missed: {missed}")
    assert len(cases) == 27
    assert len(cases) - len(missed) >= least


@pytest.mark.parametrize("language", CODES)
def test_ordinary_sentences_stay(language: str) -> None:
    texts = SENTENCES[language]["innocent"]
    changed = [text for text in texts if released(text, language) != text]
    print(
        f"{language}: {len(texts) - len(changed)} of {len(texts)} ordinary sentences as they were; changed: {changed}"
    )
    assert len(texts) == 20
    assert changed == []


@pytest.mark.parametrize("language", CODES)
def test_few_of_many_ordinary_sentences_change(language: str) -> None:
    texts = ordinary_sentences(language)
    changed = [text for text in texts if released(text, language) != text]
    print(f"{language}: {len(changed)} of {len(texts)} sentences of the risk screen changed")
    assert len(texts) > 2000
    assert len(changed) < MOST_CHANGED * len(texts)


def test_a_name_goes_wherever_the_person_says_it() -> None:
    own = ["I told Zofia about it.", "Zofia laughed. I miss Zofia's voice."]
    names = Names(heard=tuple(collect_names(own)))
    assert redact_for_release(own[1], names, "en")[0] == "[name] laughed. I miss [name]'s voice."


def test_a_name_in_small_letters_goes_if_the_answer_writes_it_large() -> None:
    own, answers = ["zofia left and i take long walks"], ["It must hurt that Zofia left. Take your time."]
    names = Names(given=tuple(collect_repeated_names(own, answers)))
    assert redact_for_release(own[0], names, "en")[0] == "[name] left and i take long walks"


def test_a_nickname_goes_in_any_case() -> None:
    assert released("call me later, says pip. PIP!", "en", ("Pip",)) == "call me later, says [name]. [name]!"


@pytest.mark.parametrize("language", CODES)
def test_each_mask_is_counted_and_a_second_time_changes_nothing(language: str) -> None:
    for case in SENTENCES[language]["identifying"]:
        text, kinds = redact_for_release(case["text"], Names(heard=tuple(collect_names([case["text"]]))), language)
        assert sum(text.count(word) for word in set(get_stand_ins()[language].values())) == len(kinds)
        assert released(text, language) == text


def test_lists_and_headings_of_a_model_are_no_names() -> None:
    reply = "Some ideas:\n- Take a walk\n* Breathe slowly\n1. **Write** it down\n## Rest\nShall we try?"
    assert collect_repeated_names(["i take no rest and write and breathe"], [reply]) == set()
    assert released(reply, "en") == reply
