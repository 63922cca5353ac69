"""The page that plans the size of a study. A child process computes the numbers, because the server must not load
scipy."""

import json
import logging
import subprocess
import sys
from dataclasses import asdict
from functools import lru_cache
from typing import Any

from django import forms
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET

from studies.analysis.planning import BOUNDS, LEAST_EFFECT, QUESTIONS, SIMULATED, Wish, is_possible
from studies.workbench.access import researchers_only

logger = logging.getLogger(__name__)

PROGRAM = "studies.analysis.planning"
PATIENCE = 30  # seconds
STUDIES = {"dependent": 10_000, "discrimination": 500}  # as many as do not make one wait for long
TITLES = {
    "correlation": gettext_lazy("Find a correlation"),
    "width": gettext_lazy("Measure a correlation precisely"),
    "icc": gettext_lazy("Measure agreement between raters"),
    "paired": gettext_lazy("Find a difference within people"),
    "dependent": gettext_lazy("Tell two judges apart"),
    "discrimination": gettext_lazy("Tell models apart"),
}
ABOUT = {
    "correlation": gettext_lazy(
        "How many conversations you need to detect a correlation of this size between a judge's scores and people's "
        "scores."
    ),
    "width": gettext_lazy(
        "How many conversations you need for an interval of r as narrow as you want, between a judge's scores and "
        "people's scores."
    ),
    "icc": gettext_lazy(
        "How many conversations you need for a narrow interval of the ICC, with several raters per conversation."
    ),
    "paired": gettext_lazy(
        "How many people you need to detect a difference of this size when the same people use two arms."
    ),
    "dependent": gettext_lazy(
        "How likely a study of this size is to find that one of two judges or strategies agrees better with people. "
        "Both score the same conversations as people do."
    ),
    "discrimination": gettext_lazy(
        "What share of the pairs of models a study of this size tells apart. All these people talk with every model."
    ),
}
ASKED = {
    "correlation": ("r", "power", "alpha"),
    "width": ("r", "half_width", "alpha"),
    "icc": ("icc", "raters", "half_width", "alpha"),
    "paired": ("d", "power", "alpha"),
    "dependent": ("r", "r2", "between", "people", "alpha"),
    "discrimination": ("models", "separation", "people", "alpha"),
}
OF_PEOPLE = ("per_person", "within", "dropout")
PERCENT = "dropout"
FAULTS = ("required", "invalid", "min_value", "max_value")
WHOLE = ("raters", "per_person", "models", "people")
WORDS: dict[str, str | Promise] = {
    "r": gettext_lazy("Expected correlation r"),
    "icc": gettext_lazy("Expected ICC of single ratings"),
    "d": gettext_lazy("Difference d_z: mean of the differences over their standard deviation"),
    "raters": gettext_lazy("Raters per conversation"),
    "half_width": gettext_lazy("Maximum half width of the interval"),
    "power": gettext_lazy("Power: the chance to detect it"),
    "alpha": gettext_lazy("Two-sided level α; the interval has level 1 − α"),
    "per_person": gettext_lazy("Conversations per person"),
    "within": gettext_lazy(
        "ICC within a person (0: one person's conversations differ as much as those of different people)"
    ),
    "dropout": gettext_lazy("Drop-out, in percent"),
    "r2": gettext_lazy("The other judge's correlation with people"),
    "between": gettext_lazy("Correlation between the two judges"),
    "models": gettext_lazy("Models"),
    "separation": gettext_lazy(
        "Variance of the models' means, divided by the variance of single conversations with a model"
    ),
    "people": gettext_lazy("People who complete the study"),
}
LABELS: dict[str, dict[str, str | Promise]] = {  # where a question has other words
    "paired": {"per_person": gettext_lazy("Pairs of conversations per person, one with each arm")},
    "dependent": {"r": gettext_lazy("The first judge's correlation with people")},
    "discrimination": {"per_person": gettext_lazy("Conversations of each person with each model")},
}


class SampleSizeForm(forms.Form):
    """The form of one question. Missing values get defaults, so that it always has an answer."""

    def __init__(self, question: str, values: Any) -> None:
        self.question = question
        usual = {name: default(name) for name in (*ASKED[question], *OF_PEOPLE)}
        super().__init__({**usual, **{name: values[name] for name in usual if name in values}})
        for name in usual:
            self.fields[name] = field_of(name)
            self.fields[name].label = LABELS.get(question, {}).get(name, WORDS[name])

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean()
        for name in ("r", "d"):
            if self.question in ("correlation", "paired") and abs(cleaned.get(name, 1)) < LEAST_EFFECT:
                self.add_error(name, _("A value this small cannot be detected: enter at least %s.") % LEAST_EFFECT)
        if self.question in SIMULATED and not self.errors:
            self.refuse_what_cannot_be_simulated(cleaned)
        return cleaned

    def refuse_what_cannot_be_simulated(self, cleaned: dict[str, Any]) -> None:
        if self.question == "dependent" and not is_possible(cleaned["r"], cleaned["r2"], cleaned["between"]):
            self.add_error("between", _("Three correlations like these cannot occur together."))
        if self.question == "discrimination" and cleaned["within"] == 1:
            self.add_error("within", _("At 1, every difference between two models is the same for all people."))

    def wish(self) -> Wish:
        values = {**self.cleaned_data, PERCENT: self.cleaned_data[PERCENT] / 100}
        if self.question in SIMULATED:
            values["studies"] = STUDIES[self.question]
        return Wish(self.question, **values)


def default(name: str) -> str:
    usual = Wish.__dataclass_fields__[name].default
    return f"{100 * usual if name == PERCENT else usual:g}"


def field_of(name: str) -> forms.Field:
    least, most = (100 * bound if name == PERCENT else bound for bound in BOUNDS[name])
    bounds = _("Enter a number from %(least)s to %(most)s.") % {"least": f"{least:g}", "most": f"{most:g}"}
    kind = forms.IntegerField if name in WHOLE else forms.FloatField
    return kind(
        min_value=least,
        max_value=most,
        error_messages=dict.fromkeys(FAULTS, bounds),
        widget=forms.NumberInput(attrs={"step": "1" if name in WHOLE else "any"}),
    )


@require_GET
@researchers_only
def sample_size(request: HttpRequest) -> HttpResponse:
    question = request.GET.get("question", "")
    question = question if question in TITLES else QUESTIONS[0]
    form = SampleSizeForm(question, request.GET)
    answer = answer_to(form) if form.is_valid() else None
    context = {
        "question": question,
        "questions": list(TITLES.items()),
        "about": ABOUT[question],
        "form": form,
        "chance" if question in SIMULATED else "need": answer,
        "broken": form.is_valid() and answer is None,
        "planned": {"icc": "ICC", "paired": "d_z"}.get(question, "r"),
    }
    status = 200 if form.is_valid() else 422
    return render(request, "studies/research/planner_sample_size.html", context, status=status)


def answer_to(form: SampleSizeForm) -> dict[str, Any] | None:
    """Return the answer; None if the child process failed. Its output is in the server's log."""
    try:
        return compute(json.dumps(asdict(form.wish())))
    except subprocess.SubprocessError as error:
        logger.error("sample size: %s %s", error, error.stderr if hasattr(error, "stderr") else "")
        return None


@lru_cache(maxsize=256)
def compute(wish: str) -> dict[str, Any]:
    """Return the answer to a wish; both are JSON. Raises SubprocessError."""
    child = subprocess.run(  # noqa: S603 - our own program, and nothing of the person's in its arguments
        [sys.executable, "-m", PROGRAM],
        input=wish,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        cwd=settings.BASE_DIR,
        check=True,
    )
    answer: dict[str, Any] = json.loads(child.stdout)
    return answer
