"""Exported files → typed tables. Every fault is an `AnalysisError` that begins `FILE:LINE:COLUMN:`."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253

from dialogue.judges.roles import BY_CODE
from studies.analysis import AnalysisError
from studies.analysis.declared import Declared, read_contrasts, read_epsilon
from studies.analysis.odd_ratings import OddRatings, find_odd_ratings
from studies.analysis.raters import name_group
from studies.analysis.reading import (
    EMPTY,
    amounts,
    columns_of,
    counts,
    line_of,
    number,
    numbers,
    read_table,
    refuse,
    refuse_others,
    refuse_repeated,
    refuse_uncounted,
    rename_values,
    truths,
)
from studies.analysis.scales import CODEBOOK, beyond, scales_in

ROLES = ("seeker", "supporter")
RATER_KINDS = ("seeker", "expert", "reviewer", "crowd", "judge", "simulated_seeker")
CONDITIONS = ("average", "worst_case")
SEEKER_KINDS = ("person", "counsellor", "simulated", "imported")
END_REASONS = ("finished", "early", "walked_out", "satisfied", "cap", "safety", "technical", "withdrawn")
FINAL = "final"  # the moment of a rating of a whole conversation
MOMENTS = ("turn", "checkpoint", FINAL)
NEEDED = ("conversation", "rater", "rater_kind", "instrument", "item", "score")
OPTIONAL = (
    "participant",
    "arm",
    "condition",
    "strategy",
    "role",
    "replicate",
    "moment",
    "turn",
    "missing_reason",
    "seconds",
)
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
TOLD = [f"{feeling}_{when}" for feeling in FEELINGS for when in ("before", "after")]
COUNTED = ("turns", *TOLD)
OF_TURNS = ("conversation", "role", "text")
OF_CALLS = ("conversation", "purpose", "status", "total_ms", "input_tokens", "output_tokens", "cost")
OF_PAIRS = ("pair", "conversation_a", "conversation_b", "rater", "rater_kind", "question", "verdict")
WORDS_OF_PROFILES = ("origin", "language", "gender", "nationality", "occupation", "mbti", "problem_category", "emotion")
NUMBERS_OF_PROFILES = ("age", "extraversion", "agreeableness", "conscientiousness", "neuroticism", "openness")
BESIDE_PAIRS = ("shown_first", "instrument", "arm_a", "arm_b", "role")
SIDES = ("a", "b")
VARIANT = "~"  # in the code of a judge that was asked in another way: KEY~VARIANT
MEASURED = ("first_token_ms", "total_ms", "masked", "names_itself")
OF_IMPORTS = ("turn", "emotion")  # of a seeker's message
# `is_first`, `is_last`: of the seeker's messages, those that the file leaves empty not counted; `is_answered`: a reply
# follows.
SHOWN = "last_turn"  # of a rating: the last turn that its rater was shown; an import has none
FELT = ["conversation", "turn", "score", "is_first", "is_last", "is_answered"]
IDENTITY = ("conversation", "rater", "rater_kind", "strategy", "replicate", "instrument", "item", "moment", "turn")
# Beside the files that are read here.
HASHED = ("answers.csv", "scales.csv", "states.csv", "pairs.csv", "calls.csv", "profiles.csv", "manifest.json")
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
    "profiles.csv",
    "codebook.csv",
    "manifest.json",
)


@dataclass(frozen=True)
class Export:
    """The contents of an export folder.

    `ratings`: one row per score that was given; text columns are categories, `score` is a float. `group` is the rater
    kind, `judge:STRATEGY`, or `judge:STRATEGY:ROLE` of judges that are not the seeker; `seconds` is nan where not
    measured. `left_out`: such rows of excluded participants and
    of conversations that are not valid, which all other tables here are without. `ablated`: those of simulated seekers
    that were changed for an ablation, which all but `chats` are without. `variants`: rows of judges that were asked in
    another way. `unscored`: rows without a score, of judges and of people. `conversations`: what was rated, indexed by
    conversation; columns `participant`, `arm`, `condition`, `profile`, `seeker_kind`, `card` (empty where unknown),
    `cluster`: the participant, else the profile, else the conversation itself, and `counsellors`: true where it is a
    counsellor's own; `left_out_conversations`: those that they are without, in the same way. `chats`: what no one rated
    too, where conversations.csv names it; OF_CONVERSATION and `cluster` as text, COUNTED as floats, nan where the file
    says nothing. `replies`: one row per reply of turns.csv, None where there is no such file; columns of `read_turns`,
    and `arm`, `language` (empty where unknown), `cluster`. `emotions`: one row per message of an import whose emotion
    is a number; columns FELT. `primary`: the contrasts that the study declared, those too that it declared no longer.
    `roles`: those of judges, by key and by group. `epsilon`: of the alternative annotator test, by kind of raters.
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
    emotions: pd.DataFrame
    left_out_conversations: pd.DataFrame
    rows: dict[str, int]  # of each file that was read
    hashes: dict[str, str]  # SHA-256 of each file that was read
    absent: tuple[str, ...]
    missing: dict[str, int]  # ratings without a score, by reason
    repeated: int  # scores given again by the same rater to the same thing: averaged
    excluded: frozenset[str]  # participants
    invalid_conversations: int
    demonstration: bool
    primary: tuple[Declared, ...] = ()
    roles: Mapping[str, str] = field(default_factory=dict)
    epsilon: Mapping[str, float] = field(default_factory=lambda: read_epsilon({}))
    odd: OddRatings = field(default_factory=OddRatings)  # of ratings.csv

    def whole(self) -> pd.DataFrame:
        """Return the chats without those of an ablation."""
        return self.chats[self.chats["setup"] == ""]


def load(folder: Path) -> Export:
    path = folder / "ratings.csv"
    if folder.is_file():
        raise AnalysisError(f"{folder}: is a file; give the folder that holds it, {folder.parent}")
    if not folder.is_dir():
        raise AnalysisError(f"{folder}: there is no such folder")
    if not path.is_file():
        raise AnalysisError(f"{path.name}: there is no such file in {folder}")
    table = read_ratings(path)
    _refuse_beyond(path, table)
    table = table.drop(columns=SHOWN)
    varied = _of_variants(table)
    scored = table[table["score"].notna() & ~varied]
    repeated = scored.index[scored.duplicated(list(IDENTITY))].to_numpy()
    scored = scored.reset_index(drop=True)
    if scored.empty:
        raise AnalysisError(f"{path.name}: no rating has a score")
    people, excluded = _read_keys(folder / "participants.csv", "participant", "excluded", "true")
    listed, invalid = _read_keys(folder / "conversations.csv", "conversation", "valid", "false")
    rated = _conversations(path, table, ("participant", "arm", "condition"))
    everything = _all_conversations(folder, rated)
    _refuse_contradictions(path, table, rated, everything)
    rated = _add_details(rated, everything, scored)
    left_out = _find_left_out(scored, rated, excluded, invalid)
    changed = scored["conversation"].isin(rated.index[rated["setup"] != ""])
    if left_out.all():
        raise AnalysisError(f"{path.name}: every rating is of a person or conversation that is left out by a decision")
    if (left_out | changed).all():
        raise AnalysisError(f"{path.name}: every rating is of an ablation, and the whole to compare it with is missing")
    others = table[varied | table["score"].isna()]
    others = others[~_find_left_out(others, rated, excluded, invalid)]
    others = others[~others["conversation"].isin(rated.index[rated["setup"] != ""])]
    chats = _without(everything, excluded, invalid)
    whole = rated[rated["setup"] == ""].drop(columns="setup")
    manifest = _manifest(folder / "manifest.json")
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
        variants=others[_of_variants(others)].reset_index(drop=True),
        unscored=others[~_of_variants(others)].reset_index(drop=True),
        conversations=_without(whole, excluded, invalid),
        chats=chats,
        replies=None if turns is None else _replies(turns, everything, chats.index[chats["setup"] == ""]),
        emotions=_emotions(turns),
        left_out_conversations=whole.drop(index=_without(whole, excluded, invalid).index),
        rows={name: count for name, count in read.items() if count is not None},
        hashes={name: _sha256(folder / name) for name in (*read, *HASHED) if (folder / name).is_file()},
        absent=tuple(name for name in EXPORTED if not (folder / name).is_file()),
        missing=_missing(table),
        repeated=len(repeated),
        excluded=excluded,
        invalid_conversations=len(invalid),
        demonstration=manifest.get("demonstration") is True,
        primary=read_contrasts(manifest),
        epsilon=read_epsilon(manifest),
        roles=_roles_of(table),
        odd=find_odd_ratings(path, table, repeated, everything.index),
    )


def _of_variants(ratings: pd.DataFrame) -> pd.Series:
    """Return a mask of the rows of judges that were asked in another way."""
    codes = [code for code in ratings["rater"].cat.categories if VARIANT in code]
    return ratings["rater"].isin(codes) & (ratings["rater_kind"] == "judge")


def _find_left_out(
    ratings: pd.DataFrame, conversations: pd.DataFrame, excluded: frozenset[str], invalid: frozenset[str]
) -> pd.Series:
    """Return a mask of the rows that are left out: of left-out conversations, or from excluded people."""
    is_kept = ratings["conversation"].isin(_without(conversations, excluded, invalid).index)
    by_excluded = ratings["rater"].isin(excluded) & (ratings["rater_kind"] != "judge")
    return ~is_kept | by_excluded


def _without(conversations: pd.DataFrame, excluded: frozenset[str], invalid: frozenset[str]) -> pd.DataFrame:
    return conversations[~conversations["participant"].isin(excluded) & ~conversations.index.isin(invalid)]


def first_of_people(ratings: pd.DataFrame) -> pd.DataFrame:
    """Return ratings without the later replicates of a person.

    A person gets a conversation once more to see whether they say the same, and is no second rater. Judges' replicates
    stay.
    """
    replicates = pd.to_numeric(ratings["replicate"]).fillna(0)
    key = ["rater_kind", "rater", "instrument", "item", "moment", "conversation", "turn"]
    first = replicates.groupby([ratings[name] for name in key], observed=True).transform("min")
    return ratings[(ratings["rater_kind"] == "judge") | (replicates == first)]


def read_ratings(path: Path) -> pd.DataFrame:
    """Return one row per row of the file, in its order; an empty score is missing, never 0."""
    table = read_table(path, NEEDED, (*OPTIONAL, SHOWN))
    for column in ("conversation", "rater", "item"):
        refuse(path, table[column], lambda text: not text, EMPTY)
    refuse_others(path, table["rater_kind"], RATER_KINDS)
    refuse_others(path, table["condition"], (*CONDITIONS, ""))
    refuse_others(path, table["moment"], (*MOMENTS, ""))
    refuse_others(path, table["role"], (*BY_CODE, ""))
    table["role"] = _read_roles(path, table)
    refuse_uncounted(path, table["turn"])
    refuse_uncounted(path, table["replicate"])
    table["score"] = numbers(path, table["score"])
    table["seconds"] = amounts(path, table["seconds"])
    table["turn"] = _turns_of(table)
    table["moment"] = rename_values(table["moment"], lambda moment: moment or FINAL)  # an import need not say it
    table["group"] = _groups(table)
    return table


def _turns_of(table: pd.DataFrame) -> pd.Series:
    """Return the turn that tells a rating from others.

    It is empty of a final rating, which is of the conversation as a whole: the last turn rated, which the file has of
    it, differs between raters who were shown more and less.
    """
    turns = rename_values(table["turn"], lambda text: text.strip().partition(".")[0])
    final = (table["moment"] == FINAL).to_numpy()
    if not final.any():
        return turns
    return (
        turns.cat.set_categories(sorted({*turns.cat.categories, ""})).where(~final, "").cat.remove_unused_categories()
    )


def _refuse_beyond(path: Path, table: pd.DataFrame) -> None:
    """Raise AnalysisError for a score that its scale does not reach, if it was not imported.

    An import may bring any number; its rows have no last turn, in a file that has this column.
    """
    scales = scales_in(path.parent / CODEBOOK)
    wrong = beyond(table, scales)
    if SHOWN in columns_of(path):
        wrong &= (table[SHOWN] != "").to_numpy()
    if not wrong.any():
        return
    row = np.flatnonzero(wrong)[0]
    rating = table.iloc[row]
    scale = scales[rating["instrument"], rating["item"]]
    raise AnalysisError(
        f"{path.name}:{line_of(path, row)}:score: {rating['score']:g} is not on the scale of {rating['instrument']} "
        f"{rating['item']}, {scale.lowest:g} to {scale.highest:g} by {CODEBOOK} (conversation {rating['conversation']})"
    )


def read_turns(path: Path) -> pd.DataFrame:
    """Return the messages of turns.csv, one row each.

    Columns `conversation`, `role`, and as floats, nan where the file says nothing, `characters` (Unicode code points of
    the text), `first_token_seconds`, `total_seconds`, `masked` and `names_itself` (1 or 0), `turn`, and `emotion`, nan
    too where it is said in words.
    """
    table = read_table(path, OF_TURNS, (*MEASURED, *OF_IMPORTS))
    refuse(path, table["conversation"], lambda text: not text, EMPTY)
    refuse_others(path, table["role"], ROLES)
    return table[["conversation", "role"]].assign(
        characters=table["text"].astype(str).str.len().astype(float),
        first_token_seconds=amounts(path, table["first_token_ms"]) / 1000,
        total_seconds=amounts(path, table["total_ms"]) / 1000,
        masked=truths(table["masked"]),
        names_itself=truths(table["names_itself"]),
        turn=counts(path, table["turn"]),
        emotion=table["emotion"].astype(str).map(number).astype(float),
    )


def read_states(path: Path) -> pd.DataFrame:
    """Return one row per inner state with a score: `conversation`, `source`, `turn` (int) and `emotion_score`."""
    table = read_table(path, ("conversation", "turn"), ("source", "emotion_score"))
    refuse(path, table["conversation"], lambda text: not text, EMPTY)
    refuse(path, table["turn"], lambda text: not text.strip(), EMPTY)
    states = table[["conversation", "source"]].astype(str)
    states["turn"] = counts(path, table["turn"]).astype(int)
    states["emotion_score"] = numbers(path, table["emotion_score"])
    return states.dropna(subset="emotion_score").reset_index(drop=True)


def read_calls(path: Path) -> pd.DataFrame:
    """Return the attempts of calls.csv, one row each.

    Columns `conversation`, `purpose` and `status`, and as floats, nan where the file says nothing, `seconds`,
    `input_tokens`, `output_tokens` and `cost`.
    """
    table = read_table(path, OF_CALLS, ())
    refuse(path, table["purpose"], lambda text: not text, EMPTY)
    calls = table[["conversation", "purpose", "status"]].astype(str)
    calls["seconds"] = amounts(path, table["total_ms"]) / 1000
    return calls.assign(**{name: amounts(path, table[name]) for name in ("input_tokens", "output_tokens", "cost")})


def read_profiles(path: Path) -> pd.DataFrame:
    """Return the profiles of simulated seekers, one row each; without rows where there is no such file.

    Columns `profile` and WORDS_OF_PROFILES as text, and NUMBERS_OF_PROFILES as floats, nan where nothing is said.
    """
    if not path.is_file():
        return pd.DataFrame(columns=["profile", *WORDS_OF_PROFILES, *NUMBERS_OF_PROFILES])
    table = read_table(path, ("profile",), (*WORDS_OF_PROFILES, *NUMBERS_OF_PROFILES))
    refuse_repeated(path, table["profile"])
    profiles = table[["profile", *WORDS_OF_PROFILES]].astype(str)
    return profiles.assign(**{name: numbers(path, table[name]) for name in NUMBERS_OF_PROFILES})


def read_pairs(path: Path) -> pd.DataFrame:
    """Return the verdicts of pairs.csv as text, one row each. `group`: as of ratings, without a strategy."""
    table = read_table(path, OF_PAIRS, BESIDE_PAIRS)
    for column in ("pair", "conversation_a", "conversation_b", "rater", "question"):
        refuse(path, table[column], lambda text: not text, EMPTY)
    refuse_others(path, table["rater_kind"], RATER_KINDS)
    refuse_others(path, table["verdict"], (*SIDES, "tie"))
    refuse(path, table["shown_first"], lambda text: text not in (*SIDES, ""), "is neither a nor b")
    refuse_others(path, table["role"], (*BY_CODE, ""))
    table["role"] = _read_roles(path, table)
    return table.assign(group=_groups(table.assign(strategy=""))).astype(str)


def _read_roles(path: Path, table: pd.DataFrame) -> pd.Series:
    """Return the role of each row's judge, also in rows that leave it empty.

    Raises AnalysisError where a judge has two: its key is all that tells its roles apart.
    """
    judges, is_judge = _judges_of(table), table["rater_kind"] == "judge"
    stated = pd.DataFrame({"judge": judges, "role": table["role"]})[is_judge & (table["role"] != "")]
    each = stated.drop_duplicates().astype(str)
    role_of = dict(zip(each["judge"], each["role"], strict=True))
    if len(role_of) < len(each):
        row = each.index[each["judge"].duplicated()][0]
        judge = each.loc[row, "judge"]
        both = " and ".join(each.loc[each["judge"] == judge, "role"])
        raise AnalysisError(
            f"{path.name}:{line_of(path, row)}:role: the judge {judge} has two roles, {both}: give each its own rater"
        )
    roles = rename_values(judges, lambda judge: role_of.get(judge, "")).astype(str)
    return roles.where(is_judge, "").astype("category")


def _judges_of(table: pd.DataFrame) -> pd.Series:
    """Return the key of each row's judge, without a variant."""
    return rename_values(table["rater"], lambda code: code.partition(VARIANT)[0])


def _groups(table: pd.DataFrame) -> pd.Series:
    parts = ["rater_kind", "strategy", "role"]
    names = {
        key: name_group(*map(str, key)) for key in table[parts].drop_duplicates().itertuples(index=False, name=None)
    }
    return pd.Series([names[key] for key in zip(*(table[part] for part in parts), strict=True)], table.index).astype(
        "category"
    )


def _roles_of(table: pd.DataFrame) -> dict[str, str]:
    """Return the roles of judges by key and by group; the judges of a group share one role, where it is known."""
    judged = table.assign(judge=_judges_of(table))[(table["rater_kind"] == "judge") & (table["role"] != "")]
    roles = judged[["judge", "group", "role"]].drop_duplicates().astype(str)
    return {name: role for *names, role in roles.itertuples(index=False, name=None) for name in names}


def _all_conversations(folder: Path, rated: pd.DataFrame) -> pd.DataFrame:
    """Return all conversations of conversations.csv; without that file the rated ones, with empty columns."""
    path = folder / "conversations.csv"
    if not path.is_file():
        gaps = dict.fromkeys(OF_CONVERSATION, "") | dict.fromkeys(COUNTED, np.nan)
        return rated.assign(**{name: value for name, value in gaps.items() if name not in rated})
    table = read_table(path, ("conversation",), (*OF_CONVERSATION, *COUNTED, "position"))
    refuse(path, table["conversation"], lambda text: not text, EMPTY)
    refuse_repeated(path, table["conversation"])
    for name, allowed in (("condition", CONDITIONS), ("seeker_kind", SEEKER_KINDS), ("end_reason", END_REASONS)):
        refuse_others(path, table[name], (*allowed, ""))
    refuse_uncounted(path, table["turns"])
    for name in TOLD:
        numbers(path, table[name])  # refuses what is none
    _refuse_same_position(path, table)
    everything = _conversations(path, table, (*OF_CONVERSATION, *COUNTED))
    return everything.assign(**{name: everything[name].map(number) for name in COUNTED})


def _refuse_same_position(path: Path, table: pd.DataFrame) -> None:
    """Raise AnalysisError for the first conversation that has the position of an earlier one of the same person."""
    places = table[["participant"]].astype(str).assign(position=table["position"].astype(str).map(number))
    has_position = places["position"].notna() & (places["participant"] != "")
    again = np.flatnonzero(has_position & places.duplicated())
    if not len(again):
        return
    row = again[0]
    before = table.loc[(places == places.loc[row]).all(axis=1), "conversation"].iloc[0]
    raise AnalysisError(
        f"{path.name}:{line_of(path, row)}:position: {places.loc[row, 'participant']} has conversation {before} at "
        f"position {table.loc[row, 'position']} already"
    )


def _refuse_contradictions(path: Path, table: pd.DataFrame, rated: pd.DataFrame, everything: pd.DataFrame) -> None:
    """Raise AnalysisError for the first rating of which conversations.csv says another arm, person or condition.

    What either leaves empty contradicts nothing.
    """
    names = ["arm", "participant", "condition"]
    listed = everything[names].reindex(rated.index).fillna("")
    for name in names:
        differs = (rated[name] != listed[name]) & (rated[name] != "") & (listed[name] != "")
        if differs.any():
            row = np.flatnonzero(table["conversation"].isin(rated.index[differs]) & (table[name] != ""))[0]
            conversation, value = table.loc[row, ["conversation", name]]
            raise AnalysisError(
                f"{path.name}:{line_of(path, row)}:{name}: {value!r} is not what conversations.csv says of "
                f"conversation {conversation}, {listed.loc[conversation, name]!r}"
            )


def _add_details(rated: pd.DataFrame, everything: pd.DataFrame, ratings: pd.DataFrame) -> pd.DataFrame:
    """Return the rated conversations with what conversations.csv says of them.

    A counsellor is known by their track, or by having rated their own.
    """
    names = ["condition", "profile", "setup", "seeker_kind", "card"]
    details = everything[names].reindex(rated.index).fillna("")
    details["condition"] = details["condition"].where(details["condition"] != "", rated["condition"])
    experts = ratings[(ratings["rater_kind"] == "expert") & (ratings["participant"] != "")].astype(str)
    own = set(experts.loc[experts["rater"] == experts["participant"], "conversation"])
    counsellors = (details["seeker_kind"] == "counsellor") | rated.index.isin(own)
    rated = rated[["participant", "arm"]].join(details).assign(counsellors=counsellors)
    return rated.assign(cluster=clusters_of(rated))


def _replies(turns: pd.DataFrame, conversations: pd.DataFrame, analysed: pd.Index) -> pd.DataFrame:
    """Return the replies, including those of conversations that conversations.csv does not name."""
    replies = turns[turns["role"] == "supporter"].drop(columns="role").astype({"conversation": str})
    replies = replies[~replies["conversation"].isin(conversations.index.difference(analysed))]
    about = conversations[["arm", "language", "cluster"]].reindex(replies["conversation"]).fillna("")
    return replies.assign(**{name: about[name].to_numpy() for name in about}).reset_index(drop=True)


def _emotions(turns: pd.DataFrame | None) -> pd.DataFrame:
    if turns is None:
        return pd.DataFrame(columns=FELT).astype(dict.fromkeys(FELT[3:], bool))
    felt = turns.loc[(turns["role"] == "seeker") & turns[list(OF_IMPORTS)].notna().all(axis=1), "conversation"]
    about = turns[turns["conversation"].isin(felt.unique())].astype({"conversation": str})
    messages = about[(about["role"] == "seeker") & ((about["characters"] > 0) | about["emotion"].notna())]
    turn_of = messages.groupby("conversation")["turn"]
    last_reply = about[about["role"] == "supporter"].groupby("conversation")["turn"].max()
    messages = messages.rename(columns={"emotion": "score"}).assign(
        is_first=messages["turn"] == turn_of.transform("min"),
        is_last=messages["turn"] == turn_of.transform("max"),
        is_answered=messages["turn"] <= messages["conversation"].map(last_reply),
    )
    return messages.dropna(subset=["turn", "score"])[FELT].astype({"turn": int}).reset_index(drop=True)


def _conversations(path: Path, table: pd.DataFrame, names: Iterable[str]) -> pd.DataFrame:
    conversations = pd.DataFrame(index=pd.Index(sorted(table["conversation"].unique()), name="conversation", dtype=str))
    for name in names:
        conversations[name] = _column_by_conversation(path, table, name).reindex(conversations.index).fillna("")
    return conversations.assign(cluster=clusters_of(conversations))


def clusters_of(conversations: pd.DataFrame) -> pd.Series:
    """Return the cluster of each conversation of the index.

    It is the participant, else the profile, else the conversation itself. Their names are never equal after these
    prefixes.
    """
    cluster = "conversation " + conversations.index.to_series()
    if "profile" in conversations:
        cluster = cluster.where(conversations["profile"] == "", "profile " + conversations["profile"])
    return cluster.where(conversations["participant"] == "", conversations["participant"])


def _column_by_conversation(path: Path, table: pd.DataFrame, name: str) -> pd.Series:
    """Return a column by conversation; raise AnalysisError where a conversation has two values.

    Rows that leave the value empty (an imported judge's, say) take that of the others.
    """
    values = table.loc[table[name] != "", ["conversation", name]].drop_duplicates().astype(str)
    twice = values[values.duplicated("conversation")]
    if not twice.empty:
        row, conversation = twice.index[0], twice["conversation"].iloc[0]
        raise AnalysisError(f"{path.name}:{line_of(path, row)}:{name}: conversation {conversation} has two of them")
    return values.set_index("conversation")[name]


def _missing(table: pd.DataFrame) -> dict[str, int]:
    reasons = table.loc[table["score"].isna(), "missing_reason"].astype(str).replace("", "no reason given")
    return {str(reason): int(count) for reason, count in reasons.value_counts().sort_index().items()}


def _read_keys(path: Path, key: str, column: str, value: str) -> tuple[int | None, frozenset[str]]:
    """Return how many rows the file has (None where there is no file), and the keys of those that have the value."""
    if not path.is_file():
        return None, frozenset()
    table = read_table(path, (), (key, column))
    return len(table), frozenset(table.loc[table[column] == value, key].astype(str)) - {""}


def _manifest(path: Path) -> dict[str, Any]:
    """Return the manifest; empty where there is none."""
    if not path.is_file():
        return {}
    try:
        manifest = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise AnalysisError(f"{path.name}: is not JSON ({error})") from error
    return manifest if isinstance(manifest, dict) else {}


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
