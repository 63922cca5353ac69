"""Exports for the tests of the analysis."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253

from studies.analysis.notes import in_english

COLUMNS = (
    "conversation,participant,arm,condition,rater,rater_kind,strategy,replicate,instrument,item,moment,turn,score,"
    "missing_reason,rated_at,role"
)

Ratings = Iterable[Mapping[str, Any]]


def frame_of(rows: Iterable[Mapping[str, Any]], columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Return rows of results as a table, with notes as the texts of the files."""
    return pd.DataFrame(in_files(rows), columns=columns)


def in_files(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return rows of results with notes as the texts of the files."""
    return [{name: in_english(value) for name, value in row.items()} for row in rows]


def write_export(folder: Path, ratings: Ratings) -> Path:
    """An export of these ratings; what a rating does not say is a final seeker's score of one item."""
    folder.mkdir(exist_ok=True)
    usual = {"rater": "P1", "rater_kind": "seeker", "instrument": "ten", "item": "care", "moment": "final"}
    with (folder / "ratings.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS.split(","), restval="")
        writer.writeheader()
        writer.writerows(usual | dict(rating) for rating in ratings)
    return folder


def experts(
    *, counsellors: int, arms: int, each: int, seed: int, strictness: float = 0.6, noise: float = 0.4
) -> tuple[list[dict[str, Any]], dict[str, float], dict[str, float]]:
    """Each of `each` counsellors of an arm rates a conversation of their own; cards in rotation, without effect.

    Returns the ratings, the true score of each arm and the true strictness of each counsellor.
    """
    random = np.random.default_rng(seed)
    truth = {f"arm{arm:02}": 2 + 2 * arm / arms for arm in range(arms)}
    bias = {f"E{number:02}": value for number, value in enumerate(random.normal(0, strictness, counsellors))}
    ratings = []
    for number, (arm, score) in enumerate(truth.items()):
        for rater in (sorted(bias)[(number * each + place) % counsellors] for place in range(each)):
            about = {"conversation": f"{arm}-{rater}", "participant": rater, "arm": arm, "rater": rater}
            given = score + bias[rater] + random.normal(0, noise)
            ratings.append(about | {"rater_kind": "expert", "score": round(given, 6)})
    return ratings, truth, bias


def six_people() -> list[dict[str, Any]]:
    """Six people, two arms, two items; two reviewers on everything; one judge, two strategies, two replicates."""
    ratings: list[dict[str, Any]] = []
    for number in range(24):
        person, arm, item = number // 4, "ab"[number // 2 % 2], ("care", "safety")[number % 2]
        about = {"conversation": f"C{person}{arm}", "participant": f"P{person}", "arm": arm, "item": item}
        felt = 1 + (person + number * 5 // 4) % 5
        ratings.append(about | {"rater": f"P{person}", "score": felt})
        for reviewer, shift in (("R1", 0), ("R2", number % 3 - 1)):
            score = min(5, max(1, felt + shift))
            ratings.append(about | {"rater": reviewer, "rater_kind": "reviewer", "score": score})
        for strategy, error in (("standard", number % 4), ("user_aware", number % 2)):
            for replicate in (1, 2):
                score = max(1, felt - error * (replicate - 1))
                judged = {"rater": "J", "rater_kind": "judge", "strategy": strategy, "replicate": replicate}
                ratings.append(about | judged | {"score": score})
    return ratings
