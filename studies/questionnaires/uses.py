"""Which studies and drafts use a questionnaire that was made on this site."""

import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from studies.instruments.own_instruments import texts_in
from studies.models import PairPlan, Protocol, Response, ReviewPlan, Study, StudyDraft


@dataclass
class Uses:
    """The studies and drafts that name a questionnaire, and those of them for which it must stay as it is."""

    studies: set[Study] = field(default_factory=set)
    drafts: set[StudyDraft] = field(default_factory=set)
    fixed_by: set[Study] = field(default_factory=set)

    def __bool__(self) -> bool:
        return bool(self.studies or self.drafts)


def find_uses(instruments: Iterable[str]) -> dict[str, Uses]:
    """Return the uses of each of these instruments."""
    uses = {instrument: Uses() for instrument in instruments}
    for protocol in Protocol.objects.select_related("study"):
        if named := uses.keys() & set(texts_in(protocol.design)):
            is_fixed = protocol.study.was_opened() or not protocol.may_change()
            for instrument in named:
                add_study(uses[instrument], protocol.study, is_fixed=is_fixed)
    for study, instrument in find_answered_or_planned(uses):
        add_study(uses[instrument], study, is_fixed=True)
    for draft in StudyDraft.objects.select_related("study").defer("earlier"):
        for instrument in uses.keys() & set(names_in(draft)):
            uses[instrument].drafts.add(draft)
            if draft.study and draft.study.was_opened():
                uses[instrument].fixed_by.add(draft.study)
    return uses


def add_study(uses: Uses, study: Study, *, is_fixed: bool) -> None:
    uses.studies.add(study)
    if is_fixed:
        uses.fixed_by.add(study)


def find_answered_or_planned(instruments: Iterable[str]) -> Iterator[tuple[Study, str]]:
    """Yield the instruments that someone has answered, or will, whatever the design says by now."""
    names = list(instruments)
    for plan in ReviewPlan.objects.select_related("study"):
        yield from ((plan.study, name) for name in names if name in plan.instruments)
    for pair_plan in PairPlan.objects.filter(instrument__in=names).select_related("study"):
        yield pair_plan.study, pair_plan.instrument
    answered = Response.objects.filter(instrument__in=names).order_by()
    studies = Study.objects.in_bulk()
    for key, name in answered.values_list("rater__study", "instrument").distinct():
        yield studies[key], name


def names_in(draft: StudyDraft) -> Iterator[str]:
    """Yield the texts of a draft; of one that is no TOML, its words."""
    try:
        yield from texts_in(tomllib.loads(draft.text))
    except tomllib.TOMLDecodeError:
        yield from re.findall(r"[\w-]+", draft.text)
