"""Questions to a judge or its Thinker: in which form one is asked, who repairs its answer, and what it took."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dialogue.deidentification.redaction import MARK
from dialogue.jobs.calls import Caller, Question
from dialogue.judges.judge import Ask, Scores, Way
from dialogue.judges.parsing import Unscored
from dialogue.judges.schemas import Explaining, Schema, with_format


@dataclass(frozen=True)
class Result:
    """The result of one questionnaire: a score or the reason why there is none, by item. `ways` has the further answers
    that were asked for, of all its questions; `prompt` the standing text by which they were asked, as exported."""

    scores: Scores
    ways: Sequence[Way]
    prompt: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return what is worth counting. It is the same for most results, so that rows can be written together."""
        missing = count_missing_reasons(self.scores)
        counts = {"unreadable": sum(missing.values()), "valid": len(self.scores) > sum(missing.values())}
        return {
            **counts,
            **({"missing": missing} if missing else {}),
            **({"ways": sorted(set(self.ways))} if self.ways else {}),
        }


def count_missing_reasons(scores: Scores) -> dict[str, int]:
    reasons = [score.reason for score in scores.values() if isinstance(score, Unscored)]
    return {reason: reasons.count(reason) for reason in sorted(set(reasons))}


def get_ways(result: Mapping[str, Any]) -> list[Way]:
    """Return the further answers of a stored result. Earlier results have only the last one, as `way`."""
    before: list[Way] = [result["way"]] if "way" in result else []
    return result.get("ways", before)


def with_form(question: Question, form: Schema | None) -> Question:
    return replace(question, settings=with_format(question.settings, form)) if form else question


def get_ledger_note(redacted: Mapping[str, int]) -> dict[str, Any]:
    """Return the ledger's note about removed words; empty if none were removed."""
    return {MARK: dict(redacted)} if redacted else {}


def get_askers(caller: Caller, question: Question, form: Schema | None) -> tuple[Ask, Ask | None]:
    """Return the function that asks, and another for repairs if the answer has a schema: repairs never use it."""
    if form is None:
        return caller.bind(question), None
    return Explaining(caller.bind(with_form(question, form))), caller.bind(question)
