"""Pairs of conversations or replies: drawing a plan, giving out the next pair, and storing what reviewers say of it."""

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from math import ceil

from django.db import transaction
from django.db.models import Count, F, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from dialogue.models import Turn
from dialogue.models.conversation import TurnState
from dialogue.templatetags.languages import listed
from studies.design.pairing import Candidate, Contest, DrawnPair, draw_pairs, name_seekers
from studies.instruments.forms import AnswerValue
from studies.instruments.loading import PAIRWISE, instrument_ids, load
from studies.models import ArmRun, Comparison, Pair, PairPlan, Participation, Rater, Study, Verdict
from studies.models.participation import OVER
from studies.models.response import RaterKind
from studies.participation.language import instrument_language
from studies.participation.responses import rater_for
from studies.second_raters.eligible import conversations, usable_runs
from studies.second_raters.reviews import Load, NothingToPlan, PlanRefused, refuse_taken_name

ARMS, SEEKERS = "arms", "seekers"
BETWEEN = (ARMS, SEEKERS)
CONVERSATION, REPLY = "conversation", "reply"
LEVELS = (CONVERSATION, REPLY)
COUNT = 100  # pairs of a plan, where no one says how many
LEASE = timedelta(hours=24)  # a comparison that was begun waits for its reviewer
# Of a pair: no judge takes a verdict from people, nor does a comparison that was given back.
BY_PEOPLE = ~Q(comparisons__rater__kind=RaterKind.JUDGE) & Q(comparisons__declined_at=None)


@dataclass(frozen=True)
class Drawing:
    """The settings by which a plan's pairs are drawn. Real and test data never stand in one pair."""

    between: str = ARMS
    level: str = CONVERSATION
    count: int = COUNT
    seed: int = 1
    test_data: bool = False

    def pairs(self, study: Study) -> list[DrawnPair]:
        pool = candidates(study, self.between, test_data=self.test_data)
        return draw_pairs(pool, replies=self.level == REPLY, count=self.count, seed=self.seed)


@dataclass(frozen=True)
class Tally:
    """Counts of verdicts so far when two contestants met: how often the first won, neither, the second."""

    question: str
    contest: Contest
    wins: int
    ties: int
    losses: int


def pairwise_instruments() -> list[str]:
    return [instrument for instrument in instrument_ids() if load(instrument).kind == PAIRWISE]


# Drawing


def candidates(study: Study, between: str, *, test_data: bool) -> list[Candidate]:
    runs = conversations(study, is_test=test_data)
    if between == ARMS:
        runs = runs.filter(setup="")  # results compare arms by unchanged seekers alone
    replied = turns_with_reply(runs)
    pool = [candidate(run, between, replied[run.conversation_id]) for run in runs.select_related("conversation")]
    return [one for one in pool if one.turns and one.contestant]


def turns_with_reply(runs: QuerySet[ArmRun]) -> Mapping[int, list[int]]:
    """Return the numbers of the turns with a reply, by conversation."""
    replied: defaultdict[int, list[int]] = defaultdict(list)
    turns = Turn.objects.filter(conversation__run__in=runs, state=TurnState.ANSWERED).exclude(reply="")
    for conversation, number in turns.values_list("conversation", "number"):
        replied[conversation].append(number)
    return replied


def candidate(run: ArmRun, between: str, turns: Sequence[int]) -> Candidate:
    """Return the run as a candidate. Arms are compared with seekers of one kind, and seekers with the same arm."""
    alike = seekers_of(run) if between == ARMS else run.arm
    return Candidate(
        run=run.pk,
        contestant=contestant_of(run, between),
        same=(run.conversation.language, alike),
        seeker=seeker_of(run, between),
        turns=tuple(turns),
    )


def contestant_of(run: ArmRun, between: str) -> str:
    return run.arm if between == ARMS else seekers_of(run)


def seekers_of(run: ArmRun) -> str:
    """Return the kind of seeker: person, simulated worst_case, simulated average (one agent), …"""
    return name_seekers(run.conversation.seeker_kind, run.condition, run.setup)


def seeker_of(run: ArmRun, between: str) -> str:
    """Return whose matter it is. Two simulators of one profile have the same; a person has no other kind of
    themselves."""
    values = {
        "card": run.card,
        "participation": run.participation_id if between == ARMS else None,
        "participant": run.external_participant if between == ARMS else "",
        "profile": run.profile,
    }
    return next((f"{kind} {value}" for kind, value in values.items() if value), "")


@transaction.atomic
def make_plan(study: Study, *, name: str, instrument: str, each: int, drawing: Drawing) -> PairPlan:
    """Create the plan. Raises PlanRefused if the name is taken, NothingToPlan if there is nothing to compare."""
    if why := refusal(drawing, instrument, each):
        raise PlanRefused(why)
    drawn = drawing.pairs(study)
    if not drawn:
        raise NothingToPlan(_("There are no two closed conversations to compare."))
    with refuse_taken_name(name):
        plan = study.pair_plans.create(
            name=name, instrument=instrument, verdicts_each=each, seed=drawing.seed, source=asdict(drawing)
        )
    Pair.objects.bulk_create(
        Pair(
            study=study,
            plan=plan,
            run_a_id=pair.a.run,
            run_b_id=pair.b.run,
            turn_a=pair.turn,
            turn_b=pair.turn,
            position=position,
        )
        for position, pair in enumerate(drawn, 1)
    )
    return plan


def refusal(drawing: Drawing, instrument: str, each: int) -> str:
    """Return what is wrong with a plan before anything is drawn; empty if nothing is."""
    if instrument not in (instruments := pairwise_instruments()):
        names = {"instrument": instrument, "known": listed(instruments)}
        return _("“%(instrument)s” has no questions about pairs. These instruments have some: %(known)s.") % names
    if drawing.count < 1 or each < 1:
        return _("The number of pairs and the number of verdicts per pair must be at least 1.")
    if drawing.between == SEEKERS and drawing.level == REPLY:
        return _("Seekers can only be compared by whole conversations, because single replies come from supporters.")
    return ""


def count_meetings(drawn: Iterable[DrawnPair]) -> list[tuple[Contest, int]]:
    """Return how often every two contestants would meet."""
    return sorted(Counter(pair.contest() for pair in drawn).items())


def contests_of(plan: PairPlan) -> Counter[Contest]:
    """Return how often every two contestants meet in the plan."""
    return Counter(contestants_in(plan).values())


def contestants_in(plan: PairPlan) -> dict[int, Contest]:
    """Return the contestants a and b by the pair's id."""
    rows = plan.pairs.select_related("run_a__conversation", "run_b__conversation")
    return {pair.pk: contestants_of(pair.run_a, pair.run_b) for pair in rows}


def contestants_of(a: ArmRun, b: ArmRun) -> Contest:
    """Return the contestants, as the analysis does: the arms if they differ, else the kinds of seekers."""
    between = ARMS if a.arm and b.arm and a.arm != b.arm else SEEKERS
    return contestant_of(a, between), contestant_of(b, between)


# Giving out


def next_comparison_for(person: Participation) -> Comparison | None:
    """Return the comparison that a reviewer has begun, else give out the next one; None if none is left."""
    rater = rater_for(person)
    return resume_comparison(rater) or give_out(person, rater)


def resume_comparison(rater: Rater) -> Comparison | None:
    comparison = query_comparisons().filter(rater=rater, done_at=None, declined_at=None).first()
    if comparison and comparison.given_at < timezone.now() - LEASE:
        # No one has taken it meanwhile, so it is this reviewer's for another day.
        Comparison.objects.filter(pk=comparison.pk).update(given_at=timezone.now())
    return comparison


def query_comparisons() -> QuerySet[Comparison]:
    return Comparison.objects.select_related("pair__plan", "pair__run_a__conversation", "pair__run_b__conversation")


@transaction.atomic
def give_out(person: Participation, rater: Rater) -> Comparison | None:
    """Give this person a comparison: one plan after the other; in each the pairs with the fewest verdicts first."""
    # Two reviewers at once must not both get the last verdict that a pair needs.
    list(PairPlan.objects.select_for_update().filter(study=person.study, is_open=True).values_list("pk"))
    take_back(person.study)
    owed = get_rarer_side(rater)
    evenly = {Comparison.Side.A: "leaning", Comparison.Side.B: "-leaning"}.get(owed, "position")
    pair = waiting_for(person, rater).order_by("plan", "given", evenly, "position").first()
    if pair is None:
        return None
    comparison = Comparison.objects.create(pair=pair, rater=rater, shown_first=owed or side_for(pair, rater))
    return query_comparisons().get(pk=comparison.pk)


def take_back(study: Study) -> None:
    late = timezone.now() - LEASE
    Comparison.objects.filter(pair__study=study, done_at=None, declined_at=None, given_at__lt=late).delete()


def waiting_for(person: Participation, rater: Rater) -> QuerySet[Pair]:
    """Return pairs in this reviewer's languages that still need a verdict and that they have not seen."""
    pairs = Pair.objects.filter(plan__study=person.study, plan__is_open=True).exclude(comparisons__rater=rater)
    for run in ("run_a", "run_b"):
        pairs = pairs.filter(usable_runs(f"{run}__"), **{f"{run}__is_test": person.is_test})
    if len(person.design().languages) > 1:  # before they choose one, to estimate their time, that of the page
        pairs = pairs.filter(run_a__conversation__language=person.language or instrument_language())
    total = Count("comparisons", filter=BY_PEOPLE)
    first = Count("comparisons", filter=BY_PEOPLE & Q(comparisons__shown_first=Comparison.Side.A))
    counted = pairs.annotate(given=total, leaning=2 * first - total)
    return counted.filter(given__lt=F("plan__verdicts_each"))


def load_of(person: Participation) -> Load:
    """Return a reviewer's work, done and left. What others at work now will take of what is due is not theirs."""
    rater = rater_for(person)
    due = [each - count for each, count in waiting_for(person, rater).values_list("plan__verdicts_each", "given")]
    peers = person.study.participations.filter(track=person.track, is_test=person.is_test).exclude(status__in=OVER)
    fair = min(len(due), ceil(sum(due) / max(1, peers.count())))
    return Load(
        done=rater.comparisons.filter(done_at__isnull=False).count(),
        left=fair + rater.comparisons.filter(done_at=None, declined_at=None).count(),
    )


def get_rarer_side(rater: Rater) -> str:
    """Return the side that this rater has seen first less often; empty if both were first equally often."""
    first = rater.comparisons.filter(declined_at=None).aggregate(
        a=Count("pk", filter=Q(shown_first=Comparison.Side.A)), b=Count("pk", filter=Q(shown_first=Comparison.Side.B))
    )
    if first["a"] == first["b"]:
        return ""
    return Comparison.Side.A if first["a"] < first["b"] else Comparison.Side.B


def side_for(pair: Pair, rater: Rater) -> str:
    """Return the side that evens out the pair, or one by lot."""
    if pair.leaning:
        return Comparison.Side.B if pair.leaning > 0 else Comparison.Side.A
    return random.Random(f"{pair.plan.seed} {pair.code} {rater.code}").choice(Comparison.Side.values)


def give_back(comparison: Comparison) -> None:
    """Take a pair back that a reviewer does not want to judge; someone else may get it, and they do not again."""
    waiting = Comparison.objects.filter(pk=comparison.pk, done_at=None, declined_at=None)
    waiting.update(declined_at=timezone.now())


# Verdicts


@transaction.atomic
def store_verdicts(comparison: Comparison, answers: Iterable[AnswerValue]) -> bool:
    """Store the choices of the page (first, tie, second) as sides of the pair. Return False if it was judged before."""
    waiting = Comparison.objects.filter(pk=comparison.pk, done_at=None, declined_at=None)
    if not waiting.update(done_at=timezone.now()):
        return False
    Verdict.objects.bulk_create(
        Verdict(
            comparison=comparison,
            question=answer.item,
            verdict=comparison.verdict_on(answer.text),
            reason=answer.reason,
        )
        for answer in answers
    )
    return True


def tallies(plan: PairPlan) -> list[Tally]:
    """Return people's verdicts by question and contest, the first contestant in the alphabet first."""
    verdicts = Verdict.objects.filter(comparison__pair__plan=plan, comparison__done_at__isnull=False)
    verdicts = verdicts.exclude(comparison__rater__kind=RaterKind.JUDGE)
    counts: defaultdict[tuple[str, Contest], Counter[str]] = defaultdict(Counter)
    contestants = contestants_in(plan)
    for pair, question, verdict in verdicts.values_list("comparison__pair", "question", "verdict"):
        a, b = contestants[pair]
        winner = {Verdict.Choice.A: a, Verdict.Choice.B: b}.get(verdict, "")
        counts[question, (min(a, b), max(a, b))][winner] += 1
    return [
        Tally(question, contest, wins[contest[0]], wins[""], wins[contest[1]])
        for (question, contest), wins in sorted(counts.items())
    ]
