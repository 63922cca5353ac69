"""quality.csv: indices of careless answering, of people and of conversations, and the flags of the protocol (§1.4).

A flag asks someone to look; it leaves no one out. Beside pandas nothing heavy is imported: the researchers' page
computes the same for a study under way.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253
from numpy.typing import NDArray

from studies.analysis.bootstrap import Array, Bootstrap
from studies.analysis.frames import Export, read_table
from studies.analysis.language import gettext_noop as _
from studies.analysis.notes import Note, Notes
from studies.analysis.rows import Cells, Row, Undefined
from studies.analysis.scales import CODEBOOK, instructions_in
from studies.analysis.tables.table import Parts, Table
from studies.instruments.definitions import Questionnaire
from studies.instruments.loading import instructed_items, instrument_ids, load

COLUMNS = [
    "person",
    "conversation",
    "raters",
    "instrument",
    "statistic",
    "estimate",
    "low",
    "high",
    "n",
    "clusters",
    "flagged",
    "method",
    "note",
]
NO_PEOPLE = ("judge", "simulated_seeker")
FEWEST_ITEMS = 3  # of an instrument: below, equal answers say nothing
STRAIGHT_ARMS, SECONDS_PER_ITEM, WORDS, CHARACTERS = 3, 2.0, 4, 6
USUAL_MIN_TURNS = 10
BY_CHARACTERS = ("zh", "ja")  # languages that put no spaces between words

# Statistic → how it is computed. Those of FLAGS alone may be flagged.
METHODS = {
    "longstring": _("longest run of equal answers in a rating, items in their order; the longest of all ratings"),
    "irv": _("standard deviation over the items of a rating; mean over ratings"),
    "identical_rows": _("share of ratings that equal another one of the same person in every item"),
    "straight_arms": _("number of arms of which every final rating has the same answer to every item"),
    "seconds_per_item": _("median"),
    "even_odd": _(
        "correlation over the scales between the means of their even and odd items, stepped up by Spearman–Brown"
    ),
    "reverse_items": _("over the scales, mean absolute difference between items and reversed items, both in key"),
    "instructed_share": _(
        "share of the answers to instructed items, of all instruments, that follow the instruction (Meade & Craig "
        "2012); items left open do not count"
    ),
    "instructed_missed": _("answers to instructed items that differ from the instruction"),
    "rating_seconds": _("sum over the items of a final rating"),
    "turns": _("turns with a reply"),
    "message_words": _("median"),
    "message_characters": _("median"),
    "pasted": _("messages into which text was pasted"),
    "technical": _("messages without a reply; also flagged where the conversation ended so"),
}
FLAGS = (  # their rules in words: reporting/sections/coverage.py
    *("straight_arms", "rating_seconds", "turns", "message_words", "message_characters", "pasted"),
    *("instructed_missed", "technical"),
)
OF_WHAT_WAS_SAID = ("turns", "message_words", "message_characters", "pasted", "technical")

# What of each file is looked at, and which of it are numbers (truths count as 1 and 0).
NEEDED = {
    "ratings": (
        *("conversation", "arm", "rater", "rater_kind", "instrument", "item", "moment", "turn", "replicate"),
        *("score", "seconds"),
    ),
    "conversations": ("conversation", "participant", "language", "turns", "min_turns", "end_reason"),
    "turns": ("conversation", "role", "text", "pasted", "error"),
    "answers": ("participant", "conversation", "instrument", "item", "moment", "value", "text", "seconds"),
}
NUMBERS = ("score", "seconds", "turns", "min_turns", "pasted", "value")
OF_PERSON = ["rater_kind", "rater", "instrument"]
RATING = [*OF_PERSON, "conversation", "moment", "turn", "replicate"]

Instructions = Mapping[tuple[str, str], str]  # by instrument and item: the answer that it tells people to give


@dataclass(frozen=True)
class Collected:
    """The answers and messages that people gave, including what is left out of the results.

    These are the tables of `NEEDED`, in the order of the files. `messages` are the seekers'. `instructed`: one row per
    answer to an item that tells what to answer, with `as_told`; `answers` are without them.
    """

    ratings: pd.DataFrame
    conversations: pd.DataFrame
    messages: pd.DataFrame
    answers: pd.DataFrame
    instructed: pd.DataFrame


def collect(tables: Mapping[str, pd.DataFrame], instructions: Instructions) -> Collected:
    """Return what people gave, from tables of the names of `NEEDED`; a missing one is empty."""
    typed = {name: _set_types(tables.get(name, pd.DataFrame()), columns) for name, columns in NEEDED.items()}
    ratings, turns, answers = typed["ratings"], typed["turns"], typed["answers"]
    places = pd.Series(zip(answers["instrument"], answers["item"], strict=True), answers.index, dtype=object)
    is_instructed = places.isin(instructions)
    return Collected(
        ratings=ratings[~ratings["rater_kind"].isin(NO_PEOPLE) & ratings["score"].notna()],
        conversations=typed["conversations"],
        messages=turns[turns["role"] == "seeker"],
        answers=answers[~is_instructed],
        instructed=_compare(answers[is_instructed], places[is_instructed].map(instructions)),
    )


def _compare(answers: pd.DataFrame, instructed: pd.Series) -> pd.DataFrame:
    """Return the answers that were given, each with whether it is the instructed one."""
    answers_given = answers["text"].where(answers["value"].isna(), answers["value"].map("{:g}".format))
    return answers.assign(as_told=answers_given == instructed)[answers_given != ""]


def _set_types(table: pd.DataFrame, columns: Iterable[str]) -> pd.DataFrame:
    values = {name: table[name] if name in table else pd.Series("", index=table.index) for name in columns}
    return pd.DataFrame(
        {name: _numbers(column) if name in NUMBERS else _texts(column) for name, column in values.items()}
    )


def _numbers(column: pd.Series) -> pd.Series:
    truths = {"true": 1.0, "false": 0.0, True: 1.0, False: 0.0}
    return pd.to_numeric(column.astype(object).map(lambda value: truths.get(value, value)), errors="coerce")


def _texts(column: pd.Series) -> pd.Series:
    return column.astype(object).where(column.notna(), "").astype(str)


def of_export(export: Export) -> Collected:
    ratings = pd.concat([export.ratings, export.left_out])
    return collect({"ratings": _in_order(ratings), **_read(export.folder)}, _instructions_in(export.folder / CODEBOOK))


def _instructions_in(path: Path) -> Instructions:
    """Return the range in the codebook, or else that of our own instruments."""
    instructions = instructions_in(path)
    return _our_instructions() if instructions is None else instructions


def _our_instructions() -> Instructions:
    return {place: str(value) for place, value in instructed_items().items()}


def _in_order(ratings: pd.DataFrame) -> pd.DataFrame:
    """Return ratings by instrument and in the order of our own items, so that a long run is one on the page."""
    place_of = {id: {item.key: place for place, item in enumerate(load(id).items)} for id in instrument_ids()}
    pairs = zip(ratings["instrument"], ratings["item"], strict=True)
    places = [place_of.get(instrument, {}).get(item, 0) for instrument, item in pairs]
    return ratings.assign(place=places).sort_values(["instrument", "place", "item"], kind="stable")


def _read(folder: Path) -> dict[str, pd.DataFrame]:
    paths = {name: folder / f"{name}.csv" for name in ("conversations", "turns", "answers")}
    return {name: read_table(path, (), NEEDED[name]) for name, path in paths.items() if path.is_file()}


def of_rows(rows: Mapping[str, Iterable[Mapping[str, Any]]]) -> list[Cells]:
    """Return the rows of quality.csv from those of an export's tables, by their names.

    It is for a page, which has no files.
    """
    tables = {name: pd.DataFrame(list(records), columns=list(NEEDED[name])) for name, records in rows.items()}
    tables["ratings"] = _in_order(tables["ratings"])
    return list(indices(collect(tables, _our_instructions())))


def quality(export: Export, _bootstrap: Bootstrap) -> Parts:
    yield "people and conversations", list(indices(of_export(export)))


def indices(collected: Collected) -> Iterator[Cells]:
    """Yield people's rows first, in the order of their codes; then the conversations'."""
    rows = [
        *_of_ratings(collected.ratings),
        *_of_answers(collected.answers),
        *_of_instructed(collected.instructed),
        *_of_final_ratings(collected.ratings),
        *_of_conversations(collected),
    ]
    yield from sorted(rows, key=lambda row: (row["conversation"] != "", row["person"], row["conversation"]))


# Of a person's ratings by one instrument


@dataclass(frozen=True)
class Whole:
    """The ratings in which a person answered all items of an instrument."""

    scores: Array  # ratings × items, in the items' order
    conversations: Sequence[str]  # of the ratings
    are_final: NDArray[np.bool_]


def _of_ratings(ratings: pd.DataFrame) -> Iterator[Cells]:
    means = ratings.groupby([*RATING, "item"])["score"].mean().reset_index()
    means = means.assign(rating=means.groupby(RATING).ngroup())
    by_person = dict(list(means.groupby(OF_PERSON)))
    for key, rated in ratings.groupby(OF_PERSON):
        whole = _whole_ratings(by_person[key], list(dict.fromkeys(rated["item"])))
        matrix = whole.scores
        if matrix.shape[1] < FEWEST_ITEMS:
            continue
        about = dict(zip(("raters", "person", "instrument"), key, strict=True))
        about |= {"n": len(matrix), "clusters": rated["conversation"].nunique()}
        yield _row(about, "longstring", lambda scores=matrix: longest_string(scores))
        yield _row(about, "irv", lambda scores=matrix: irv(scores))
        yield _row(about, "identical_rows", lambda scores=matrix: identical_rows(scores))
        yield _straight(about, rated, whole)
        yield _seconds(about, rated["seconds"])


def _whole_ratings(means: pd.DataFrame, items: list[str]) -> Whole:
    """Return the ratings that answered all of the items; `means` has one row for each `rating` and item."""
    ratings, first, row = np.unique(means["rating"].to_numpy(), return_index=True, return_inverse=True)
    scores = np.full((len(ratings), len(items)), np.nan)
    scores[row, list(map(items.index, means["item"]))] = means["score"]
    complete = ~np.isnan(scores).any(axis=1)
    of_each = means.iloc[first[complete]]
    # Column by column, as pandas has it: so sums keep their order.
    return Whole(
        np.asfortranarray(scores[complete]),
        of_each["conversation"].tolist(),
        of_each["moment"].isin(["", "final"]).to_numpy(),
    )


def longest_string(scores: Array) -> float:
    _require(len(scores) > 0, "no_rating_of_all_items")
    return float(max(map(longstring, scores)))


def longstring(scores: Array) -> int:
    changes = np.flatnonzero(np.diff(scores) != 0)
    return int(np.diff(np.concatenate([[-1], changes, [len(scores) - 1]])).max())


def irv(scores: Array) -> float:
    """Return the mean over ratings of the standard deviation within each.

    Dunn et al. 2018, doi 10.1007/s10869-016-9479-0.
    """
    _require(len(scores) > 0, "no_rating_of_all_items")
    return float(scores.std(axis=1, ddof=1).mean())


def identical_rows(scores: Array) -> float:
    _require(len(scores) > 1, "under_two_ratings_of_all_items")
    counts = np.unique(scores, axis=0, return_inverse=True, return_counts=True)
    return float((counts[2][counts[1].ravel()] > 1).mean())


def _straight(about: Cells, rated: pd.DataFrame, whole: Whole) -> Cells:
    backwards = rated[::-1]  # so that the first arm of a conversation stays
    arms = dict(zip(backwards["conversation"], backwards["arm"], strict=True))
    final = [code for code, is_final in zip(whole.conversations, whole.are_final, strict=True) if is_final]
    # Where the arm is not known, each conversation counts as one.
    places = {code: arms[code] or code for code in final}
    differing = np.ptp(whole.scores, axis=1)[whole.are_final] > 0
    varied = {places[code] for code, differs in zip(final, differing, strict=True) if differs}
    straight = [code for code, place in places.items() if place not in varied]
    count = len({places[code] for code in straight})
    row = _row(about, "straight_arms", lambda: float(count), flagged=count >= STRAIGHT_ARMS)
    if count:
        row["note"] = Notes(*row["note"], Note("conversations", codes=", ".join(sorted(straight))))
    return row


def _seconds(about: Cells, seconds: pd.Series) -> Cells:
    measured = seconds.dropna()
    return _row(about | {"n": len(measured)}, "seconds_per_item", lambda: _median(measured))


def _median(values: pd.Series) -> float:
    _require(len(values) > 0, "not_measured")
    return float(values.median())


# Of a person's questionnaires


def _of_answers(answers: pd.DataFrame) -> Iterator[Cells]:
    """Yield the rows of instruments of ours with several scales of several items, which is the Big Five."""
    ours = [id for id in instrument_ids() if len(_split(load(id))) > 1]
    for instrument in ours:
        of_instrument = answers[(answers["instrument"] == instrument) & answers["value"].notna()]
        for person, of_person in of_instrument.groupby("participant"):
            about = {"person": person, "raters": "", "instrument": instrument, "n": len(of_person), "clusters": 0}
            values = dict(zip(of_person["item"], of_person["value"], strict=True))
            yield _row(about, "even_odd", lambda of=instrument, answer=values: even_odd(load(of), answer))
            yield _row(about, "reverse_items", lambda of=instrument, answer=values: reverse_items(load(of), answer))
            yield _seconds(about, of_person["seconds"])


def _split(questionnaire: Questionnaire) -> list[tuple[str, ...]]:
    """Return the items of each scale that has several and, among them, reversed ones."""
    items = {item.key: item for item in questionnaire.items}
    return [scale.items for scale in questionnaire.scales if any(items[key].reverse for key in scale.items)]


def _in_key(questionnaire: Questionnaire, keys: Iterable[str], values: Mapping[str, float]) -> Array:
    items = [questionnaire.item(key) for key in keys]
    _require(all(item.key in values for item in items), "items_unanswered")
    turned = [
        (item.minimum or 0) + (item.maximum or 0) - values[item.key] if item.reverse else values[item.key]
        for item in items
    ]
    return np.array(turned, dtype=float)


def even_odd(questionnaire: Questionnaire, values: Mapping[str, float]) -> float:
    """Return the even-odd consistency, -1 to 1 (Johnson 2005, doi 10.1016/j.jrp.2004.09.009)."""
    halves = [_in_key(questionnaire, keys, values) for keys in _split(questionnaire)]
    even, odd = (np.array([scale[start::2].mean() for scale in halves]) for start in (1, 0))
    _require(len(halves) > 2 and np.ptp(even) > 0 and np.ptp(odd) > 0, "halves_alike")
    r = float(np.corrcoef(even, odd)[0, 1])
    # Spearman–Brown runs to minus infinity below 0.
    return max(-1.0, 2 * r / (1 + r)) if r > -1 else -1.0


def reverse_items(questionnaire: Questionnaire, values: Mapping[str, float]) -> float:
    """Return how far items and reversed items differ, in points of the answers; 0 where they say the same."""
    differences = []
    for keys in _split(questionnaire):
        in_key = _in_key(questionnaire, keys, values)
        turned = np.array([questionnaire.item(key).reverse for key in keys])
        if not turned.all():
            differences.append(abs(in_key[turned].mean() - in_key[~turned].mean()))
    return float(np.mean(differences))


# Of items that tell what to answer (Meade & Craig 2012, doi 10.1037/a0028085)


def _of_instructed(answers: pd.DataFrame) -> Iterator[Cells]:
    """Yield a person's share of instructed items over everything, and what they missed where they did.

    So a slip beside one rating is told of that rating alone.
    """
    for person, of_person in answers.groupby("participant"):
        about = {"person": person, "raters": "", "n": len(of_person)}
        about["clusters"] = of_person.loc[of_person["conversation"] != "", "conversation"].nunique()
        share = float(of_person["as_told"].mean())
        yield _row(about | {"instrument": ""}, "instructed_share", lambda share=share: share)
    for (person, instrument, conversation), of_person in answers.groupby(["participant", "instrument", "conversation"]):
        about = {"person": person, "raters": "", "instrument": instrument, "conversation": conversation}
        about |= {"n": len(of_person), "clusters": int(conversation != "")}
        missed = int((~of_person["as_told"]).sum())
        yield _row(about, "instructed_missed", lambda missed=missed: float(missed), flagged=missed > 0)


# Of a conversation


def _of_final_ratings(ratings: pd.DataFrame) -> Iterator[Cells]:
    final = ratings[ratings["moment"].isin(["", "final"])]
    for key, rated in final.groupby([*RATING]):
        kind, person, instrument, conversation, *_rest = key
        if rated["item"].nunique() < FEWEST_ITEMS:
            continue
        about = {"person": person, "raters": kind, "instrument": instrument, "conversation": conversation}
        seconds = rated["seconds"]
        whole = float(seconds.sum()) if seconds.notna().all() else np.nan
        flagged = whole < SECONDS_PER_ITEM * len(rated)
        yield _row(
            about | {"n": len(rated), "clusters": 1},
            "rating_seconds",
            lambda sum=whole: _require_measured(sum),
            flagged=flagged,
        )


def _require_measured(value: float) -> float:
    _require(np.isfinite(value), "not_measured")
    return value


def _of_conversations(collected: Collected) -> Iterator[Cells]:
    messages = dict(list(collected.messages.groupby("conversation")))
    nothing = collected.messages.iloc[:0]
    people = collected.conversations[collected.conversations["participant"] != ""]
    for row in people.to_dict("records"):
        about = {"person": row["participant"], "raters": "", "instrument": "", "conversation": row["conversation"]}
        yield from _of_conversation(about, row, messages.get(row["conversation"], nothing))


def _of_conversation(about: Cells, row: Mapping[str, Any], messages: pd.DataFrame) -> Iterator[Cells]:
    about = about | {"n": len(messages), "clusters": 1}
    least = row["min_turns"] if np.isfinite(row["min_turns"]) else USUAL_MIN_TURNS
    too_few = row["end_reason"] != "" and row["turns"] < least
    yield _row(about, "turns", lambda: _require_measured(row["turns"]), flagged=too_few)
    if len(messages):
        yield _lengths(about, row["language"], messages["text"])
        pasted = messages["pasted"]
        yield _row(about, "pasted", lambda: _require_measured(pasted.sum(min_count=1)), flagged=pasted.sum() > 0)
    failed = int((messages["error"] != "").sum())
    ended = row["end_reason"] == "technical"
    yield _row(about, "technical", lambda: float(failed), flagged=failed > 0 or ended)


def _lengths(about: Cells, language: str, texts: pd.Series) -> Cells:
    if language in BY_CHARACTERS:
        characters = float(texts.str.strip().str.len().median())
        return _row(about, "message_characters", lambda: characters, flagged=characters < CHARACTERS)
    words = float(texts.str.split().str.len().median())
    return _row(about, "message_words", lambda: words, flagged=words < WORDS)


def _require(holds: bool | np.bool_, code: str) -> None:
    if not holds:
        raise Undefined(code)


def _row(about: Mapping[str, Any], statistic: str, value: Any, *, flagged: bool = False) -> Cells:
    row = Row(**{"conversation": "", **about}, statistic=statistic, method=METHODS[statistic])
    row.compute("estimate", value)
    row.values["flagged"] = str(bool(flagged)).lower() if statistic in FLAGS else ""
    row.leave_out("low", "high", because=Note("without_error"))
    return row.cells()


def flagged_rows(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["flagged"] == "true"]


TABLE = Table(
    "quality",
    quality,
    COLUMNS,
    METHODS,
    heading=_("Data quality"),
    empty=_("There are no ratings of people with instruments of several items, and no conversations of theirs."),
)
