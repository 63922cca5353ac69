"""A judge's question put in another way: what must not matter is changed, and what then changes in its scores is bias.

Pure. The texts are data, ours, and validated by no one: fixtures/prompts/probes.json and paraphrases.json.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from dialogue.judges.judge import Scores
from dialogue.judges.makers import maker_of
from dialogue.judges.parsing import Score
from dialogue.judges.prompts import JudgedItem, JudgedTurn, Note
from dialogue.languages import CODES, get_language
from dialogue.prompts import FOLDER

PLAIN = ""
APART = "apart"  # each dimension in a call of its own
WARM = "warm"  # at a higher temperature
PARAPHRASE = "paraphrase"  # written for the seeker alone
PROBES = ("padding", "reversed_scale", PARAPHRASE, "item_order", "arm_name", "language", WARM)
VARIANTS = (APART, *PROBES)
SIGN = "~"  # between a judge's key and the variant, in the code of its rater


@dataclass(frozen=True)
class JudgeQuestion:
    """A judge's question about one questionnaire and what it is shown, before it is written down as a prompt.

    `language` is the code of the prompt's, `spoken` that of the conversation's. `supporter`: the name of the model that
    wrote the replies, empty where no one knows it.
    """

    instrument: str
    turns: Sequence[JudgedTurn]
    items: Sequence[JudgedItem]
    language: str
    spoken: str
    supporter: str = ""
    notes: tuple[Note, ...] = ()


def variant_of(code: str) -> str:
    """Return the variant of a judge's rater, by its code; PLAIN for the judge as it is."""
    return code.partition(SIGN)[2]


def prompt_language(variant: str, spoken: str) -> str:
    if variant != "language":
        return spoken
    return CODES[(CODES.index(spoken) + 1) % len(CODES)]


def is_applicable(variant: str, instrument: str, items: Sequence[JudgedItem], supporter: str) -> bool:
    """Return whether this variant would ask for anything else than the plain judge does."""
    rules = {
        APART: len(items) > 1,
        "reversed_scale": any(map(can_be_turned, items)),
        PARAPHRASE: any(item.key in rewordings(instrument) for item in items),
        "item_order": len(items) > 1,
        "arm_name": bool(supporter),
    }
    return rules.get(variant, True)


def apply_variant(question: JudgeQuestion, variant: str) -> JudgeQuestion:
    return VARYING[variant](question) if variant in VARYING else question


def turn_scores_back(variant: str, scores: Scores, items: Sequence[JudgedItem]) -> Scores:
    """Return the scores in the questionnaire's order of items, those on scales that were turned round turned back."""
    turned = {item.key for item in items if variant == "reversed_scale" and can_be_turned(item)}
    return {
        item.key: _turn_score_back(scores[item.key], item) if item.key in turned else scores[item.key] for item in items
    }


def get_version() -> str:
    """Return the version of the texts, so that what was asked can be told from what will be."""
    return f"{_texts('probes')['version']}.{_texts('paraphrases')['version']}"


# Padding


def _pad_turns(question: JudgeQuestion) -> JudgeQuestion:
    return replace(question, turns=tuple(pad_turn(turn, question.spoken) for turn in question.turns))


def pad_turn(turn: JudgedTurn, language: str) -> JudgedTurn:
    """Return the turn with padding after its reply. An empty reply stays empty."""
    if not turn.supporter.strip():
        return turn
    joiner = " " if get_language(language).spaces else ""
    return replace(turn, supporter=f"{turn.supporter}{joiner}{filling(turn.number, language)}")


def filling(number: int, language: str) -> str:
    """Return as many whole sentences as make at least the length that the file names."""
    data = _texts("probes")["padding"]
    sentences, joiner = data[language], " " if get_language(language).spaces else ""
    text = ""
    for place in range(len(sentences)):
        if len(text) >= data["characters"][language]:
            break
        text += (joiner if text else "") + sentences[(number + place) % len(sentences)]
    return text


def remove_padding(reply: str) -> str:
    """Return the reply without padding, for a script that is to see past it."""
    return _filling_pattern().sub("", reply).strip()


@cache
def _filling_pattern() -> re.Pattern[str]:
    data = _texts("probes")["padding"]
    return re.compile(r"\s*(?:" + "|".join(re.escape(one) for code in CODES for one in data[code]) + ")")


# Scales turned round


def can_be_turned(item: JudgedItem) -> bool:
    """Return whether there are words at both ends of the scale. Only these say which way it runs."""
    return {item.minimum, item.maximum} <= {value for value, _ in item.anchors}


def _turn_scales_round(question: JudgeQuestion) -> JudgeQuestion:
    items = [turn_scale_round(item) if can_be_turned(item) else item for item in question.items]
    return replace(
        question, items=items, notes=(Note("scale_direction", _texts("probes")["reversed_scale"][question.language]),)
    )


def turn_scale_round(item: JudgedItem) -> JudgedItem:
    ends = item.minimum + item.maximum
    return replace(item, anchors=tuple(sorted((ends - value, text) for value, text in item.anchors)))


def _turn_score_back(score: Any, item: JudgedItem) -> Any:
    return Score(item.minimum + item.maximum - score.value) if isinstance(score, Score) else score


# Other words, another order, a name


def _reword_items(question: JudgeQuestion) -> JudgeQuestion:
    wordings, code = rewordings(question.instrument), question.language
    items = [reword_item(item, wordings[item.key][code]) if item.key in wordings else item for item in question.items]
    return replace(question, items=items)


def reword_item(item: JudgedItem, texts: Mapping[str, Any]) -> JudgedItem:
    """Return the item in other words. `texts`: the question, and the words for each anchor, in their order."""
    anchors = ((value, text) for (value, _), text in zip(item.anchors, texts["anchors"], strict=True))
    return replace(item, text=texts["text"], anchors=tuple(anchors))


def rewordings(instrument: str) -> Mapping[str, Any]:
    """Return the rewordings by item and language; empty for an instrument of which we have none."""
    wordings: Mapping[str, Any] = _texts("paraphrases")["instruments"].get(instrument, {})
    return wordings


def _reverse_items(question: JudgeQuestion) -> JudgeQuestion:
    return replace(question, items=list(reversed(question.items)))


def _name_supporter(question: JudgeQuestion) -> JudgeQuestion:
    texts, maker = _texts("probes")["arm_name"], maker_of(question.supporter)
    text = texts["made_by" if maker else "model"][question.language].format(model=question.supporter, maker=maker)
    return replace(question, notes=(Note("supporter", text),))


VARYING: Mapping[str, Callable[[JudgeQuestion], JudgeQuestion]] = {
    "padding": _pad_turns,
    "reversed_scale": _turn_scales_round,
    PARAPHRASE: _reword_items,
    "item_order": _reverse_items,
    "arm_name": _name_supporter,
}


@cache
def _texts(name: str) -> dict[str, Any]:
    texts: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return texts
