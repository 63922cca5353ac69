"""The same person, other arms: what each read, with all taken out that differs by chance; and when it came."""

import json
import re
from collections.abc import Iterator, Sequence
from difflib import unified_diff
from itertools import chain, islice, zip_longest
from typing import Any

from dialogue.chat.pacing import WINDOW
from tests.leaks.recorder import Heard, Passed, Recorder

BY_CHANCE = {
    re.compile(r"(?m)^Date: .*$"): "Date: *",
    re.compile(r"expires=[^;]+"): "expires=*",
    re.compile(r"(?m)^Sec-WebSocket-Accept: .*$"): "Sec-WebSocket-Accept: *",  # what the browser drew, digested
    re.compile(r"\b(emostudy_\w+|messages)=[^;\n]+"): r"\1=*",
    re.compile(r"ws://127\.0\.0\.1:\d+"): "ws://*",  # the server's own address
    re.compile(r'"sent_at": "[-\d]+T\d\d:\d\d:00Z"'): '"sent_at": "*"',  # whole minutes; seconds would be no chance
    re.compile(r'(name="(?:csrfmiddlewaretoken|idempotency)" value=)"[\w.-]+"'): r'\1"*"',
}
# CONTRACT.md: what each frame from the server holds. There is no number of an arm among it.
FRAME_KEYS: dict[str, set[str]] = {
    "ack": {"type", "id", "turn"},
    "message": {"type", "seq", "turn", "id", "text", "sent_at"},
    "chunk": {"type", "seq", "turn", "at", "text"},
    "reply": {"type", "seq", "turn", "text", "sent_at"},
    "pause": {"type", "seq", "turn", "next"},
    "help": {"type", "seq", "turn", "level"},
    "held": {"type", "seq", "turn", "next"},
    "failed": {"type", "seq", "turn"},
    "closed": {"type", "seq", "next"},
    "superseded": {"type"},
    "error": {"type", "code", "detail"},
}
LINES = 40  # of a comparison, to be read


def account(recorder: Recorder, who: str, conversations: Sequence[str]) -> list[str]:
    """All that this person's browser got before the debrief, in order. Pieces are left out: they follow the clock."""
    return list(_lines(recorder, who, {code: f"conversation {n}" for n, code in enumerate(conversations)}))


def differences(one: Sequence[str], other: Sequence[str]) -> list[str]:
    """The first few, as lines; two equal accounts have none."""
    pairs = [pair for pair in zip_longest(one, other, fillvalue="") if pair[0] != pair[1]]
    lines = (unified_diff(*(text.splitlines() for text in pair), lineterm="") for pair in pairs)
    return list(islice(chain.from_iterable(lines), LINES))


def _lines(recorder: Recorder, who: str, names: dict[str, str]) -> Iterator[str]:
    for heard in recorder.heard:
        if heard.who != who or heard.part == "cookie" or heard.place.endswith(" chunk"):
            continue
        if heard.place.endswith(" debrief"):
            return
        text = _frame(heard) if heard.part == "frame" else heard.text
        for code, name in names.items():
            text = text.replace(code, name)
        for pattern, instead in BY_CHANCE.items():
            text = pattern.sub(instead, text)
        yield f"{heard.place} {heard.part}\n{text}"


def _frame(heard: Heard) -> str:
    """Numbers count the pieces, and a message's id is its browser's own."""
    frame = json.loads(heard.text)
    return json.dumps({name: value for name, value in frame.items() if name not in ("seq", "id")}, ensure_ascii=False)


def wrong_keys(passed: Sequence[Passed]) -> list[dict[str, Any]]:
    return [one.frame for one in passed if not one.outward and set(one.frame) != FRAME_KEYS[one.frame["type"]]]


def too_early(passed: Sequence[Passed], *, floor: float, rate: float) -> list[str]:
    """What of one conversation came sooner after its message than the pace allows."""
    sent: dict[str, float] = {}
    asked: dict[int, float] = {}
    found = []
    for one in passed:
        frame = one.frame
        if one.outward and frame["type"] == "message":
            sent[frame["id"]] = one.at
        elif frame["type"] == "ack" and not one.outward:
            asked[frame["turn"]] = sent[frame["id"]]
        elif frame["type"] in ("chunk", "reply"):
            characters = frame.get("at", 0) + len(frame["text"])
            allowed = asked[frame["turn"]] + floor + max(0.0, characters / rate - WINDOW)
            if one.at < allowed:
                found.append(f"{frame['type']} of {characters} characters, {allowed - one.at:.3f} s too early")
    return found
