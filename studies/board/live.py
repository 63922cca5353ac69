"""The Analysis page's results of a study under way, from the results.json of its newest analysis."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from dialogue.languages import get_code
from studies.analysis.notes import read_notes
from studies.analysis.pooling import ALL_ITEMS, is_pooled
from studies.board.quality import FLAGS
from studies.models import Study
from studies.models.participation import OVER, UNDER_WAY, Status
from studies.participation import counts
from studies.workbench import labels
from studies.workbench.heatmap import HeatMap, heat_maps
from studies.workbench.rating_tables import item_name, title_of
from studies.workbench.result_notes import explain, join_notes

FINAL = ("", "final")  # moments at which a conversation is rated once
FLAGGED = "true"
WHOLE = "*"  # all items of an instrument; all arms
JUDGES = "judge"  # how the names of their groups begin
NO_REASON = "no reason given"  # as the analysis calls it
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Estimate:
    """An estimate; None if it could not be computed, and `note` then says why."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    note: str = ""


@dataclass(frozen=True)
class BlindArm:
    letter: str
    conversations: int


@dataclass(frozen=True)
class ArmTable:
    """Means of one group of raters by the instrument of this title. `items`: (key, name); `rows`: arm, and an estimate
    for each of them."""

    raters: str
    title: str
    items: Sequence[tuple[str, str]]
    rows: Sequence[tuple[str, Sequence[Estimate | None]]]


@dataclass(frozen=True)
class Reliability:
    """`single` and `mean` are ICC(1,1) and ICC(1,k) of raters, `alpha` is ordinal."""

    raters: str
    instrument: str
    item: str
    n: int
    k: int
    single: Estimate
    mean: Estimate
    alpha: Estimate
    cronbach: float | None
    note: str

    def name(self) -> str:
        return _("all items") if self.item == WHOLE else item_name(self.instrument, self.item)

    def title(self) -> str:
        return title_of(self.instrument)


@dataclass(frozen=True)
class Coverage:
    """The number of final scores of an item by these raters.

    `of`, for people: the conversations of which they scored any item of the instrument; for judges: the scores that
    they were asked for.
    """

    raters: str
    instrument: str
    item: str
    scored: int
    of: int

    def name(self) -> str:
        return item_name(self.instrument, self.item)

    def title(self) -> str:
        return title_of(self.instrument)

    def percent(self) -> int:
        return round(100 * self.scored / self.of) if self.of else 0


@dataclass(frozen=True)
class Results:
    """The results that the page shows.

    `blind_arms` if results by arm are hidden, else `arms`; `hidden_limits`: how many limits name an arm and are hidden
    with them. `unrated`: (closed conversations without a final score by their own people, all closed ones).
    """

    demonstration: bool
    counts: Sequence[tuple[str, int]]
    limits: Sequence[str]
    hidden_limits: int
    maps: Sequence[HeatMap]
    blind_arms: Sequence[BlindArm]
    arms: Sequence[ArmTable]
    reliability: Sequence[Reliability]
    coverage: Sequence[Coverage]
    unrated: tuple[int, int] | None
    missing: Sequence[tuple[str, int]]
    left_out: Sequence[tuple[str | Promise, int]]
    flags: Sequence[tuple[str | Promise, int]]


@dataclass(frozen=True)
class Completion:
    """Counts of people. `begun` leaves out people who were invited and have not begun. `test`: whom, as in
    `counts.filter_by_test`."""

    test: str
    begun: int
    under_way: int
    completed: int
    ended: int  # before the end

    def percent(self) -> int:
        return round(100 * self.completed / self.begun) if self.begun else 0


def completion(study: Study) -> Completion:
    test = counts.default_data(study)
    by_status = {each.status: each.people for each in counts.count_by_status(study, test=test)}
    people = {
        "under_way": sum(by_status[status] for status in UNDER_WAY),
        "completed": by_status[Status.COMPLETED],
        "ended": sum(by_status[status] for status in OVER if status != Status.COMPLETED),
    }
    return Completion(test, begun=sum(people.values()), **people)


def results_of(file: Path, *, blinded: bool, study_key: str) -> Results:
    results = json.loads(file.read_text(encoding="utf-8"))
    tables = results["tables"]
    final = [row for row in tables.get("arms", []) if row["moment"] in FINAL and is_pooled(row)]
    covered = [row for row in tables.get("sensitivity", []) if row["arm_a"] == WHOLE and row["moment"] in FINAL]
    limits = limits_of(results, {row["arm"] for row in tables.get("arms", [])} if blinded else set())
    return Results(
        demonstration=results["demonstration"],
        counts=count_labels(results["counts"]),
        limits=limits,
        hidden_limits=len(results["limits"]) - len(limits),
        maps=heat_maps([row for row in tables["agreement"] if row["item"] != ALL_ITEMS]),
        blind_arms=list(blind_arms(final, study_key)) if blinded else [],
        arms=[] if blinded else list(arm_tables(final)),
        reliability=list(reliability(tables.get("reliability", []))),
        coverage=[*coverage(final), *judges_coverage(covered)],
        unrated=conversations_without_rating(covered),
        missing=missing_counts(results.get("exclusions", {})),
        left_out=exclusion_counts(results.get("exclusions", {})),
        flags=flags(tables.get("quality", [])),
    )


def count_labels(numbers: Mapping[str, int]) -> list[tuple[str, int]]:
    words = {
        "ratings": _("ratings"),
        "conversations": _("conversations"),
        "participants": _("participants"),
        "raters": _("raters"),
    }
    return [(str(words.get(name, name)), number) for name, number in numbers.items()]


# Arms


def limits_of(results: Mapping[str, Any], arms: Collection[str]) -> list[str]:
    """Return the limits that name none of the arms, in the reader's language if the analysis wrote it.

    Names are looked for in English: in a Chinese sentence nothing sets them off.
    """
    english = results["limits"]
    kept = limits_without_arms(english, arms)
    own = results.get(f"limits_{get_code(get_language() or '')}", english)
    return [sentence for sentence, said in zip(own, english, strict=True) if said in kept]


def limits_without_arms(sentences: Iterable[str], arms: Collection[str]) -> list[str]:
    """Return the limits that name none of the arms, because a limit may tell how an arm fared."""
    named = re.compile("|".join(rf"(?<!\w){re.escape(arm)}(?!\w)" for arm in arms if arm) or r"(?!)")
    return [sentence for sentence in sentences if not named.search(sentence)]


def blind_arms(rows: Iterable[Row], study_key: str) -> Iterator[BlindArm]:
    """Yield the arms in an order that is the same each time and independent of their names."""
    sizes: dict[str, int] = {}
    for row in rows:
        sizes[row["arm"]] = max(sizes.get(row["arm"], 0), row["n"])
    shuffled = sorted(sizes, key=lambda arm: hashlib.sha256(f"{study_key}:{arm}".encode()).digest())
    for place, arm in enumerate(shuffled):
        yield BlindArm(letter(place), sizes[arm])


def letter(place: int) -> str:
    """Return the letter of a place: A to Z, then AA, AB …"""
    first, last = divmod(place, 26)
    return (letter(first - 1) if first else "") + chr(ord("A") + last)


def arm_tables(rows: Iterable[Row]) -> Iterator[ArmTable]:
    by_scale: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        by_scale.setdefault((row["raters"], row["instrument"]), []).append(row)
    for (raters, instrument), scale_rows in by_scale.items():
        cells = {(row["arm"], row["item"]): estimate(row, "mean") for row in scale_rows}
        items = list(dict.fromkeys(row["item"] for row in scale_rows))
        arms = dict.fromkeys(row["arm"] for row in scale_rows)
        lines = [(arm, [cells.get((arm, item)) for item in items]) for arm in arms]
        named = [(item, item_name(instrument, item)) for item in items]
        yield ArmTable(labels.raters_name(raters), title_of(instrument), named, lines)


def estimate(row: Row, name: str) -> Estimate:
    low, high = ("low", "high") if name == "mean" else (f"{name}_low", f"{name}_high")
    return Estimate(row.get(name), row.get(low), row.get(high), row.get("n"), explain(row, (name, low, high)))


# Raters


def reliability(rows: Iterable[Row]) -> Iterator[Reliability]:
    for row in rows:
        if row["moment"] in FINAL:
            yield Reliability(
                raters=labels.raters_name(row["raters"]),
                instrument=row["instrument"],
                item=row["item"],
                n=row["n"],
                k=row["k"],
                single=estimate(row, "icc_1_1"),
                mean=estimate(row, "icc_1_k"),
                alpha=estimate(row, "alpha_ordinal"),
                cronbach=row.get("cronbach"),
                note=join_notes(read_notes(row)),
            )


def coverage(rows: Iterable[Row]) -> Iterator[Coverage]:
    """Yield people's coverage over all arms, because a share by arm would reveal something about them."""
    scored: Counter[tuple[str, str, str]] = Counter()
    for row in rows:
        if not row["raters"].startswith(JUDGES):
            scored[row["raters"], row["instrument"], row["item"]] += row["n"]
    most: Counter[tuple[str, str]] = Counter()
    for (raters, instrument, _item), number in scored.items():
        most[raters, instrument] = max(most[raters, instrument], number)
    for (raters, instrument, item), number in scored.items():
        yield Coverage(labels.raters_name(raters), instrument, item, number, most[raters, instrument])


def judges_coverage(rows: Iterable[Row]) -> Iterator[Coverage]:
    for row in rows:
        if row["statistic"] == "missing_share" and row["estimate"] is not None:
            judge = f"{row['judge']} {labels.strategy_name(row['strategy'])}".strip()
            yield Coverage(judge, row["instrument"], row["item"], round(row["n"] * (1 - row["estimate"])), row["n"])


def conversations_without_rating(rows: Iterable[Row]) -> tuple[int, int] | None:
    shares = (row for row in rows if row["statistic"] == "no_final_rating" and row["estimate"] is not None)
    return next(((round(row["n"] * row["estimate"]), row["n"]) for row in shares), None)


def missing_counts(exclusions: Row) -> list[tuple[str, int]]:
    """Return ratings without a score by reason, the most frequent first."""
    reasons = Counter(exclusions.get("ratings_without_score", {}))
    words = {**labels.MISSING, NO_REASON: labels.MISSING[""]}
    return [(labels.word(words, reason), number) for reason, number in reasons.most_common()]


def exclusion_counts(exclusions: Row) -> list[tuple[str | Promise, int]]:
    words = {
        "excluded_participants": _("people left out by two coders"),
        "invalid_conversations": _("conversations left out by two coders"),
        "ratings_left_out_for_them": _("ratings left out with them"),
        "repeated_ratings_averaged": _("repeated ratings, averaged"),
        "conversations_without_arm": _("conversations without an arm"),
    }
    return [(word, exclusions[name]) for name, word in words.items() if exclusions.get(name)]


def flags(rows: Iterable[Row]) -> list[tuple[str | Promise, int]]:
    """Return how many people or conversations have each flag."""
    tally = Counter(row["statistic"] for row in rows if row["flagged"] == FLAGGED)
    return [(word, tally[name]) for name, word in FLAGS.items() if tally[name]]
