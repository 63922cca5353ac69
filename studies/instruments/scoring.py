"""Answers → reversed items → scale scores. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from studies.instruments.definitions import Item, Questionnaire, Scale

Answers = Mapping[str, float | None]


@dataclass(frozen=True)
class ScaleScore:
    scale: str
    score: float | None  # in the units of the items; None where too few of them were answered
    items_answered: int


def score(questionnaire: Questionnaire, answers: Answers) -> list[ScaleScore]:
    """Return one score a scale, those that derive from another scale last. Raises ValueError for an answer out of
    range."""
    scores = [_score_of(scale, questionnaire, answers) for scale in questionnaire.scales]
    return [*scores, *_mirror_scales(questionnaire, scores)]


def _score_of(scale: Scale, questionnaire: Questionnaire, answers: Answers) -> ScaleScore:
    values = list(_key_scores(scale, questionnaire, answers))
    enough = values and len(values) >= scale.minimum_answered
    return ScaleScore(scale.key, sum(values) / len(values) if enough else None, len(values))


def _key_scores(scale: Scale, questionnaire: Questionnaire, answers: Answers) -> Iterator[float]:
    for key in scale.items:
        answer = answers.get(key)
        if answer is not None:
            yield _in_key(questionnaire.item(key), answer)


def _in_key(item: Item, answer: float) -> float:
    if item.minimum is None or item.maximum is None or not item.minimum <= answer <= item.maximum:
        raise ValueError(f"{item.key}: {answer} is outside {item.minimum} to {item.maximum}")
    return item.minimum + item.maximum - answer if item.reverse else answer


def _mirror_scales(questionnaire: Questionnaire, scores: Sequence[ScaleScore]) -> Iterator[ScaleScore]:
    """Return scales that mirror another one, as Neuroticism does Emotional Stability: "6 - mean(ES)" in the file."""
    by_key = {score.scale: score for score in scores}
    for node in questionnaire.raw.get("scoring", {}).get("derived", ()):
        rule = re.fullmatch(r"(\d+) - mean\((\w+)\)", node["rule"])
        if rule is None:
            raise ValueError(f"{questionnaire.id}: scoring.derived: cannot read the rule {node['rule']!r}")
        source = by_key[rule[2]]
        mirrored = None if source.score is None else int(rule[1]) - source.score
        yield ScaleScore(node["key"], mirrored, source.items_answered)
