"""The languages that the product speaks. This is the one place that names them; all else asks here. Pure.

To add one, add a line to LANGUAGES and its texts: see "A language" in docs/developers.md.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Language:
    """A language under all the names that it has."""

    code: str  # in study files, instruments, prompt files and exported columns
    django: str  # in Django, in lower case
    html: str  # in the attribute `lang`
    catalogue: str  # the folder below locale/; empty for the language of the source
    name: str  # what it calls itself
    short_name: str  # the same in a few characters, for a button
    english_name: str  # a message of the catalogue
    spaces: bool = True  # words and sentences have spaces between them, so words can be counted
    comma: str = ", "  # between the members of a list
    semicolon: str = "; "  # between longer ones
    clause_comma: str = ", "  # between the parts of a sentence
    colon: str = ": "
    brackets: tuple[str, str] = (" (", ")")  # behind a word

    def bracket(self, text: str) -> str:
        """Return a text in brackets, to be put behind a word."""
        opening, closing = self.brackets
        return f"{opening}{text}{closing}"


def gettext_noop(message: str) -> str:
    """Return the text as it is. It is marked for the catalogue."""
    return message


LANGUAGES = (
    Language("en", "en", "en", "", "English", "English", gettext_noop("English")),
    Language(
        "zh",
        "zh-hans",
        "zh-Hans",
        "zh_Hans",
        "简体中文",
        "中文",
        gettext_noop("Chinese"),
        spaces=False,
        comma="、",
        semicolon="；",
        clause_comma="，",
        colon="：",
        brackets=("（", "）"),
    ),
)
CODES = tuple(language.code for language in LANGUAGES)
FIRST = LANGUAGES[0]


def get_language(code: str) -> Language:
    """Return the language of any of its codes, also with a region: `zh`, `zh-hans`, `zh-CN`. The first if unknown."""
    lowered = code.lower().replace("_", "-")
    for language in LANGUAGES:
        if lowered in (language.code, language.django):
            return language
    return next((one for one in LANGUAGES if one.code == lowered.partition("-")[0]), FIRST)


def get_code(code: str) -> str:
    """Return the code under which we have texts for a language, as `get_language` finds it."""
    return get_language(code).code
