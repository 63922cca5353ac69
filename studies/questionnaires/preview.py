"""A questionnaire as the people who answer it see it, in every language."""

from dataclasses import dataclass

from django.template.loader import render_to_string
from django.utils import translation
from django.utils.translation import gettext as _

from dialogue.languages import LANGUAGES
from studies.instruments.definitions import Item, Questionnaire
from studies.instruments.forms import form_for
from studies.instruments.wording import placeholders
from studies.participation.language import CODES, instrument_language
from studies.participation.responses import is_rating

BLANK = "…"  # stands for what only a study can say


@dataclass(frozen=True)
class Preview:
    """A whole page for a frame."""

    language: str
    html: str


@dataclass(frozen=True)
class StoredItem:
    """How the answers to a question are stored."""

    key: str
    question: str
    stored_as: str


def preview_in_all(questionnaire: Questionnaire) -> list[Preview]:
    return [Preview(language.name, preview_in(questionnaire, language.code)) for language in LANGUAGES]


def preview_in(questionnaire: Questionnaire, language: str) -> str:
    texts = [item.text[language] for item in questionnaire.items]
    values = {name: BLANK for text in texts for name in placeholders(text)}
    with translation.override(CODES[language]):
        form = form_for(questionnaire, language=language, values=values, reasons=is_rating(questionnaire))
        context = {"questionnaire": questionnaire, "form": form}
        return render_to_string("studies/research/questionnaire_frame.html", context)


def list_stored_items(questionnaire: Questionnaire) -> list[StoredItem]:
    language = instrument_language()
    return [StoredItem(item.key, item.text[language], describe_values(item)) for item in questionnaire.items]


def describe_values(item: Item) -> str:
    """Return what stands in exported files for an answer."""
    if item.minimum is not None and item.maximum is not None:
        text = _("%(low)s to %(high)s") % {"low": item.minimum, "high": item.maximum}
        return _("%(values)s, reversed in the score") % {"values": text} if item.reverse else text
    if item.options:
        return ", ".join(str(option.value) for option in item.options)
    return _("the words")
