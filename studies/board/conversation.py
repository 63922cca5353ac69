"""The page of one conversation: messages, thoughts, ratings and calls."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from dialogue.input_checks import MOST_TURNS, int_from
from dialogue.models import Conversation, InnerState, Turn
from dialogue.templatetags.languages import listed
from studies.access.table import Act
from studies.board import calls
from studies.board.blind import show_blind_conversation
from studies.board.conversations import FAR, list_query, neighbours, parse_points, words_of
from studies.board.emotion_line import Chart, Scale, chart
from studies.data.imports.rows import finite
from studies.models import ArmRun, Flag, Rater, Study
from studies.participation.exclusions import mark_of
from studies.participation.judge_gap import judge_name, rating_judges
from studies.participation.language import instrument_language
from studies.role_play import flags
from studies.workbench import labels
from studies.workbench.access import show, study_page
from studies.workbench.rating_tables import ComparisonTable, Scores, compare_raters

OPEN_THOUGHTS = 2
COMPARED = ("a", "b")  # in the address: the two judges to set against each other


@require_GET
@study_page
def conversation(request: HttpRequest, study: Study, code: str) -> HttpResponse:
    run = run_of(study, code)
    if not request.access.may(Act.SEE_ARMS):
        return show_blind_conversation(request, study, conversation_of(run))
    talk = run.conversation
    far = parse_points(request.GET.get("far", ""))
    scores = Scores.of(run, FAR if far is None else far)
    states = list(talk.states.order_by("turn", "source"))
    rows = turn_rows(run, states, calls.counts_by_turn(talk), turn_in_address(request))
    context = {
        "run": run,
        "mark": None if run.valid else mark_of(run),
        "conversation": talk,
        "words": words_of(run),
        "turns": rows,
        "emotions": [drawn for drawn in (emotion_of_thinkers(states), emotion_of_import(study, rows)) if drawn],
        "has_thoughts": bool(states),
        "tables": scores.tables(),
        "far": labels.points(scores.far),
        "silent": judges_without_rating(study, run),
        "comparison": comparison(request, scores),
        "risks": talk.risks.all(),
        "calls": calls.call_rows(talk),
        "call_totals": calls.totals(talk),
        "neighbours": neighbours(request, study, run),
        "list_query": list_query(request),
        "list_query_with_judges": list_query(request, *COMPARED),
        "list_fields": QueryDict(list_query(request).removeprefix("?")).items(),
        "demonstrations": study.current().demonstrations(),
    }
    return show(request, study, "conversation", context)


def run_of(study: Study, code: str) -> ArmRun:
    runs = study.runs.select_related("conversation", "participation", "conversation__supporter", "protocol")
    return get_object_or_404(runs, conversation__code=code)


def turn_in_address(request: HttpRequest) -> int | None:
    return int_from(request.GET.get("turn"), 1, MOST_TURNS)


# Messages and thoughts


class FlagRow(NamedTuple):
    flag: Flag
    words: str  # of its reason


@dataclass(frozen=True)
class Thought:
    thinker: str
    state: InnerState


class Fault(NamedTuple):
    """A fault of a simulated seeker, in words."""

    kind: str
    found_by: str
    evidence: str


@dataclass(frozen=True)
class TurnRow:
    """One turn. `turn` is None if a Thinker wrote about a turn without a message, such as before the first one."""

    number: int
    turn: Turn | None
    flags: Sequence[FlagRow]
    faults: Sequence[Fault]
    thoughts: Sequence[Thought]
    calls: int
    is_target: bool

    def has_few_thoughts(self) -> bool:
        """Return whether the thoughts fit unfolded; more would move the messages far apart."""
        return len(self.thoughts) <= OPEN_THOUGHTS


def turn_rows(
    run: ArmRun, states: Iterable[InnerState], call_counts: Mapping[int, int], target: int | None
) -> list[TurnRow]:
    turns = {turn.number: turn for turn in conversation_of(run).turns.order_by("number")}
    marks, faults = flags_by_turn(run), faults_by_turn(run)
    thoughts: dict[int, list[Thought]] = {}
    for state in states:
        thoughts.setdefault(state.turn, []).append(Thought(labels.thinker(state.source), state))
    return [
        TurnRow(
            number,
            turns.get(number),
            marks.get(number, []),
            faults.get(number, []),
            thoughts.get(number, []),
            call_counts.get(number, 0),
            number == target,
        )
        for number in sorted({*turns, *thoughts, *faults})
    ]


def conversation_of(run: ArmRun) -> Conversation:
    assert run.conversation is not None  # noqa: S101 - it was found by its conversation's code
    return run.conversation


def flags_by_turn(run: ArmRun) -> dict[int, list[FlagRow]]:
    """Return the flags of each turn, also withdrawn ones."""
    marks: dict[int, list[FlagRow]] = {}
    for flag in run.flags.order_by("pk"):
        marks.setdefault(flag.turn, []).append(FlagRow(flag, flags.words_of(flag, instrument_language())))
    return marks


def faults_by_turn(run: ArmRun) -> dict[int, list[Fault]]:
    faults: dict[int, list[Fault]] = {}
    for row in conversation_of(run).seeker_faults.order_by("turn", "kind", "source"):
        kind, found_by = labels.word(labels.FAULTS, row.kind), labels.word(labels.FOUND_BY, row.source)
        faults.setdefault(row.turn, []).append(Fault(kind, found_by, row.evidence))
    return faults


# Emotion


@dataclass(frozen=True)
class Emotion:
    """A chart of emotion and its table.

    `rows` are (turn, a score for each of `sources`, empty for none). `key` is for the page's ids; `says` tells what is
    drawn.
    """

    key: str
    says: str
    chart: Chart
    sources: Sequence[str]
    rows: Sequence[tuple[int, Sequence[str]]]


def emotion_of_thinkers(states: Iterable[InnerState]) -> Emotion | None:
    """Return the Thinkers' emotion scores; None if there is none."""
    scores: dict[str, dict[int, float]] = {}
    for state in states:
        if state.emotion_score is not None:
            scores.setdefault(labels.thinker(state.source), {})[state.turn] = state.emotion_score
    says = _("Emotion score (0 to 100) after each turn")
    return Emotion("supposed", says, chart(scores), list(scores), by_turn(scores)) if scores else None


def emotion_of_import(study: Study, rows: Iterable[TurnRow]) -> Emotion | None:
    """Return the emotion in an imported file; None if it has no number.

    It has a chart of its own: its scale is that of the file, and it belongs to the message, not to the effect of the
    reply.
    """
    values = ((row.number, finite(row.turn.emotion.strip())) for row in rows if row.turn)
    emotions = {turn: number for turn, number in values if number is not None}
    if not emotions:
        return None
    scores = {_("as imported"): emotions}
    scale = scale_of_imports(study)
    says = _(
        "Emotion as imported, at each message. The scale runs from the lowest to the highest value in this study's "
        "imports."
    )
    return Emotion("imported", says, chart(scores, scale), list(scores), by_turn(scores))


def scale_of_imports(study: Study) -> Scale:
    """Return the lowest and highest imported value of the whole study, because no file states its scale."""
    texts = Turn.objects.filter(conversation__run__study=study).exclude(emotion="").order_by()
    values = map(finite, map(str.strip, texts.values_list("emotion", flat=True).distinct()))
    numbers = [number for number in values if number is not None]
    return Scale(min(numbers), max(numbers))


def by_turn(scores: Mapping[str, Mapping[int, float]]) -> list[tuple[int, list[str]]]:
    turns = sorted({turn for of_source in scores.values() for turn in of_source})
    return [(turn, scores_at(turn, scores.values())) for turn in turns]


def scores_at(turn: int, of_sources: Iterable[Mapping[int, float]]) -> list[str]:
    return [labels.points(scores[turn]) if turn in scores else "" for scores in of_sources]


# Judges


def judges_without_rating(study: Study, run: ArmRun) -> list[str]:
    """Return judges that have rated in this study, but not this conversation."""
    return [judge_name(rater) for rater in rating_judges(study).exclude(responses__run=run)]


@dataclass(frozen=True)
class Comparison:
    """Two judges side by side. `fault` says why two named judges have no tables."""

    names: Sequence[str]
    a: str
    b: str
    tables: Sequence[ComparisonTable]
    fault: str


def comparison(request: HttpRequest, scores: Scores) -> Comparison:
    judges = {judge_name(rater): rater for rater in scores.judges()}
    a, b = (request.GET.get(name, "") for name in COMPARED)
    fault = comparison_fault(a, b, judges)
    tables = compare_raters(scores, judges[a], judges[b]) if a and b and not fault else []
    if a and b and not fault and not tables:
        fault = _("These two have not answered any questionnaire at the same moment.")
    return Comparison(list(judges), a, b, tables, fault)


def comparison_fault(a: str, b: str, judges: Mapping[str, Rater]) -> str:
    unknown = [name for name in (a, b) if name and name not in judges]
    if unknown:
        return _("No rating here by: %(names)s.") % {"names": listed(unknown)}
    if a and a == b:
        return _("Choose two different raters.")
    return ""
