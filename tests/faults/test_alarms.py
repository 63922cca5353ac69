"""The checks themselves; and the server killed between message and mail, on both databases (`make faults`: 10)."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from tests.amounts import choose
from tests.faults.alarms import FIRST, Seen, can_be_told, story_for, tell_all, violations

SEEDS = choose(usual=(5, 8), full=range(1, 11))
DAMAGES: dict[str, dict[str, Any]] = {
    "the person was told ['ack']": {"frames": ["ack"]},
    "0 events": {"events": 0},
    "mails before the kill": {"early": [FIRST]},
    "mails after the restart: []": {"mailed": []},
    f"mails after the restart: ['{FIRST}', '{FIRST}']": {"mailed": [FIRST, FIRST]},
    "mails after no one had answered: []": {"climbed": []},
    "1 alarms are not sent": {"unsent": 1},
    "the acts are ['alarmed']": {"acts": ["alarmed"]},
    "1 tracebacks": {"traces": 1},
    "words of the conversation": {"words": True},
}


def test_whole_story_has_no_violation() -> None:
    assert violations(Seen()) == []
    assert violations(Seen(acts=("failed", "alarmed", "overdue", "alarmed"))) == []


@pytest.mark.parametrize("words", DAMAGES)
def test_damage_is_seen(words: str) -> None:
    found = violations(replace(Seen(), **DAMAGES[words]))
    assert [said for said in found if words in said], found


@pytest.mark.parametrize("seed", SEEDS)
def test_alarm_goes_out_once_after_the_server_was_killed(seed, tmp_path) -> None:
    if not can_be_told(story_for(seed)):
        pytest.skip("no PostgreSQL answered on its standard port: alarms were tried on SQLite alone")
    [told] = asyncio.run(tell_all([seed], folder=tmp_path))
    assert told.violations == [], told
