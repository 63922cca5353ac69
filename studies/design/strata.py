"""The sources of the allocation's strata, and their faults. Pure but for reading instruments."""

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from dialogue.documents import suggestion
from dialogue.documents import translate as _
from dialogue.schema import Rule
from studies.design.spec import BIG_FIVE, SEVERITY, StudySpec
from studies.instruments.loading import path_of


class Source(NamedTuple):
    """An item or a scale of an instrument."""

    instrument: str
    key: str
    is_reversed: bool = False


def instruments_before_chats(spec: StudySpec, track: str) -> list[str]:
    """Return the instruments that people of this track have answered when their arms are drawn."""
    kinds = [step for step in spec.steps if step.is_for(track)]
    chats = next((number for number, step in enumerate(kinds) if step.kind == "chats"), len(kinds))
    return [step.instrument for step in kinds[:chats] if step.kind == "questionnaire"]


def strata_faults(spec: StudySpec, instruments: Collection[str], folder: Path) -> Iterator[Rule]:
    """Yield a fault for each stratum that no answers before the draw can tell."""
    order = spec.order
    if order.severity and SEVERITY not in order.strata:
        yield ("order", "severity"), _('needs "severity" among the strata')
    if order.strata and order.design == "random":
        yield ("order", "strata"), _('needs design = "williams" or "blocks": random orders are not balanced')
    tracks = [track for track in ("participant", "counsellor") if _meets_arms_freely(spec, track)]
    questionnaires = [name for track in tracks for name in instruments_before_chats(spec, track) if name in instruments]
    for number, factor in enumerate(order.strata):
        if factor == "language" and len(spec.languages) < 2:
            yield ("order", "strata", number), _("the study has only one language")
        elif factor in BIG_FIVE and not any(BIG_FIVE[factor] in scales_in(folder, name) for name in questionnaires):
            yield ("order", "strata", number), _("no questionnaire before the chats measures it")
        elif factor == SEVERITY:
            yield from _severity_faults(Source(*order.severity_source()), questionnaires, folder)


def _meets_arms_freely(spec: StudySpec, track: str) -> bool:
    has_chats = any(step.kind == "chats" and step.is_for(track) for step in spec.steps)
    return has_chats and not spec.has_block_plan(track)


def _severity_faults(source: Source, questionnaires: Collection[str], folder: Path) -> Iterator[Rule]:
    place = ("order", "severity")
    if source.instrument not in questionnaires:
        yield place, _('"%(instrument)s" is not asked before the chats', instrument=source.instrument)
        return
    keys = (*items_in(folder, source.instrument), *scales_in(folder, source.instrument))
    if source.key not in keys:
        wrong = _('"%(key)s" is neither a scale nor an item with numbers', key=source.key)
        yield place, wrong + suggestion(source.key, keys)


def scales_in(folder: Path, instrument: str) -> list[str]:
    """Return the keys of the instrument's scales, derived ones too."""
    file = _read(folder, instrument)
    scoring = file.get("scoring", {})
    derived = scoring.get("derived", ()) if isinstance(scoring, dict) else ()
    return [one["key"] for part in (file.get("factors", ()), file.get("facets", ()), derived) for one in part]


def items_in(folder: Path, instrument: str) -> list[str]:
    """Return the keys of the items that are answered with a number on a scale."""
    file = _read(folder, instrument)
    items = [*file.get("items", ()), *file.get("questions", ())]
    return [one["id"] for one in items if one.get("type", "scale") == "scale"]


def _read(folder: Path, instrument: str) -> dict[str, Any]:
    file: dict[str, Any] = json.loads(path_of(instrument, folder).read_text(encoding="utf-8"))
    return file
