"""[[primary]]: what a study declares that it will compare, looked up in the rest of its file. Pure but for reading the
instruments."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from dialogue.judges.strategies import registered
from studies.design.fields import Fault, Table, suggestion
from studies.design.spec import COUNSELLOR, ContrastSpec, StudySpec
from studies.instruments.loading import instrument_ids, load

OWN_SEEKERS = {"seeker": "person", "expert": "counsellor", "simulated_seeker": "simulated"}  # who rate what they met
RATERS = (*OWN_SEEKERS, "reviewer", "crowd")
SEEKERS = ("person", "counsellor", "simulated")
CONDITIONS = ("average", "worst_case")
FINAL = "final"
MOMENTS = (FINAL, "checkpoint", "turn")
ALL_ITEMS = "*"
OF_A_REPLY = "reply_rating"  # the instrument

Scales = Mapping[str, Sequence[str]]  # the items of each instrument


def read_contrasts(
    table: Table, spec: StudySpec, instruments: Collection[str], folder: Path
) -> tuple[ContrastSpec, ...]:
    """`spec` has what the file says beside; `instruments` are those that a study may use, files in `folder`."""
    usable = [instrument for instrument in instrument_ids(folder) if instrument in instruments]
    scales = {instrument: _scale_items(instrument, folder) for instrument in usable}
    places: dict[ContrastSpec, str] = {}
    for one in table.tables("primary"):
        contrast = _contrast(one, spec, scales)
        if contrast in places:
            table.faults.append(Fault(one.path, f"is the same as {places[contrast]}"))
        elif contrast:
            places[contrast] = one.path
    return tuple(places)


def _scale_items(instrument: str, folder: Path) -> list[str]:
    return [item.key for item in load(instrument, folder).rated_items()]


def _contrast(table: Table, spec: StudySpec, scales: Scales) -> ContrastSpec | None:
    """None where it cannot be told what is compared."""
    if table.has("strategies") == table.has("arms"):
        table.faults.append(Fault(table.path, "give strategies or arms, one of them"))
        return None
    contrast = _of_arms(table, spec, scales) if table.has("arms") else _of_strategies(table, spec, scales)
    table.refuse_unknown()
    return contrast if len(contrast.pair()) == 2 else None


def _of_strategies(table: Table, spec: StudySpec, scales: Scales) -> ContrastSpec:
    strategies = _two(table, "strategies", registered())
    judge = _judge(table, [judge.key for judge in spec.judges])
    raters, moment = table.choice("raters", RATERS, RATERS[0]), table.choice("moment", MOMENTS, FINAL)
    instrument, item = _item(table, raters, _asked(spec, raters, moment), scales)
    return ContrastSpec(
        strategies=strategies, judge=judge, item=item, instrument=instrument, raters=raters, moment=moment
    )


def _of_arms(table: Table, spec: StudySpec, scales: Scales) -> ContrastSpec:
    """Arms are compared by final scores alone (arm_pairs.csv)."""
    arms = _two(table, "arms", [arm.key for arm in spec.arms])
    judges = (f"judge:{strategy}" for strategy in registered())
    raters, moment = table.choice("raters", (*RATERS, *judges), RATERS[0]), table.choice("moment", (FINAL,), FINAL)
    instrument, item = _item(table, raters, _asked(spec, raters, moment), scales, ALL_ITEMS)
    own = OWN_SEEKERS.get(raters)
    seekers = table.choice("seekers", (own,) if own else SEEKERS, own or SEEKERS[0])
    condition = _condition(table, seekers)
    return ContrastSpec(
        arms=arms, item=item, instrument=instrument, raters=raters, seekers=seekers, condition=condition
    )


def _two(table: Table, key: str, known: Collection[str]) -> tuple[str, ...]:
    """In the order of the alphabet; fewer where the file does not name two."""
    names = table.strings(key)
    for number, name in enumerate(names, 1):
        if name not in known:
            table.fault(f"{key}.{number}", f'"{name}" is none of {", ".join(known)}{suggestion(name, known)}')
    if isinstance(given := table.values[key], list) and len(given) != 2:
        table.fault(key, f"must name two, not {len(given)}")
    return tuple(sorted(names))


def _judge(table: Table, known: Sequence[str]) -> str:
    """The only one where the file names none."""
    judge = table.string("judge", known[0] if len(known) == 1 else "")
    if not known:
        table.fault("judge", "the study has none: strategies are a judge's")
    elif not judge:
        table.fault("judge", f"is missing: there are {', '.join(known)}")
    elif judge not in known:
        table.fault("judge", f'"{judge}" is none of {", ".join(known)}{suggestion(judge, known)}')
    return judge


def _asked(spec: StudySpec, raters: str, moment: str) -> tuple[str, ...]:
    """The instruments on which these raters rate then; of those who have theirs from a plan, the study's final ones."""
    chat = spec.chat if raters == "seeker" else spec.chat.for_track(COUNSELLOR)
    if moment == "turn":
        return (OF_A_REPLY,) if chat.rate_each_reply else ()
    if moment == "checkpoint":
        return (spec.chat.checkpoint_instrument,) if spec.chat.checkpoint_instrument and raters != "expert" else ()
    return chat.final_instruments


def _item(table: Table, raters: str, asked: Sequence[str], scales: Scales, also: str = "") -> tuple[str, str]:
    """(instrument, item): where the file names no instrument, the only one of those asked that has the item."""
    table.require("item")
    item, instrument = table.string("item"), table.string("instrument")
    choices = asked if raters in OWN_SEEKERS else list(scales)
    if instrument and instrument not in choices:
        table.fault("instrument", f'"{instrument}" is none of {", ".join(choices)}{suggestion(instrument, choices)}')
        return instrument, item
    items = {one: [*scales.get(one, ()), also] for one in ([instrument] if instrument else asked)}
    having = [one for one, keys in items.items() if item in keys]
    if not items:
        table.fault("moment", "the study asks these raters for nothing then")
    elif item and not having:
        known = [key for keys in items.values() for key in keys if key]
        table.fault("item", f'unknown item "{item}"{suggestion(item, known)}')
    elif item and len(having) > 1:
        table.fault("instrument", f"is missing: the item is in {' and '.join(having)}")
    return (having[0] if having else instrument), item


def _condition(table: Table, seekers: str) -> str:
    """People as themselves have none; all others have one, and the arms are compared within it."""
    condition = table.choice("condition", CONDITIONS, "")
    if seekers == "person" and condition:
        table.fault("condition", "is for counsellors in a role and simulated seekers")
    elif seekers != "person":
        table.require("condition")
    return condition
