"""One question to a judge or its Thinker: in which form it is asked, by whom a repair is, and what it took."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dialogue.jobs.calls import Caller, Question
from dialogue.judges.judge import Ask, Scores, Way
from dialogue.judges.parsing import Unscored
from dialogue.judges.redaction import MARK
from dialogue.judges.schemas import Explaining, Schema, answering_in


@dataclass(frozen=True)
class Result:
    """What came of one questionnaire: a score or the reason why there is none, by item, and the further answers that
    were asked for, of all its questions."""

    scores: Scores
    ways: Sequence[Way]

    def as_json(self) -> dict[str, Any]:
        """What is worth counting; alike for most, so that rows can be written together."""
        missing = missing_reasons(self.scores)
        told = {"unreadable": sum(missing.values()), "valid": len(self.scores) > sum(missing.values())}
        return {
            **told,
            **({"missing": missing} if missing else {}),
            **({"ways": sorted(set(self.ways))} if self.ways else {}),
        }


def missing_reasons(scores: Scores) -> dict[str, int]:
    reasons = [score.reason for score in scores.values() if isinstance(score, Unscored)]
    return {reason: reasons.count(reason) for reason in sorted(set(reasons))}


def ways_in(result: Mapping[str, Any]) -> list[Way]:
    """Of a stored result; earlier ones have only the last, as `way`."""
    before: list[Way] = [result["way"]] if "way" in result else []
    return result.get("ways", before)


def in_form(question: Question, form: Schema | None) -> Question:
    return replace(question, settings=answering_in(question.settings, form)) if form else question


def noting(redacted: Mapping[str, int]) -> dict[str, Any]:
    """What the ledger keeps of what was taken out."""
    return {MARK: dict(redacted)} if redacted else {}


def asks(caller: Caller, question: Question, form: Schema | None) -> tuple[Ask, Ask | None]:
    """Who is asked, and who is asked for repairs where that is another: those are never asked for by the schema."""
    if form is None:
        return caller.bind(question), None
    return Explaining(caller.bind(in_form(question, form))), caller.bind(question)
