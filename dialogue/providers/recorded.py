"""Recorded answers of models, from a file that `export_calls` wrote. They repeat earlier work without a network or a
key, and repeat each failure at its attempt."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from dialogue.providers.base import OF_QUESTION, OF_SETTINGS, Message, ModelSettings, OnText, ProviderError, Reply
from dialogue.providers.scripted import speak

REPLAY = "REPLAY"  # the variable that names the file
NOT_RECORDED = "The recording has no answer to this question."

Place = tuple[str, int]  # question, replicate
FAULTS = (ValueError, TypeError, LookupError)  # that a line may raise which `export_calls` has not written


def question_of(settings: ModelSettings, messages: Sequence[Message]) -> str:
    """Return a hash of the words, the model's name and its settings, which is the same on every machine."""
    model = [settings.model, {**settings.explicit_parameters(), **settings.request_options()}]
    words = [[message.role, message.text] for message in messages]
    return hashlib.sha256(orjson.dumps([model, words], option=orjson.OPT_SORT_KEYS)).hexdigest()


@dataclass(frozen=True)
class Recording:
    """A file of recorded answers. `places` holds where the lines of each question's attempts begin in it; lines are
    read one at a time."""

    path: Path
    places: Mapping[Place, Sequence[int]]

    def outcome(self, question: str, replicate: int, attempt: int) -> Reply | ProviderError:
        """Return what the attempt came to; attempts after the last recorded one repeat it. Raises a permanent
        ProviderError where nothing was recorded."""
        starts = self.places.get((question, replicate))
        if starts is None:
            raise setup_error(NOT_RECORDED)
        line = self._line(starts[min(attempt, len(starts)) - 1])
        if line["question"] != question:
            raise self._change_error()
        return _outcome(line)

    def _line(self, start: int) -> Mapping[str, Any]:
        try:
            with self.path.open("rb") as file:
                file.seek(start)
                line: Mapping[str, Any] = orjson.loads(file.readline())
                _read(line)
                return line
        except (OSError, *FAULTS):
            raise self._change_error() from None

    def _change_error(self) -> ProviderError:
        return setup_error(f"{self.path.name} has been changed or taken away since it was read.")


def _outcome(line: Mapping[str, Any]) -> Reply | ProviderError:
    if "reply" in line:
        return Reply(**line["reply"])
    failed = line["failure"]
    permanent = failed["status"] in (*OF_QUESTION, *OF_SETTINGS, "client_error")
    return ProviderError(failed["status"], failed["detail"], permanent=permanent, partial=failed["partial"])


@cache
def load_recording(path: Path) -> Recording:
    """Return the recording in a file, which each process reads through once. Raises a permanent ProviderError that
    names the faulty line.

    Where another command asked a question anew from its first attempt, the later answers count.
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
        raise setup_error(f"{path}: {error.strerror}") from None
    return Recording(path, places)


def _place(line: bytes, where: str) -> tuple[Place, int]:
    """Return the place of a line, and its attempt. Raises a permanent ProviderError."""
    try:
        return _read(orjson.loads(line))
    except FAULTS:
        raise setup_error(f"{where}: is no line of export_calls.") from None


def _read(line: Mapping[str, Any]) -> tuple[Place, int]:
    """Return the place of a line, and its attempt. Raises one of FAULTS."""
    _outcome(line)
    attempt = int(line["attempt"])
    if attempt < 1:
        raise ValueError(attempt)
    return (str(line["question"]), int(line["replicate"])), attempt


class RecordedModel:
    """A model that gives recorded answers to one attempt. `pace` is that of a demonstration model."""

    def __init__(
        self, settings: ModelSettings, recording: Recording, *, replicate: int, attempt: int, pace: float = 0.0
    ) -> None:
        self._settings, self._recording = settings, recording
        self._replicate, self._attempt, self._pace = replicate, attempt, pace

    async def reply(self, messages: Sequence[Message], on_text: OnText | None = None) -> Reply:
        question = question_of(self._settings, messages)
        outcome = self._recording.outcome(question, self._replicate, self._attempt)
        if isinstance(outcome, ProviderError):
            raise outcome
        await speak(outcome.text, outcome.model, on_text, self._pace)
        return outcome  # with the times and tokens of back then


def setup_error(detail: str, status: str = "client_error") -> ProviderError:
    """Return a permanent error of settings or files that have to be changed."""
    return ProviderError(status, detail, permanent=True)
