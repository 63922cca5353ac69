"""Ratings as large as a study can get, and other ways to analyse them: the usual ones, and near the limit in numpy.

20,000 conversations of 2,000 people, 14 items, four reviewers who rated 89 % of them all on a scale of 1 to 5, which
makes about 1,000,000 ratings; and a judge who rated everything. The bootstraps here draw the clusters that emostudy
draws for the same seed, so that their replicates can be compared one by one.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd  # noqa: TID253
from numpy.typing import NDArray

CONVERSATIONS, PEOPLE, ITEMS, REVIEWERS, LEVELS = 20_000, 2_000, 14, 4, 5
MISSING = 0.1072
NOTHING_SAID = 0.7  # of the judge's scores, those that come without a reason
COLUMNS = (
    "conversation,participant,arm,condition,rater,rater_kind,strategy,replicate,instrument,item,moment,turn,score,"
    "missing_reason,rated_at,first_turn,last_turn,seconds,reason"
)

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Scores:
    """`reviewers`: conversations × items × reviewers, nan where missing; `judge`: conversations × items; `person`:
    whose each conversation is, numbered from 0."""

    reviewers: Array
    judge: Array
    person: NDArray[np.intp]

    def count(self) -> int:
        return int((~np.isnan(self.reviewers)).sum())

    def means(self) -> Array:
        """The reviewers' mean: conversations × items; nan where none rated."""
        there = ~np.isnan(self.reviewers)
        with np.errstate(invalid="ignore"):
            return np.asarray(np.where(there, self.reviewers, 0).sum(axis=2) / there.sum(axis=2))


def scores(seed: int = 7) -> Scores:
    random = np.random.default_rng(seed)
    person = np.repeat(np.arange(PEOPLE), CONVERSATIONS // PEOPLE)
    truth = 0.5 * random.normal(size=(PEOPLE, ITEMS))[person] + random.normal(size=(CONVERSATIONS, ITEMS))
    noise = 0.9 * random.normal(size=(CONVERSATIONS, ITEMS, REVIEWERS))
    reviewers = on_scale(truth[:, :, np.newaxis] + noise)
    reviewers[random.random(reviewers.shape) < MISSING] = np.nan
    return Scores(reviewers, on_scale(truth + random.normal(size=truth.shape)), person)


def on_scale(latent: Array) -> Array:
    return np.asarray(np.clip(np.rint(3 + latent), 1, LEVELS))


# The folder that an export of them would be.


def write_export(folder: Path, given: Scores, seed: int = 8) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    write(folder / "ratings.csv", COLUMNS, rating_rows(given, np.random.default_rng(seed)))
    whose = ((code_of(number), f"P{person:05}") for number, person in enumerate(given.person))
    chats = ((code, person, arm(code), "true") for code, person in whose)
    write(folder / "conversations.csv", "conversation,participant,arm,valid", chats)
    people = ((f"P{person:05}", "false") for person in range(PEOPLE))
    write(folder / "participants.csv", "participant,excluded", people)
    return folder


def write(path: Path, header: str, rows: Iterator[tuple[object, ...]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header.split(","))
        writer.writerows(rows)


def code_of(conversation: int) -> str:
    return f"C{conversation:06}"


def arm(code: str) -> str:
    return f"arm-{int(code[1:]) % 5}"


def rating_rows(given: Scores, random: np.random.Generator) -> Iterator[tuple[object, ...]]:
    """Rater by rater; one rating in three of the judge's has a reason with a comma in it."""
    for reviewer in range(REVIEWERS):
        rater = f"R{reviewer + 1}", "reviewer", "", 1
        for conversation, item in np.argwhere(~np.isnan(given.reviewers[:, :, reviewer])).tolist():
            score = int(given.reviewers[conversation, item, reviewer])
            yield rating(given, conversation, item, rater, score, round(random.exponential(6), 1), "")
    rater = "judge-a", "judge", "standard", 1
    for conversation, item in np.ndindex(given.judge.shape):
        reason = "" if random.random() < NOTHING_SAID else f"It answers what was said, in turn {conversation % 9}."
        yield rating(given, conversation, item, rater, int(given.judge[conversation, item]), None, reason)


def rating(
    given: Scores,
    conversation: int,
    item: int,
    rater: tuple[object, ...],
    score: int,
    seconds: float | None,
    reason: str,
) -> tuple[object, ...]:
    code, number = code_of(conversation), conversation * ITEMS + item
    whose = code, f"P{given.person[conversation]:05}", arm(code), ""
    at = f"2026-01-{1 + number % 28:02}T{number % 24:02}:{number % 60:02}:{number % 59:02}.{number % 1_000_000:06}Z"
    said = "ten", f"item_{item:02}", "final", None, score, "", at
    return *whose, *rater, *said, 1, 10, seconds, reason


# Pearson's r of the reviewers' mean and the judge, clusters resampled.


def pearson_usual(human: Array, judge: Array, person: NDArray[np.intp], drawn: Iterator[NDArray[np.intp]]) -> Array:
    """In pandas: the rows of the people that were drawn put together, and correlated; replicates × items."""
    both = pd.DataFrame(np.hstack([human, judge]))
    of_person = [rows for _person, rows in both.groupby(person)]
    found = []
    for people in drawn:
        sample = pd.concat([of_person[one] for one in people])
        found.append([sample[item].corr(sample[ITEMS + item]) for item in range(ITEMS)])
    return np.array(found)


def pearson_near_limit(human: Array, judge: Array, person: NDArray[np.intp], replicates: int, seed: int) -> Array:
    """Six sums of each person and item; one matrix product gives every replicate: replicates × items."""
    there = ~np.isnan(human)
    x, y = np.where(there, human - 3, 0), np.where(there, judge - 3, 0)
    sums = by_person(np.hstack([there, x, y, x * x, y * y, x * y]), person)
    return pearson(times_drawn(replicates, seed) @ sums)


def pearson(sums: Array) -> Array:
    n, x, y, xx, yy, xy = np.split(sums, 6, axis=-1)
    return np.asarray((n * xy - x * y) / np.sqrt((n * xx - x * x) * (n * yy - y * y)))


def times_drawn(replicates: int, seed: int) -> Array:
    drawn = np.random.default_rng(seed).integers(PEOPLE, size=(replicates, PEOPLE))
    drawn += PEOPLE * np.arange(replicates)[:, np.newaxis]
    return np.bincount(drawn.ravel(), minlength=drawn.size).reshape(drawn.shape).astype(np.float64)


def by_person(values: Array, person: NDArray[np.intp]) -> Array:
    order = np.argsort(person, kind="stable")
    return np.asarray(np.add.reduceat(values[order], np.searchsorted(person[order], np.arange(PEOPLE)), axis=0))


# ICC(2,k), over the conversations that all reviewers rated.


def icc_near_limit(reviewers: Array) -> Array:
    return np.array([icc_of(complete(reviewers[:, item])) for item in range(ITEMS)])


def complete(given: Array) -> Array:
    return given[~np.isnan(given @ np.ones(REVIEWERS))]


def icc_of(given: Array) -> float:
    n, k = given.shape
    whole, rows, columns = given.mean(), given @ np.ones(k) / k, np.ones(n) @ given / n
    between = k * ((rows - whole) ** 2).sum() / (n - 1)
    raters = n * ((columns - whole) ** 2).sum() / (k - 1)
    rest = ((given - rows[:, np.newaxis] - columns + whole) ** 2).sum() / ((n - 1) * (k - 1))
    return float((between - rest) / (between + (raters - rest) / n))


def icc_usual(long: pd.DataFrame, item: str) -> float:
    """pingouin, of one item."""
    import pingouin

    rated = long[(long["item"] == item) & (long["rater_kind"] == "reviewer")]
    found = pingouin.intraclass_corr(rated, "conversation", "rater", "score", nan_policy="omit")
    return float(found.set_index("Type").at["ICC(A,k)", "ICC"])


# Krippendorff's alpha, ordinal, with what is missing; clusters resampled.


def alpha_usual(given: Array) -> float:
    """The package, of one item and one sample: a bootstrap calls it once for each replicate."""
    import krippendorff

    return float(krippendorff.alpha(reliability_data=given.T, level_of_measurement="ordinal"))


def alpha_near_limit(reviewers: Array, person: NDArray[np.intp], replicates: int, seed: int) -> Array:
    """The coincidences of each person; one matrix product gives those of every replicate: replicates × items."""
    pairs = coincidences(np.stack([(reviewers == level).sum(axis=2) for level in range(1, LEVELS + 1)], axis=2))
    drawn = times_drawn(replicates, seed) @ by_person(pairs.reshape(CONVERSATIONS, -1), person)
    return alpha_of(drawn.reshape(replicates, ITEMS, LEVELS, LEVELS))


def coincidences(counts: NDArray[np.int_]) -> Array:
    """From conversations × items × levels, what each adds to its item's levels × levels."""
    raters = counts.sum(axis=2, keepdims=True)
    share = counts * np.where(raters > 1, 1 / np.maximum(raters - 1, 1), 0)
    pairs = np.einsum("udi,udj->udij", share, counts)
    diagonal = np.arange(LEVELS)
    pairs[:, :, diagonal, diagonal] -= share
    return np.asarray(pairs)


def alpha_of(pairs: Array) -> Array:
    of_level = pairs.sum(axis=-1)
    places = np.cumsum(of_level, axis=-1) - of_level / 2
    distances = (places[..., :, np.newaxis] - places[..., np.newaxis, :]) ** 2
    observed = (pairs * distances).sum(axis=(-1, -2))
    expected = (of_level[..., :, np.newaxis] * of_level[..., np.newaxis, :] * distances).sum(axis=(-1, -2))
    return np.asarray(1 - (of_level.sum(axis=-1) - 1) * observed / expected)
