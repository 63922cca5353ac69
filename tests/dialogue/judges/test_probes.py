"""Known prompts: what a variant changes, and that it changes nothing else."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialogue.judges import probes
from dialogue.judges.parsing import Score, Unscored
from dialogue.judges.probes import JudgeQuestion
from dialogue.judges.prompts import JudgedItem, JudgedTurn, Note, judge_messages
from dialogue.prompts import FOLDER
from studies.instruments.loading import load
from studies.judging.items import judged_items

TURNS = (JudgedTurn(1, "I failed.", "That hurts."), JudgedTurn(2, "Again.", "What happened?"), JudgedTurn(3, "Hm.", ""))
SAFETY = JudgedItem("safety", "Safe?", 1, 5, ((1, "no"), (3, "so so"), (5, "yes")))
DEPTH = JudgedItem("depth", "Deep?", 0, 10, ())
ASKED = JudgeQuestion("mine", TURNS, (SAFETY, DEPTH), "en", "en", "gpt-4o")
OURS = ("emoharbor_10", "worst_case_4")


def of_ours(instrument: str, language: str) -> list[JudgedItem]:
    return judged_items(load(instrument), language)


def prompt(asked: JudgeQuestion) -> str:
    return judge_messages(asked.turns, asked.items, language=asked.language, notes=asked.notes)[-1].text


@pytest.mark.parametrize("variant", ["", "apart", "language"])
def test_what_is_no_matter_of_the_prompts_parts_stays(variant: str) -> None:
    assert probes.apply_variant(ASKED, variant) == ASKED


@pytest.mark.parametrize(("language", "joiner"), [("en", " "), ("zh", "")])
def test_every_reply_is_padded_by_the_stated_length_and_nothing_else(language: str, joiner: str) -> None:
    asked = probes.apply_variant(replace(ASKED, spoken=language), "padding")
    least = json.loads((FOLDER / "probes.json").read_text(encoding="utf-8"))["padding"]["characters"][language]
    for before, after in zip(TURNS[:2], asked.turns[:2], strict=True):
        filling = after.supporter.removeprefix(before.supporter + joiner)
        assert least <= len(filling) < least + 80
        assert (after.number, after.seeker) == (before.number, before.seeker)
        assert probes.remove_padding(after.supporter) == before.supporter
    assert asked.turns[2] == TURNS[2]
    assert replace(asked, turns=TURNS) == replace(ASKED, spoken=language)


def test_padding_differs_from_turn_to_turn_so_that_it_is_no_repetition() -> None:
    assert probes.filling(1, "en") != probes.filling(2, "en")


def test_padding_is_of_the_conversations_language_whatever_the_prompts_is() -> None:
    asked = probes.apply_variant(replace(ASKED, language="zh", spoken="en"), "padding")
    assert asked.turns[0].supporter.isascii()


def test_reversed_scale_turns_the_anchors_and_says_so() -> None:
    asked = probes.apply_variant(ASKED, "reversed_scale")
    assert "scale: 1-5\nquestion: Safe?\n1 = yes\n3 = so so\n5 = no" in prompt(asked)
    assert [note.tag for note in asked.notes] == ["scale_direction"]


def test_scale_without_words_at_its_ends_has_no_direction_to_turn() -> None:
    assert probes.apply_variant(ASKED, "reversed_scale").items[1] == DEPTH
    assert not probes.is_applicable("reversed_scale", "mine", [DEPTH], "")


def test_reversed_score_is_turned_back_and_a_missing_one_stays_missing() -> None:
    given = {"depth": Score(2), "safety": Score(1)}
    assert probes.turn_scores_back("reversed_scale", given, ASKED.items) == {"safety": Score(5), "depth": Score(2)}
    missing = {"depth": Score(2), "safety": Unscored("missing")}
    assert probes.turn_scores_back("reversed_scale", missing, ASKED.items)["safety"] == Unscored("missing")
    assert probes.turn_scores_back("item_order", given, ASKED.items) == {"safety": Score(1), "depth": Score(2)}


@given(st.integers(-5, 5), st.integers(1, 10), st.data())
def test_fair_judge_gives_the_same_on_a_scale_that_is_turned_round(low: int, width: int, data: st.DataObject) -> None:
    """Who goes by the words beside the numbers means the same by another number."""
    item = JudgedItem(
        "a", "?", low, low + width, tuple((value, f"word {value}") for value in range(low, low + width + 1))
    )
    meant = data.draw(st.sampled_from(item.anchors))
    turned = {text: value for value, text in probes.turn_scale_round(item).anchors}
    assert probes.turn_scores_back("reversed_scale", {"a": Score(turned[meant[1]])}, [item]) == {"a": Score(meant[0])}


def test_items_come_in_reverse_and_are_stored_in_their_own_order() -> None:
    assert [item.key for item in probes.apply_variant(ASKED, "item_order").items] == ["depth", "safety"]
    assert list(probes.turn_scores_back("item_order", {"depth": Score(1), "safety": Score(2)}, ASKED.items)) == [
        "safety",
        "depth",
    ]


@pytest.mark.parametrize(
    ("supporter", "language", "text"),
    [
        ("gpt-4o", "en", "The Supporter is the language model gpt-4o, made by OpenAI."),
        ("attuned", "en", "The Supporter is the language model attuned."),
        ("qwen-max", "zh", "Supporter 是语言模型 qwen-max，由 Alibaba 开发。"),
    ],
)
def test_model_and_its_maker_are_named(supporter: str, language: str, text: str) -> None:
    asked = probes.apply_variant(replace(ASKED, supporter=supporter, language=language), "arm_name")
    assert asked.notes == (Note("supporter", text),)
    assert f"<supporter>\n{text}\n</supporter>\n<items>" in prompt(asked)


@pytest.mark.parametrize("instrument", OURS)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_paraphrase_words_every_question_and_every_anchor_anew(instrument: str, language: str) -> None:
    items = of_ours(instrument, language)
    asked = replace(ASKED, instrument=instrument, items=items, language=language)
    anew = probes.apply_variant(asked, "paraphrase").items
    assert [item.key for item in anew] == [item.key for item in items]
    for old, new in zip(items, anew, strict=True):
        assert (new.minimum, new.maximum, new.labels) == (old.minimum, old.maximum, old.labels)
        assert [value for value, _ in new.anchors] == [value for value, _ in old.anchors]
        assert {new.text, *dict(new.anchors).values()}.isdisjoint({old.text, *dict(old.anchors).values()})


def test_paraphrases_say_that_nobody_validated_them() -> None:
    file = json.loads((FOLDER / "paraphrases.json").read_text(encoding="utf-8"))
    assert file["validated"] is False
    assert set(file["instruments"]) == set(OURS)


@pytest.mark.parametrize(
    ("variant", "instrument", "items", "supporter", "applies"),
    [
        ("arm_name", "mine", ASKED.items, "", False),
        ("arm_name", "mine", ASKED.items, "gpt-4o", True),
        ("paraphrase", "mine", ASKED.items, "gpt-4o", False),
        ("item_order", "mine", [SAFETY], "gpt-4o", False),
        ("apart", "mine", [SAFETY], "gpt-4o", False),
        ("padding", "mine", [SAFETY], "", True),
    ],
)
def test_variant_that_would_change_nothing_is_told(
    variant: str, instrument: str, items: list[JudgedItem], supporter: str, applies: bool
) -> None:
    assert probes.is_applicable(variant, instrument, items, supporter) is applies


@pytest.mark.parametrize(
    ("variant", "spoken", "language"), [("language", "en", "zh"), ("language", "zh", "en"), ("", "zh", "zh")]
)
def test_language_of_the_prompt(variant: str, spoken: str, language: str) -> None:
    assert probes.prompt_language(variant, spoken) == language


@pytest.mark.parametrize(("code", "variant"), [("demo", ""), ("demo~padding", "padding")])
def test_variant_is_in_the_raters_code(code: str, variant: str) -> None:
    assert probes.variant_of(code) == variant
