"""A CSV file of verdicts on pairs of a study's conversations, as pairs.csv of an export has them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from django.db import transaction
from django.utils import timezone

from studies.data.exports.columns import conversation_of
from studies.data.exports.comparisons import PAIRS
from studies.data.imports.faults import Faults
from studies.data.imports.roles import get_key, get_roles, role_of
from studies.data.imports.rows import Header, Row, raters_for, read_rows
from studies.models import Comparison, Pair, PairPlan, Rater, Study, Verdict
from studies.models.pair import order_of
from studies.models.response import RaterKind

NEEDED = (
    "pair",
    "conversation_a",
    "conversation_b",
    "rater",
    "rater_kind",
    "question",
    "shown_first",
    "verdict",
)
OPTIONAL = ("reason", "instrument", "plan", "turn_a", "turn_b", "role", "prompt")
# The rest of an exported file is known from the conversations, or is about the server that it was exported from.
IGNORED = tuple(column.name for column in PAIRS if column.name not in (*NEEDED, *OPTIONAL))
LIMITS = {
    "pair": Pair._meta.get_field("code").max_length,
    "rater": Rater._meta.get_field("code").max_length,
    "question": Verdict._meta.get_field("question").max_length,
    "instrument": PairPlan._meta.get_field("instrument").max_length,
    "plan": PairPlan._meta.get_field("name").max_length,
    "prompt": Comparison._meta.get_field("prompt").max_length,
}
AT_ONCE = 5000  # verdicts written together


class Sides(NamedTuple):
    """The two things that a pair compares: runs, or turns of them; `plan` is a name, or empty."""

    run_a: int
    run_b: int
    turn_a: int | None
    turn_b: int | None
    plan: str


class ComparisonKey(NamedTuple):
    """The rater who compared a pair, and in which order.

    `order` is as `order_of` has it, for a judge compares in both.
    """

    pair: str
    kind: str
    rater: str
    order: str


class Opinion(NamedTuple):
    verdict: str
    reason: str


class JudgeDetails(NamedTuple):
    """The role and the prompt of a judge that compared; empty where the file does not say it."""

    role: str
    prompt: str


@dataclass
class Facts:
    """The facts that are known by a key: from the study, or from a row before.

    Nothing is ever known in two ways.
    """

    there: Mapping[Any, Any]
    new: dict[Any, Any] = field(default_factory=dict)

    def agree(self, key: Any, value: Any) -> bool:
        """Keep a new fact. Return False where another value is known for its key."""
        return bool((self.there[key] if key in self.there else self.new.setdefault(key, value)) == value)


@dataclass(frozen=True)
class Outcome:
    added: int
    already_there: int
    pairs: int  # that were added


def import_pairs(study: Study, path: Path, *, on_done: Callable[[int], None] = lambda count: None) -> Outcome:
    """Add what is not there yet. Raises ImportRefused with every fault of the file, and then nothing was changed."""
    faults = Faults(str(path))
    with transaction.atomic():
        Study.objects.select_for_update().get(pk=study.pk)  # one import at a time: two would add the same verdicts
        table = _Table(study)
        rows = sum(table.take(row) for row in read_rows(path, Header(NEEDED, OPTIONAL, IGNORED), LIMITS, faults))
        faults.refuse_any()
        table.store(on_done)
    added = len(table.verdicts.new)
    return Outcome(added, rows - added, len(table.pairs.new))


class _Table:
    """Plans by name, pairs by code, who saw which side first, and the verdicts. Many rows repeat each of them."""

    def __init__(self, study: Study) -> None:
        self.study = study
        held = study.runs.filter(conversation__isnull=False)
        self.runs = dict(held.values_list(conversation_of(), "pk"))
        self.plans = Facts(dict(study.pair_plans.values_list("name", "instrument")))
        self.pairs = Facts(pairs_of(study))
        self.comparisons = Facts(comparisons_of(study, is_done=True))
        self.verdicts = Facts(verdicts_of(study))
        self.begun = set(comparisons_of(study, is_done=False))
        self.roles = get_roles(study)
        self.judge_details: dict[ComparisonKey, JudgeDetails] = {}

    def take(self, row: Row) -> bool:
        """Keep the facts of a row, or its fault."""
        pair, sides, instrument = row.require("pair"), self.sides(row), row.text("instrument")
        kind, first = (
            row.choice("rater_kind", RaterKind.values),
            row.choice("shown_first", ("", *Comparison.Side.values)),
        )
        by = ComparisonKey(pair, kind, row.require("rater"), order_of(kind, first))
        question = row.require("question")
        opinion = Opinion(row.choice("verdict", Verdict.Choice.values), row.text("reason"))
        self.keep_role(row, by)
        if by in self.begun:
            row.fault("rater", f"{by.rater!r} has this pair at hand just now")
        if instrument and not sides.plan:
            row.fault("instrument", "there is no plan that it could be the instrument of")
        if not row.sound:
            return False
        if sides.plan and not self.plans.agree(sides.plan, instrument):
            row.fault("instrument", f"the plan {sides.plan!r} has another one already")
        if not self.pairs.agree(pair, sides):
            row.fault("pair", f"{pair!r} has other conversations, turns or another plan already")
        if not self.comparisons.agree(by, first):
            row.fault("shown_first", "this rater saw the other side of this pair first, or nothing was said of it")
        if not self.verdicts.agree((by, question), opinion):
            row.fault("verdict", f"this rater said something else of {question!r} already")
        return row.sound

    def keep_role(self, row: Row, by: ComparisonKey) -> None:
        """Keep the role that the file or an earlier answer tells of a judge, and the text by which it was asked."""
        key = get_key(by.rater) if by.kind == RaterKind.JUDGE else ""
        role = role_of(row) or self.roles.get(key, "")
        if role and self.roles.setdefault(key, role) != role:
            row.fault("role", f"the judge {key!r} is {self.roles[key]!r} elsewhere: give each role its own rater")
        self.judge_details.setdefault(by, JudgeDetails(role, row.text("prompt")))

    def sides(self, row: Row) -> Sides:
        runs = [row.run(f"conversation_{side}", self.runs) for side in "ab"]
        turns = [row.whole(f"turn_{side}", least=1) for side in "ab"]
        if runs[0] == runs[1] != 0 and turns[0] == turns[1]:
            row.fault("conversation_b", "is conversation_a itself")
        if (turns[0] is None) != (turns[1] is None):
            row.fault("turn_b", "a pair is of two replies or of two conversations: give both turns or none")
        return Sides(runs[0], runs[1], turns[0], turns[1], row.text("plan"))

    def store(self, on_done: Callable[[int], None]) -> None:
        self.store_pairs()
        self.store_comparisons()
        comparisons = ids_of_comparisons(self.study)
        verdicts = [
            Verdict(comparison_id=comparisons[by], question=question, verdict=answer.verdict, reason=answer.reason)
            for (by, question), answer in self.verdicts.new.items()
        ]
        for start in range(0, len(verdicts), AT_ONCE):
            Verdict.objects.bulk_create(verdicts[start : start + AT_ONCE])
            on_done(len(verdicts[start : start + AT_ONCE]))

    def store_pairs(self) -> None:
        """Store the pairs of a file. Their plans are closed: the pairs were given out elsewhere."""
        PairPlan.objects.bulk_create(
            PairPlan(study=self.study, name=name, instrument=instrument, source={"imported": True}, is_open=False)
            for name, instrument in self.plans.new.items()
        )
        plans = dict(self.study.pair_plans.values_list("name", "pk"))
        Pair.objects.bulk_create(
            Pair(
                study=self.study,
                plan_id=plans.get(sides.plan),
                code=code,
                run_a_id=sides.run_a,
                run_b_id=sides.run_b,
                turn_a=sides.turn_a,
                turn_b=sides.turn_b,
                position=position,
            )
            for position, (code, sides) in enumerate(self.pairs.new.items(), 1)
        )

    def store_comparisons(self) -> None:
        pairs = dict(self.study.pairs.values_list("code", "pk"))
        raters = raters_for(self.study, [(by.kind, by.rater, by.order) for by in self.comparisons.new])
        now = timezone.now()
        Comparison.objects.bulk_create(
            Comparison(
                pair_id=pairs[by.pair],
                rater_id=raters[by.kind, by.rater, by.order],
                shown_first=first,
                role=self.judge_details[by].role,
                prompt=self.judge_details[by].prompt,
                given_at=now,
                done_at=now,
            )
            for by, first in self.comparisons.new.items()
        )


def pairs_of(study: Study) -> dict[str, Sides]:
    rows = study.pairs.values_list("code", "run_a", "run_b", "turn_a", "turn_b", "plan__name")
    return {code: Sides(*sides, plan or "") for code, *sides, plan in rows}


OF_COMPARISON = ("pair__code", "rater__kind", "rater__code", "rater__strategy")


def comparisons_of(study: Study, *, is_done: bool) -> dict[ComparisonKey, str]:
    rows = Comparison.objects.filter(pair__study=study, done_at__isnull=not is_done)
    return {ComparisonKey(*by): first for *by, first in rows.values_list(*OF_COMPARISON, "shown_first")}


def ids_of_comparisons(study: Study) -> dict[ComparisonKey, int]:
    return {
        ComparisonKey(*by): pk
        for *by, pk in Comparison.objects.filter(pair__study=study).values_list(*OF_COMPARISON, "pk")
    }


def verdicts_of(study: Study) -> dict[tuple[ComparisonKey, str], Opinion]:
    rows = Verdict.objects.filter(comparison__pair__study=study).values_list(
        *(f"comparison__{name}" for name in OF_COMPARISON), "question", "verdict", "reason"
    )
    return {(ComparisonKey(*by), question): Opinion(verdict, reason) for *by, question, verdict, reason in rows}
