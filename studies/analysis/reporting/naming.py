"""How the report calls what the data name by keys, in the language that is spoken."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from studies.analysis.language import CHINESE, gettext_noop, spoken
from studies.analysis.language import gettext as _
from studies.analysis.tables.rater_effects import OWN
from studies.questionnaires.loading import instrument_ids, load

ALL_ITEMS = "*"
MOST = 6  # names in a sentence
RATERS = {
    "seeker": gettext_noop("participants"),
    "expert": gettext_noop("counsellors"),
    "reviewer": gettext_noop("reviewers"),
    "crowd": gettext_noop("crowd workers"),
    "simulated_seeker": gettext_noop("simulated seekers"),
    "judge": gettext_noop("judges"),
    OWN: gettext_noop("counsellors, own conversations"),
}
STRATEGIES = {
    "standard": gettext_noop("standard"),
    "user_aware": gettext_noop("user-aware"),
    "state_aware": gettext_noop("state-aware"),
}
CONDITIONS = {"average": gettext_noop("average"), "worst_case": gettext_noop("worst case")}
SEEKERS = {
    "person": gettext_noop("people"),
    "counsellor": gettext_noop("counsellors in a role"),
    "simulated": gettext_noop("simulated seekers"),
    "imported": gettext_noop("imported conversations"),
}
MOMENTS = {
    "final": gettext_noop("at the end"),
    "checkpoint": gettext_noop("at checkpoints"),
    "turn": gettext_noop("of single replies"),
}
THINKER = "seeker"  # as the source of a state: the simulated seeker's own


def item_name(instrument: str, item: str) -> str:
    """The label of the item in our questionnaires, else its key."""
    if item == ALL_ITEMS:
        return _("All items")
    return _labels(instrument).get(item, {}).get(_code(), item)


def instrument_name(instrument: str) -> str:
    """The title of a questionnaire of ours, else its key."""
    return load(instrument).title[_code()] if instrument in instrument_ids() else instrument


def scale_label(instrument: str, scale: str) -> str:
    """Of a questionnaire of ours, else its key."""
    known = load(instrument).scales if instrument in instrument_ids() else ()
    return next((one.label[_code()] for one in known if one.key == scale), scale)


def option_name(instrument: str, item: str, option: str) -> str:
    """What stands on the page for the key of an answer, else the key."""
    items = load(instrument).items if instrument in instrument_ids() else ()
    found = next((one.option(option) for one in items if one.key == item), None)
    return found.text[_code()] if found else option


@cache
def _labels(instrument: str) -> dict[str, dict[str, str]]:
    if instrument not in instrument_ids():
        return {}
    return {item.key: dict(item.label) for item in load(instrument).items if item.label}


def in_order(instrument: str, items: Iterable[str]) -> list[str]:
    """As the questionnaire has them; what it has not after that, by key; their mean last."""
    known = list(_labels(instrument))
    place = {item: number for number, item in enumerate(known)}
    return sorted(set(items), key=lambda item: (item == ALL_ITEMS, place.get(item, len(known)), item))


def _code() -> str:
    return "zh" if spoken() == CHINESE else "en"


def raters_name(raters: str) -> str:
    """Of a rater kind, `judge:STRATEGY` or `KIND:RATER`."""
    kind, _colon, one = raters.partition(":")
    name = _(RATERS[kind]) if kind in RATERS else kind
    return f"{name} ({strategy_name(one)})" if kind == "judge" and one else f"{name} {one}".strip()


def strategy_name(strategy: str) -> str:
    return _(STRATEGIES[strategy]) if strategy in STRATEGIES else strategy


def judge_name(judge: str, strategy: str) -> str:
    return " · ".join(filter(None, [judge, strategy_name(strategy)]))


def condition_name(condition: str) -> str:
    return _(CONDITIONS[condition]) if condition in CONDITIONS else condition or _("all conversations")


def seekers_name(seekers: str) -> str:
    return _(SEEKERS[seekers]) if seekers in SEEKERS else seekers or _("seekers")


def kind_of_seekers(seekers: str, condition: str) -> str:
    """Both, as far as they are told."""
    named = [seekers_name(seekers)] if seekers else []
    return ", ".join([*named, condition_name(condition)] if condition else named)


def contestant_name(contestant: str) -> str:
    """Of an arm, or of a kind of seekers with its condition."""
    kind, _space, condition = contestant.partition(" ")
    return kind_of_seekers(kind, condition) if kind in SEEKERS else contestant


def thinker_name(source: str) -> str:
    """Of whom a supposed emotion comes: in states.csv stands the judge whose Thinker it was, or THINKER."""
    if source == THINKER:
        return _("the simulated seeker's own Thinker")
    return _("Thinker of {judge}").format(judge=source) if source else ""


def moment_name(moment: str) -> str:
    return _(MOMENTS[moment]) if moment in MOMENTS else moment


def scale_name(instrument: str, moment: str) -> str:
    return ", ".join(filter(None, [instrument_name(instrument), moment_name(moment)]))


def contrast_name(of: Mapping[str, Any]) -> str:
    """Of a declared contrast, by the columns of primary.csv."""
    named = {"raters": raters_name(of["raters"]), "item": item_name(of["instrument"], of["item"])}
    if of["judge"]:
        strategies = {side: strategy_name(of[side]) for side in ("a", "b")}
        name = _("{a} − {b}: agreement of {judge} with {raters} on {item}").format(
            judge=of["judge"], **named, **strategies
        )
    else:
        name = _("{a} − {b}: {item}, as rated by {raters}").format(a=of["a"], b=of["b"], **named)
    return f"{name} ({among})" if (among := ", ".join(_among(of))) else name


def _among(of: Mapping[str, Any]) -> Iterator[str]:
    """What is not the usual: whole conversations of people as themselves."""
    if of["moment"] != "final":
        yield _(MOMENTS[of["moment"]])
    if of["condition"]:
        yield from (seekers_name(of["seekers"]), condition_name(of["condition"]))


def of_all(names: Sequence[str]) -> list[str]:
    """At most MOST names; the others are counted."""
    rest = len(names) - MOST
    return list(names) if rest < 1 else [*names[:MOST], _("{count} more").format(count=rest)]


def listed(names: Sequence[str]) -> str:
    if len(names) < 2:
        return "".join(names)
    comma = "、" if spoken() == CHINESE else ", "
    return _("{before} and {last}").format(before=comma.join(names[:-1]), last=names[-1])
