"""From the settings of an arm or a judge to the model that answers."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from dialogue.demonstration import DemonstrationJudge, DemonstrationThinker
from dialogue.demonstration_profiles import ScriptedProfileWriter
from dialogue.demonstration_seekers import SEEKER_MODELS, ScriptedSeeker
from dialogue.providers.base import ChatModel, ModelSettings, ProviderError
from dialogue.providers.openai_compatible import OpenAICompatible
from dialogue.providers.recorded import REPLAY, Recorded, Recording, recording, unusable
from dialogue.providers.scripted import SUPPORTERS, DemonstrationSupporter
from dialogue.providers.server_errors import NO_KEY
from dialogue.seekers.profile_writer import NAME as PROFILE_WRITER

MODELS = "openai_compatible"  # behind a server
RECORDED = "recorded"  # the kind of model that the ledger names then


class Surroundings(NamedTuple):
    """What a model may need beside its settings."""

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
    """Raises a permanent ProviderError where the settings name no known kind, model or key.

    `pace` is for demonstration models: 1 as a model would stream, 0 at once; before it stands `extra["pace"]`.
    `replicate` and `attempt`, from 1, are for recorded answers.
    """
    around = Surroundings(language, environ, pace, replicate, attempt)
    if settings.kind == MODELS and (found := replayed(environ)):
        return _recorded(settings, found, around)
    if settings.kind not in KINDS:
        raise unusable(f"There is no model kind {settings.kind}.")
    return KINDS[settings.kind](settings, around)


def answering(kind: str, environ: Mapping[str, str] = os.environ) -> str:
    """The kind of model that answers in truth: nothing goes to a server where recorded answers are played again."""
    return RECORDED if kind == MODELS and environ.get(REPLAY) else kind


def replayed(environ: Mapping[str, str] = os.environ) -> Recording | None:
    """The recording that stands in for models behind a server. Raises a permanent ProviderError where it is faulty."""
    return recording(Path(environ[REPLAY])) if environ.get(REPLAY) else None


def is_replayed(kind: str) -> bool:
    return answering(kind) == RECORDED


def is_free(kind: str) -> bool:
    """Nobody asks money for it."""
    return answering(kind) != MODELS


def _recorded(settings: ModelSettings, found: Recording, around: Surroundings) -> ChatModel:
    pace = 1.0 if around.pace is None else around.pace
    return Recorded(settings, found, replicate=around.replicate, attempt=around.attempt, pace=pace)


def _openai_compatible(settings: ModelSettings, around: Surroundings) -> ChatModel:
    return OpenAICompatible(settings, api_key=api_key(settings.api_key_env, around.environ))


def _scripted(settings: ModelSettings, around: Surroundings) -> ChatModel:
    if settings.model == "judge":
        return DemonstrationJudge()
    if settings.model == "thinker":
        return DemonstrationThinker(around.language)
    if settings.model == PROFILE_WRITER:
        return ScriptedProfileWriter(around.language)
    if settings.model in SEEKER_MODELS:
        return ScriptedSeeker(settings.model, around.language)
    if settings.model not in SUPPORTERS:
        raise unusable(f"There is no scripted model {settings.model}.")
    pace = settings.extra.get("pace", 1.0) if around.pace is None else around.pace
    return DemonstrationSupporter(settings.model, around.language, float(pace))


def api_key(variable: str, environ: Mapping[str, str]) -> str:
    """The key that `variable`, or the file named by `variable`_FILE, holds; NO_KEY where no variable is named."""
    if not variable:
        return NO_KEY
    key = environ.get(variable, "").strip() or _key_in_file(f"{variable}_FILE", environ)
    if not key:
        raise unusable(f"The environment variable {variable} is not set.")
    return key


def has_key(variable: str, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether a model whose key stands in `variable` can be asked; also where it names none and needs none."""
    try:
        api_key(variable, environ)
    except ProviderError:
        return False
    return True


def _key_in_file(variable: str, environ: Mapping[str, str]) -> str:
    if not environ.get(variable):
        return ""
    try:
        return Path(environ[variable]).read_text(encoding="utf-8").strip()
    except OSError:
        raise unusable(f"The file that {variable} names cannot be read.") from None


KINDS: dict[str, Callable[[ModelSettings, Surroundings], ChatModel]] = {
    MODELS: _openai_compatible,
    "scripted": _scripted,
}
