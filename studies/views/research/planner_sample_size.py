"""How many people and conversations a study yet to come needs. The numbers come from a child process: scipy is not for
the server's."""

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

from studies.analysis.planning import BOUNDS, LEAST_EFFECT, QUESTIONS, Wish
from studies.views.research.access import researchers_only

logger = logging.getLogger(__name__)

PROGRAM = "studies.analysis.planning.sample_size"
PATIENCE = 30  # seconds
TITLES = {
    "correlation": gettext_lazy("Find a correlation"),
    "width": gettext_lazy("Measure a correlation narrowly"),
    "icc": gettext_lazy("Measure how far raters agree"),
    "paired": gettext_lazy("Find a difference within people"),
}
ABOUT = {
    "correlation": gettext_lazy("A judge's scores and people's: so many that a correlation of this size is found."),
    "width": gettext_lazy("A judge's scores and people's: so many that the interval of r is as narrow as you want it."),
    "icc": gettext_lazy("Several raters of the same conversations: so many that the interval of the ICC is narrow."),
    "paired": gettext_lazy("The same people with two arms: so many that a difference of this size is found."),
}
ASKED = {
    "correlation": ("r", "power", "alpha"),
    "width": ("r", "half_width", "alpha"),
    "icc": ("icc", "raters", "half_width", "alpha"),
    "paired": ("d", "power", "alpha"),
}
OF_PEOPLE = ("per_person", "within", "dropout")
PERCENT = "dropout"
FAULTS = ("required", "invalid", "min_value", "max_value")
WHOLE = ("raters", "per_person")
WORDS: dict[str, str | Promise] = {
    "r": gettext_lazy("Correlation r that you expect"),
    "icc": gettext_lazy("ICC of single ratings that you expect"),
    "d": gettext_lazy("Difference d_z: mean of the differences over their standard deviation"),
    "raters": gettext_lazy("Raters of each conversation"),
    "half_width": gettext_lazy("Half width of the interval, at most"),
    "power": gettext_lazy("Power: the chance to find it"),
    "alpha": gettext_lazy("Two-sided level α; the interval has level 1 − α"),
    "per_person": gettext_lazy("Conversations of each person"),
    "within": gettext_lazy("ICC within a person (0: a person's conversations are as different as those of two people)"),
    "dropout": gettext_lazy("Drop-out, in percent"),
}


class SampleSizeForm(forms.Form):
    """Of one question. What the address leaves out is as usual, so that it always has an answer."""

    def __init__(self, question: str, given: Any) -> None:
        self.question = question
        usual = {name: default(name) for name in (*ASKED[question], *OF_PEOPLE)}
        super().__init__({**usual, **{name: given[name] for name in usual if name in given}})
        for name in usual:
            self.fields[name] = field_of(name)
        if question == "paired":
            self.fields["per_person"].label = _("Pairs of conversations of each person, one with either arm")

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean()
        for name in ("r", "d"):
            if self.question in ("correlation", "paired") and abs(cleaned.get(name, 1)) < LEAST_EFFECT:
                self.add_error(name, _("So small a value cannot be found: give at least %s.") % LEAST_EFFECT)
        return cleaned

    def wish(self) -> Wish:
        given = dict(self.cleaned_data)
        return Wish(self.question, **{**given, PERCENT: given[PERCENT] / 100})


def default(name: str) -> str:
    usual = Wish.__dataclass_fields__[name].default
    return f"{100 * usual if name == PERCENT else usual:g}"


def field_of(name: str) -> forms.Field:
    least, most = (100 * bound if name == PERCENT else bound for bound in BOUNDS[name])
    bounds = _("Give a number from %(least)s to %(most)s.") % {"least": f"{least:g}", "most": f"{most:g}"}
    kind = forms.IntegerField if name in WHOLE else forms.FloatField
    return kind(
        label=WORDS[name],
        min_value=least,
        max_value=most,
        error_messages=dict.fromkeys(FAULTS, bounds),
        widget=forms.NumberInput(attrs={"step": "1" if name in WHOLE else "any"}),
    )


@require_GET
@researchers_only
def sample_size(request: HttpRequest) -> HttpResponse:
    question = request.GET.get("question", "")
    question = question if question in QUESTIONS else QUESTIONS[0]
    form = SampleSizeForm(question, request.GET)
    found = need_of(form) if form.is_valid() else None
    context = {
        "question": question,
        "questions": list(TITLES.items()),
        "about": ABOUT[question],
        "form": form,
        "need": found,
        "broken": form.is_valid() and found is None,
        "planned": {"icc": "ICC", "paired": "d_z"}.get(question, "r"),
    }
    status = 200 if form.is_valid() else 422
    return render(request, "studies/research/planner_sample_size.html", context, status=status)


def need_of(form: SampleSizeForm) -> dict[str, Any] | None:
    """None where the child failed; what it said is in the server's log."""
    try:
        return computed(json.dumps(asdict(form.wish())))
    except subprocess.SubprocessError as error:
        logger.error("sample size: %s %s", error, error.stderr if hasattr(error, "stderr") else "")
        return None


@lru_cache(maxsize=256)
def computed(wish: str) -> dict[str, Any]:
    """`wish` and what comes back are JSON. Raises SubprocessError."""
    child = subprocess.run(  # noqa: S603 - our own program, and nothing of the person's in its arguments
        [sys.executable, "-m", PROGRAM],
        input=wish,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        cwd=settings.BASE_DIR,
        check=True,
    )
    found: dict[str, Any] = json.loads(child.stdout)
    return found
