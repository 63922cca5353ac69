"""Plans of second raters: the conversations that a plan has, and the one that a reviewer gets next."""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from math import ceil
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Max, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from dialogue.models.conversation import TurnState
from dialogue.templatetags.languages import listed
from studies.instruments.definitions import Questionnaire
from studies.instruments.forms import AnswerValue
from studies.instruments.loading import instrument_ids, load
from studies.instruments.vignettes import Vignette, vignettes
from studies.models import ArmRun, Participation, Rater, Response, Review, ReviewItem, ReviewPlan, Study
from studies.models.participation import OVER
from studies.models.response import RaterKind
from studies.models.review import LEASE
from studies.participation import judge_gap as judge_distances
from studies.participation.language import instrument_language
from studies.participation.responses import is_rating, rater_for, store_response
from studies.second_raters.eligible import conversations, usable_runs

SOURCES = ("all", "sample", "arm", "strata", "far")
SIZED = ("sample", "far")  # those that need a size
OF_PARTS = ("reply_rating", "turn_checkpoint")  # scales about one reply, or about some turns
MOMENT = "final"
AGAIN = 2  # the replicate of a conversation that comes a second time


class PlanRefused(Exception):
    """A plan that was not made; the message says why."""


class NothingToPlan(PlanRefused):
    """A plan that no conversation fits."""


# Drawing a plan


@dataclass(frozen=True)
class Source:
    """The choice of conversations. `arm`: one arm after the other, as many of each; `strata`: as many of each, mixed;
    `far`: those on which the judge is farthest from people. Always closed ones with a reply, real or test data."""

    kind: str = "all"
    size: int | None = None  # at most so many; of `arm` and `strata` in all
    judge: str = ""
    strategy: str = ""
    seeker_kinds: tuple[str, ...] = ()  # empty for any
    is_test: bool = False


@dataclass(frozen=True)
class PlanOptions:
    """The options of a plan that is to be created."""

    name: str
    instruments: Sequence[str]
    source: Source
    ratings_each: int = 2
    overlap: float = 1.0
    calibration: bool = True
    repeat_every: int = 0
    seed: int = 1


def rating_scales() -> list[str]:
    """Return the instruments that can be answered about a whole conversation."""
    return [name for name in instrument_ids() if is_rating(load(name)) and name not in OF_PARTS]


def faults(study: Study, options: PlanOptions) -> dict[str, str]:
    """Return what is wrong, by the name of what it is about; empty if the plan can be created."""
    source = options.source
    judges = Rater.objects.filter(study=study, kind=RaterKind.JUDGE, code=source.judge, strategy=source.strategy)
    unknown = [name for name in options.instruments if name not in rating_scales()]
    checks = {
        "name": (study.review_plans.filter(name=options.name).exists(), _("There is already a plan with this name.")),
        "instruments": (
            bool(unknown) or not options.instruments,
            _("Choose at least one rating scale: %(known)s.") % {"known": listed(rating_scales())},
        ),
        "source": (source.kind not in SOURCES, _("Choose one of: %(known)s.") % {"known": listed(SOURCES)}),
        "size": (
            source.kind in SIZED and not source.size,
            _("Enter how many conversations to draw."),
        ),
        "judge": (
            source.kind == "far" and not judges.exists(),
            _("This judge has not rated with this strategy."),
        ),
    }
    return {name: text for name, (is_wrong, text) in checks.items() if is_wrong}


def matching(study: Study, source: Source) -> QuerySet[ArmRun]:
    runs = conversations(study, is_test=source.is_test)
    return runs.filter(conversation__seeker_kind__in=source.seeker_kinds) if source.seeker_kinds else runs


def draw(study: Study, source: Source, *, seed: int) -> list[ArmRun]:
    """Return the conversations in the order in which they are given out; the same for the same seed and rows."""
    runs, chance = list(matching(study, source)), random.Random(seed)
    if source.kind == "far":
        apart = distances(study, source)
        runs = sorted((run for run in runs if run.pk in apart), key=lambda run: -apart[run.pk])[: source.size]
    elif source.kind in ("arm", "strata"):
        runs = balance_arms(runs, source, chance)
    if source.kind != "arm":
        chance.shuffle(runs)
    return runs[: source.size]


def balance_arms(runs: Iterable[ArmRun], source: Source, chance: random.Random) -> list[ArmRun]:
    """Return as many runs of each arm as the arm with the fewest has, or the size allows. They come arm after arm,
    these in random order."""
    arms: dict[str, list[ArmRun]] = defaultdict(list)
    for run in runs:
        arms[run.arm].append(run)
    most = min(map(len, arms.values()), default=0)
    each = min(most, source.size // len(arms)) if source.size and arms else most
    order = chance.sample(list(arms), len(arms))
    return [run for arm in order for run in chance.sample(arms[arm], each)]


def distances(study: Study, source: Source) -> dict[int, float]:
    """Return, by run, how far the judge's mean is from people's over the items that both have rated, in points."""
    judge = Rater.objects.filter(study=study, kind=RaterKind.JUDGE, code=source.judge, strategy=source.strategy).first()
    return {one.run: abs(one.points) for one in judge_distances.judge_gaps(study, judge)} if judge else {}


def places(count: int, options: PlanOptions) -> list[int]:
    """Return how many ratings each of so many conversations needs."""
    several = set(random.Random(options.seed).sample(range(count), round(options.overlap * count)))
    return [options.ratings_each if place in several else 1 for place in range(count)]


@transaction.atomic
def make_plan(study: Study, options: PlanOptions) -> ReviewPlan:
    """Create the plan. Raises NothingToPlan if nothing matches, PlanRefused if the name is taken."""
    runs = draw(study, options.source, seed=options.seed)
    if not runs:
        raise NothingToPlan(_("No closed conversation matches, so the plan would be empty."))
    with refuse_taken_name(options.name):
        plan = ReviewPlan.objects.create(
            study=study,
            name=options.name,
            instruments=list(options.instruments),
            source=asdict(options.source),
            ratings_each=options.ratings_each,
            overlap=options.overlap,
            calibration=options.calibration,
            repeat_every=options.repeat_every,
            seed=options.seed,
        )
    ReviewItem.objects.bulk_create(
        ReviewItem(plan=plan, run=run, position=position, wanted=needed)
        for position, (run, needed) in enumerate(zip(runs, places(len(runs), options), strict=True), 1)
    )
    return plan


@contextmanager
def refuse_taken_name(name: str) -> Iterator[None]:
    """Raise PlanRefused where making a plan fails because another took its name since the names were looked at."""
    try:
        with transaction.atomic():
            yield
    except IntegrityError:
        raise PlanRefused(_("There is already a plan “%(name)s”.") % {"name": name}) from None


# Giving out


def next_review_for(reviewer: Participation) -> Review | None:
    """Return the review that a reviewer has begun, else give out the next one; None if none is left."""
    review = get_unfinished(reviewer)
    if review and (review.is_fresh() or renew_review(review)):
        return review
    return give_out(reviewer)


def get_unfinished(reviewer: Participation) -> Review | None:
    begun = reviewer.reviews.filter(done_at=None, declined_at=None)
    return begun.select_related("plan", "item__run__conversation").first()


@transaction.atomic
def renew_review(review: Review) -> bool:
    """Renew a review that is past its time, and return True. Where the conversation has enough other raters by now,
    give the review back and return False."""
    ReviewPlan.objects.select_for_update().get(pk=review.plan_id)
    others = Review.objects.filter(counting(), item=review.item, replicate=1).exclude(pk=review.pk)
    if review.item and review.replicate == 1 and others.count() >= review.item.wanted:
        give_back(review, Review.Because.EXPIRED)
        return False
    review.given_at = timezone.now()
    review.save(update_fields=["given_at"])
    return True


@transaction.atomic
def give_out(reviewer: Participation) -> Review | None:
    """Give this reviewer the next piece of work; None if there is none. One reviewer and one plan at a time: of two who
    ask at once the second sees what the first one got."""
    Participation.objects.select_for_update().values_list("pk").get(pk=reviewer.pk)
    if review := get_unfinished(reviewer):
        return review
    for plan in reviewer.study.review_plans.select_for_update().filter(is_open=True):
        work = work_in(plan, reviewer) if plan.is_for(reviewer) else None
        if work:
            return Review.objects.create(plan=plan, reviewer=reviewer, **work)
    return None


def work_in(plan: ReviewPlan, reviewer: Participation) -> dict[str, Any] | None:
    """Return the next piece of work in this plan, as fields of a review; None if there is none. First the vignettes, if
    anything is to follow them; a conversation that is due again comes before a new one."""
    if again := due_again(plan, reviewer):
        return {"item": again, "replicate": AGAIN}
    item = min(offers(plan, reviewer), key=preference(plan, reviewer), default=None)
    if item is None:
        return None
    due = vignettes_due(plan, reviewer)
    return {"vignette": due[0].key} if due else {"item": item}


def vignettes_due(plan: ReviewPlan, reviewer: Participation) -> list[Vignette]:
    """Return those on a scale of the plan that this reviewer has not met, in this plan or another one."""
    met = set(reviewer.reviews.exclude(vignette="").values_list("vignette", flat=True))
    fitting = [one for one in vignettes() if one.instrument in plan.instruments]
    return [one for one in fitting if one.key not in met] if plan.calibration else []


def due_again(plan: ReviewPlan, reviewer: Participation) -> ReviewItem | None:
    """Return the conversation to be rated again, after every so many; None if none is due. It is the one that was rated
    longest ago, never the last one."""
    mine = plan.reviews.filter(reviewer=reviewer, item__isnull=False)
    rated = mine.filter(replicate=1, done_at__isnull=False).order_by("done_at", "pk")
    items = list(rated.values_list("item", flat=True))
    repeated = set(mine.filter(replicate=AGAIN).values_list("item", flat=True))
    if not plan.repeat_every or len(items) // plan.repeat_every <= len(repeated):
        return None
    left = [item for item in items[:-1] if item not in repeated]
    return plan.items.filter(pk=left[0]).first() if left else None


def offers(plan: ReviewPlan, reviewer: Participation) -> list[ReviewItem]:
    """Return the plan's conversations that want a rating more and that this reviewer has not had, in whatever plan.
    Where a study has several languages, these are those in the one in which they take part; before they choose it, to
    estimate their time, those in the one in which they read the page."""
    had = reviewer.reviews.filter(item__isnull=False).values("item__run")
    items = plan.items.exclude(run__in=had).filter(usable_runs("run__"))
    if len(reviewer.design().languages) > 1:
        items = items.filter(run__conversation__language=reviewer.language or instrument_language())
    at_work = raters_of(plan)
    return [item for item in items.select_related("run") if len(at_work[item.pk]) < item.wanted]


def raters_of(plan: ReviewPlan) -> defaultdict[int, set[int]]:
    """Return, by item, the reviewers who have rated it or are at it."""
    raters: defaultdict[int, set[int]] = defaultdict(set)
    reviews = plan.reviews.filter(counting(), replicate=1, item__isnull=False)
    for item, reviewer in reviews.values_list("item", "reviewer"):
        raters[item].add(reviewer)
    return raters


def counting() -> Q:
    """Return the filter for reviews that take a place: done, or begun by someone still there and not too long ago."""
    begun = Q(done_at=None, declined_at=None, given_at__gt=timezone.now() - LEASE) & ~Q(reviewer__status__in=OVER)
    return Q(done_at__isnull=False) | begun


def preference(plan: ReviewPlan, reviewer: Participation) -> Callable[[ReviewItem], tuple[int, ...]]:
    """Return the sort key by which a reviewer gets conversations; the least comes first. These are the fewest ratings;
    then raters with whom this reviewer shares the fewest conversations, so that all pairs of reviewers come to share as
    many."""
    at_work, first = raters_of(plan), first_places(plan)
    shared = Counter(other for raters in at_work.values() if reviewer.pk in raters for other in raters)

    def key(item: ReviewItem) -> tuple[int, ...]:
        raters = at_work[item.pk]
        return first.get(item.run.arm, 0), len(raters), sum(shared[other] for other in raters), item.position

    return key


def first_places(plan: ReviewPlan) -> Mapping[str, int]:
    """Return where each arm begins in a plan that gives out one after the other; empty for other plans."""
    if plan.source.get("kind") != "arm":
        return {}
    places = plan.items.order_by("-position").values_list("run__arm", "position")
    return dict(places)  # of each arm the last that is read, which is the first one


# Taking back


def give_back(review: Review, because: str, note: str = "") -> None:
    """Give the conversation back unrated, so that it goes to others."""
    Review.objects.filter(pk=review.pk, done_at=None, declined_at=None).update(
        declined_at=timezone.now(), declined_because=because, declined_note=note
    )


def instrument_due(review: Review) -> str:
    """Return the rating scale of a conversation that is to be answered next; empty if all are."""
    assert review.item is not None  # noqa: S101 - a vignette has one scale
    instruments = Response.objects.filter(
        rater__participation=review.reviewer, run=review.item.run, moment=MOMENT, replicate=review.replicate
    ).values_list("instrument", flat=True)
    return next((name for name in review.plan.instruments if name not in set(instruments)), "")


@transaction.atomic
def store_ratings(
    review: Review,
    questionnaire: Questionnaire,
    answers: Iterable[AnswerValue],
    *,
    language: str,
    seconds: Mapping[str, float],
) -> None:
    """Store the answers to one rating scale. With the last one of the plan the conversation is done."""
    assert review.item is not None  # noqa: S101 - a vignette is taken by take_vignette
    run = review.item.run
    last = run.conversation.turns.filter(state=TurnState.ANSWERED).aggregate(last=Max("number"))["last"]
    store_response(
        rater_for(review.reviewer),
        questionnaire,
        answers,
        run=run,
        moment=MOMENT,
        replicate=review.replicate,
        language=language,
        turns=(1, last),
        seconds=seconds,
    )
    if not instrument_due(review):
        finish(review)


def store_vignette_scores(review: Review, answers: Iterable[AnswerValue]) -> None:
    """Store the scores of a vignette. It is done when the reviewer has seen how far they were."""
    review.scores = {answer.item: answer.value for answer in answers if answer.value is not None}
    review.save(update_fields=["scores"])


def finish(review: Review) -> None:
    Review.objects.filter(pk=review.pk, done_at=None).update(done_at=timezone.now())


def all_stored(reviewer: Participation) -> bool:
    """Return whether every conversation that is done has its ratings."""
    stored = set(
        Response.objects.filter(rater__participation=reviewer, moment=MOMENT).values_list(
            "run", "instrument", "replicate"
        )
    )
    reviews = reviewer.reviews.filter(done_at__isnull=False, item__isnull=False).select_related("plan", "item")
    due = {(one.item.run_id, name, one.replicate) for one in reviews for name in one.plan.instruments}
    return due <= stored


# How far


@dataclass(frozen=True)
class Load:
    """A reviewer's pieces of work: done, and about how many are left, the one at hand among them."""

    done: int
    left: int


def load_of(reviewer: Participation) -> Load:
    plans = [plan for plan in reviewer.study.review_plans.filter(is_open=True) if plan.is_for(reviewer)]
    left = sum(share_of(plan, reviewer) for plan in plans) + (get_unfinished(reviewer) is not None)
    return Load(reviewer.reviews.filter(done_at__isnull=False).count(), left)


def share_of(plan: ReviewPlan, reviewer: Participation) -> int:
    """Return about how much of the plan one of those who are at work now will still be given."""
    free = offers(plan, reviewer)
    if not free:
        return 0
    at_work = raters_of(plan)
    peers = reviewer.study.participations.filter(track=reviewer.track, is_test=reviewer.is_test)
    due = sum(item.wanted - len(at_work[item.pk]) for item in free)
    fair = min(len(free), ceil(due / max(1, peers.exclude(status__in=OVER).count())))
    again = fair // plan.repeat_every if plan.repeat_every else 0
    return fair + again + len(vignettes_due(plan, reviewer))
