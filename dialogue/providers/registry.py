"""Finds the model that answers for the settings of an arm or a judge."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from dialogue.demonstration.judges import DemonstrationJudge, DemonstrationThinker
from dialogue.demonstration.profiles import ScriptedProfileWriter
from dialogue.demonstration.seekers import SEEKER_MODELS, ScriptedSeeker
from dialogue.providers.base import KEY_UNLISTED, KEY_UNSET, ChatModel, ModelSettings, ProviderError
from dialogue.providers.key_variables import is_listed, is_own
from dialogue.providers.openai_compatible import OpenAICompatible
from dialogue.providers.recorded import REPLAY, RecordedModel, Recording, load_recording, setup_error
from dialogue.providers.scripted import SUPPORTERS, DemonstrationSupporter
from dialogue.providers.server_errors import NO_KEY
from dialogue.seekers.profile_writer import NAME as PROFILE_WRITER

MODELS = "openai_compatible"  # behind a server
RECORDED = "recorded"  # the kind of model that the ledger names then


class Surroundings(NamedTuple):
    """Facts that a model needs beside its settings."""

    language: str
    environ: Mapping[str, str]
    pace: float | None
    replicate: int
    attempt: int


def model_for(
    settings: ModelSettings,
    *,
    language: str = "en",
    environ: Mapping[str, str] = os.environ,
    pace: float | None = None,
    replicate: int = 1,
    attempt: int = 1,
) -> ChatModel:
    """Return the model. Raises a permanent ProviderError where the settings name no known kind, model or key.

    `pace` is for demonstration models: 1 streams like a model, 0 sends all at once. Without it, `extra["pace"]` counts.
    `replicate` and `attempt`, from 1, are for recorded answers.
    """
    around = Surroundings(language, environ, pace, replicate, attempt)
    if settings.kind == MODELS and (recording := get_recording(environ)):
        return _make_recorded(settings, recording, around)
    if settings.kind not in KINDS:
        raise setup_error(f"There is no model kind {settings.kind}.")
    return KINDS[settings.kind](settings, around)


def answering_kind(kind: str, environ: Mapping[str, str] = os.environ) -> str:
    """Return the kind of model that really answers: while REPLAY is set, recorded answers stand in for servers."""
    return RECORDED if kind == MODELS and environ.get(REPLAY) else kind


def get_recording(environ: Mapping[str, str] = os.environ) -> Recording | None:
    """Return the recording that stands in for models behind servers, if any. Raises a permanent ProviderError where it
    is faulty."""
    return load_recording(Path(environ[REPLAY])) if environ.get(REPLAY) else None


def is_replayed(kind: str) -> bool:
    """Return True where recorded answers stand in for models of this kind."""
    return answering_kind(kind) == RECORDED


def is_free(kind: str) -> bool:
    """Return True where calls to this kind of model cost nothing."""
    return answering_kind(kind) != MODELS


def _make_recorded(settings: ModelSettings, recording: Recording, around: Surroundings) -> ChatModel:
    pace = 1.0 if around.pace is None else around.pace
    return RecordedModel(settings, recording, replicate=around.replicate, attempt=around.attempt, pace=pace)


def _make_openai_compatible(settings: ModelSettings, around: Surroundings) -> ChatModel:
    return OpenAICompatible(settings, api_key=get_api_key(settings.api_key_env, around.environ))


def _make_scripted(settings: ModelSettings, around: Surroundings) -> ChatModel:
    if settings.model == "judge":
        return DemonstrationJudge()
    if settings.model == "thinker":
        return DemonstrationThinker(around.language)
    if settings.model == PROFILE_WRITER:
        return ScriptedProfileWriter(around.language)
    if settings.model in SEEKER_MODELS:
        return ScriptedSeeker(settings.model, around.language)
    if settings.model not in SUPPORTERS:
        raise setup_error(f"There is no scripted model {settings.model}.")
    pace = settings.extra.get("pace", 1.0) if around.pace is None else around.pace
    return DemonstrationSupporter(settings.model, around.language, float(pace))


def get_api_key(variable: str, environ: Mapping[str, str]) -> str:
    """Return the key in `variable`, or in the file that `variable`_FILE names; NO_KEY where no variable is named.

    Raises a permanent ProviderError where there is no key, and where the variable may not be named: a design that was
    loaded before the list was made counts too.
    """
    if not variable:
        return NO_KEY
    if is_own(variable) or not is_listed(variable, environ):
        detail = f"The variable {variable} is none that a study may name as a key on this server (MODEL_KEYS)."
        raise setup_error(detail, KEY_UNLISTED)
    key = environ.get(variable, "").strip() or _key_in_file(f"{variable}_FILE", environ)
    if not key:
        raise setup_error(f"The environment variable {variable} is not set.", KEY_UNSET)
    return key


def has_key(variable: str, environ: Mapping[str, str] = os.environ) -> bool:
    """Return True where the key is set, or where no variable is named because no key is needed."""
    try:
        get_api_key(variable, environ)
    except ProviderError:
        return False
    return True


def _key_in_file(variable: str, environ: Mapping[str, str]) -> str:
    if not environ.get(variable):
        return ""
    try:
        return Path(environ[variable]).read_text(encoding="utf-8-sig").strip()  # Windows writes a byte-order mark
    except (OSError, UnicodeDecodeError):
        raise setup_error(f"The file that {variable} names cannot be read.") from None


KINDS: dict[str, Callable[[ModelSettings, Surroundings], ChatModel]] = {
    MODELS: _make_openai_compatible,
    "scripted": _make_scripted,
}
