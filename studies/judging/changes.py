"""Whether a judge of the study file is still the one that has answered under its key."""

from functools import reduce
from operator import or_

from django.db.models import Q

from dialogue.judges import probes
from dialogue.judges.strategies import registered
from dialogue.models import Job, JobItem
from studies.design.spec import ArmSpec
from studies.judging.comparisons import hash_of
from studies.judging.planning import configuration_of
from studies.judging.settings import Configuration
from studies.models import Rater, Study
from studies.models.response import RaterKind


class ChangedJudgeError(Exception):
    """In words for who asked."""


def refuse_changed(study: Study, judge: ArmSpec) -> None:
    """Raises ChangedJudgeError."""
    if is_changed(study, judge):
        raise ChangedJudgeError(
            f"The judge {judge.key!r} has answered in {study.key} with another model, other settings or other prompts "
            "than it would now, and two that answer under one key cannot be told apart. Give the changed judge a key "
            "of its own in the study file."
        )


def is_changed(study: Study, judge: ArmSpec) -> bool:
    """Whether something has been answered under this key, or is about to be, in another way than it would be now. Two
    models would be one judge in all tables."""
    raters = [rater for rater in study.raters.filter(kind=RaterKind.JUDGE) if key_of(rater) == judge.key]
    others = (answers_of(rater) & ~Q(configuration=as_now(rater, judge)) for rater in raters)
    counts = Q(state=JobItem.State.DONE) | Q(job__state=Job.State.OPEN)
    return JobItem.objects.filter(reduce(or_, others, Q(pk=None)), counts).exists()


def key_of(rater: Rater) -> str:
    return rater.code.partition(probes.SIGN)[0]


def answers_of(rater: Rater) -> Q:
    return Q(configuration__startswith=configuration_of(rater, ""))


def as_now(rater: Rater, judge: ArmSpec) -> str:
    """The configuration of its items, were they planned now."""
    if rater.strategy not in registered():  # of pairs, or a strategy that is no longer installed
        return configuration_of(rater, hash_of(judge))
    return configuration_of(rater, Configuration(judge, rater.strategy, probes.variant_of(rater.code)).hash())
