"""Applicants for the tests: people who have answered the screening, and wait."""

from typing import Any

from studies.models import Participation, Study
from tests import factories

MATTER = "My manager moved me to another team without a word. I feel pushed aside and would like to be heard."
PLAN = [{"kind": kind, "key": kind} for kind in ("screening", "selection", "consent", "debrief")]
SCREENING = {
    "age": 30.0,
    "fluency": 5.0,
    "llm_experience": "weekly",
    "issue_category": "work",
    "issue_text": MATTER,
    "suicidal_2w": "no",
    "treatment": "stable",
    "support_person": "yes",
}
PROFILE = {"gender": "woman", "age_band": "25_34", "occupation": "gardener"}


def applicant(study: Study, *, gender: str = "woman", kind: str = "eligible", **answers: Any) -> Participation:
    """Someone at the selection; `answers` are those of the screening that differ."""
    person = factories.person(
        study, plan=PLAN, position=1, order=[], status="in_review", outcome={"kind": kind, "reasons": [], "flags": []}
    )
    factories.answer(person, "screening", {**SCREENING, **answers})
    factories.answer(person, "profile", {**PROFILE, "gender": gender})
    return person
