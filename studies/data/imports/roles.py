"""The roles of judges, in the files that bring their ratings and verdicts: a judge has one role."""

from dialogue.judges import probes
from dialogue.judges.roles import BY_CODE
from studies.data.imports.rows import Row
from studies.models import Comparison, Response, Study
from studies.models.response import RaterKind


def get_key(rater: str) -> str:
    """Return the judge's key, without the variant."""
    return rater.partition(probes.SIGN)[0]


def get_roles(study: Study) -> dict[str, str]:
    """Return the role of each judge that has answered, by its key."""
    judged = Response.objects.filter(rater__study=study, rater__kind=RaterKind.JUDGE, is_rating=True)
    compared = Comparison.objects.filter(rater__study=study, rater__kind=RaterKind.JUDGE)
    rows = [
        row
        for answers in (judged, compared)
        for row in answers.exclude(role="").order_by().values_list("rater__code", "role").distinct()
    ]
    return {get_key(code): role for code, role in rows}


def role_of(row: Row) -> str:
    role = row.choice("role", ("", *BY_CODE))
    if role and row.texts["rater_kind"] != RaterKind.JUDGE:
        row.fault("role", f"{role!r}: only judges have one")
    return role
