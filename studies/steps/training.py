from collections.abc import Sequence

from django.db import transaction
from django.utils.translation import gettext_lazy

from studies.instruments.definitions import Questionnaire
from studies.instruments.forms import InstrumentForm
from studies.instruments.loading import load
from studies.instruments.quiz import QuizResult, mark
from studies.models.participation import Status
from studies.participation import progress
from studies.participation.step_kinds import Page, StepKind, Visit, register
from studies.participation.submissions import NeedsCorrection
from studies.steps.questionnaire import form_of, keep_form


class Training(StepKind):
    """Guide, sample dialogues and a quiz about the procedure. After the last attempt a researcher decides; no one is
    excluded by a quiz."""

    label = gettext_lazy("Training")
    minutes = 6.0

    def show(self, visit: Visit) -> Page:
        quiz = load(visit.step.instrument)
        form = form_of(visit, data=visit.answers_to_correct())
        mark_wrong(form, quiz, visit.faults(), language=visit.language)
        context = {
            "form": form,
            "is_tried": bool(visit.faults()),
            "questionnaire": quiz,
            "samples": quiz.raw["sample_dialogues"],
            "chat": visit.spec.chat.for_track(visit.participation.track),
            "arms": visit.spec.arms_per_person(visit.participation.track),
            "lang": visit.language,
        }
        return Page("studies/steps/training.html", context)

    def accept(self, visit: Visit) -> bool:
        form = form_of(visit, data=visit.request.POST)
        if not form.is_valid():
            raise NeedsCorrection
        quiz = load(visit.step.instrument)
        result = mark(quiz, form.given_answers(), track=visit.track)
        visit.participation.quiz_attempts += 1
        visit.participation.save(update_fields=["quiz_attempts"])
        last = visit.participation.quiz_attempts >= quiz.raw["pass_rule"]["attempts"]
        if not result.passed and not last:
            raise NeedsCorrection(result.wrong, counts=True)
        self.finish(visit, form, result)
        return True

    @transaction.atomic
    def finish(self, visit: Visit, form: InstrumentForm, result: QuizResult) -> None:
        keep_form(visit, form)
        moved = progress.advance(visit.participation, done=visit.step)
        if moved and not result.passed:
            progress.set_status(visit.participation, Status.IN_REVIEW)


def mark_wrong(form: InstrumentForm, quiz: Questionnaire, wrong: Sequence[str], *, language: str) -> None:
    """Add to each question that was answered wrongly the hint of its file."""
    for question in (*quiz.raw["questions"], *quiz.raw["expert_questions"]):
        if question["id"] in wrong:
            form.add_error(question["id"], question["feedback"][language])


register("training", Training())
