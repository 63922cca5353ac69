"""The kinds of step, by the name that a plan gives them. Adding one is a module and a line here."""

from studies.interviews import step
from studies.second_raters import comparison_step, review_step
from studies.steps import (
    between,
    blinding,
    chat,
    choose_language,
    consent,
    debrief,
    ended,
    questionnaire,
    screening,
    stalled,
    training,
)
from studies.steps.base import StepKind

KINDS: dict[str, StepKind] = {
    "language": choose_language.ChooseLanguage(),
    "screening": screening.Screening(),
    "consent": consent.AskConsent(),
    "training": training.Training(),
    "questionnaire": questionnaire.Answer(),
    "rating": questionnaire.Answer(),
    "between": between.Between(),
    "chats": stalled.Stalled(),
    "chat": chat.Chat(),
    "blinding": blinding.Blinding(),
    "interview": step.Interviewing(),
    "reviews": review_step.RateOthers(),
    "pairs": comparison_step.Compare(),
    "debrief": debrief.Debrief(),
    "held": ended.Notice("studies/steps/held.html"),
    "review": ended.Notice("studies/steps/review.html"),
    "screened_out": ended.Notice("studies/steps/screened_out.html"),
    "stopped": ended.Notice("studies/steps/stopped.html"),
    "timed_out": ended.Notice("studies/steps/timed_out.html"),
    "withdrawn": ended.Notice("studies/steps/withdrawn.html"),
}

__all__ = ["KINDS"]
