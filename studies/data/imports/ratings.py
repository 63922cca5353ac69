"""A CSV file of ratings of a study's conversations, on our instruments or, as they are, on any other scale."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from django.db import transaction

from studies.data.exports.columns import conversation_of
from studies.data.exports.tables import MOMENTS, RATINGS
from studies.data.imports.faults import Faults
from studies.data.imports.roles import get_key, get_roles, role_of
from studies.data.imports.rows import Header, Row, finite, raters_for, read_rows
from studies.data.imports.scales import ScaleCheck
from studies.instruments.loading import instructed_items
from studies.models import Answer, Rater, Response, Study
from studies.models.response import RaterKind

NEEDED = ("conversation", "rater", "rater_kind", "instrument", "item", "score")
OPTIONAL = ("moment", "turn", "strategy", "replicate", "missing_reason", "reason", "role", "prompt")
# An exported ratings.csv can be imported as it is; what it says of a conversation is known from the conversation, and
# what was measured while someone rated stays with the study that measured it.
IGNORED = tuple(column.name for column in RATINGS if column.name not in (*NEEDED, *OPTIONAL))
LIMITS = {
    "rater": Rater._meta.get_field("code").max_length,
    "strategy": Rater._meta.get_field("strategy").max_length,
    "instrument": Response._meta.get_field("instrument").max_length,
    "item": Answer._meta.get_field("item").max_length,
    "missing_reason": Answer._meta.get_field("missing_reason").max_length,
    "prompt": Response._meta.get_field("prompt").max_length,
}
AT_ONCE = 5000  # answers written together


class ResponseKey(NamedTuple):
    """The key of a Response: whose answers to which questionnaire about what."""

    kind: str
    rater: str
    strategy: str
    run: int
    instrument: str
    moment: str
    turn: int
    replicate: int


class Score(NamedTuple):
    value: float | None
    missing_reason: str
    reason: str  # why this score, in the rater's words

    def is_given(self) -> bool:
        """Return whether the row has an answer, or a reason why there is none.

        A row that says neither is of a form that its rater has not come to yet.
        """
        return self != (None, "", "")


class JudgeDetails(NamedTuple):
    """The way in which a model was asked; empty of people, and where the file does not say it."""

    role: str
    prompt: str


Scores = dict[ResponseKey, dict[str, Score]]


@dataclass(frozen=True)
class Outcome:
    added: int
    already_there: int
    missing: int  # of those that were added
    not_answered_yet: int  # rows that say nothing, and are left out


def import_ratings(
    study: Study, path: Path, *, as_is: bool = False, on_done: Callable[[int], None] = lambda count: None
) -> Outcome:
    """Add what is not there yet. Raises ImportRefused with every fault of the file, and then nothing was changed.

    Scores must be possible on the instruments that the file names; with `as_is` any instrument, item and finite number
    is taken.
    """
    faults = Faults(str(path))
    runs = dict(study.runs.filter(conversation__isnull=False).values_list(conversation_of(), "pk"))
    with transaction.atomic():
        Study.objects.select_for_update().get(pk=study.pk)  # one import at a time: two would add the same ratings
        existing = ratings_of(study)
        new: Scores = defaultdict(dict)
        judge_details: dict[ResponseKey, JudgeDetails] = {}
        roles = get_roles(study)
        already_there = not_answered_yet = 0
        for line, of, item, score, details in read_ratings(path, runs, faults, as_is=as_is):
            key = get_key(of.rater) if of.kind == RaterKind.JUDGE else ""
            details = details._replace(role=details.role or roles.get(key, ""))
            if details.role and roles.setdefault(key, details.role) != details.role:
                faults.add(line, f"role: the judge {key!r} is {roles[key]!r} elsewhere: give each role its own rater")
                continue
            judge_details.setdefault(of, details)
            earlier = existing.get(of, {}).get(item) or new[of].get(item)
            if not score.is_given():
                not_answered_yet += 1
            elif earlier is None:
                new[of][item] = score
            elif earlier[:2] == score[:2]:  # an import does not rewrite what was said of a score
                already_there += 1
            else:
                faults.add(line, f"score: this rating has {format_score(earlier)} already, not {format_score(score)}")
        faults.refuse_any()
        add(study, new, judge_details, on_done)
    scores = [score for items in new.values() for score in items.values()]
    return Outcome(len(scores), already_there, sum(score.value is None for score in scores), not_answered_yet)


def format_score(score: Score) -> str:
    return "no score" if score.value is None else f"{score.value:g}"


def read_ratings(
    path: Path, runs: Mapping[str, int], faults: Faults, *, as_is: bool
) -> Iterator[tuple[int, ResponseKey, str, Score, JudgeDetails]]:
    """Yield each row without a fault, with the line on which it begins."""
    instructed, scales = instructed_items(), ScaleCheck()
    for row in read_rows(path, Header(NEEDED, OPTIONAL, IGNORED), LIMITS, faults):
        value, missing = score_of(row), row.text("missing_reason")
        if value is not None and missing:
            row.fault("missing_reason", "there is a score, so nothing is missing")
        of, details = place_of(row, runs), JudgeDetails(role_of(row), row.text("prompt"))
        item = row.require("item")
        if (of.instrument, item) in instructed:
            row.fault("item", f"{item!r} tells people what to answer, so it is no rating")
        elif not as_is:
            scales.check(row, of.instrument, item, value)
        if row.sound:
            yield row.line, of, item, Score(value, missing, row.text("reason")), details


def place_of(row: Row, runs: Mapping[str, int]) -> ResponseKey:
    moment = row.choice("moment", MOMENTS, "final")
    turn = row.whole("turn", least=0) or 0
    return ResponseKey(
        kind=row.choice("rater_kind", RaterKind.values),
        rater=row.require("rater"),
        strategy=strategy_of(row),
        run=row.run("conversation", runs),
        instrument=row.require("instrument"),
        moment=moment,
        # Of a final rating an export has the last turn rated: it follows from the conversation. A file without moments
        # may tell ratings apart by their turns alone.
        turn=0 if row.text("moment") == "final" else turn,
        replicate=row.whole("replicate", least=1) or 1,
    )


def strategy_of(row: Row) -> str:
    strategy = row.text("strategy")
    if strategy and row.texts["rater_kind"] != RaterKind.JUDGE:
        row.fault("strategy", f"{strategy!r}: only judges have one")
    return strategy


def score_of(row: Row) -> float | None:
    text = row.text("score").strip()
    if not text:
        return None
    value = finite(text)
    if value is None:
        with_point = text.replace(",", ".")
        advice = f"; write {with_point}" if finite(with_point) is not None else ""
        row.fault("score", f"{text!r} is not a finite number{advice}")
    return value


def ratings_of(study: Study) -> Scores:
    scores: Scores = defaultdict(dict)
    rows = Answer.objects.filter(response__rater__study=study, response__run__isnull=False).values_list(
        *PLACE, "item", "value", "missing_reason", "reason"
    )
    for *place, item, value, missing, reason in rows.iterator():
        scores[ResponseKey(*place)][item] = Score(value, missing, reason)
    return scores


RESPONSE_PLACE = (
    "rater__kind",
    "rater__code",
    "rater__strategy",
    "run",
    "instrument",
    "moment",
    "turn",
    "replicate",
)
PLACE = tuple(f"response__{column}" for column in RESPONSE_PLACE)


def add(
    study: Study, scores: Scores, judge_details: Mapping[ResponseKey, JudgeDetails], on_done: Callable[[int], None]
) -> None:
    keys = [of for of, items in scores.items() if items]
    responses = responses_for(study, keys, judge_details)
    answers = [
        Answer(response_id=responses[of], item=item, **score._asdict())
        for of in keys
        for item, score in scores[of].items()
    ]
    for start in range(0, len(answers), AT_ONCE):
        Answer.objects.bulk_create(answers[start : start + AT_ONCE])
        on_done(len(answers[start : start + AT_ONCE]))


def responses_for(
    study: Study, keys: Sequence[ResponseKey], judge_details: Mapping[ResponseKey, JudgeDetails]
) -> dict[ResponseKey, int]:
    """Return the ids of the responses; those that are missing are created."""
    rows = Response.objects.filter(rater__study=study, run__isnull=False).values_list(*RESPONSE_PLACE, "pk")
    existing = {ResponseKey(*place): pk for *place, pk in rows.iterator()}
    raters = raters_for(study, [(of.kind, of.rater, of.strategy) for of in keys])
    missing = [of for of in keys if of not in existing]
    new = Response.objects.bulk_create(
        Response(
            rater_id=raters[of.kind, of.rater, of.strategy],
            run_id=of.run,
            instrument=of.instrument,
            moment=of.moment,
            turn=of.turn,
            replicate=of.replicate,
            is_rating=True,
            **judge_details[of]._asdict(),
        )
        for of in missing
    )
    return existing | {of: response.pk for of, response in zip(missing, new, strict=True)}
