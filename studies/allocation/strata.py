"""A person's strata at the draw: their language, and the third in which a score of theirs lies.

Thirds are those of the people drawn so far and the person. What is not known at the draw (not asked, not answered, too
few items of a scale) is None, and the draw does without this factor.
"""

from collections.abc import Mapping
from typing import Any

from studies.allocation.leases import others_beside
from studies.allocation.levels import cuts_between, level_of
from studies.design.spec import BIG_FIVE, SEVERITY
from studies.design.strata import Source, instruments_before_chats
from studies.instruments.definitions import Questionnaire
from studies.instruments.loading import load
from studies.instruments.scoring import score
from studies.models import Answer, Draw, Participation

Stratum = dict[str, Any]  # level, or None; of a score also score and cuts


def strata_of(participation: Participation) -> dict[str, Stratum]:
    """Return the person's level of each factor of the design."""
    return {factor: stratum_of(participation, factor) for factor in participation.design().order.strata}


def stratum_of(participation: Participation, factor: str) -> Stratum:
    if factor == "language":
        return {"level": participation.language or None}
    source = source_of(participation, factor)
    value = None if source is None else own_score(participation, source)
    if source is None or value is None:
        return {"level": None}
    minimum, maximum = bounds_of(source)
    own = minimum + maximum - value if source.is_reversed else value
    cuts = cuts_between([*earlier_scores(participation, factor), own], minimum=minimum, maximum=maximum)
    return {"level": level_of(own, cuts), "score": own, "cuts": list(cuts)}


def source_of(participation: Participation, factor: str) -> Source | None:
    """Return the instrument and key that tell the factor, as far as people of this track are asked."""
    spec = participation.design()
    instruments = instruments_before_chats(spec, participation.track)
    if factor == SEVERITY:
        source = Source(*spec.order.severity_source())
        return source if source.instrument in instruments else None
    scales = ((name, scale.scale) for name in instruments for scale in score(load(name), {}))
    return next((Source(name, key) for name, key in scales if key == BIG_FIVE[factor]), None)


def own_score(participation: Participation, source: Source) -> float | None:
    questionnaire = load(source.instrument)
    answers = answers_to(participation, questionnaire)
    if source.key in answers:
        return answers[source.key]
    return next((one.score for one in score(questionnaire, answers) if one.scale == source.key), None)


def answers_to(participation: Participation, questionnaire: Questionnaire) -> Mapping[str, float]:
    answers = Answer.objects.filter(
        response__rater__participation=participation, response__instrument=questionnaire.id, value__isnull=False
    )
    return dict(answers.filter(response__run=None).values_list("item", "value"))


def bounds_of(source: Source) -> tuple[float, float]:
    """Return the lowest and the highest value of an item, or of the items of a scale."""
    questionnaire = load(source.instrument)
    scaled = [item for item in questionnaire.items if item.minimum is not None and item.maximum is not None]
    items = [item for item in scaled if item.key == source.key] or [item for item in scaled if item.scale]
    return min(item.minimum or 0 for item in items), max(item.maximum or 0 for item in items)


def earlier_scores(participation: Participation, factor: str) -> list[float]:
    """Return the scores of those who were drawn before, whatever became of them."""
    strata = Draw.objects.filter(participation__in=others_beside(participation)).values_list("strata", flat=True)
    return [levels[factor]["score"] for levels in strata if levels.get(factor, {}).get("score") is not None]
