"""Researchers' pages of the selection: the applicants, and the score of one of them."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods

from dialogue.languages import CODES, get_language
from studies.access.access import Access
from studies.access.table import Act
from studies.design.plan import SCREENING
from studies.instruments.loading import load
from studies.models import Participation, SelectionDecision, SelectionScore, Study
from studies.participation.counts import default_data, filter_by_test
from studies.participation.language import instrument_language
from studies.selection.applicants import (
    EXPERIENCE,
    PROBLEM,
    WORDS,
    Applicant,
    blind_answers,
    find_applicant,
    list_applicants,
    other_answers,
    safety_answers,
)
from studies.selection.scoring import ScoreForm, highest_total, store_score
from studies.workbench import labels
from studies.workbench.access import show, study_page, study_page_after_timeouts
from studies.workbench.lists import (
    ROWS_PER_PAGE,
    Choice,
    Column,
    headings,
    make_choices,
    paging,
    query_with,
)

FILTERS = ("track", "language", "problem", "scored")


@dataclass(frozen=True)
class Row:
    """A row of the table, as this scorer may see it: `blind` is None until they have scored."""

    applicant: Applicant
    problem: str
    words: str
    experience: str
    outcome: str
    others: Sequence[tuple[str, str]]
    blind: Sequence[tuple[str, str]] | None
    safety: Sequence[tuple[str, str]] | None
    score: str
    scorers: int


def rows_of(applicants: Iterable[Applicant], study: Study, viewer: Any) -> list[Row]:
    """Return the rows as this researcher may see them."""
    with_safety = Access(viewer, study).may(Act.SEE_ALL_SAFETY)
    return [row_of(applicant, viewer.pk, with_safety=with_safety) for applicant in applicants]


def row_of(applicant: Applicant, scorer: int | None, *, with_safety: bool) -> Row:
    score = applicant.score
    return Row(
        applicant=applicant,
        problem=applicant.words(PROBLEM),
        words=applicant.words(WORDS),
        experience=applicant.words(EXPERIENCE),
        outcome=labels.word(labels.OUTCOMES, applicant.person.outcome.get("kind", "")),
        others=other_answers(applicant),
        blind=blind_answers(applicant) if applicant.is_scored_by(scorer) else None,
        safety=safety_answers(applicant) if with_safety else None,
        score="" if score is None else labels.points(score),
        scorers=len(applicant.scores),
    )


def columns() -> list[Column]:
    return [
        Column("code", _("Code"), "code"),
        Column("score", _("Score (scorers)"), "score", number=True),
        Column("problem", _("Problem area"), "problem"),
        Column("words", _("In their words")),
        Column("experience", _("AI experience")),
        Column("screening", _("Screening")),
        Column("blind", _("Age and gender")),
        Column("since", _("Waiting since (UTC)"), "since"),
        Column("track", _("Track"), "track"),
        Column("language", _("Language"), "language"),
    ]


SORTED_BY: Mapping[str, Callable[[Applicant], str | float | datetime | None]] = {
    "code": lambda one: one.code,
    "track": lambda one: one.person.track,
    "language": lambda one: one.person.language,
    "problem": lambda one: one.words(PROBLEM) or None,
    "score": lambda one: one.score,
    "since": lambda one: one.since,
}


@require_GET
@study_page_after_timeouts
def applicants(request: HttpRequest, study: Study) -> HttpResponse:
    page = Paginator(query_applicants(request, study), ROWS_PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "test": test_of(request, study),
        "headings": headings(request, columns()),
        "page": page,
        "rows": rows_of(page, study, request.user),
        "choices": choices(request),
        "is_filtered": any(request.GET.get(name) for name in (*FILTERS, "test")),
        "unfiltered": query_with(request, page=None, test=None, **dict.fromkeys(FILTERS)),
        "highest": highest_total(),
        "decided": count_decisions(decisions_in(request, study)),
        **paging(page, request),
    }
    return show(request, study, "applicants", context)


def query_applicants(request: HttpRequest, study: Study) -> list[Applicant]:
    """Return the applicants that the address asks for, in its order."""
    applicants = list_applicants(study, test_of(request, study))
    return sort_applicants(filter_applicants(applicants, request), request.GET.get("sort", ""))


def decisions_in(request: HttpRequest, study: Study) -> QuerySet[SelectionDecision]:
    people = filter_by_test(study.participations.all(), test_of(request, study))
    return SelectionDecision.objects.filter(participation__in=people)


def count_decisions(decisions: QuerySet[SelectionDecision]) -> Mapping[str, int]:
    counts = Counter(decisions.values_list("admitted", flat=True))
    return {"admitted": counts[True], "declined": counts[False]}


def test_of(request: HttpRequest, study: Study) -> str:
    return request.GET.get("test", default_data(study))


def choices(request: HttpRequest) -> list[Choice]:
    language = instrument_language()
    problems = [(str(one.value), one.text[language]) for one in load(SCREENING).item(PROBLEM).options]
    scored = [
        ("me", _("by me")),
        ("not_me", _("not yet by me")),
        ("none", _("by no one")),
    ]
    offered = [
        ("track", _("Track"), Participation.Track.choices[:2]),
        ("language", _("Language"), [(code, get_language(code).name) for code in CODES]),
        ("problem", _("Problem area"), problems),
        ("scored", _("Scored"), scored),
    ]
    return make_choices(request, offered)


def filter_applicants(applicants: Sequence[Applicant], request: HttpRequest) -> list[Applicant]:
    """Return the applicants that the address asks for; a value that no filter knows asks for no one."""
    tests: Mapping[str, Callable[[Applicant, str], bool]] = {
        "track": lambda one, value: one.person.track == value,
        "language": lambda one, value: one.person.language == value,
        "problem": lambda one, value: one.answer(PROBLEM) == value,
        "scored": lambda one, value: value in scored_words(one, request.user.pk),
    }
    filters = {name: request.GET[name] for name in FILTERS if request.GET.get(name)}
    return [one for one in applicants if all(tests[name](one, value) for name, value in filters.items())]


def scored_words(applicant: Applicant, scorer: int | None) -> set[str]:
    mine = "me" if applicant.is_scored_by(scorer) else "not_me"
    return {mine} if applicant.scores else {mine, "none"}


def sort_applicants(applicants: Sequence[Applicant], column: str) -> list[Applicant]:
    """Sort by the column in the address, empty values last; without one those who came first stand first."""
    name = column.removeprefix("-")
    value = SORTED_BY.get(name, SORTED_BY["since"])
    there = [one for one in applicants if value(one) is not None]
    there.sort(key=value, reverse=name in SORTED_BY and column.startswith("-"))  # type: ignore[arg-type]
    return there + [one for one in applicants if value(one) is None]


# One applicant


@require_http_methods(["GET", "POST"])
@study_page
def applicant(request: HttpRequest, study: Study, code: str) -> HttpResponse:
    """Show what an applicant wrote, and store the points of this scorer."""
    applicant = find_applicant(study, code)
    if applicant is None:
        raise Http404
    mine = next((score for score in applicant.scores if score.scorer_id == request.user.pk), None)
    form = ScoreForm(mine.points if mine else {}, request.POST if request.method == "POST" else None)
    if form.is_valid():
        store_score(applicant.person, request.user, form.cleaned_data)  # type: ignore[arg-type]
        messages.success(request, _("Your score of %(code)s is saved.") % {"code": code})
        return redirect("research-applicant", study.key, code)
    context = applicant_context(request, study, applicant, mine)
    return show(request, study, "applicant", {**context, "form": form}, status=422 if form.errors else 200)


def applicant_context(
    request: HttpRequest, study: Study, applicant: Applicant, mine: SelectionScore | None
) -> dict[str, Any]:
    [row] = rows_of([applicant], study, request.user)
    others = [score for score in applicant.scores if score != mine]
    return {
        "row": row,
        "mine": mine,
        "others": others if mine else [],
        "hidden": 0 if mine else len(others),
        "highest": highest_total(),
    }
