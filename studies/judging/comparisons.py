"""Comparisons by a judge of a plan's pairs, each in both orders. What it says of one order is a row of its own, so that
it can be seen where the order decides."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from django.db.models import Q, QuerySet
from django.utils import timezone

from dialogue.chat import self_identification
from dialogue.deidentification.redaction import Redaction, mark_version
from dialogue.jobs import store
from dialogue.jobs.calls import Caller, Question
from dialogue.jobs.store import PlannedJob, WantedItem
from dialogue.judges.judge import ask_judgement
from dialogue.judges.parsing import Score
from dialogue.judges.prompts import JudgedItem, JudgedTurn, pair_messages
from dialogue.judges.schemas import build_scores_format
from dialogue.languages import CODES
from dialogue.models import Call, Job, JobItem
from dialogue.prompts import Prompts, mark_digest
from dialogue.providers.base import Message
from dialogue.providers.registry import model_for
from studies.design.spec import ArmSpec
from studies.instruments.definitions import Questionnaire
from studies.instruments.loading import load
from studies.judging.asking import Result, get_askers, get_ledger_note
from studies.judging.material import get_nicknames, get_run_language, get_turns
from studies.judging.planning import build_plan, get_configuration, get_or_create_judge, may_be_sent, runs_to_judge
from studies.judging.settings import Configuration, digest, get_sending_versions, is_structured, judge_settings
from studies.models import ArmRun, Comparison, Pair, PairPlan, Rater, Study, Verdict
from studies.models.pair import order_of
from studies.models.response import RaterKind

KIND = "pairs"  # of the job
PAIR = "pair"  # of an item
TEMPLATE = "judge_pairs"


@dataclass(frozen=True)
class Showing:
    """A pair in one order, still to be judged: `first` is the side that stands first, a or b."""

    pair: Pair
    first: str

    @property
    def subject(self) -> str:
        return subject_of(self.pair.pk, self.first)


def subject_of(pair: int, first: str) -> str:
    return f"pair {pair} {first} first"


@dataclass
class Work:
    """The showings to be judged, and how many others there were that are not."""

    showings: list[Showing] = field(default_factory=list)
    skipped_existing: int = 0
    not_sent: int = 0  # the consent of one of the two people does not name the judge's provider
    unfit: int = 0  # a conversation is open, or its person has withdrawn

    def limit(self, pairs: int | None) -> list[Showing]:
        """Return the showings of so many pairs: a pair is of use in both orders."""
        pks = set(list(dict.fromkeys(showing.pair.pk for showing in self.showings))[:pairs])
        return [showing for showing in self.showings if showing.pair.pk in pks]


# Planning


def pair_raters(study: Study, judge: str) -> dict[str, Rater]:
    """Return the raters by the side that stands first. One judge is two raters: no one compares a pair twice."""
    return {
        first: get_or_create_judge(study, judge, order_of(RaterKind.JUDGE, first)) for first in Comparison.Side.values
    }


def work_for(judge: ArmSpec, plans: Sequence[PairPlan]) -> Work:
    """Return the pairs that this judge has not compared yet and may be sent, with counts of the others."""
    work = Work()
    for plan in plans:
        done_showings = set(get_done_showings(judge.key, plan))
        runs = {run.pk: run for run in runs_to_judge(plan.study)}
        for pair in plan.pairs.select_related("run_a").order_by("position", "pk"):
            sides = [runs.get(pair.run_a_id), runs.get(pair.run_b_id)]
            for first in Comparison.Side.values:
                take_verdicts(work, Showing(pair, first), sides, judge, is_done=(pair.pk, first) in done_showings)
    return work


def take_verdicts(
    work: Work, showing: Showing, sides: Sequence[ArmRun | None], judge: ArmSpec, *, is_done: bool
) -> None:
    runs = [run for run in sides if run is not None]
    if is_done:
        work.skipped_existing += 1
    elif len(runs) < len(sides):
        work.unfit += 1
    elif not all(may_be_sent(run, judge) for run in runs):
        work.not_sent += 1
    else:
        work.showings.append(showing)


def get_done_showings(judge: str, plan: PairPlan) -> Iterator[tuple[int, str]]:
    """Return each pair with the side that stood first."""
    rows = Comparison.objects.filter(pair__plan=plan, rater__kind=RaterKind.JUDGE, rater__code=judge)
    yield from rows.values_list("pair", "shown_first")


def plan_pairs(
    study: Study,
    judge: ArmSpec,
    showings: Iterable[Showing],
    *,
    budget: Decimal | None = None,
    attended: bool = False,
    retry_quarantined: bool = False,
) -> PlannedJob:
    raters, hashed = pair_raters(study, judge.key), get_hash(configure(study, judge))
    return store.plan(
        [build_item(showing, hashed, raters) for showing in showings],
        kind=KIND,
        scope=study.key,
        title=f"{judge.key} (pairs)",
        plan=build_plan(study, configure(study, judge), raters),
        budget=budget,
        attended=attended,
        retry_quarantined=retry_quarantined,
    )


def configure(study: Study, judge: ArmSpec) -> Configuration:
    """Return the judge with the prompts of its study."""
    return Configuration.of(study.current().spec(), judge, KIND)


def build_item(showing: Showing, hashed: str, raters: Mapping[str, Rater]) -> WantedItem:
    return WantedItem(
        subject=showing.subject,
        role=PAIR,
        configuration=get_configuration(raters[showing.first], hashed),
        conversation=showing.pair.run_a.conversation_id,
        payload={"pair": showing.pair.pk, "first": showing.first},
    )


def get_hash(configuration: Configuration) -> str:
    """Return the same value for the same questions to the same model."""
    judge, prompts = configuration.judge, configuration.prompts
    settings = judge_settings(judge)
    versions = [prompts.get(name, language).label for name in (TEMPLATE, "repair") for language in CODES]
    versions += get_sending_versions(judge, redacts=judge.redact)
    return digest([judge.key, KIND, settings.identity(), settings.request_options(), versions])


# Asking


@dataclass(frozen=True)
class Material:
    """The two sides of a pair, the first as it is to be shown first; of replies each up to the one that is meant.
    `names`: what the two people are called, to be taken out; None where nothing is. `redacted`: what has been, by
    kind."""

    pair: Pair
    sides: tuple[Sequence[JudgedTurn], Sequence[JudgedTurn]]
    names: tuple[str, ...] | None = None
    redacted: Mapping[str, int] = field(default_factory=dict)

    @property
    def language(self) -> str:
        """Return the language of the two conversations; English if they differ."""
        languages = {get_run_language(run) for run in (self.pair.run_a, self.pair.run_b)}
        return languages.pop() if len(languages) == 1 else "en"

    @property
    def items(self) -> list[JudgedItem]:
        return pair_items(load(self.pair.plan.instrument), self.language)

    def as_sent(self) -> "Material":
        """Return the material as it is sent: if the study file asks for it, without what tells who someone is."""
        if self.names is None:
            return self
        redaction = Redaction(self.names, self.language)
        first, second = ([redaction.turn(turn) for turn in side] for side in self.sides)
        return replace(self, sides=(first, second), redacted=dict(sorted(redaction.counts.items())))

    def messages(self, prompts: Prompts) -> list[Message]:
        questionnaire = load(self.pair.plan.instrument)
        of_replies = prompts.get("last_reply", self.language).text if self.pair.turn_a is not None else ""
        return pair_messages(
            *self.sides,
            self.items,
            language=self.language,
            scope=scope_of(questionnaire, self.language, of_replies=of_replies),
            prompts=prompts,
        )


class PairHandler:
    """The work of a job of comparing."""

    def __init__(self, job: Job) -> None:
        self.job = job
        configuration = Configuration.from_plan(job.plan)
        self.judge, self.prompts = configuration.judge, configuration.prompts
        self.study = Study.objects.get(pk=job.plan["study"])
        self.names = self.study.current().spec().names()

    def check(self) -> None:
        model_for(judge_settings(self.judge))

    def read(self, items: Sequence[JobItem]) -> dict[int, Material]:
        """Return the material of items. As for single conversations, both people must be there still, and their
        consents name the provider."""
        rows = Pair.objects.select_related("plan", "run_a__conversation", "run_b__conversation")
        pairs = rows.in_bulk({item.payload["pair"] for item in items})
        run_ids = {run for pair in pairs.values() for run in (pair.run_a_id, pair.run_b_id)}
        runs = [run for run in runs_to_judge(self.study).filter(pk__in=run_ids) if may_be_sent(run, self.judge)]
        turns, allowed = get_turns(runs), {run.pk for run in runs}
        called = get_nicknames(runs) if self.judge.redact else None
        materials = {}
        for item in items:
            pair = pairs.get(item.payload["pair"])
            if pair is not None and {pair.run_a_id, pair.run_b_id} <= allowed:
                names = None if called is None else get_names(pair, called)
                materials[item.pk] = Material(pair, self.sides(pair, item.payload["first"], turns), names)
        return materials

    def sides(
        self, pair: Pair, first: str, turns: Mapping[int, Sequence[JudgedTurn]]
    ) -> tuple[Sequence[JudgedTurn], Sequence[JudgedTurn]]:
        """Return both sides as people see them, `first` first: where a model names itself it is always hidden."""
        by_side = {}
        for side in Comparison.Side.values:
            run, last = pair.side(side)
            upto = [turn for turn in turns[run.conversation_id] if last is None or turn.number <= last]
            by_side[side] = [
                replace(
                    turn,
                    supporter=self_identification.mask(turn.supporter, self.names),
                    opening=self_identification.mask(turn.opening, self.names),
                )
                for turn in upto
            ]
        a, b = by_side[Comparison.Side.A], by_side[Comparison.Side.B]
        return (a, b) if first == Comparison.Side.A else (b, a)

    async def work(self, item: JobItem, material: Material, caller: Caller) -> Result:
        material = material.as_sent()
        form = build_scores_format(material.items) if is_structured(self.judge) else None
        ask, repair = get_askers(caller, self.question(item, material), form)
        judged = await ask_judgement(
            ask,
            material.messages(self.prompts),
            material.items,
            language=material.language,
            repair=repair,
            prompts=self.prompts,
        )
        standing = self.prompts.get(TEMPLATE, material.language)
        return Result(judged.scores, judged.ways, mark_digest(self.get_version(material), standing))

    def get_version(self, material: Material) -> str:
        return mark_version(self.prompts.get(TEMPLATE, material.language).label, material.redacted)

    def question(self, item: JobItem, material: Material) -> Question:
        return Question(
            purpose=Call.Purpose.JUDGE,
            messages=(),
            settings=judge_settings(self.judge),
            provider=self.judge.provider,
            who=f"judge {self.judge.key}",
            language=material.language,
            prompt_version=self.get_version(material),
            conversation=material.pair.run_a.conversation_id,
            turn=material.pair.turn_a,
            item=item.pk,
            job=self.job.pk,
            noted=get_ledger_note(material.redacted),
        )

    # Keeping

    def store_outcomes(self, outcomes: Sequence[tuple[JobItem, Result]]) -> list[dict[str, Any]]:
        for item, result in outcomes:
            self.store(item.payload, result)
        return [result.as_json() for _, result in outcomes]

    def store(self, payload: Mapping[str, Any], result: Result) -> None:
        """Store one answer's verdicts. What could not be read is no verdict; what is there already stays as it is."""
        now, first = timezone.now(), payload["first"]
        comparison, is_new = Comparison.objects.get_or_create(
            pair_id=payload["pair"],
            rater_id=self.job.plan["raters"][first],
            defaults={
                "shown_first": first,
                "done_at": now,
                "role": self.judge.role.code,
                "prompt": result.prompt,
            },
        )
        if is_new:
            answers = load(comparison.pair.plan.instrument).items[0].options
            Verdict.objects.bulk_create(
                Verdict(
                    comparison=comparison,
                    question=question,
                    verdict=comparison.verdict_on(str(answers[score.value - 1].value)),
                )
                for question, score in result.scores.items()
                if isinstance(score, Score)
            )


def get_names(pair: Pair, called: Mapping[int | None, tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(name for run in (pair.run_a, pair.run_b) for name in called.get(run.participation_id, ()))


def pair_items(questionnaire: Questionnaire, language: str) -> list[JudgedItem]:
    """Return the items with their answers as numbers, in the order in which people see them."""
    return [
        JudgedItem(
            key=item.key,
            text=item.text[language],
            minimum=1,
            maximum=len(item.options),
            anchors=tuple((number, option.text[language]) for number, option in enumerate(item.options, 1)),
        )
        for item in questionnaire.items
    ]


def scope_of(questionnaire: Questionnaire, language: str, *, of_replies: str) -> str:
    """Return the words that stand above the pair on the people's page. `of_replies`: what is said where the pair is
    about one reply."""
    instruction = questionnaire.instruction[language] if questionnaire.instruction else ""
    return f"{instruction} {of_replies}".strip()


# Erasing


def items_on_pairs(pairs: QuerySet[Pair]) -> QuerySet[JobItem]:
    """Return the work of judges on these pairs, done or to be done."""
    numbers = pairs.values_list("pk", flat=True)
    subjects = [subject_of(pair, first) for pair in numbers for first in Comparison.Side.values]
    return JobItem.objects.filter(role=PAIR, subject__in=subjects)


def calls_on_pairs(pairs: QuerySet[Pair]) -> QuerySet[Call]:
    """Return the calls on these pairs. Each has the words of both sides, and stands in the ledger under one of them. If
    its item is gone, all such calls under these conversations count, for none can be told from the other."""
    calls = Call.objects.filter(prompt_version__startswith=f"{TEMPLATE}.")
    of_items = Q(item__in=items_on_pairs(pairs))
    return calls.filter(of_items | Q(item=None, conversation__in=pairs.values("run_a__conversation")))
