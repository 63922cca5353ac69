from django.utils.translation import gettext_lazy

from dialogue.languages import get_language
from studies.participation import progress
from studies.participation.language import remember_language
from studies.participation.step_kinds import Page, StepKind, Visit, register
from studies.participation.submissions import NeedsCorrection


class ChooseLanguage(StepKind):
    label = gettext_lazy("Language")
    minutes = 0.5

    def show(self, visit: Visit) -> Page:
        languages = [(code, get_language(code).name) for code in visit.spec.languages]
        return Page("studies/steps/language.html", {"languages": languages})

    def accept(self, visit: Visit) -> bool:
        language = visit.request.POST.get("language", "")
        if language not in visit.spec.languages:
            raise NeedsCorrection
        visit.participation.language = language
        visit.participation.save(update_fields=["language"])
        remember_language(visit.request, language)
        progress.advance(visit.participation, done=visit.step)
        return True


register("language", ChooseLanguage())
