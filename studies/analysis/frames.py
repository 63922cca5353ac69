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

ROLES = ("seeker", "supporter")
RATER_KINDS = ("seeker", "expert", "reviewer", "crowd", "judge", "simulated_seeker")
NEEDED = ("conversation", "rater", "rater_kind", "instrument", "item", "score")
OPTIONAL = ("participant", "arm", "condition", "strategy", "replicate", "moment", "turn", "missing_reason", "seconds")
OF_CONVERSATION = (
    "participant",
    "arm",
    "condition",
    "profile",
    "setup",
    "seeker_kind",
    "card",
    "language",
    "end_reason",
)
FEELINGS = ("valence", "arousal", "intensity")
COUNTED = ("turns", *(f"{feeling}_{when}" for feeling in FEELINGS for when in ("before", "after")))
OF_TURNS = ("conversation", "role", "text")
OF_CALLS = ("conversation", "purpose", "status", "total_ms", "input_tokens", "output_tokens", "cost")
OF_PAIRS = ("pair", "conversation_a", "conversation_b", "rater", "rater_kind", "question", "verdict")
BESIDE_PAIRS = ("shown_first", "instrument", "arm_a", "arm_b")
SIDES = ("a", "b")
VARIANT = "~"  # in the code of a judge that was asked in another way: KEY~VARIANT
MEASURED = ("first_token_ms", "total_ms", "masked", "names_itself")
IDENTITY = ("conversation", "rater", "rater_kind", "strategy", "replicate", "instrument", "item", "moment", "turn")
HASHED = ("answers.csv", "states.csv", "pairs.csv", "calls.csv", "manifest.json")  # beside the files that are read here
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
_GUARDED = re.compile(r"^'(?='*[=+\-@\t\r])")
_TRUTHS = {"true": 1.0, "false": 0.0, "": math.nan}

csv.field_size_limit(2**31 - 1)  # a text may be longer than the 128 KiB that the module allows by itself


@dataclass(frozen=True)
class Export:
    """What an export folder says.

    `ratings`: one row per score that was given; text columns are categories, `score` is a float. `group` is the rater
    kind, or `judge:STRATEGY`; `seconds` is nan where not measured. `left_out`: such rows of excluded participants and
    of conversations that are not valid, which all other tables here are without. `ablated`: those of simulated seekers
    that were changed for an ablation, which all but `chats` are without. `conversations`: what was rated, indexed by
    conversation; columns `participant`, `arm`, `condition`, `profile`, `seeker_kind`, `card` (empty where unknown),
    `cluster`: the participant, else the profile, else the conversation itself, and `counsellors`: true where it is a
    counsellor's own. `chats`: what nobody rated too, where conversations.csv names it; OF_CONVERSATION and `cluster` as
    text, COUNTED as floats, nan where the file says nothing. `replies`: one row per reply of turns.csv, None where
    there is no such file; columns of `read_turns`, and `arm`, `language` (empty where unknown), `cluster`.
    """

    folder: Path
    ratings: pd.DataFrame
    left_out: pd.DataFrame
    ablated: pd.DataFrame
    variants: pd.DataFrame
    unscored: pd.DataFrame
    conversations: pd.DataFrame
    chats: pd.DataFrame
    replies: pd.DataFrame | None
    rows: dict[str, int]  # of each file that was read
    hashes: dict[str, str]  # SHA-256 of each file that was read
    absent: tuple[str, ...]
    missing: dict[str, int]  # ratings without a score, by reason
    repeated: int  # scores given again by the same rater to the same thing: averaged
    excluded_participants: int
    invalid_conversations: int
    demonstration: bool

    def whole(self) -> pd.DataFrame:
        """The chats without those of an ablation."""
        return self.chats[self.chats["setup"] == ""]


def load(folder: Path) -> Export:
    path = folder / "ratings.csv"
    if not path.is_file():
        raise AnalysisError(f"{path.name}: there is no such file in {folder}")
    table = read_ratings(path)
    varied = _of_variants(table)
    scored = table[table["score"].notna() & ~varied].reset_index(drop=True)
    if scored.empty:
        raise AnalysisError(f"{path.name}: no rating has a score")
    people, excluded = _marked(folder / "participants.csv", "participant", "excluded", "true")
    listed, invalid = _marked(folder / "conversations.csv", "conversation", "valid", "false")
    rated = _conversations(path, table, ("participant", "arm", "condition"))
    everything = _all_conversations(folder, rated)
    rated = _with_what_is_known(rated, everything, scored)
    left_out = _left_out(scored, rated, excluded, invalid)
    changed = scored["conversation"].isin(rated.index[rated["setup"] != ""])
    if left_out.all():
        raise AnalysisError(f"{path.name}: every rating is of a person or conversation that is left out by a decision")
    if (left_out | changed).all():
        raise AnalysisError(f"{path.name}: every rating is of an ablation, and the whole to compare it with is missing")
    judged = table[(table["rater_kind"] == "judge") & (varied | table["score"].isna())]
    judged = judged[~_left_out(judged, rated, excluded, invalid)]
    judged = judged[~judged["conversation"].isin(rated.index[rated["setup"] != ""])]
    chats = _without(everything, excluded, invalid)
    turns = read_turns(folder / "turns.csv") if (folder / "turns.csv").is_file() else None
    read = {
        "ratings.csv": len(table),
        "participants.csv": people,
        "conversations.csv": listed,
        "turns.csv": None if turns is None else len(turns),
    }
    return Export(
        folder=folder,
        ratings=scored[~left_out & ~changed].reset_index(drop=True),
        left_out=scored[left_out & ~changed],
        ablated=scored[~left_out & changed].reset_index(drop=True),
        variants=judged[_of_variants(judged)].reset_index(drop=True),
        unscored=judged[~_of_variants(judged)].reset_index(drop=True),
        conversations=_without(rated[rated["setup"] == ""], excluded, invalid).drop(columns="setup"),
        chats=chats,
        replies=None if turns is None else _replies(turns, everything, chats.index[chats["setup"] == ""]),
        rows={name: count for name, count in read.items() if count is not None},
        hashes={name: _sha256(folder / name) for name in (*read, *HASHED) if (folder / name).is_file()},
        absent=tuple(name for name in EXPORTED if not (folder / name).is_file()),
        missing=_missing(table),
        repeated=int(scored.duplicated(list(IDENTITY)).sum()),
        excluded_participants=len(excluded),
        invalid_conversations=len(invalid),
        demonstration=_demonstration(folder / "manifest.json"),
    )


def _of_variants(ratings: pd.DataFrame) -> pd.Series:
    """Which rows are of a judge that was asked in another way."""
    codes = [code for code in ratings["rater"].cat.categories if VARIANT in code]
    return ratings["rater"].isin(codes) & (ratings["rater_kind"] == "judge")


def _left_out(
    ratings: pd.DataFrame, conversations: pd.DataFrame, excluded: frozenset[str], invalid: frozenset[str]
) -> pd.Series:
    """Which rows: those of conversations that are, and those that excluded people gave."""
    kept = ratings["conversation"].isin(_without(conversations, excluded, invalid).index)
    by_excluded = ratings["rater"].isin(excluded) & (ratings["rater_kind"] != "judge")
    return ~kept | by_excluded


def _without(conversations: pd.DataFrame, excluded: frozenset[str], invalid: frozenset[str]) -> pd.DataFrame:
    return conversations[~conversations["participant"].isin(excluded) & ~conversations.index.isin(invalid)]


def first_of_people(ratings: pd.DataFrame) -> pd.DataFrame:
    """Without the later replicates of a person, who was given a conversation once more to see whether they say the
    same: that is no second rater. Judges' replicates stay."""
    replicates = ratings["replicate"].astype(str)
    key = ["rater_kind", "rater", "instrument", "item", "moment", "conversation", "turn"]
    first = replicates.groupby([ratings[name] for name in key], observed=True).transform("min")
    return ratings[(ratings["rater_kind"] == "judge") | (replicates == first)]


def read_ratings(path: Path) -> pd.DataFrame:
    """One row per row of the file, in its order; an empty score is missing, never 0."""
    table = read_table(path, NEEDED, OPTIONAL)
    for column in ("conversation", "rater", "item"):
        _refuse(path, table[column], lambda text: not text, "is empty")
    _refuse(path, table["rater_kind"], lambda text: text not in RATER_KINDS, "is none of " + ", ".join(RATER_KINDS))
    _refuse(path, table["turn"], lambda text: not re.fullmatch(r"(\d+(\.0*)?)?", text), "is not a whole number")
    table["score"] = _numbers(path, table["score"])
    table["seconds"] = _numbers(path, table["seconds"])
    # A table that had gaps in this column was often saved with 5.0 for 5.
    table["turn"] = _renamed(table["turn"], lambda text: text.partition(".")[0])
    table["group"] = _groups(table)
    return table


def read_turns(path: Path) -> pd.DataFrame:
    """One row per message. Columns `conversation`, `role`, and as floats, nan where the file says nothing, `characters`
    (Unicode code points of the text), `first_token_seconds`, `total_seconds`, `masked` and `names_itself` (1 or 0)."""
    table = read_table(path, OF_TURNS, MEASURED)
    _refuse(path, table["conversation"], lambda text: not text, "is empty")
    _refuse(path, table["role"], lambda text: text not in ROLES, "is none of " + ", ".join(ROLES))
    return table[["conversation", "role"]].assign(
        characters=table["text"].astype(str).str.len().astype(float),
        first_token_seconds=_numbers(path, table["first_token_ms"]) / 1000,
        total_seconds=_numbers(path, table["total_ms"]) / 1000,
        masked=_truths(path, table["masked"]),
        names_itself=_truths(path, table["names_itself"]),
    )


def read_states(path: Path) -> pd.DataFrame:
    """One row per inner state that has a score. Columns `conversation`, `source`, `turn` (int) and `emotion_score`."""
    table = read_table(path, ("conversation", "turn"), ("source", "emotion_score"))
    _refuse(path, table["conversation"], lambda text: not text, "is empty")
    _refuse(path, table["turn"], lambda text: not re.fullmatch(r"\d+(\.0*)?", text), "is not a whole number")
    states = table[["conversation", "source"]].astype(str)
    states["turn"] = _numbers(path, table["turn"]).astype(int)
    states["emotion_score"] = _numbers(path, table["emotion_score"])
    return states.dropna(subset="emotion_score").reset_index(drop=True)


def read_calls(path: Path) -> pd.DataFrame:
    """One row per attempt. Columns `conversation`, `purpose` and `status`, and as floats, nan where the file says
    nothing, `seconds`, `input_tokens`, `output_tokens` and `cost`."""
    table = read_table(path, OF_CALLS, ())
    _refuse(path, table["purpose"], lambda text: not text, "is empty")
    calls = table[["conversation", "purpose", "status"]].astype(str)
    calls["seconds"] = _numbers(path, table["total_ms"]) / 1000
    return calls.assign(**{name: _numbers(path, table[name]) for name in ("input_tokens", "output_tokens", "cost")})


def read_pairs(path: Path) -> pd.DataFrame:
    """One row per verdict, as text."""
    table = read_table(path, OF_PAIRS, BESIDE_PAIRS)
    for column in ("pair", "conversation_a", "conversation_b", "rater", "question"):
        _refuse(path, table[column], lambda text: not text, "is empty")
    _refuse(path, table["rater_kind"], lambda text: text not in RATER_KINDS, "is none of " + ", ".join(RATER_KINDS))
    _refuse(path, table["verdict"], lambda text: text not in (*SIDES, "tie"), "is none of a, b, tie")
    _refuse(path, table["shown_first"], lambda text: text not in (*SIDES, ""), "is neither a nor b")
    return table.astype(str)


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


def _numbers(path: Path, column: pd.Series) -> np.ndarray:
    """As floats, nan where the text is empty."""
    _refuse(path, column, lambda text: bool(text.strip()) and math.isnan(_number(text)), "is not a number")
    return _of_categories(column, _number)


def _truths(path: Path, column: pd.Series) -> np.ndarray:
    """As 1 and 0, nan where the text is empty. A spreadsheet writes TRUE for true."""
    _refuse(path, column, lambda text: text.lower() not in _TRUTHS, "is neither true nor false")
    return _of_categories(column, lambda text: _TRUTHS[text.lower()])


def _of_categories(column: pd.Series, value: Callable[[str], float]) -> np.ndarray:
    values: np.ndarray = np.array([value(text) for text in column.cat.categories], dtype=float)[column.cat.codes]
    return values


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


def _all_conversations(folder: Path, rated: pd.DataFrame) -> pd.DataFrame:
    """Those that nobody rated too, where conversations.csv names them; the ratings alone tell less of them."""
    path = folder / "conversations.csv"
    if not path.is_file():
        return rated.reindex(columns=[*OF_CONVERSATION, *COUNTED, "cluster"]).fillna(dict.fromkeys(OF_CONVERSATION, ""))
    table = read_table(path, ("conversation",), (*OF_CONVERSATION, *COUNTED))
    for name in COUNTED:
        _numbers(path, table[name])  # refuses what is none
    everything = _conversations(path, table, (*OF_CONVERSATION, *COUNTED))
    return everything.assign(**{name: everything[name].map(_number) for name in COUNTED})


def _with_what_is_known(rated: pd.DataFrame, everything: pd.DataFrame, ratings: pd.DataFrame) -> pd.DataFrame:
    """Adds what conversations.csv says; a counsellor is known by their track, or by having rated their own."""
    names = ["condition", "profile", "setup", "seeker_kind", "card"]
    known = everything[names].reindex(rated.index).fillna("")
    known["condition"] = known["condition"].where(known["condition"] != "", rated["condition"])
    experts = ratings[(ratings["rater_kind"] == "expert") & (ratings["participant"] != "")].astype(str)
    own = set(experts.loc[experts["rater"] == experts["participant"], "conversation"])
    counsellors = (known["seeker_kind"] == "counsellor") | rated.index.isin(own)
    rated = rated[["participant", "arm"]].join(known).assign(counsellors=counsellors)
    return rated.assign(cluster=_clusters(rated))


def _replies(turns: pd.DataFrame, conversations: pd.DataFrame, kept: pd.Index) -> pd.DataFrame:
    """Those of conversations that conversations.csv does not name are kept too."""
    replies = turns[turns["role"] == "supporter"].drop(columns="role").astype({"conversation": str})
    replies = replies[~replies["conversation"].isin(conversations.index.difference(kept))]
    about = conversations[["arm", "language", "cluster"]].reindex(replies["conversation"]).fillna("")
    return replies.assign(**{name: about[name].to_numpy() for name in about}).reset_index(drop=True)


def _conversations(path: Path, table: pd.DataFrame, names: Iterable[str]) -> pd.DataFrame:
    conversations = pd.DataFrame(index=pd.Index(sorted(table["conversation"].unique()), name="conversation", dtype=str))
    for name in names:
        conversations[name] = _of_conversation(path, table, name).reindex(conversations.index).fillna("")
    return conversations.assign(cluster=_clusters(conversations))


def _clusters(conversations: pd.DataFrame) -> pd.Series:
    """The participant, else the profile, else the conversation, whose names never equal after these prefixes."""
    cluster = "conversation " + conversations.index.to_series()
    if "profile" in conversations:
        cluster = cluster.where(conversations["profile"] == "", "profile " + conversations["profile"])
    return cluster.where(conversations["participant"] == "", conversations["participant"])


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


def _marked(path: Path, key: str, column: str, value: str) -> tuple[int | None, frozenset[str]]:
    """Rows of the file (None where there is no file), and the keys of those that have the value."""
    if not path.is_file():
        return None, frozenset()
    table = read_table(path, (), (key, column))
    return len(table), frozenset(table.loc[table[column] == value, key].astype(str)) - {""}


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
