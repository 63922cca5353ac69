"""Items on which reviewers differ, and the decisions about them. Reviewers' ratings stay as they gave them."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from studies.instruments.definitions import Item
from studies.instruments.loading import load
from studies.models import Adjudication, ArmRun, ReviewPlan
from studies.second_raters.review_work import Place, answers_in

DIFFER = 2.0  # points between the highest and the lowest score, from which on raters are said to differ


@dataclass(frozen=True)
class ReviewerScore:
    """The score of one reviewer, and the reason where they gave one. The code is for researchers."""

    rater: str
    score: float
    reason: str


@dataclass(frozen=True)
class Disagreement:
    """An item on which the reviewers of one conversation differ."""

    run: ArmRun
    instrument: str
    item: str
    ratings: Sequence[ReviewerScore]
    decided: Adjudication | None

    def spread(self) -> float:
        scores = [one.score for one in self.ratings]
        return max(scores) - min(scores)

    def scores(self) -> str:
        return ", ".join(f"{one.rater} {one.score:g}" for one in self.ratings)

    def get_item(self) -> Item:
        return load(self.instrument).item(self.item)


def disagreements(plan: ReviewPlan) -> list[Disagreement]:
    """Return the items on which reviewers are at least two points apart, largest first."""
    by_place = read_first_ratings(plan)
    runs = ArmRun.objects.select_related("conversation").in_bulk({place.run for place in by_place})
    decided = {(one.run_id, one.instrument, one.item): one for one in decisions_on(plan)}
    cases = [
        Disagreement(runs[place.run], place.instrument, place.item, ratings, decided.get(place))
        for place, ratings in by_place.items()
    ]
    apart = [one for one in cases if one.spread() >= DIFFER]
    return sorted(apart, key=lambda one: (-one.spread(), one.run.pk, one.instrument, one.item))


def read_first_ratings(plan: ReviewPlan) -> dict[Place, list[ReviewerScore]]:
    """Return, by item and conversation, the first rating of each reviewer, in the order of their codes."""
    ratings: dict[Place, list[ReviewerScore]] = defaultdict(list)
    rows = answers_in(plan).filter(response__replicate=1).order_by("response__rater__code", "pk")
    for run, instrument, item, *score in rows.values_list(
        "response__run", "response__instrument", "item", "response__rater__code", "value", "reason"
    ):
        ratings[Place(run, instrument, item)].append(ReviewerScore(*score))
    return ratings


def decisions_on(plan: ReviewPlan) -> list[Adjudication]:
    return list(Adjudication.objects.filter(run__review_items__plan=plan))


def adjudicate(disagreement: Disagreement, *, score: float, reason: str, by: object) -> Adjudication:
    """Store what holds from now on. It can be decided again."""
    decided, _ = Adjudication.objects.update_or_create(
        run=disagreement.run,
        instrument=disagreement.instrument,
        item=disagreement.item,
        defaults={"score": score, "reason": reason, "decided_by": by},
    )
    return decided
