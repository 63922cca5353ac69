"""The screening rules of an instrument file: answers → who may take part. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from studies.instruments.definitions import Questionnaire

Kind = Literal["eligible", "exclude", "exclude_with_care", "review_by_person", "ask_again"]
Answers = Mapping[str, str | int | float]

# A missing text comes before the review by a person, who would have to wait for it anyway.
STRENGTH: tuple[Kind, ...] = ("exclude_with_care", "exclude", "ask_again", "review_by_person", "eligible")
COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "eq": lambda answer, value: bool(answer == value),
    "in": lambda answer, value: answer in value,
    "lt": lambda answer, value: bool(answer < value),
    "lte": lambda answer, value: bool(answer <= value),
}


@dataclass(frozen=True)
class Outcome:
    kind: Kind
    reasons: tuple[str, ...]  # of every rule against taking part, strongest first; for the record, never for the person
    flags: tuple[str, ...]
    show_help: bool


def outcome(
    questionnaire: Questionnaire,
    answers: Answers,
    *,
    track: Literal["participant", "expert"],
    language: str,
) -> Outcome:
    """Return the strongest outcome of all rules. Raises ValueError when a required answer is missing: no rule could see
    it."""
    _require_answers(questionnaire, answers, track)
    fired = [
        (_kind(rule["outcome"]), rule)
        for rule in questionnaire.raw["rules"]
        if rule["track"] in ("all", track) and _fires(rule["if"], questionnaire, answers, language)
    ]
    against = sorted((pair for pair in fired if pair[0] != "eligible"), key=lambda pair: STRENGTH.index(pair[0]))
    kind = against[0][0] if against else "eligible"
    return Outcome(
        kind=kind,
        reasons=tuple(dict.fromkeys(rule["reason"] for of, rule in against if of != "ask_again")),
        flags=tuple(rule["reason"] for of, rule in fired if of == "eligible"),
        show_help=any("crisis_resources" in rule.get("show", ()) for _, rule in fired),
    )


def _require_answers(questionnaire: Questionnaire, answers: Answers, track: str) -> None:
    items = questionnaire.items_for(track=track)
    missing = [item.key for item in items if item.required and item.is_shown(answers) and item.key not in answers]
    if missing:
        raise ValueError(f"{questionnaire.id}: no answer to {', '.join(missing)}")


def _kind(named: str) -> Kind:
    if named == "flag":
        return "eligible"
    if named not in STRENGTH:
        raise ValueError(f"unknown outcome {named!r}")
    return named


def _fires(condition: Mapping[str, Any], questionnaire: Questionnaire, answers: Answers, language: str) -> bool:
    question, op, value = condition["q"], condition["op"], condition["value"]
    if op == "any_eq":
        return any(answers.get(key) == value for key in question)
    if question not in answers:
        return False
    if op == "shorter_than":
        return questionnaire.item(question).is_too_short(str(answers[question]), language)
    return COMPARISONS[op](answers[question], value)
