"""people.csv: who took part, as a paper's first table has it, and who the simulated seekers were.

Numbers of people below five are not told.
"""

from collections.abc import Iterable, Iterator

import pandas as pd  # noqa: TID253

from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import Export
from studies.analysis.language import gettext_noop as _
from studies.analysis.pooling import POOLED
from studies.analysis.reading import numbers, read_table
from studies.analysis.rows import Cells, Labels, Row
from studies.analysis.tables import seeker_profiles
from studies.analysis.tables.person_answers import (
    FEWEST,
    SMALL,
    answers_about_people,
    hidden_levels,
    people_in_results,
)
from studies.analysis.tables.table import Parts, Table

COLUMNS = ["track", "instrument", "item", "level", "n", "count", "mean", "sd", "note", "language"]
METHODS = {
    "n": _(
        "people of the track who are in the results (they rated, or a conversation of theirs was) and who answered; "
        "those left out by decision are not"
    ),
    "count": _(
        "number of people who answered so. Numbers from 1 to 4 are hidden; where one of them would follow from the "
        "others, the smallest of the others is hidden too"
    ),
    "mean": _("of those who answered, with the standard deviation over n - 1; hidden for fewer than five people"),
} | seeker_profiles.METHODS
AGE = ("screening", "age")
CHOICES = (("profile", "age_band"), ("profile", "gender"))
LANGUAGE = "language"


def people(export: Export, bootstrap: Bootstrap) -> Parts:
    """Yield (track, its rows): age, gender, language, and the scales that are about the person; then who the seekers
    were.

    There is nothing of people without participants.csv.
    """
    listed = people_in_results(export)
    ages, choices, scales = _ages(export), _choices(export), scales_about_people(export)
    for track, of_track in listed.groupby("track"):
        who = set(of_track["participant"])
        labels = {"track": str(track), "language": POOLED}
        rows = [
            *_numeric(labels, ages[ages["participant"].isin(who)]),
            *_count_choices(labels, choices[choices["participant"].isin(who)]),
            *_levels(labels | {"instrument": "", "item": LANGUAGE}, of_track["language"]),
            *_numeric(labels, scales[scales["participant"].isin(who)]),
        ]
        yield str(track), rows
    yield from seeker_profiles.seeker_profiles(export, bootstrap)


def _ages(export: Export) -> pd.DataFrame:
    answers = answers_about_people(export)
    ages = answers[(answers["instrument"] == AGE[0]) & (answers["item"] == AGE[1])]
    return ages[["participant", "instrument", "item"]].assign(value=ages["value"].astype(float))


def _choices(export: Export) -> pd.DataFrame:
    answers = answers_about_people(export)
    is_choice = [pair in CHOICES for pair in zip(answers["instrument"], answers["item"], strict=True)]
    return answers[pd.Series(is_choice, index=answers.index, dtype=bool)]


def scales_about_people(export: Export) -> pd.DataFrame:
    """Return the scales about the person, such as the Big Five."""
    path = export.folder / "scales.csv"
    if not path.is_file():
        return pd.DataFrame(columns=["participant", "instrument", "item", "value"])
    table = read_table(path, ("participant", "scale", "score"), ("conversation", "instrument"))
    scores = table[["participant", "conversation", "instrument"]].astype(str)
    scores = scores.assign(item=table["scale"].astype(str), value=numbers(path, table["score"]))
    return scores[scores["conversation"] == ""].drop_duplicates(["participant", "instrument", "item"], keep="last")


def _numeric(labels: Labels, answers: pd.DataFrame) -> Iterator[Cells]:
    for (instrument, item), answers_to_item in answers.groupby(["instrument", "item"], sort=False):
        values = answers_to_item["value"].dropna().to_numpy(float)
        if not len(values):
            continue
        row = Row(**labels, instrument=instrument, item=item, level="", n=len(values), count=pd.NA)
        if len(values) < FEWEST:
            row.leave_out("mean", "sd", because=SMALL)
        else:
            row.values |= {"mean": float(values.mean()), "sd": float(values.std(ddof=1))}
        yield row.cells()


def _count_choices(labels: Labels, answers: pd.DataFrame) -> Iterator[Cells]:
    for instrument, item in CHOICES:
        levels = answers.loc[(answers["instrument"] == instrument) & (answers["item"] == item), "text"]
        yield from _levels(labels | {"instrument": instrument, "item": item}, levels)


def _levels(labels: Labels, levels: Iterable[str]) -> Iterator[Cells]:
    counts = pd.Series([level for level in levels if level], dtype=object).value_counts().sort_index()
    hidden = hidden_levels({str(level): int(count) for level, count in counts.items()})
    n = int(counts.sum())
    for level, count in counts.items():
        row = Row(**labels, level=str(level), n=n)
        if str(level) in hidden:
            row.leave_out("count", "share", because=hidden[str(level)])
            row.values["count"] = pd.NA  # the column's other numbers stay whole
        else:
            row.values |= {"count": int(count), "share": count / n}
        yield row.cells()


TABLE = Table(
    "people",
    people,
    COLUMNS,
    METHODS,
    heading=_("People of each track, and simulated seekers"),
    empty=_("There is neither participants.csv nor profiles.csv that describes raters or seekers."),
    aside=("share",),
)
