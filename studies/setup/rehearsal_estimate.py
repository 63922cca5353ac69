"""The requests that the bots of a rehearsal are expected to send to the study's models."""

from collections.abc import Iterator
from typing import Any

from dialogue.jobs.estimate import ASSUMED, Load, cost_of
from dialogue.jobs.store import today
from dialogue.models import Call
from dialogue.providers.base import Message, copy_settings
from dialogue.providers.prices import Prices, estimate_tokens
from dialogue.providers.registry import has_key, is_free
from studies.design.plan import steps_for
from studies.design.spec import ArmSpec, StudySpec

MESSAGE_TOKENS = 25  # of what a bot says


def estimate_rehearsal(spec: StudySpec, track: str, count: int, prices: Prices) -> dict[str, Any]:
    """Return the numbers of conversations, calls and tokens, and the cost, in the words of other estimates.

    Each bot is expected to say as many messages as a conversation needs at least, to arms drawn evenly.
    """
    loads = list(expected_loads(spec, track, count))
    cost = cost_of(loads, prices, today())
    unset = [arm.api_key_env for arm in spec.arms if not is_free(arm.kind) and not has_key(arm.api_key_env)]
    return {
        "conversations": count * conversations_each(spec, track),
        "judgements": 0,
        "profiles": 0,
        "calls": round(sum(load.calls for load in loads)),
        "input_tokens": round(sum(load.input_tokens for load in loads)),
        "output_tokens": round(sum(load.output_tokens for load in loads)),
        "cost": None if cost.unpriced else str(cost.amount),
        "currency": cost.currency,
        "unpriced": list(cost.unpriced),
        "unset_keys": list(dict.fromkeys(unset)),
    }


def conversations_each(spec: StudySpec, track: str) -> int:
    chats = any(step.kind == "chats" for step in steps_for(spec, track))
    return spec.arms_per_person(track) if chats else 0


def expected_loads(spec: StudySpec, track: str, count: int) -> Iterator[Load]:
    """Yield a load for each arm that is asked for money; what was said before is sent again with each message."""
    each = conversations_each(spec, track)
    for arm in spec.arms:
        if not is_free(arm.kind):
            yield expected_load(arm, spec.chat.min_turns).times(count * each / len(spec.arms))


def expected_load(arm: ArmSpec, turns: int) -> Load:
    prompt = estimate_tokens([Message("system", next(iter(arm.prompt_text.values()), ""))])
    reply = ASSUMED[Call.Purpose.REPLY]
    history = (MESSAGE_TOKENS + reply) * turns * (turns - 1) / 2
    read = turns * (prompt + MESSAGE_TOKENS) + history
    return Load(Call.Purpose.REPLY, copy_settings(arm), turns, read, turns * reply)
