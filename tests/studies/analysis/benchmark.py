"""A benchmark of simulated seekers as an export, with planted effects."""

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tests.studies.analysis.builders import write_export

CAP = 15
DROP = {"kind": -0.2, "mild": -0.8, "stern": -1.6}  # worst case minus average
LEAVING = {"kind": 0.02, "mild": 0.1, "stern": 0.3}  # chance after each turn, in the worst case
EASED = 0.5  # by leaving resistance out
ITEMS = {"care": 0.3, "safety": -0.3}


def write_table(folder: Path, name: str, rows: Iterable[Mapping[str, Any]]) -> None:
    """A file of the export; its columns are those of the first row."""
    first, *rest = rows
    with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(first), restval="")
        writer.writeheader()
        writer.writerows([first, *rest])


def write_benchmark(folder: Path, *, profiles: int, seed: int, noise: float = 0.3) -> Path:
    """Each arm with each profile in both conditions, and in the worst case without resistance; all in one export."""
    random = np.random.default_rng(seed)
    ease = random.normal(0, 0.5, profiles)
    made = [
        _conversation(arm, f"S{profile:03}", condition, setup, random)
        for arm in DROP
        for profile in range(profiles)
        for condition, setup in (("average", ""), ("worst_case", ""), ("worst_case", "without resistance"))
    ]
    ratings = []
    for chat in made:
        drop = DROP[chat["arm"]] if chat["condition"] == "worst_case" else 0.0
        drop += EASED if chat["setup"] else 0.0
        for item, height in ITEMS.items():
            score = 4 + height + drop + ease[int(chat["profile"][1:])] + random.normal(0, noise)
            of = {name: chat[name] for name in ("conversation", "arm", "condition")}
            given = {"rater": "seeker", "rater_kind": "simulated_seeker", "item": item, "score": round(score, 6)}
            ratings.append(of | given)
    write_export(folder, ratings)
    write_table(folder, "conversations", made)
    write_table(folder, "states", [state for chat in made for state in _states(chat, random)])
    write_table(folder, "calls", [call for chat in made for call in _calls(chat)])
    return folder


def _conversation(arm: str, profile: str, condition: str, setup: str, random: np.random.Generator) -> dict[str, Any]:
    hazard = LEAVING[arm] if condition == "worst_case" else 0.01
    turns = min(int(random.geometric(hazard)), CAP)
    ends = "walked_out" if random.random() < 0.7 else "satisfied"
    return {
        "conversation": f"{arm}-{profile}-{condition}-{setup}",
        "participant": "",
        "arm": arm,
        "condition": condition,
        "seeker_kind": "simulated",
        "profile": profile,
        "language": "en",
        "turns": turns,
        "end_reason": ends if turns < CAP else "cap",
        "valid": "true",
        "setup": setup,
        "replicate": 1,
        "seeker_faults": "",
    }


def _states(chat: Mapping[str, Any], random: np.random.Generator) -> Iterable[dict[str, Any]]:
    """A rise of two points per turn on average, a fall of one in the worst case."""
    slope = 2 if chat["condition"] == "average" else -1
    for turn in range(1, chat["turns"] + 1):
        score = round(40 + slope * turn + random.normal(0, 2), 3)
        yield {"conversation": chat["conversation"], "turn": turn, "source": "seeker", "emotion_score": score}


def _calls(chat: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    """A reply and a thought a turn, of 2 seconds, 100 tokens in and 10 out; each first reply fails once."""
    told = {"status": "ok", "total_ms": 2000, "input_tokens": 100, "output_tokens": 10, "cost": "0.002"}
    failed = {"status": "timeout", "total_ms": "", "input_tokens": "", "output_tokens": "", "cost": "0"}
    of = {"conversation": chat["conversation"], "purpose": "reply"}
    yield of | failed
    for _ in range(chat["turns"]):
        yield of | told
        yield of | told | {"purpose": "thinker", "cost": ""}
