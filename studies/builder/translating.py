"""A language that a draft gets later: one text for all languages becomes the text of those that it was written for."""

from collections.abc import Iterable, Sequence

from dialogue.schema import check_email
from studies.builder.document import StudyDocument
from studies.builder.fields import WORDS, Field


def leave_to_translate(document: StudyDocument, fields: Iterable[Field], earlier: Sequence[str]) -> None:
    """Write each text that has one wording for all languages as one in the earlier languages.

    In the others it is then missing, so that no one reads it in a language that is not theirs.
    """
    for one in fields:
        if one.kind == WORDS and isinstance(one.value, str) and is_of_a_language(one.value):
            document.set(one.place, dict.fromkeys(earlier, one.value))


def is_of_a_language(text: str) -> bool:
    """Return whether a text has words: not a number, a day or a phone number, and no address."""
    return any(sign.isalpha() for sign in text) and not text.startswith(("http://", "https://")) and not is_email(text)


def is_email(text: str) -> bool:
    try:
        check_email(text)
    except ValueError:
        return False
    return True
