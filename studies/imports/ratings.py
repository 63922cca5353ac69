"""A CSV file of ratings of a study's conversations: any instrument, item and finite number."""

import csv
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from django.db import transaction

from studies.exports.files import unguarded
from studies.exports.table import conversation_of
from studies.exports.tables import MOMENTS, RATINGS
from studies.imports.faults import Faults, text_fault
from studies.models import Answer, Participation, Rater, Response, Study
from studies.models.response import RaterKind

NEEDED = ("conversation", "rater", "rater_kind", "instrument", "item", "score")
OPTIONAL = ("moment", "turn", "strategy", "replicate", "missing_reason")
# An exported ratings.csv can be imported as it is; what it says of a conversation is known from the conversation, and
# what was measured while somebody rated stays with the study that measured it.
IGNORED = tuple(column.name for column in RATINGS if column.name not in (*NEEDED, *OPTIONAL))
LIMITS = {
    "rater": Rater._meta.get_field("code").max_length,
    "strategy": Rater._meta.get_field("strategy").max_length,
    "instrument": Response._meta.get_field("instrument").max_length,
    "item": Answer._meta.get_field("item").max_length,
    "missing_reason": Answer._meta.get_field("missing_reason").max_length,
}
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
LARGEST = 2**31 - 1  # of the database's whole numbers
AT_ONCE = 5000  # answers written together


class Of(NamedTuple):
    """Whose answers to which questionnaire about what: the key of a Response."""

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


Scores = dict[Of, dict[str, Score]]


@dataclass(frozen=True)
class Outcome:
    added: int
    already_there: int
    missing: int  # of those that were added


def import_ratings(study: Study, path: Path, *, on_done: Callable[[int], None] = lambda count: None) -> Outcome:
    """Add what is not there yet. Raises ImportRefused with every fault of the file, and then nothing was changed."""
    faults = Faults(str(path))
    runs = dict(study.runs.filter(conversation__isnull=False).values_list(conversation_of(), "pk"))
    with transaction.atomic():
        Study.objects.select_for_update().get(pk=study.pk)  # one import at a time: two would add the same ratings
        known = ratings_of(study)
        new: Scores = defaultdict(dict)
        already_there = 0
        for line, of, item, score in read_ratings(path, runs, faults):
            earlier = known.get(of, {}).get(item) or new[of].get(item)
            if earlier is None:
                new[of][item] = score
            elif earlier == score:
                already_there += 1
            else:
                faults.add(line, f"score: this rating has {said(earlier)} already, not {said(score)}")
        faults.refuse_any()
        add(study, new, on_done)
    scores = [score for items in new.values() for score in items.values()]
    return Outcome(len(scores), already_there, sum(score.value is None for score in scores))


def said(score: Score) -> str:
    return "no score" if score.value is None else f"{score.value:g}"


def read_ratings(path: Path, runs: Mapping[str, int], faults: Faults) -> Iterator[tuple[int, Of, str, Score]]:
    """Each row without a fault, with the line on which it begins."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, strict=True)
            header = next(reader, [])
            if not right_header(header, faults):
                return
            begins = reader.line_num + 1
            for fields in reader:
                if fields:
                    yield from _Row(fields, header, begins, faults).rating(runs)
                begins = reader.line_num + 1
    except UnicodeDecodeError as error:
        faults.add(1, f"the file is not UTF-8 ({error.reason} at byte {error.start})")
    except csv.Error as error:
        faults.add(reader.line_num, f"is not CSV: {error}")


def right_header(header: Sequence[str], faults: Faults) -> bool:
    known = (*NEEDED, *OPTIONAL, *IGNORED)
    wrong = [f"{name}: the column is missing" for name in NEEDED if name not in header]
    wrong += [f"{name}: unknown column; known are {', '.join(known)}" for name in header if name not in known]
    wrong += [f"{name}: the column is there twice" for name in sorted(set(header)) if header.count(name) > 1]
    for what in wrong:
        faults.add(1, what)
    return not wrong


class _Row:
    """Reads one row; whatever is wrong with it becomes a fault, and reading goes on."""

    def __init__(self, fields: Sequence[str], header: Sequence[str], line: int, faults: Faults) -> None:
        self.texts = {name: unguarded(text) for name, text in zip(header, fields, strict=False)}
        self.line, self.faults = line, faults
        self.sound = True
        if len(fields) != len(header):
            self.fault("", f"has {len(fields)} fields, but the header has {len(header)}")

    def fault(self, column: str, what: str) -> None:
        self.sound = False
        self.faults.add(self.line, f"{column}: {what}" if column else what)

    def rating(self, runs: Mapping[str, int]) -> Iterator[tuple[int, Of, str, Score]]:
        if not self.sound:
            return
        value = self.score()
        reason = self.text("missing_reason")
        if value is not None and reason:
            self.fault("missing_reason", "there is a score, so nothing is missing")
        of = Of(
            kind=self.choice("rater_kind", RaterKind.values),
            rater=self.needed("rater"),
            strategy=self.strategy(),
            run=self.run(runs),
            instrument=self.needed("instrument"),
            moment=self.choice("moment", MOMENTS, "final"),
            turn=self.whole("turn", 0),
            replicate=self.whole("replicate", 1),
        )
        item = self.needed("item")
        if self.sound:
            yield self.line, of, item, Score(value, reason)

    def text(self, column: str) -> str:
        text = self.texts.get(column, "")
        if wrong := text_fault(text, LIMITS.get(column)):
            self.fault(column, wrong)
        return text

    def needed(self, column: str) -> str:
        text = self.text(column)
        if not text:
            self.fault(column, "is empty")
        return text

    def choice(self, column: str, choices: Sequence[str], default: str = "") -> str:
        text = self.text(column) or default
        if text not in choices:
            self.fault(column, f"{text!r} is none of {', '.join(choices)}")
        return text

    def strategy(self) -> str:
        strategy = self.text("strategy")
        if strategy and self.texts["rater_kind"] != RaterKind.JUDGE:
            self.fault("strategy", f"{strategy!r}: only judges have one")
        return strategy

    def run(self, runs: Mapping[str, int]) -> int:
        conversation = self.needed("conversation")
        if conversation and conversation not in runs:
            self.fault("conversation", f"there is no {conversation!r} in this study")
        return runs.get(conversation, 0)

    def whole(self, column: str, default: int) -> int:
        """A table that had gaps in this column was often saved with 5.0 for 5."""
        text = self.text(column).strip()
        if not text:
            return default
        value = finite(text)
        if value is None or not value.is_integer() or not default <= value <= LARGEST:
            self.fault(column, f"{text!r} is not a whole number from {default} on")
            return default
        return int(value)

    def score(self) -> float | None:
        text = self.text("score").strip()
        if not text:
            return None
        value = finite(text)
        if value is None:
            self.fault("score", f"{text!r} is not a finite number")
        return value


def finite(text: str) -> float | None:
    if not NUMBER.fullmatch(text):
        return None
    value = float(text)
    return value if math.isfinite(value) else None


def ratings_of(study: Study) -> Scores:
    known: Scores = defaultdict(dict)
    rows = Answer.objects.filter(response__rater__study=study, response__run__isnull=False).values_list(
        *PLACE, "item", "value", "missing_reason"
    )
    for *place, item, value, reason in rows.iterator():
        known[Of(*place)][item] = Score(value, reason)
    return known


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


def add(study: Study, scores: Scores, on_done: Callable[[int], None]) -> None:
    wanted = [of for of, items in scores.items() if items]
    responses = responses_for(study, wanted)
    answers = [
        Answer(response_id=responses[of], item=item, value=score.value, missing_reason=score.missing_reason)
        for of in wanted
        for item, score in scores[of].items()
    ]
    for start in range(0, len(answers), AT_ONCE):
        Answer.objects.bulk_create(answers[start : start + AT_ONCE])
        on_done(len(answers[start : start + AT_ONCE]))


def responses_for(study: Study, wanted: Sequence[Of]) -> dict[Of, int]:
    """The ids of the responses, made where there are none yet."""
    rows = Response.objects.filter(rater__study=study, run__isnull=False).values_list(*RESPONSE_PLACE, "pk")
    found = {Of(*place): pk for *place, pk in rows.iterator()}
    raters = raters_for(study, wanted)
    missing = [of for of in wanted if of not in found]
    made = Response.objects.bulk_create(
        Response(
            rater_id=raters[of.kind, of.rater, of.strategy],
            run_id=of.run,
            instrument=of.instrument,
            moment=of.moment,
            turn=of.turn,
            replicate=of.replicate,
            is_rating=True,
        )
        for of in missing
    )
    return found | {of: response.pk for of, response in zip(missing, made, strict=True)}


def raters_for(study: Study, wanted: Iterable[Of]) -> dict[tuple[str, str, str], int]:
    """A rater whose code is that of one of the study's people is that person, so that an erasure finds them."""
    found = {tuple(key): pk for *key, pk in study.raters.values_list("kind", "code", "strategy", "pk")}
    missing = sorted({(of.kind, of.rater, of.strategy) for of in wanted} - found.keys())
    people = dict(Participation.objects.filter(study=study).values_list("code", "pk"))
    made = Rater.objects.bulk_create(
        Rater(study=study, kind=kind, code=code, strategy=strategy, participation_id=people.get(code))
        for kind, code, strategy in missing
    )
    return found | {key: rater.pk for key, rater in zip(missing, made, strict=True)}
