"""Mark the training quiz after the pass rule of its file. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from studies.instruments.definitions import Questionnaire


@dataclass(frozen=True)
class QuizResult:
    correct: int
    total: int
    wrong: tuple[str, ...]  # the keys of the questions whose feedback is to be shown
    passed: bool


def mark(questionnaire: Questionnaire, answers: Mapping[str, object], *, track: str) -> QuizResult:
    """Return the result. A question without an answer is wrong. Counsellors answer more questions and need the same
    share of them."""
    parts = ("questions", "expert_questions") if track == "expert" else ("questions",)
    keys = {item.key for item in questionnaire.items_for(track=track)}
    questions = [each for part in parts for each in questionnaire.raw.get(part, ()) if each["id"] in keys]
    wrong = [question for question in questions if answers.get(question["id"]) != question["answer"]]
    missed = sum(bool(question["mandatory"]) for question in wrong)
    correct, rule = len(questions) - len(wrong), questionnaire.raw["pass_rule"]
    # In whole numbers, since 9 / 11 is not exact: correct / total >= min_correct / of.
    enough = correct * rule["of"] >= rule["min_correct"] * len(questions)
    return QuizResult(
        correct=correct,
        total=len(questions),
        wrong=tuple(question["id"] for question in wrong),
        passed=enough and not (missed and rule["mandatory_all_correct"]),
    )
