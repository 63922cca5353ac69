"""The list of conversations, filtered and sorted by the address, a page at a time."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from dialogue.models.conversation import TurnState
from studies.access.table import Act
from studies.board.blind import show_blind_list
from studies.instruments.loading import load
from studies.models import ArmRun, Rater, Study
from studies.participation import counts
from studies.participation.judge_gap import JudgeGap, judge_name, largest_gaps, rating_judges
from studies.participation.language import instrument_language
from studies.workbench import labels
from studies.workbench.access import show, study_page
from studies.workbench.lists import (
    Choice,
    Column,
    filter_rows,
    headings,
    make_choices,
    page_of,
    paging,
    query_with,
    sort_rows,
)

FIELDS = {
    "arm": "arm",
    "kind": "conversation__seeker_kind",
    "condition": "condition",
    "profile": "profile",
    "status": "conversation__status",
    "end": "conversation__end_reason",
}
VALID = {"yes": True, "no": False}
FILTERS = (*FIELDS, "valid", "test", "judge", "far")
COUNTED = ("turns", "failed", "risk")  # columns that take all turns to sort by
ANY_JUDGE = "any"
FAR = 1.5  # points


SOMETIMES = ("distance", "condition", "profile")  # columns that not every list has


def columns() -> list[Column]:
    return [
        Column("conversation", _("Conversation")),
        Column("person", _("Person"), "participation__code"),
        Column("arm", _("Arm"), "arm"),
        Column("distance", _("Judge minus people"), number=True),
        Column("condition", _("Condition"), "condition"),
        Column("profile", _("Profile"), "profile"),
        Column("position", _("Position"), "position", number=True),
        Column("status", _("Status"), "conversation__status"),
        Column("reason", _("Ended by"), "conversation__end_reason"),
        Column("turns", _("Turns"), "turns", number=True),
        Column("failed", _("Failed"), "failed", number=True),
        Column("risk", _("Risks"), "risky", number=True),
        Column("started", _("Started (UTC)"), "conversation__started_at"),
    ]


@dataclass(frozen=True)
class RunsInAddress:
    """The keys of the runs that the address asks for, in its order.

    `apart` is None unless it asks for judges that are far from people; `fault` says what in the address could not be
    read.
    """

    keys: QuerySet | Sequence[int]
    apart: Mapping[int, JudgeGap] | None = None
    fault: str = ""


@dataclass(frozen=True)
class Row:
    run: ArmRun
    words: Mapping[str, str] = field(default_factory=dict)
    distance: str = ""
    judge: str = ""


@require_GET
@study_page
def conversations(request: HttpRequest, study: Study) -> HttpResponse:
    if not request.access.may(Act.SEE_ARMS):
        return show_blind_list(request, study)
    judges = judges_of(study)
    runs = runs_in_address(request, study, judges)
    page = page_of(runs.keys, request)
    page.object_list = rows_of(page.object_list, runs.apart or {}, judges)
    offered = choices(request, study)
    visible_columns = {*(choice.name for choice in offered), *(["distance"] if runs.apart is not None else [])}
    context = {
        "test": request.GET.get("test", ""),
        "headings": headings(
            request, [one for one in columns() if one.key not in SOMETIMES or one.key in visible_columns]
        ),
        "visible_columns": visible_columns,
        "page": page,
        "runs": runs,
        "choices": offered,
        "judges": judges,
        "far": labels.points(FAR if (far := parse_points(request.GET.get("far", ""))) is None else far),
        "is_filtered": bool(active_filters(request)),
        "unfiltered": query_with(request, page=None, **dict.fromkeys(FILTERS)),
        "list_query": list_query(request),
        "demonstrations": study.current().demonstrations(),
        **paging(page, request),
    }
    return show(request, study, "conversations", context)


def judges_of(study: Study) -> dict[str, Rater]:
    """Return the judges by key and strategy, as the address names them: `demo state_aware`."""
    return {judge_name(rater): rater for rater in rating_judges(study)}


def choices(request: HttpRequest, study: Study) -> list[Choice]:
    """Return the filters that can separate these conversations."""
    arms, conditions, profiles = (values_in_use(study, name) for name in ("arm", "condition", "profile"))
    filters = [
        ("arm", _("Arm"), [(arm, arm) for arm in arms]),
        ("kind", _("Seeker"), labels.choices(labels.SEEKERS)),
        ("condition", _("Condition"), [(key, labels.word(labels.CONDITIONS, key)) for key in conditions]),
        ("profile", _("Profile"), [(profile, profile) for profile in profiles]),
        ("status", _("Status"), labels.choices(labels.STATES)),
        ("end", _("Ended by"), labels.choices(labels.ENDS)),
        ("valid", _("Validity"), [("yes", _("kept")), ("no", _("left out"))]),
    ]
    return make_choices(request, [one for one in filters if one[2]])


def values_in_use(study: Study, name: str) -> list[str]:
    return list(study.runs.exclude(**{name: ""}).order_by(name).values_list(name, flat=True).distinct())


def active_filters(request: HttpRequest) -> dict[str, str]:
    """Return the filters in the address that leave something out."""
    filters = {name: request.GET[name] for name in FILTERS if request.GET.get(name)}
    if filters.get("test") not in ("yes", "no"):
        filters.pop("test", None)
    if "judge" not in filters:
        filters.pop("far", None)
    return filters


def list_query(request: HttpRequest, *also: str) -> str:
    """Return the part of the address by which the page of one conversation knows its list."""
    query = QueryDict(mutable=True)
    query.update(
        active_filters(request) | {name: request.GET[name] for name in ("sort", *also) if request.GET.get(name)}
    )
    return f"?{query.urlencode()}" if query else ""


# Reading the address


def runs_in_address(request: HttpRequest, study: Study, judges: Mapping[str, Rater]) -> RunsInAddress:
    keys = sort_rows(filter_runs(request, study), request, columns(), usual="-conversation__started_at")
    keys = keys.values_list("pk", flat=True)
    name = request.GET.get("judge", "")
    if not name:
        return RunsInAddress(keys)
    if name != ANY_JUDGE and name not in judges:
        return RunsInAddress([], {}, _("No judge “%(name)s” has rated conversations in this study.") % {"name": name})
    points = parse_points(request.GET.get("far", ""))
    if points is None:
        text = request.GET["far"]
        return RunsInAddress(
            [], {}, _("“%(said)s” is not a number of points. Enter a number such as 1.5.") % {"said": text}
        )
    apart = largest_gaps(study, judges.get(name), at_least=points)
    return RunsInAddress(sort_by_gap([key for key in keys if key in apart], apart, request), apart)


def filter_runs(request: HttpRequest, study: Study) -> QuerySet:
    rows = counts.filter_by_test(study.runs.filter(conversation__isnull=False), request.GET.get("test", ""))
    rows = filter_rows(rows, request, FIELDS)
    if request.GET.get("valid") in VALID:
        rows = rows.filter(valid=VALID[request.GET["valid"]])
    return annotate_counts(rows) if request.GET.get("sort", "").removeprefix("-") in COUNTED else rows


def sort_by_gap(keys: list[int], apart: Mapping[int, JudgeGap], request: HttpRequest) -> list[int]:
    """Sort by judge gap, unless the address asks for the order of a column."""
    return keys if request.GET.get("sort") else sorted(keys, key=lambda key: -abs(apart[key].points))


def parse_points(text: str) -> float | None:
    """Return the points in `text`; FAR if it is empty, None if it is no distance."""
    try:
        points = float(text or FAR)
    except ValueError:
        return None
    return points if math.isfinite(points) and points >= 0 else None


def annotate_counts(rows: QuerySet) -> QuerySet:
    turn = "conversation__turns"
    return rows.annotate(
        turns=Count(turn, filter=Q(conversation__turns__state=TurnState.ANSWERED)),
        failed=Count(turn, filter=Q(conversation__turns__state=TurnState.FAILED)),
        risky=Count(turn, filter=Q(conversation__turns__risk_level__gte=2)),
    )


# Rows


def rows_of(keys: Iterable[int], apart: Mapping[int, JudgeGap], judges: Mapping[str, Rater]) -> list[Row]:
    """Return the rows of one page. Turns are counted for these only, because counting all conversations is slow."""
    keys = list(keys)
    runs = annotate_counts(ArmRun.objects.filter(pk__in=keys)).select_related("conversation", "participation").in_bulk()
    names = {rater.pk: name for name, rater in judges.items()}
    return [row_of(runs[key], apart.get(key), names) for key in keys]


def row_of(run: ArmRun, distance: JudgeGap | None, names: Mapping[int, str]) -> Row:
    if distance is None:
        return Row(run, words_of(run))
    return Row(run, words_of(run), labels.with_sign(distance.points), names[distance.rater])


def words_of(run: ArmRun) -> dict[str, str]:
    assert run.conversation is not None  # noqa: S101 - only runs with a conversation are listed
    return {
        "seeker": labels.word(labels.SEEKERS, run.conversation.seeker_kind),
        "condition": labels.word(labels.CONDITIONS, run.condition),
        "status": labels.word(labels.STATES, run.conversation.status),
        "end": labels.word(labels.ENDS, run.conversation.end_reason),
        "topic": topic_words(run.topic),
    }


def topic_words(topic: str) -> str:
    """Return the topic in words.

    For a first conversation it is the area chosen in the screening, for others the person's own text.
    """
    area = load("screening").item("issue_category").option(topic)
    return area.text[instrument_language()] if area else topic


# Neighbours


@dataclass(frozen=True)
class Neighbours:
    """The conversations before and after this one.

    `place` of `all` in the list from which a conversation was opened; codes, empty at its ends.
    """

    place: int
    all: int
    previous: str
    next: str


def neighbours(request: HttpRequest, study: Study, run: ArmRun) -> Neighbours | None:
    """Return the neighbours; None if the list does not have the conversation."""
    keys = list(runs_in_address(request, study, judges_of(study)).keys)
    if run.pk not in keys:
        return None
    at = keys.index(run.pk)
    beside = [*keys[max(0, at - 1) : at], *keys[at + 1 : at + 2]]
    codes = dict(ArmRun.objects.filter(pk__in=beside).values_list("pk", "conversation__code"))
    before = codes[keys[at - 1]] if at else ""
    after = codes[keys[at + 1]] if at + 1 < len(keys) else ""
    return Neighbours(at + 1, len(keys), before, after)
