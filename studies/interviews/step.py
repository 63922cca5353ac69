"""The interview step: answered alone, page by page, or held by a researcher, for whom this step waits."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from studies.care.form_words import find_words, screen_words
from studies.design.plan import Step
from studies.design.spec import SELF
from studies.instruments.definitions import Item
from studies.instruments.forms import InstrumentForm, Row, form_for
from studies.instruments.interview_guide import (
    CANDIDATE_FIELDS,
    GuidePage,
    candidate_field,
    held_back_instruments,
    is_candidate,
    minutes,
    pages_of,
    questions_on,
    rated_instruments,
    row_of,
)
from studies.instruments.loading import load
from studies.interviews import materials, schedule
from studies.interviews.schedule import Candidate
from studies.models import Participation
from studies.participation import progress
from studies.participation.step_kinds import Page, StepKind, StoredData, Visit, Way, Work, register
from studies.participation.submissions import NeedsCorrection

PART = "part"  # the field that says which page of the guide a form is
EMPTY_ROWS = 3
MOST_ROWS = 40
ROW = re.compile(r"candidate-([0-9]{1,2})-\w+")


class Interviewing(StepKind):
    """The kind of step. A page is open once all before it were sent, so that nothing is read too early."""

    label = gettext_lazy("Interview")

    def work(self, step: Step, way: Way) -> Work:
        guide = load(step.instrument)
        done = schedule.minutes_written(way.person) if way.here == step.key else 0
        return Work(done, minutes(guide, way.person.track) - done)

    def is_stored(self, step: Step, stored: StoredData) -> bool:
        return schedule.interview_of(stored.person) is not None

    def waits_for_researchers(self, person: Participation) -> bool:
        return not schedule.is_written(person) and not schedule.is_over(person)

    def show(self, visit: Visit) -> Page | None:
        if schedule.is_over(visit.participation):
            progress.advance(visit.participation, done=visit.step)
            return None
        if visit.step.mode != SELF:
            return waiting_page(visit)
        return page_of(visit, page_by_number(visit.request.GET.get("page", ""), open_pages(visit)))

    def accept(self, visit: Visit) -> bool:
        """Save a page. A page that is not open, or can no longer change, is ignored."""
        if visit.step.mode != SELF or schedule.is_over(visit.participation):
            return False
        pages = [page for page in open_pages(visit) if str(page.number) == visit.request.POST.get(PART)]
        if not pages or is_settled(visit, pages[0]):
            return False
        form = form_of(visit, pages[0], data=visit.request.POST)
        if not form.is_valid() or not check_candidates(form):
            raise NeedsCorrection
        self.save(visit, pages[0], form)
        return True

    @transaction.atomic
    def save(self, visit: Visit, page: GuidePage, form: InstrumentForm) -> None:
        person = visit.participation
        interview = schedule.start(person)
        answers = [answer for answer in form.cleaned_answers() if not is_candidate(answer.item)]
        before = set(schedule.answers_in(person).values())
        schedule.store_answers(person, answers, language=visit.language, seconds=visit.seconds)
        if page.candidates:
            schedule.keep_candidates(person, candidates_in(form.cleaned_data))
        if all(is_sent(each, schedule.answers_in(person)) for each in guide_pages(visit)):
            schedule.close(interview)
            progress.advance(person, done=visit.step)
        words = [text for text in find_words(person, load(visit.step.instrument), answers) if text not in before]
        visit.shows_danger = screen_words(person, words)


def waiting_page(visit: Visit) -> Page:
    context = {
        "sections": schedule.sections_of(visit.participation)[1:-1],  # a guide opens and closes by itself
        "minutes": minutes(load(visit.step.instrument), visit.participation.track),
    }
    return Page("studies/steps/interview_waits.html", context)


# Which page


def guide_pages(visit: Visit) -> tuple[GuidePage, ...]:
    return pages_of(schedule.sections_of(visit.participation))


def is_sent(page: GuidePage, answers: Mapping[str, str]) -> bool:
    return all(item in answers for item in page.items)


def open_pages(visit: Visit) -> list[GuidePage]:
    """Return the pages that were sent, and the first that was not."""
    answers = schedule.answers_in(visit.participation)
    pages = guide_pages(visit)
    sent = [page for page in pages if is_sent(page, answers)]
    return list(pages[: len(sent) + 1])


def page_by_number(number: str, pages: Sequence[GuidePage]) -> GuidePage:
    """Return the page of that number if it is open, else the next one."""
    return next((page for page in pages if str(page.number) == number), pages[-1])


def is_settled(visit: Visit, page: GuidePage) -> bool:
    """Return whether a page can no longer change: answers before the dimensions were named stay as they are."""
    return page.settles and is_sent(page, schedule.answers_in(visit.participation))


# The content of a page


def page_of(visit: Visit, page: GuidePage) -> Page:
    settled = is_settled(visit, page)
    form = None if settled else form_to_show(visit, page)
    rows = form.rows if form else []
    context = {
        "page": page,
        "pages": len(guide_pages(visit)),
        "earlier": page.number - 1,
        "form": form,
        "questions": [row for row in rows if not is_candidate(row.field.name)],
        "candidates": candidate_rows(rows),
        "settled": answers_on_page(visit, page) if settled else [],
        "named": schedule.candidates_of(visit.participation) if settled else [],
        **page_materials(visit, page),
    }
    return Page("studies/steps/interview.html", context)


def candidate_rows(rows: Sequence[Row]) -> list[list[Row]]:
    own = [row for row in rows if is_candidate(row.field.name)]
    return [own[start : start + len(CANDIDATE_FIELDS)] for start in range(0, len(own), len(CANDIDATE_FIELDS))]


def answers_on_page(visit: Visit, page: GuidePage) -> list[tuple[str, str]]:
    answers = schedule.answers_in(visit.participation)
    return [(question.written[visit.language], answers[question.key]) for question in page.questions]


def page_materials(visit: Visit, page: GuidePage) -> dict[str, Any]:
    """Return the person's own material for the section. Nothing names the held-back dimensions before their page."""
    person, guide = visit.participation, load(visit.step.instrument)
    shows = () if page.reveals else page.section.shows
    about = rated_instruments(guide)
    return {
        "tables": materials.score_tables(person, visit.language, only=about) if "ratings" in shows else [],
        "dimensions": dimensions(about, visit.language) if "dimensions" in shows else [],
        "talks": materials.talks_of(person) if "conversations" in shows else [],
        "asks_of_flags": shows == ("flags",),  # a section about nothing else
        "flags": materials.replies_with_flags(person, visit.language) if "flags" in shows else [],
        "revealed": dimensions(held_back_instruments(guide), visit.language) if page.reveals else [],
    }


def dimensions(instruments: Iterable[str], language: str) -> list[tuple[str, str]]:
    """Return names and definitions of the instruments' items."""
    items = (item for instrument in instruments for item in load(instrument).items if item.instructed is None)
    return [name_and_definition(item, language) for item in items]


def name_and_definition(item: Item, language: str) -> tuple[str, str]:
    return (item.label or item.text)[language], item.definition[language] if item.definition else ""


# The form of a page


def form_to_show(visit: Visit, page: GuidePage) -> InstrumentForm:
    form = form_of(visit, page, data=visit.answers_to_correct(str(page.number)))
    if form.is_valid():
        check_candidates(form)
    return form


def form_of(visit: Visit, page: GuidePage, data: Any = None) -> InstrumentForm:
    earlier = visit.draft(str(page.number)) or earlier_answers(visit, page)
    rows = rows_for(data or earlier)
    questions = questions_on(load(visit.step.instrument), page, candidates=rows)
    return form_for(questions, language=visit.language, earlier=earlier, data=data)


def earlier_answers(visit: Visit, page: GuidePage) -> dict[str, str]:
    answers = {item: text for item, text in schedule.answers_in(visit.participation).items() if item in page.items}
    named = enumerate(schedule.candidates_of(visit.participation), 1) if page.candidates else ()
    return answers | {candidate_field(row, name): text for row, one in named for name, text in vars(one).items()}


def rows_for(values: Mapping[str, str]) -> int:
    """Return the number of rows: up to the last filled row, and some empty ones."""
    filled = [int(match[1]) for name, text in values.items() if text and (match := ROW.fullmatch(name))]
    return min(max(filled, default=0) + EMPTY_ROWS, MOST_ROWS)


def candidates_in(answers: Mapping[str, Any]) -> list[Candidate]:
    """Return the rows that have a name; emptying a row removes the dimension."""
    rows = sorted({row_of(field) for field in answers if is_candidate(field)})
    candidates = [Candidate(*(answers[candidate_field(row, name)] for name in CANDIDATE_FIELDS)) for row in rows]
    return [candidate for candidate in candidates if candidate.name]


def check_candidates(form: InstrumentForm) -> bool:
    """Add an error to each candidate without a name or with another's name, and return whether there is none."""
    names: set[str] = set()
    for field, name in [(field, text) for field, text in form.cleaned_data.items() if field.endswith("-name")]:
        row = row_of(field)
        if not name and any(form.cleaned_data[candidate_field(row, part)] for part in CANDIDATE_FIELDS[1:]):
            form.add_error(field, _("Please enter a name, or clear the fields below."))
        if name and name.casefold() in names:
            form.add_error(field, _("There is already one with this name."))
        names.add(name.casefold())
    return not form.errors


register(schedule.INTERVIEW, Interviewing())
