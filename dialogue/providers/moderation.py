"""Any server that speaks OpenAI's moderation endpoint."""

import sys
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from dialogue.providers.base import ModelSettings, ProviderError
from dialogue.providers.openai_client import load_client, use_client

CLIENT = "openai"


def load_client_soon() -> None:
    """Import OpenAI's client beside what is going on. It takes a second, for which no message should wait."""
    if CLIENT not in sys.modules:
        threading.Thread(target=load_client, name="openai import", daemon=True).start()


class Moderation(NamedTuple):
    """The scores of each text, from 0 to 1 by category ("self-harm/intent"), and how long it took."""

    model: str
    scores: tuple[Mapping[str, float], ...]
    total_ms: int


async def moderate(texts: Sequence[str], settings: ModelSettings, *, api_key: str) -> Moderation:
    """Return one mapping of scores for each text. Every failure is a ProviderError."""
    started = time.monotonic()
    model: dict[str, Any] = {"model": settings.model} if settings.model else {}
    async with use_client(settings.base_url, api_key) as client:
        answer: Any = await client.moderations.create(input=list(texts), **model)
    scores = tuple(_scores(result) for result in getattr(answer, "results", None) or ())
    if len(scores) != len(texts):
        raise ProviderError("unparseable", f"{len(scores)} results for {len(texts)} texts.", partial=_words(answer))
    return Moderation(str(answer.model), scores, round((time.monotonic() - started) * 1000))


def _scores(result: Any) -> dict[str, float]:
    """Return the scores by their names in the answer; servers add categories, and leave out some."""
    named: Any = getattr(result, "category_scores", None)
    raw_scores = named.to_dict() if hasattr(named, "to_dict") else named
    scores = raw_scores if isinstance(raw_scores, dict) else {}
    if not scores or not all(_is_share(score) for score in scores.values()):
        raise ProviderError("out_of_range", "A score is no number from 0 to 1.", partial=_words(result))
    return scores


def _is_share(score: Any) -> bool:
    return isinstance(score, int | float) and not isinstance(score, bool) and 0 <= score <= 1


def _words(answer: Any) -> str:
    return str(answer)[:500]
