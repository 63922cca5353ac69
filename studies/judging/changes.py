"""Checks that a judge of the study file is still the one that has answered under its key."""

from functools import reduce
from operator import or_

from django.db.models import Q
from django.utils.translation import gettext as _

from dialogue.judges import probes
from dialogue.judges.strategies import get_strategies
from dialogue.models import Job, JobItem
from studies.design.spec import ArmSpec, StudySpec
from studies.judging.comparisons import get_hash
from studies.judging.planning import get_configuration
from studies.judging.settings import Configuration
from studies.models import Rater, Study
from studies.models.response import RaterKind


class ChangedJudgeError(Exception):
    """The judge is no longer the one that answered under its key; the text tells this to whoever asked."""


def refuse_changed(study: Study, judge: ArmSpec) -> None:
    """Raise ChangedJudgeError if the judge is no longer the one that has answered."""
    if is_changed(study, judge):
        raise ChangedJudgeError(
            _(
                "The judge “%(judge)s” has answered in %(study)s with another model, other settings or other prompts "
                "than it would now, and two that answer under one key cannot be told apart. Give the changed judge a "
                "key of its own in the study file."
            )
            % {"judge": judge.key, "study": study.key}
        )


def is_changed(study: Study, judge: ArmSpec) -> bool:
    """Return whether answers under this key were given, or are due, in another way than they would be now.

    Two models would be one judge in all tables.
    """
    raters = [rater for rater in study.raters.filter(kind=RaterKind.JUDGE) if get_key(rater) == judge.key]
    spec = study.current().spec()
    others = (get_answers(rater) & ~Q(configuration=get_configuration_now(rater, spec, judge)) for rater in raters)
    counts = Q(state=JobItem.State.DONE) | Q(job__state=Job.State.OPEN)
    return JobItem.objects.filter(reduce(or_, others, Q(pk=None)), counts).exists()


def get_key(rater: Rater) -> str:
    return rater.code.partition(probes.SIGN)[0]


def get_answers(rater: Rater) -> Q:
    return Q(configuration__startswith=get_configuration(rater, ""))


def get_configuration_now(rater: Rater, spec: StudySpec, judge: ArmSpec) -> str:
    """Return the configuration that the judge's items would get now."""
    configured = Configuration.of(spec, judge, rater.strategy, probes.variant_of(rater.code))
    if rater.strategy not in get_strategies():  # of pairs, or a strategy that is no longer installed
        return get_configuration(rater, get_hash(configured))
    return get_configuration(rater, configured.hash())
