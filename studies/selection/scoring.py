"""The score of an application: its items, its form, and the points of each scorer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib.auth.models import AbstractBaseUser

from studies.design.plan import SCREENING
from studies.instruments.loading import load
from studies.models import Participation, SelectionScore
from studies.participation.language import instrument_language


@dataclass(frozen=True)
class ScoreItem:
    key: str
    points: int  # at most
    label: str
    rule: str


def score_items() -> list[ScoreItem]:
    """Return the items that are scored, in the language of the page."""
    language = instrument_language()
    items = load(SCREENING).raw["selection_score"]["items"]
    return [ScoreItem(one["key"], one["points"], one["label"][language], one["rule"][language]) for one in items]


def highest_total() -> int:
    return sum(item.points for item in score_items())


class ScoreForm(forms.Form):
    """A field for each item, from 0 to its points."""

    def __init__(self, points: Mapping[str, int], data: Any = None) -> None:
        super().__init__(data, initial=dict(points))
        for item in score_items():
            self.fields[item.key] = forms.IntegerField(
                label=item.label, help_text=item.rule, min_value=0, max_value=item.points
            )


def mean_total(scores: Sequence[SelectionScore]) -> float | None:
    return sum(score.total for score in scores) / len(scores) if scores else None


def store_score(person: Participation, scorer: AbstractBaseUser, points: Mapping[str, int]) -> None:
    """Store a scorer's points; a second time replaces the first."""
    values = {"points": dict(points), "total": sum(points.values())}
    SelectionScore.objects.update_or_create(participation=person, scorer=scorer, defaults=values)
