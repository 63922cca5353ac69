"""Verdicts of pairs.csv with who met whom: the arms of the two conversations, or else their kinds of seekers."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd  # noqa: TID253
from numpy.typing import NDArray

from studies.analysis.bootstrap import Array, Bootstrap, number_names, weights
from studies.analysis.frames import Export, read_pairs, read_table
from studies.analysis.notes import Note
from studies.analysis.rows import Labels
from studies.design.pairing import name_seekers

OF_CONVERSATION = ("participant", "arm", "seeker_kind", "condition", "profile", "valid", "setup")
AT_ONCE = 2_000_000  # weights that are in memory together
WIN, TIE, LOSS = 1, 0, -1


@dataclass(frozen=True)
class Verdicts:
    """The verdicts of pairs.csv.

    `rows`: one per verdict; columns `raters` (their kind; of judges that are not the seeker also their role), `role`,
    `rater`, `instrument`, `question`, `contestant_a` and `contestant_b` (in the order of the alphabet), `verdict` (WIN,
    TIE, LOSS of a), `first` (1 where a was shown first, -1 where b was, 0 where no one says) and `cluster`: whose
    conversations they are. Pairs with a conversation of an
    ablation are in none of it: its seeker is no other's equal.
    """

    rows: pd.DataFrame
    left_out: int  # of people or conversations that a decision left out
    alike: int  # both sides were of the same arm and the same kind of seekers
    ablated: int  # on two arms, and a seeker was changed for an ablation

    def groups(self) -> Iterator[tuple[Labels, "Group"]]:
        """Yield the verdicts of each kind of raters, and of judges of each role, on each question."""
        keys = ["instrument", "question", "raters"]
        for key, rows in self.rows.groupby(keys):
            role = max(rows["role"])  # theirs, or empty where the file does not tell it
            yield {**dict(zip(keys, map(str, key), strict=True)), "role": role}, Group(rows.reset_index(drop=True))


@dataclass(frozen=True)
class Group:
    rows: pd.DataFrame

    def contests(self) -> Iterator[tuple[Labels, "Group"]]:
        keys = ["contestant_a", "contestant_b"]
        for key, rows in self.rows.groupby(keys):
            yield dict(zip(keys, map(str, key), strict=True)), Group(rows.reset_index(drop=True))

    @cached_property
    def raters(self) -> NDArray[np.intp]:
        """Return the number of each row's rater, from 0."""
        return number_names(self.rows["rater"])

    @cached_property
    def clusters(self) -> NDArray[np.intp]:
        return number_names(self.rows["cluster"])

    def counts(self) -> dict[str, int]:
        return {"n": len(self.rows), "clusters": int(self.clusters.max()) + 1}

    def resampled_units(self) -> dict[str, NDArray[np.intp]]:
        """Return the units that are drawn again: kinds of which there are two or more.

        Raters who only ever met one cluster are not drawn, for they come and go with it.
        """
        cells = np.unique(np.column_stack([self.raters, self.clusters]), axis=0)
        crossed = {"raters": self.raters} if len(cells) > self.raters.max() + 1 else {}
        everything = crossed | {"participants": self.clusters}
        return {name: numbers for name, numbers in everything.items() if numbers.max() > 0}

    def method(self) -> Note | None:
        """Return how intervals are computed; None where nothing can be drawn again."""
        match list(self.resampled_units()):
            case []:
                return None
            case [name]:
                return Note("bootstrap_of", drawn=Note(name))
            case _:
                return Note("pigeonhole_bootstrap_of", drawn=Note("raters_and_participants"))

    def resample_sums(self, values: Array, bootstrap: Bootstrap) -> Array:
        """Return replicates × sums of `values`, which are rows × sums.

        Raters and clusters are each drawn by themselves, and a verdict counts by the product (Owen 2007, doi
        10.1214/07-AOAS122). This counts the variance of a single verdict too often, for which
        `Bootstrap.resample_two_way` makes up; but that gives a variance alone, and strengths are fitted anew to each
        replicate. Shares of wins hold the planted values (docs/developers/coverage.md).
        """
        draws = [
            (weights(int(numbers.max()) + 1, bootstrap.replicates, (bootstrap.seed, place)), numbers)
            for place, numbers in enumerate(self.resampled_units().values())
        ]
        step = max(1, AT_ONCE // len(values))
        parts = []
        for start in range(0, bootstrap.replicates, step):
            counting = np.ones((1, len(values)))
            for weight, numbers in draws:
                counting = counting * weight[start : start + step, numbers]
            parts.append(counting @ values)
        return np.concatenate(parts)


def read_verdicts(export: Export) -> Verdicts | None:
    """Return the verdicts of pairs.csv; None where there is no such file."""
    path = export.folder / "pairs.csv"
    if not path.is_file():
        return None
    table = read_pairs(path)
    about = _about(export, table)
    sides = [about.reindex(table[f"conversation_{side}"]).fillna("").reset_index(drop=True) for side in "ab"]
    # Arms are compared by unchanged seekers alone; seekers of ablations are contestants of their own.
    whole = (sides[0]["setup"] == "") & (sides[1]["setup"] == "") | (sides[0]["arm"] == sides[1]["arm"])
    is_kept = ~(table["rater"].isin(export.excluded) | (sides[0]["valid"] == "false") | (sides[1]["valid"] == "false"))
    named = pd.DataFrame([_contestants(*both) for both in _both(sides)], columns=["contestant_a", "contestant_b"])
    differ = named["contestant_a"] != named["contestant_b"]
    rows = pd.concat([_verdict_signs(table), named], axis=1).assign(cluster=_clusters(table, sides))
    return Verdicts(
        rows=_in_order(rows[whole & is_kept & differ].reset_index(drop=True)),
        left_out=int((whole & ~is_kept).sum()),
        alike=int((whole & is_kept & ~differ).sum()),
        ablated=int((~whole & is_kept).sum()),
    )


def _about(export: Export, table: pd.DataFrame) -> pd.DataFrame:
    """Return what is known of each conversation, indexed by it.

    Without conversations.csv the arms are those that pairs.csv itself names. `valid` is "false" also for the
    conversations of excluded people.
    """
    path = export.folder / "conversations.csv"
    if not path.is_file():
        arms = pd.concat([table[f"arm_{side}"].set_axis(table[f"conversation_{side}"]) for side in "ab"])
        arms = arms[~arms.index.duplicated()]
        return pd.DataFrame({name: arms if name == "arm" else "" for name in OF_CONVERSATION}, index=arms.index)
    about = read_table(path, ("conversation",), OF_CONVERSATION).astype(str).drop_duplicates("conversation")
    about.loc[about["participant"].isin(export.excluded), "valid"] = "false"
    return about.set_index("conversation")


def _both(sides: list[pd.DataFrame]) -> Iterator[tuple[Labels, dict[str, str]]]:
    yield from zip(*(side.to_dict("records") for side in sides), strict=True)


def _contestants(a: dict[str, str], b: dict[str, str]) -> tuple[str, str]:
    """Return the arms where they differ, else the kinds of seekers."""
    if a["arm"] != b["arm"] and a["arm"] and b["arm"]:
        return a["arm"], b["arm"]
    return _seekers(a), _seekers(b)


def _seekers(side: Labels) -> str:
    return name_seekers(side["seeker_kind"], side["condition"], side["setup"])


def _clusters(table: pd.DataFrame, sides: list[pd.DataFrame]) -> pd.Series:
    """Return the clusters: the participant, else the profile, else the conversation.

    Of two different ones it is the first in the alphabet, so that it does not matter which side is called a.
    """
    names = []
    for letter, side in zip("ab", sides, strict=True):
        name = "conversation " + table[f"conversation_{letter}"]
        name = name.where(side["profile"] == "", "profile " + side["profile"])
        names.append(name.where(side["participant"] == "", "participant " + side["participant"]))
    return names[0].where(names[0] <= names[1], names[1])


def _verdict_signs(table: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "raters": table["group"],
            "role": table["role"],
            "rater": table["rater"],
            "instrument": table["instrument"],
            "question": table["question"],
            "verdict": table["verdict"].map({"a": WIN, "tie": TIE, "b": LOSS}),
            "first": table["shown_first"].map({"a": 1, "": 0, "b": -1}),
        }
    )


def _in_order(rows: pd.DataFrame) -> pd.DataFrame:
    """Return verdicts with the contestants in alphabetical order, in an order that does not depend on the file's."""
    turned = rows["contestant_a"] > rows["contestant_b"]
    names = rows[["contestant_a", "contestant_b"]]
    rows = rows.assign(
        contestant_a=names["contestant_a"].where(~turned, names["contestant_b"]),
        contestant_b=names["contestant_b"].where(~turned, names["contestant_a"]),
        verdict=rows["verdict"].where(~turned, -rows["verdict"]),
        first=rows["first"].where(~turned, -rows["first"]),
    )
    return rows.sort_values(list(rows.columns)).reset_index(drop=True)
