"""The main part of a report: a card with the answer, and at most six numbered exhibits."""

from collections.abc import Callable
from dataclasses import replace

from studies.analysis.reporting.exhibits.agreement_forest import agreement_forest
from studies.analysis.reporting.exhibits.arm_means import arm_means
from studies.analysis.reporting.exhibits.flow_of_people import flow_of_people
from studies.analysis.reporting.exhibits.rater_reliability import rater_reliability
from studies.analysis.reporting.exhibits.separation import separation
from studies.analysis.reporting.exhibits.strategy_gain import strategy_gain
from studies.analysis.reporting.parts import Exhibit, Numbering
from studies.analysis.results import Results

EXHIBITS: tuple[Callable[[Results], Exhibit | None], ...] = (
    agreement_forest,
    flow_of_people,
    arm_means,
    strategy_gain,
    rater_reliability,
    separation,
)


def exhibits_of(results: Results) -> list[Exhibit]:
    """Return the exhibits that the study has, numbered in their order; figures are drawn here."""
    numbering = Numbering()
    exhibits = [exhibit for make in EXHIBITS if (exhibit := make(results))]
    return [
        replace(exhibit, part=numbering.label(exhibit.part), beside=[numbering.label(part) for part in exhibit.beside])
        for exhibit in exhibits
    ]
