"""What models answered before, from a file that `export_calls` has written: the same work once more, without a network
and without a key. Failures come again too, each at its attempt."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from dialogue.providers.base import OF_QUESTION, Message, ModelSettings, OnText, ProviderError, Reply
from dialogue.providers.scripted import spoken

REPLAY = "REPLAY"  # the variable that names the file
NOT_RECORDED = "The recording has no answer to this question."

Place = tuple[str, int]  # question, replicate
FAULTS = (ValueError, TypeError, LookupError)  # that a line may raise which `export_calls` has not written


def question_of(settings: ModelSettings, messages: Sequence[Message]) -> str:
    """The same for the same words to a model of the same name with the same settings, wherever it runs."""
    temperature = None if settings.temperature is None else float(settings.temperature)
    asked = [settings.model, temperature, settings.max_tokens, settings.said_to_model()]
    said = [[message.role, message.text] for message in messages]
    return hashlib.sha256(orjson.dumps([asked, said], option=orjson.OPT_SORT_KEYS)).hexdigest()


@dataclass(frozen=True)
class Recording:
    """`places`: where in the file the outcomes of each question's attempts begin. Only one line at a time is read."""

    path: Path
    places: Mapping[Place, Sequence[int]]

    def outcome(self, question: str, replicate: int, attempt: int) -> Reply | ProviderError:
        """Of an attempt after the last recorded one: as that. Raises a permanent ProviderError where nothing is."""
        starts = self.places.get((question, replicate))
        if starts is None:
            raise unusable(NOT_RECORDED)
        line = self._line(starts[min(attempt, len(starts)) - 1])
        if line["question"] != question:
            raise self._changed()
        return _outcome(line)

    def _line(self, start: int) -> Mapping[str, Any]:
        try:
            with self.path.open("rb") as file:
                file.seek(start)
                line: Mapping[str, Any] = orjson.loads(file.readline())
                _read(line)
                return line
        except (OSError, *FAULTS):
            raise self._changed() from None

    def _changed(self) -> ProviderError:
        return unusable(f"{self.path.name} has been changed or taken away since it was read.")


def _outcome(line: Mapping[str, Any]) -> Reply | ProviderError:
    if "reply" in line:
        return Reply(**line["reply"])
    failed = line["failure"]
    permanent = failed["status"] in (*OF_QUESTION, "client_error")
    return ProviderError(failed["status"], failed["detail"], permanent=permanent, partial=failed["partial"])


@cache
def recording(path: Path) -> Recording:
    """Looked through once in each process. Raises a permanent ProviderError that names the faulty line.

    Where a question was asked anew from its first attempt, by another command, what it got then counts.
    """
    places: dict[Place, list[int]] = {}
    start = 0
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                place, attempt = _place(line, f"{path}, line {number}")
                places.setdefault(place, [])[attempt - 1 :] = [start]
                start += len(line)
    except OSError as error:
        raise unusable(f"{path}: {error.strerror}") from None
    return Recording(path, places)


def _place(line: bytes, where: str) -> tuple[Place, int]:
    """With the number of the attempt."""
    try:
        return _read(orjson.loads(line))
    except FAULTS:
        raise unusable(f"{where}: is no line of export_calls.") from None


def _read(line: Mapping[str, Any]) -> tuple[Place, int]:
    """Raises one of FAULTS where something is not as it should be."""
    _outcome(line)
    attempt = int(line["attempt"])
    if attempt < 1:
        raise ValueError(attempt)
    return (str(line["question"]), int(line["replicate"])), attempt


class Recorded:
    """One attempt at a question. `pace` as of a demonstration model."""

    def __init__(
        self, settings: ModelSettings, found: Recording, *, replicate: int, attempt: int, pace: float = 0.0
    ) -> None:
        self._settings, self._recording = settings, found
        self._replicate, self._attempt, self._pace = replicate, attempt, pace

    async def reply(self, messages: Sequence[Message], on_text: OnText | None = None) -> Reply:
        question = question_of(self._settings, messages)
        outcome = self._recording.outcome(question, self._replicate, self._attempt)
        if isinstance(outcome, ProviderError):
            raise outcome
        await spoken(outcome.text, outcome.model, on_text, self._pace)
        return outcome  # with the times and tokens of back then


def unusable(detail: str) -> ProviderError:
    return ProviderError("client_error", detail, permanent=True)
