"""The ledger's calls as dialogue/providers/recorded.py plays them again. Questions are not in the file, only hashes."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from django.db.models import QuerySet

from dialogue.deidentification.redaction import MARK
from dialogue.jobs.calls import ANSWERED
from dialogue.models import Call
from dialogue.providers.base import PARAMETERS, Message, ModelSettings
from dialogue.providers.recorded import NOT_RECORDED, question_of
from dialogue.providers.registry import RECORDED
from studies.data.exports.columns import Filter
from studies.data.exports.lines import Row
from studies.data.exports.tables import calls_of
from studies.models import Study

NOT_ENDED = ("started", "stopped")  # nothing is known of what would have come


def get_ended_calls(study: Study, only: Filter) -> QuerySet[Call]:
    """Return calls of models. Scripts need no recording, and what a recording did not answer was asked of no model."""
    of_models = calls_of(study, only).exclude(kind="scripted").exclude(kind=RECORDED, error=NOT_RECORDED)
    return of_models.exclude(status__in=NOT_ENDED).order_by("pk")


def build_recording(study: Study, only: Filter) -> Iterator[Row]:
    """Yield the ended calls of a study as rows of a recording, with attempts that are numbered without gaps.

    They are numbered for each question and replicate, from each first one on: another command may have begun anew.
    After an answer nothing more is asked, so that no later one of the same question is played.
    """
    attempts: Counter[tuple[str, int]] = Counter()
    answered: set[tuple[str, int]] = set()
    for call in get_ended_calls(study, only).iterator():
        place = (question_of(settings_of(call), messages_of(call)), call.replicate)
        if place in answered:
            continue
        attempts[place] = 1 if call.attempt == 1 else attempts[place] + 1
        if call.status in ANSWERED:
            answered.add(place)
        numbered = {"question": place[0], "replicate": place[1], "attempt": attempts[place]}
        yield {"study": study.key, **numbered, **outcome_of(call)}


def outcome_of(call: Call) -> Mapping[str, Any]:
    if call.status in ANSWERED:
        return {"reply": asdict(call.as_reply())}
    return {"failure": {"status": call.status, "detail": call.error, "partial": call.response}}


def messages_of(call: Call) -> list[Message]:
    return [Message(one["role"], one["text"]) for one in call.request]


def settings_of(call: Call) -> ModelSettings:
    """Return the settings that a call was asked with, without what the ledger notes beside them."""
    values = {name: value for name, value in call.parameters.items() if name != MARK}
    parameters = {name: values.pop(name, None) for name in PARAMETERS}
    return ModelSettings(call.kind, call.model, **parameters, extra=values)
