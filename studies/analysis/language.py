"""The language a report is written in: the catalogue of the site, read by Python's own gettext.

Messages are marked as on the pages, so that the same command finds them; nothing of Django is imported.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from gettext import NullTranslations, translation
from pathlib import Path

from dialogue.languages import FIRST, LANGUAGES, Language, get_language

LOCALE = Path(__file__).resolve().parents[2] / "locale"
ENGLISH = FIRST.html
CATALOGUES = {language.html: language.catalogue for language in LANGUAGES if language.catalogue}

_spoken: ContextVar[tuple[str, NullTranslations]] = ContextVar("spoken", default=(ENGLISH, NullTranslations()))


@contextmanager
def speaking(language: str) -> Iterator[None]:
    """Speak this language until the block ends; a text that the catalogue lacks is in English."""
    catalogues = [CATALOGUES[language]] if language in CATALOGUES else []
    texts = translation("django", LOCALE, catalogues, fallback=True) if catalogues else NullTranslations()
    token = _spoken.set((language, texts))
    try:
        yield
    finally:
        _spoken.reset(token)


def current_language() -> str:
    """Return the language as HTML names it."""
    return _spoken.get()[0]


def spoken_language() -> Language:
    return get_language(current_language())


def join_with_commas(texts: Iterable[str]) -> str:
    """Return the texts that are not empty as a list, with the language's own comma."""
    return spoken_language().comma.join(filter(None, texts))


def join_clauses(texts: Iterable[str]) -> str:
    """Return the texts that are not empty as parts of a sentence, such as an estimate and its p."""
    return spoken_language().clause_comma.join(filter(None, texts))


def join_with_semicolons(texts: Iterable[str]) -> str:
    """Return the texts that are not empty as a list of longer members."""
    return spoken_language().semicolon.join(filter(None, texts))


def report_file(language: Language) -> str:
    """Return the name of the report's file in a language."""
    return "report.html" if language == FIRST else f"report.{language.code}.html"


def gettext(message: str) -> str:
    return _spoken.get()[1].gettext(message) if message else ""


def ngettext(one: str, several: str, count: int) -> str:
    return _spoken.get()[1].ngettext(one, several, count)


def gettext_noop(message: str) -> str:
    """Mark a text that is translated where it is shown, and return it as it is."""
    return message
