"""The facts of a study that its export tells beside the ratings: its name, and what CHART asks for."""

import json
from collections.abc import Iterator
from typing import Any

import pandas as pd  # noqa: TID253

from studies.analysis.frames import Export, read_table
from studies.analysis.language import gettext as _
from studies.analysis.language import ngettext, spoken_language
from studies.analysis.reporting.numbers import count

REASONS = "†"  # beside a model that reasons before it answers


def title_of(export: Export) -> str:
    title = manifest_of(export).get("title")
    if isinstance(title, dict):
        title = title.get(spoken_language().code) or next(iter(title.values()), "")
    return str(title or manifest_of(export).get("study") or _("A study's ratings"))


def manifest_of(export: Export) -> dict[str, Any]:
    """Return the manifest, which is known to be JSON; empty where the export has none."""
    path = export.folder / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8-sig")) if path.is_file() else {}
    return manifest if isinstance(manifest, dict) else {}


def describe_arms(export: Export) -> pd.DataFrame:
    """Return `group` and `model` of each arm that the manifest describes: its title, or the model's own name where the
    title only repeats the key. A dagger marks a model that reasons before it answers. Groups come in the study's order.
    """
    listed = manifest_of(export).get("arms")
    rows = [row for row in listed if isinstance(row, dict)] if isinstance(listed, list) else []
    arms = {str(row.get("arm", "")): (str(row.get("group", "")), _model_name(row)) for row in rows}
    return pd.DataFrame(list(arms.values()), index=list(arms), columns=["group", "model"], dtype=object)


def _model_name(row: dict[str, Any]) -> str:
    title = row.get("title")
    names = title if isinstance(title, dict) else {}
    name = names.get(spoken_language().code) or next(iter(names.values()), "")
    model = row.get("model", "") if name == row.get("arm") else name
    return f"{model} {REASONS}" if row.get("reasoning") is True else str(model)


def column_of(export: Export, name: str, column: str) -> pd.Series:
    """Return a column of a file of the export as text; empty where the file or column is not there."""
    path = export.folder / name
    return read_table(path, (), (column,))[column].astype(str) if path.is_file() else pd.Series([], dtype=str)


def values_of(export: Export, name: str, column: str) -> list[str]:
    return sorted(set(column_of(export, name, column)) - {""})


def with_kinds(export: Export) -> pd.DataFrame:
    """Return each conversation that was rated with its `kind` of seeker, told by its raters where no file says it."""
    about = export.conversations
    kind = pd.Series("", index=about.index).mask(about["profile"] != "", "simulated")
    kind = kind.mask(about["participant"] != "", "person").mask(about["counsellors"], "counsellor")
    return about.assign(kind=about["seeker_kind"].where(about["seeker_kind"] != "", kind))


def who_took_part(export: Export) -> Iterator[str]:
    """Yield how many of each kind took part; a judge is one, with however many strategies."""
    numbers = _counts(export)
    for number, text in zip(numbers, _persons(numbers), strict=True):
        if number:
            yield text.format(count=count(number))


def _counts(export: Export) -> list[int]:
    """Return the numbers of participants, counsellors, reviewers, crowd workers, simulated seekers and judges."""
    met = with_kinds(export)
    raters = export.ratings[["rater_kind", "rater"]].drop_duplicates().astype(str)
    rated = {str(kind): set(names) - {""} for kind, names in raters.groupby("rater_kind")["rater"]}
    counsellors = (set(met.loc[met["kind"] == "counsellor", "participant"]) | rated.get("expert", set())) - {""}
    named = set(met["participant"]) - {""}
    participants = (named or rated.get("seeker", set())) - counsellors
    profiles = set(met.loc[met["kind"] == "simulated", "profile"]) - {""}
    others = [len(rated.get(kind, set())) for kind in ("reviewer", "crowd")]
    return [len(participants), len(counsellors), *others, len(profiles), len(rated.get("judge", set()))]


def _persons(counts: list[int]) -> list[str]:
    participants, counsellors, reviewers, crowd, simulated, judges = counts
    return [
        ngettext("{count} participant", "{count} participants", participants),
        ngettext("{count} counsellor", "{count} counsellors", counsellors),
        ngettext("{count} reviewer", "{count} reviewers", reviewers),
        ngettext("{count} crowd worker", "{count} crowd workers", crowd),
        ngettext("{count} simulated seeker", "{count} simulated seekers", simulated),
        ngettext("{count} judge", "{count} judges", judges),
    ]
