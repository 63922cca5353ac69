"""The kinds of step that belong to no feature; `load_kinds` registers all kinds of the product."""

from importlib import import_module

MODULES = (
    "studies.steps.choose_language",
    "studies.steps.screening",
    "studies.steps.consent",
    "studies.steps.training",
    "studies.steps.questionnaire",
    "studies.steps.aftercare",
    "studies.steps.help_lines",
    "studies.steps.between",
    "studies.steps.stalled",
    "studies.steps.chat",
    "studies.steps.blinding",
    "studies.steps.debrief",
    "studies.steps.notices",
    "studies.interviews.step",
    "studies.second_raters.review_step",
    "studies.second_raters.comparison_step",
)


def load_kinds() -> None:
    """Register every kind of step. To add one, write a module that registers it, a template and a line here."""
    for name in MODULES:
        import_module(name)
