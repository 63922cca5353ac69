"""Judges whose model's server fails or writes badly, each in its own way, and what must come of it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

CONVERSATIONS = 6  # judged by each, but where it says otherwise
FEW = 2  # three items that fail in the same way would stop their job
N = CONVERSATIONS


@dataclass(frozen=True)
class Judge:
    """`model` as in tests/llm_server.py. `calls`: rows of the ledger by status, one for each request. `missing`: why no
    score is there; `failure`: of its items."""

    key: str
    model: str
    calls: Mapping[str, int]
    missing: str = ""
    failure: str = ""
    conversations: int = N
    settings: Mapping[str, Any] = field(default_factory=dict)


JUDGES = (
    Judge("plain", "echo", {"ok": N}),
    Judge("burst", "flaky-2-status-429-1", {"rate_limited": 2 * N, "ok": N}),
    Judge("stall", "stall", {"timeout": 8 * FEW}, "timeout", "timeout", FEW, {"extra": {"total_timeout": 1}}),
    Judge("stall_once", "flaky-1-stall", {"timeout": N, "ok": N}, settings={"extra": {"total_timeout": 3}}),
    Judge("broken_stream", "flaky-1-badjson", {"network": N, "ok": N}),
    Judge("refusal", "refusal", {"refused": N}, "refused", "refused"),
    Judge("filter", "filter", {"refused": N}, "refused", "refused"),
    Judge("untidy", "untidy", {"ok": N}),
    Judge("fenced", "fenced", {"ok": N}),
    Judge("full_width", "fullwidth", {"ok": N}),
    Judge("at_the_limit", "length", {"truncated": N}),
    Judge("cut", "brief", {"unparseable": N, "ok": N}, settings={"max_tokens": 16}),  # asked again with twice the room
    Judge("prose", "badjudge", {"unparseable": 2 * N + 1}, "unparseable"),  # its prose is always the same to repair
)
REPEATED = ("cut",)  # what it answers in the end is to another prompt, so the scores are others
