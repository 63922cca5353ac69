"""The report's names for what the data name by keys, in the language that is spoken."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from dialogue.judges.roles import BY_CODE
from dialogue.judges.strategies import get_strategies
from dialogue.languages import CODES, get_language
from studies.analysis.language import gettext as _
from studies.analysis.language import gettext_noop, join_with_commas, spoken_language
from studies.analysis.pooling import ALL_ITEMS, POOLED
from studies.analysis.raters import read_group
from studies.analysis.reporting.columns import COLUMNS
from studies.analysis.tables.rater_effects import OWN
from studies.instruments.definitions import Questionnaire
from studies.instruments.loading import instrument_ids, load

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
ENDS = {  # of conversations
    "finished": gettext_noop("finished"),
    "early": gettext_noop("ended early"),
    "walked_out": gettext_noop("walked out"),
    "satisfied": gettext_noop("satisfied"),
    "cap": gettext_noop("most turns reached"),
    "safety": gettext_noop("stopped for safety"),
    "technical": gettext_noop("technical failure"),
    "withdrawn": gettext_noop("withdrawn"),
}
GROUPS = {  # of models
    "open": gettext_noop("open weights"),
    "closed": gettext_noop("proprietary"),
    "in-domain": gettext_noop("in-domain"),
}
THINKER = "seeker"  # as the source of a state: the simulated seeker's own


def column_name(column: str) -> str:
    """Return what the report calls a column of a table of results; other names stay as they are."""
    return _(COLUMNS[column]) if column in COLUMNS else column


def item_name(instrument: str, item: str) -> str:
    """Return the label of the item in our questionnaires, else its key."""
    if item == ALL_ITEMS:
        return _("All items")
    return _labels(instrument).get(item, {}).get(_code(), item)


def instrument_name(instrument: str) -> str:
    """Return the title of a questionnaire of ours, else its key."""
    return load(instrument).title[_code()] if instrument in instrument_ids() else instrument


def scale_label(instrument: str, scale: str) -> str:
    """Return the label of a scale of one of our questionnaires, else its key."""
    scales = load(instrument).scales if instrument in instrument_ids() else ()
    return next((one.label[_code()] for one in scales if one.key == scale), scale)


def option_name(instrument: str, item: str, option: str) -> str:
    """Return the text of an answer's key as the page has it, else the key."""
    items = load(instrument).items if instrument in instrument_ids() else ()
    answer = next((one.option(option) for one in items if one.key == item), None)
    return answer.text[_code()] if answer else option


def _labels(instrument: str) -> dict[str, dict[str, str]]:
    return _labels_of(load(instrument)) if instrument in instrument_ids() else {}


@cache
def _labels_of(questionnaire: Questionnaire) -> dict[str, dict[str, str]]:
    return {item.key: dict(item.label) for item in questionnaire.items if item.label}


def in_order(instrument: str, items: Iterable[str]) -> list[str]:
    """Return items in the order of the questionnaire; others follow by key, and their mean comes last."""
    labels = list(_labels(instrument))
    place = {item: number for number, item in enumerate(labels)}
    return sorted(set(items), key=lambda item: (item == ALL_ITEMS, place.get(item, len(labels)), item))


def _code() -> str:
    return spoken_language().code


def raters_name(raters: str) -> str:
    """Return the name of a rater kind, `judge:STRATEGY`, `judge:STRATEGY:ROLE` or `KIND:RATER`."""
    group = read_group(raters)
    kind, _colon, one = raters.partition(":")
    name = _(RATERS[kind]) if kind in RATERS else kind
    if not group.is_of_judges:
        return f"{name} {one}".strip()
    about = spoken_language().comma.join(filter(None, [strategy_name(group.strategy), role_name(group.role)]))
    return f"{name}{spoken_language().bracket(about)}" if about else name


def role_name(role: str) -> str:
    """Return as whom a judge rates."""
    return _(BY_CODE[role].label) if role in BY_CODE else role


def strategy_name(strategy: str) -> str:
    definition = get_strategies().get(strategy)
    return _(definition.label) if definition else strategy


def judge_name(judge: str, strategy: str) -> str:
    return " · ".join(filter(None, [judge, strategy_name(strategy)]))


def condition_name(condition: str) -> str:
    return _(CONDITIONS[condition]) if condition in CONDITIONS else condition or _("all conversations")


def seekers_name(seekers: str) -> str:
    return _(SEEKERS[seekers]) if seekers in SEEKERS else seekers or _("seekers")


def language_name(language: str) -> str:
    """Return the name of a language that we know, or of all together."""
    if language == POOLED:
        return _("all")
    return _(get_language(language).english_name) if language in CODES else language


def group_name(group: str) -> str:
    """Return the name of a group of models; a study may name groups of its own."""
    return _(GROUPS[group]) if group in GROUPS else group


def kind_of_seekers(seekers: str, condition: str) -> str:
    """Return the names of the seekers and of the condition, as far as they are told."""
    named = [seekers_name(seekers)] if seekers else []
    return join_with_commas([*named, condition_name(condition)] if condition else named)


def contestant_name(contestant: str) -> str:
    """Return the name of an arm, or of a kind of seekers with its condition and what an ablation changed."""
    of_whole, _bracket, setup = contestant.partition(" (")
    kind, _space, condition = of_whole.partition(" ")
    if kind not in SEEKERS:
        return contestant
    return kind_of_seekers(kind, condition) + (f" ({setup}" if setup else "")


def thinker_name(source: str) -> str:
    """Return whose Thinker supposed an emotion: in states.csv stands its judge, or THINKER."""
    if source == THINKER:
        return _("the simulated seeker's own Thinker")
    return _("Thinker of {judge}").format(judge=source) if source else ""


def moment_name(moment: str) -> str:
    return _(MOMENTS[moment]) if moment in MOMENTS else moment


def end_name(end: str) -> str:
    """Return how a conversation ended."""
    return _(ENDS[end]) if end in ENDS else end


def scale_name(instrument: str, moment: str) -> str:
    return join_with_commas([instrument_name(instrument), moment_name(moment)])


def contrast_name(contrast: Mapping[str, Any]) -> str:
    """Return the name of a declared contrast, by the columns of primary.csv."""
    named = {"raters": raters_name(contrast["raters"]), "item": item_name(contrast["instrument"], contrast["item"])}
    if contrast["judge"]:
        strategies = {side: strategy_name(contrast[side]) for side in ("a", "b")}
        name = _("{a} − {b}: agreement of {judge} with {raters} on {item}").format(
            judge=contrast["judge"], **named, **strategies
        )
    else:
        name = _("{a} − {b}: {item}, as rated by {raters}").format(a=contrast["a"], b=contrast["b"], **named)
    among = join_with_commas(_among(contrast))
    return f"{name}{spoken_language().bracket(among)}" if among else name


def _among(contrast: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is unusual about a contrast: the usual are whole conversations of people as themselves."""
    if contrast["moment"] != "final":
        yield _(MOMENTS[contrast["moment"]])
    if contrast["condition"]:
        yield from (seekers_name(contrast["seekers"]), condition_name(contrast["condition"]))


def of_all(names: Sequence[str]) -> list[str]:
    """Return at most MOST of the names; the others are counted."""
    rest = len(names) - MOST
    return list(names) if rest < 1 else [*names[:MOST], _("{count} more").format(count=rest)]


def join_names(names: Sequence[str]) -> str:
    if len(names) < 2:
        return "".join(names)
    comma = spoken_language().comma
    return _("{before} and {last}").format(before=comma.join(names[:-1]), last=names[-1])
