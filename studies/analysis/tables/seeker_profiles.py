"""Descriptions of simulated seekers by their profiles, and of people's work and topics: rows of people.csv.

EmoHarbor has it as Figures 3, 4 and 8. Numbers of fewer than five people are not told.
"""

from collections.abc import Iterator

import pandas as pd  # noqa: TID253

from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import Export, read_profiles
from studies.analysis.language import gettext_noop as _
from studies.analysis.notes import Note
from studies.analysis.pooling import POOLED
from studies.analysis.rows import Cells, Labels, Row, Undefined
from studies.analysis.tables.by_language import find_languages, split_by_language
from studies.analysis.tables.person_answers import (
    FEWEST,
    SMALL,
    answers_about_people,
    hidden_levels,
    people_in_results,
)
from studies.analysis.tables.table import Parts

METHODS = {
    "level": _(
        "simulated seekers (track simulated), and the occupation and topic of people: values of fewer than five people "
        "are merged as (others). Where their number could be worked out from the rest, the smallest of the other "
        "values is merged with them. Profiles from files are shown in full; profiles made of participants' answers "
        "count as people"
    ),
    "language": _(
        "of the profiles; * pools all, and where there are several, each also has rows of its own, if no profile is "
        "made of answers"
    ),
}
SIMULATED = "simulated"  # the track of profiles
PEOPLE = "participant"
FACTORS = ("extraversion", "agreeableness", "conscientiousness", "neuroticism", "openness", "emotional_stability")
OF_PROFILES = ("gender", "nationality", "occupation", "mbti", "problem_category", "emotion")
PROFILE = "profile"  # the instrument of people's answers
ANSWERS = ("occupation", "topic")
OTHERS = "(others)"
YEARS = 10  # in a band of ages
FROM_ANSWERS = "answers"  # where a profile was made of what a participant answered


def seeker_profiles(export: Export, _bootstrap: Bootstrap) -> Parts:
    """Yield (track, its rows): ages in bands, the number of each value, and means.

    Values that no file has are left out.
    """
    yield PEOPLE, [*_of_people(export)]
    profiles = _read_played_profiles(export)
    of_people = bool((profiles["origin"] == FROM_ANSWERS).any())
    # Numbers of two languages and of both together would tell what is hidden in one of them.
    languages = [] if of_people else find_languages(profiles)
    for language, rows in split_by_language(profiles, languages):
        labels = {"track": SIMULATED, "instrument": "", "language": language}
        yield f"{SIMULATED} {language}", [*_of_profiles(labels, rows, guarded=of_people)]


def _read_played_profiles(export: Export) -> pd.DataFrame:
    """Return the profiles of the conversations in the results."""
    profiles = read_profiles(export.folder / "profiles.csv")
    return profiles[profiles["profile"].isin(set(export.whole()["profile"]) - {""})]


def _of_profiles(labels: Labels, profiles: pd.DataFrame, *, guarded: bool) -> Iterator[Cells]:
    yield from _mean(labels | {"item": "age"}, profiles["age"], guarded=guarded)
    yield from _count(labels | {"item": "age"}, _bands(profiles["age"]), guarded=guarded)
    for name in OF_PROFILES:
        yield from _count(labels | {"item": name}, _numbers(profiles[name]), guarded=guarded)
    for factor in FACTORS:
        if factor in profiles:
            yield from _mean(labels | {"item": factor}, profiles[factor], guarded=guarded)


def _of_people(export: Export) -> Iterator[Cells]:
    listed = people_in_results(export)
    who = set(listed.loc[listed["track"] == PEOPLE, "participant"])
    answers = answers_about_people(export)
    profile_answers = answers[answers["participant"].isin(who) & (answers["instrument"] == PROFILE)]
    for item in ANSWERS:
        labels = {"track": PEOPLE, "instrument": PROFILE, "item": item, "language": POOLED}
        yield from _count(labels, _numbers(profile_answers.loc[profile_answers["item"] == item, "text"]), guarded=True)


def _numbers(texts: pd.Series) -> "pd.Series[int]":
    """Return the number of each value."""
    values = texts.astype(str).str.strip()
    return values[values != ""].value_counts().sort_index()


def _bands(ages: pd.Series) -> "pd.Series[int]":
    """Return the number of each band of ages, from the lowest that has someone to the highest."""
    lowest = (ages.dropna().astype(float) // YEARS * YEARS).astype(int)
    bands = range(lowest.min(), lowest.max() + 1, YEARS) if len(lowest) else ()
    return pd.Series({f"{low}–{low + YEARS - 1}": int((lowest == low).sum()) for low in bands}, dtype=int)


def _count(labels: Labels, counts: "pd.Series[int]", *, guarded: bool) -> Iterator[Cells]:
    """Yield a row for each value; guarded, the rare ones are one row."""
    total = int(counts.sum())
    hidden = hidden_levels({str(value): int(count) for value, count in counts.items() if count}) if guarded else {}
    for value, count in counts.items():
        if value not in hidden and (count or not guarded):
            yield Row(**labels, level=str(value), n=total, count=int(count), share=count / total).cells()
    if hidden:
        yield _merge(labels, total, int(counts[list(hidden)].sum()))


def _merge(labels: Labels, total: int, count: int) -> Cells:
    row = Row(**labels, level=OTHERS, n=total)
    if count < FEWEST:
        row.leave_out("count", "share", because=SMALL)
        row.values["count"] = pd.NA  # the column's other numbers stay whole
    else:
        row.values |= {"count": count, "share": count / total}
        row.add_notes(Note("rare_values_merged"))
    return row.cells()


def _mean(labels: Labels, numbers: pd.Series, *, guarded: bool) -> Iterator[Cells]:
    """Yield the row of a mean, if anything is known."""
    values = numbers.dropna().astype(float)
    if values.empty:
        return
    row = Row(**labels, level="", n=len(values), count=pd.NA)
    if guarded and len(values) < FEWEST:
        row.leave_out("mean", "sd", because=SMALL)
    else:
        row.values["mean"] = float(values.mean())
        row.compute("sd", lambda: _deviation(values))
    yield row.cells()


def _deviation(values: pd.Series) -> float:
    if len(values) < 2:
        raise Undefined("one_profile")
    return float(values.std(ddof=1))
