"""Exported files → typed tables. Every fault is an `AnalysisError` that begins `FILE:LINE:COLUMN:`."""

import csv
import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd  # noqa: TID253

from studies.analysis import AnalysisError

RATER_KINDS = ("seeker", "expert", "reviewer", "crowd", "judge", "simulated_seeker")
NEEDED = ("conversation", "rater", "rater_kind", "instrument", "item", "score")
OPTIONAL = ("participant", "arm", "strategy", "replicate", "moment", "turn", "missing_reason")
IDENTITY = ("conversation", "rater", "rater_kind", "strategy", "replicate", "instrument", "item", "moment", "turn")
EXPORTED = (
    "ratings.csv",
    "participants.csv",
    "answers.csv",
    "scales.csv",
    "conversations.csv",
    "turns.csv",
    "states.csv",
    "pairs.csv",
    "calls.csv",
    "codebook.csv",
    "manifest.json",
)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_GUARDED = re.compile(r"^'(?=[=+\-@\t\r])")


@dataclass(frozen=True)
class Export:
    """What an export folder says.

    `ratings`: one row per score that was given; text columns are categories, `score` is a float. `group` is the rater
    kind, or `judge:STRATEGY`. `conversations`: indexed by conversation; columns `participant`, `arm` (empty where
    unknown) and `cluster`: the participant, else the conversation itself.
    """

    ratings: pd.DataFrame
    conversations: pd.DataFrame
    rows: dict[str, int]  # of each file that was read
    hashes: dict[str, str]  # SHA-256 of each file that was read
    absent: tuple[str, ...]
    missing: dict[str, int]  # ratings without a score, by reason
    repeated: int  # scores given again by the same rater to the same thing: averaged
    excluded_participants: int
    invalid_conversations: int
    demonstration: bool


def load(folder: Path) -> Export:
    path = folder / "ratings.csv"
    if not path.is_file():
        raise AnalysisError(f"{path.name}: there is no such file in {folder}")
    table = read_ratings(path)
    scored = table[table["score"].notna()].reset_index(drop=True)
    if scored.empty:
        raise AnalysisError(f"{path.name}: no rating has a score")
    people, excluded = _count_true(folder / "participants.csv", "excluded", "true")
    chats, invalid = _count_true(folder / "conversations.csv", "valid", "false")
    read = {"ratings.csv": len(table), "participants.csv": people, "conversations.csv": chats}
    return Export(
        ratings=scored,
        conversations=_conversations(path, table),
        rows={name: count for name, count in read.items() if count is not None},
        hashes={name: _sha256(folder / name) for name in (*read, "manifest.json") if (folder / name).is_file()},
        absent=tuple(name for name in EXPORTED if not (folder / name).is_file()),
        missing=_missing(table),
        repeated=int(scored.duplicated(list(IDENTITY)).sum()),
        excluded_participants=excluded,
        invalid_conversations=invalid,
        demonstration=_demonstration(folder / "manifest.json"),
    )


def read_ratings(path: Path) -> pd.DataFrame:
    """One row per row of the file, in its order; an empty score is missing, never 0."""
    table = read_table(path, NEEDED, OPTIONAL)
    for column in ("conversation", "rater", "item"):
        _refuse(path, table[column], lambda text: not text, "is empty")
    _refuse(path, table["rater_kind"], lambda text: text not in RATER_KINDS, "is none of " + ", ".join(RATER_KINDS))
    _refuse(path, table["turn"], lambda text: not re.fullmatch(r"(\d+(\.0*)?)?", text), "is not a whole number")
    _refuse(path, table["score"], lambda text: bool(text.strip()) and math.isnan(_number(text)), "is not a number")
    numbers = np.array([_number(text) for text in table["score"].cat.categories])
    table["score"] = numbers[table["score"].cat.codes]
    # A table that had gaps in this column was often saved with 5.0 for 5.
    table["turn"] = _renamed(table["turn"], lambda text: text.partition(".")[0])
    table["group"] = _groups(table)
    return table


def read_table(path: Path, needed: Iterable[str], optional: Iterable[str] = ()) -> pd.DataFrame:
    """The named columns as categories of text, without a spreadsheet guard; an absent optional column is empty."""
    header = _header(path)
    absent = [name for name in needed if name not in header]
    if absent:
        raise AnalysisError(f"{path.name}:1:{absent[0]}: the column is missing (the header has {', '.join(header)})")
    table = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8-sig").astype("category")
    columns = {name: _unguarded(table[name]) for name in header if name in (*needed, *optional)}
    empty = pd.Series("", index=table.index, dtype="category")
    return pd.DataFrame({name: columns.get(name, empty) for name in (*needed, *optional)})


def _header(path: Path) -> list[str]:
    """The header, after a look at every row: pandas would fill a short one up with missing scores."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            header, line = next(reader, []), 2
            for record in reader:
                if record and len(record) != len(header):
                    raise AnalysisError(f"{path.name}:{line}: {len(record)} fields under {len(header)} columns")
                line = reader.line_num + 1
    except UnicodeDecodeError as error:
        raise AnalysisError(f"{path.name}: is not UTF-8 ({error.reason} at byte {error.start})") from error
    repeated = [name for name in header if header.count(name) > 1]
    if repeated:
        raise AnalysisError(f"{path.name}:1:{repeated[0]}: the column is there twice")
    return header


def _refuse(path: Path, column: pd.Series, wrong: Callable[[str], bool], what: str) -> None:
    faulty = np.array([wrong(text) for text in column.cat.categories], dtype=bool)
    rows = np.flatnonzero(faulty[column.cat.codes])
    if rows.size:
        raise AnalysisError(
            f"{path.name}:{_line_of(path, rows[0])}:{column.name}: {str(column.iloc[rows[0]])!r} {what}"
        )


def _line_of(path: Path, row: int) -> int:
    """The line on which a data row begins: a quoted text may run over several, and blank lines are no rows."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file)
        line, seen = 1, -1  # the header is row -1
        for record in reader:
            if record and seen == row:
                break
            seen += bool(record)
            line = reader.line_num + 1
    return line


def _number(text: str) -> float:
    """The finite number that a text is, else nan."""
    if not _NUMBER.fullmatch(text.strip()):
        return math.nan
    value = float(text)
    return value if math.isfinite(value) else math.nan


def _unguarded(column: pd.Series) -> pd.Series:
    return _renamed(column, lambda text: _GUARDED.sub("", text))


def _renamed(column: pd.Series, name: Callable[[str], str]) -> pd.Series:
    """Each text replaced by its name; several texts may get the same one."""
    names = np.array([name(text) for text in column.cat.categories], dtype=object)
    return pd.Series(names[column.cat.codes], index=column.index, name=column.name).astype("category")


def _groups(table: pd.DataFrame) -> pd.Series:
    judged = (table["rater_kind"] == "judge") & (table["strategy"] != "")
    by_strategy = "judge:" + table["strategy"].astype(str)
    return by_strategy.where(judged, table["rater_kind"].astype(str)).astype("category")


def _conversations(path: Path, table: pd.DataFrame) -> pd.DataFrame:
    conversations = pd.DataFrame(index=pd.Index(sorted(table["conversation"].unique()), name="conversation", dtype=str))
    for name in ("participant", "arm"):
        conversations[name] = _of_conversation(path, table, name).reindex(conversations.index).fillna("")
    # A conversation's code never equals a participant's after this prefix.
    alone = "conversation " + conversations.index.to_series()
    conversations["cluster"] = conversations["participant"].where(conversations["participant"] != "", alone)
    return conversations


def _of_conversation(path: Path, table: pd.DataFrame, name: str) -> pd.Series:
    """Indexed by conversation; rows that leave the value empty (an imported judge's, say) take that of the others."""
    said = table.loc[table[name] != "", ["conversation", name]].drop_duplicates().astype(str)
    twice = said[said.duplicated("conversation")]
    if not twice.empty:
        row, conversation = twice.index[0], twice["conversation"].iloc[0]
        raise AnalysisError(f"{path.name}:{_line_of(path, row)}:{name}: conversation {conversation} has two of them")
    return said.set_index("conversation")[name]


def _missing(table: pd.DataFrame) -> dict[str, int]:
    reasons = table.loc[table["score"].isna(), "missing_reason"].astype(str).replace("", "no reason given")
    return {str(reason): int(count) for reason, count in reasons.value_counts().sort_index().items()}


def _count_true(path: Path, column: str, value: str) -> tuple[int | None, int]:
    """Rows of the file (None where there is no file), and how many of them have the value."""
    if not path.is_file():
        return None, 0
    table = read_table(path, (), (column,))
    return len(table), int((table[column] == value).sum())


def _demonstration(path: Path) -> bool:
    if not path.is_file():
        return False
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise AnalysisError(f"{path.name}: is not JSON ({error})") from error
    return isinstance(manifest, dict) and manifest.get("demonstration") is True


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
