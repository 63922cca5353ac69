"""The people who took part, and where some were lost."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd  # noqa: TID253

from studies.analysis.language import gettext as _
from studies.analysis.language import join_with_commas
from studies.analysis.reporting.estimates import by_raters
from studies.analysis.reporting.flows import flow_figure, flows, track_name
from studies.analysis.reporting.naming import (
    end_name,
    instrument_name,
    item_name,
    join_names,
    language_name,
    moment_name,
    option_name,
    raters_name,
    scale_label,
)
from studies.analysis.reporting.numbers import count, decimal, percent
from studies.analysis.reporting.parts import Excerpt, Part, Section, prose
from studies.analysis.results import Results
from studies.analysis.tables.people import AGE, LANGUAGE
from studies.analysis.tables.person_answers import FEWEST, SMALL
from studies.analysis.tables.seeker_profiles import SIMULATED


def flow(results: Results) -> Section | None:
    """Return the way of all tracks but the first, which the main part shows."""
    others = flows(results)[1:]
    if not others:
        return None
    remark = prose(_("Everyone the files name is counted here, including people who are left out of the results."))
    return Section("flow", _("From invitation to analysis"), [remark, *(flow_figure(*of_track) for of_track in others)])


def people(results: Results) -> Section:
    parts = [*_people(of_people(results.table("people"))), *_arms(results), *_raters(results)]
    return Section("people", _("Participants"), parts)


def of_people(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of people, without those of simulated seekers."""
    return table[table["track"] != SIMULATED] if len(table) else table


def _people(table: pd.DataFrame) -> Iterator[Part]:
    """Yield the table of people: a line for each figure, a column for each track."""
    if table.empty:
        return
    yield prose(
        _(
            "The people in the results, as they described themselves. Numbers below five are hidden, and so are "
            "numbers from which one would follow, so that no one can be identified."
        ),
        _scales(table),
    )
    keys = ["instrument", "item", "level"]
    cells = table.assign(said=[_cell(row) for row in table.to_dict("records")])
    wide = cells.pivot(index=keys, columns="track", values="said").reindex(pd.MultiIndex.from_frame(_lines_of(table)))
    wide = wide.fillna("–").rename(columns=lambda track: track_name(str(track)))
    names = [_characteristic(*map(str, key)) for key in wide.index]
    wide.insert(0, _("characteristic"), names)
    yield Excerpt("people-by-track", _("People of each track: number (share), or mean (standard deviation)"), wide)


def _scales(table: pd.DataFrame) -> str:
    scored = table[(table["level"] == "") & (table["instrument"] != AGE[0])]
    names = [instrument_name(instrument) for instrument in _values(scored["instrument"])]
    return _("Scales are those of {names}.").format(names=join_names(names)) if names else ""


def _lines_of(table: pd.DataFrame) -> pd.DataFrame:
    """Return each line once; all answers to a question stand together, whichever track gave them."""
    keys = table[["instrument", "item", "level"]].drop_duplicates()
    questions = keys[["instrument", "item"]].drop_duplicates()
    return questions.merge(keys.sort_values("level", kind="stable"), how="left")


def _cell(row: Mapping[str, Any]) -> str:
    if pd.notna(row["mean"]):
        return f"{decimal(row['mean'])} ({decimal(row['sd'])})"
    if pd.notna(row["count"]):
        return f"{count(row['count'])} ({percent(row['share'])})"
    return f"<{FEWEST}" if row["note"].has(SMALL.code) else _("hidden")


def _characteristic(instrument: str, item: str, level: str) -> str:
    if (instrument, item) == AGE:
        return _("Age in years")
    if not level:
        return scale_label(instrument, item)
    question = _("Language") if item == LANGUAGE else item_name(instrument, item)
    level_name = language_name(level) if item == LANGUAGE else option_name(instrument, item, level)
    return f"{question}: {level_name}"


def _arms(results: Results) -> Iterator[Part]:
    chats = results.export.whole()
    chats = chats[chats["arm"] != ""]
    if chats.empty:
        yield prose(_("No conversation belongs to an arm."))
        return
    yield prose(
        _(
            "Conversations of each arm, whether or not someone rated them. Turns are turns with a reply. If ends "
            "differ between arms, different conversations remain to be rated."
        )
    )
    rows = [_arm(str(arm), of_arm, results) for arm, of_arm in chats.groupby("arm")]
    yield Excerpt("conversations", _("Conversations of each arm"), pd.DataFrame(rows).fillna("0"))


def _arm(arm: str, chats: pd.DataFrame, results: Results) -> dict[str, object]:
    rated = chats.index.isin(results.export.ratings["conversation"].astype(str)).sum()
    people = (set(chats["participant"]) | set(chats["profile"])) - {""}
    turns = chats["turns"].dropna()
    mean = f"{decimal(float(turns.mean()), 1)} ({turns.min():.0f}–{turns.max():.0f})" if len(turns) else "–"
    ends = {end: number for end, number in chats["end_reason"].value_counts().sort_index().items() if end}
    about = {"arm": arm, _("people or profiles"): len(people), _("conversations"): len(chats), _("rated"): int(rated)}
    return {
        **about,
        _("turns: mean (range)"): mean,
        **{end_name(str(end)): f"{number}" for end, number in ends.items()},
    }


def _raters(results: Results) -> Iterator[Part]:
    ratings = results.export.ratings
    rows = [_group(group, rated, results) for group, rated in by_raters(ratings, "group")]
    yield Excerpt("raters", _("Raters"), pd.DataFrame(rows))


def _group(group: str, rated: pd.DataFrame, results: Results) -> dict[str, object]:
    """Return a group of raters; of simulated seekers their profiles are counted, as one name rates for all of them."""
    who = rated["rater"]
    if group == "simulated_seeker":
        profiles = results.export.conversations["profile"].reindex(rated["conversation"].astype(str))
        who = profiles[profiles != ""]
    return {
        _("raters"): raters_name(group),
        _("number"): who.nunique() or "–",
        _("conversations"): rated["conversation"].nunique(),
        _("scores"): len(rated),
        _("instruments"): join_with_commas(map(instrument_name, _values(rated["instrument"]))),
        _("moments"): join_with_commas(map(moment_name, _values(rated["moment"]))) or "–",
    }


def _values(column: pd.Series) -> Sequence[str]:
    return sorted(set(column.astype(str)) - {""})
