"""The roles of judges: as whom a judge rates a conversation. Pure.

A judge of a study file has one role, so its key separates its scores from those of any other role.
"""

from dataclasses import dataclass

from dialogue.judges.strategies.base import gettext_noop
from dialogue.prompts import JUDGE, JUDGE_EVALUATOR, JUDGE_RUBRIC


@dataclass(frozen=True)
class Role:
    """A role: its name in study files, and what a judge in it reads."""

    name: str
    code: str  # in exported files and tables of results
    prompt: str  # the standing text is the file PROMPT.LANGUAGE.txt
    third_person: bool  # whether the items ask about the seeker, and not about "you"
    label: str  # translated where it is shown


SEEKER = Role("seeker", "seeker", JUDGE, False, gettext_noop("as the seeker"))
EVALUATOR = Role("evaluator", "evaluator", JUDGE_EVALUATOR, True, gettext_noop("as an outside evaluator"))
RUBRIC = Role("rubric", "third_person", JUDGE_RUBRIC, True, gettext_noop("by the third-person rubric"))
ROLES = {role.name: role for role in (SEEKER, EVALUATOR, RUBRIC)}
BY_CODE = {role.code: role for role in ROLES.values()}
