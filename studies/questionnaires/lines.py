"""Read the boxes of the form, one question or label a line and one box a language, as questions and labels. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dialogue.documents import translate as _
from dialogue.languages import LANGUAGES
from studies.instruments.definitions import Text
from studies.questionnaires.document import OPEN, SCALE, YES_NO, Question

KEY = re.compile(r"([a-z][a-z0-9_]*)\s*[:：]\s*(?=\S)")
REVERSED, OPTIONAL = "r", "optional"
MARKS = {  # as people write them
    "r": REVERSED,
    "反向": REVERSED,
    "open": OPEN,
    "开放": OPEN,
    "yes/no": YES_NO,
    "是/否": YES_NO,
    "optional": OPTIONAL,
    "选填": OPTIONAL,
}
ANY_MARK = "|".join(MARKS).replace("/", "[/／]")
MARK = re.compile(rf"\s*[(（]\s*((?ai:{ANY_MARK}))\s*[)）]\s*$")
LONGEST_KEY = 40
LONGEST_LINE = 1000
MOST_QUESTIONS = 200
SHOWN = 40  # characters of a line that a message repeats
NAMES = {language.code: language.name for language in LANGUAGES}


class LinesError(Exception):
    """A fault in the box of a language."""

    def __init__(self, language: str, message: str) -> None:
        super().__init__(message)
        self.language = language


@dataclass(frozen=True)
class Line:
    """A line of one box without its key and its marks."""

    text: str
    key: str
    marks: frozenset[str]


def split_lines(text: str) -> list[str]:
    """Return the lines that say something."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def pair_lines(boxes: Mapping[str, str]) -> list[Text]:
    """Return the lines that stand side by side. Raise LinesError where one has no counterpart."""
    lines = {language: split_lines(text) for language, text in boxes.items()}
    longest = max(lines, key=lambda language: len(lines[language]))
    for language, own in lines.items():
        if len(own) < len(lines[longest]):
            message = _(
                'line %(number)s in %(language)s, "%(line)s", has no counterpart here',
                number=len(own) + 1,
                language=NAMES[longest],
                line=lines[longest][len(own)][:SHOWN],
            )
            raise LinesError(language, message)
        for number, line in enumerate(own, 1):
            if len(line) > LONGEST_LINE:
                message = _("line %(number)s has more than %(limit)s characters", number=number, limit=LONGEST_LINE)
                raise LinesError(language, message)
    return [dict(zip(lines, texts, strict=True)) for texts in zip(*lines.values(), strict=True)]


def read_questions(boxes: Mapping[str, str]) -> list[Question]:
    """Return the questions. Key and marks may stand in any of the boxes. Raise LinesError."""
    pairs = pair_lines(boxes)
    first = next(iter(boxes))
    if len(pairs) > MOST_QUESTIONS:
        raise LinesError(first, _("has more than %(limit)s questions", limit=MOST_QUESTIONS))
    questions = [read_question(number, texts) for number, texts in enumerate(pairs, 1)]
    numbers: dict[str, int] = {}
    for number, question in enumerate(questions, 1):
        if numbers.setdefault(question.key, number) != number:
            message = _(
                'lines %(first)s and %(second)s have the same key, "%(key)s"',
                first=numbers[question.key],
                second=number,
                key=question.key,
            )
            raise LinesError(first, message)
    return questions


def read_question(number: int, texts: Text) -> Question:
    lines = {language: read_line(text) for language, text in texts.items()}
    for language, line in lines.items():
        if not line.text:
            raise LinesError(language, _("line %(number)s has a mark, but no question", number=number))
    keys = {line.key: language for language, line in lines.items() if line.key}
    if len(keys) > 1:
        message = _("line %(number)s has different keys: %(keys)s", number=number, keys=", ".join(keys))
        raise LinesError(list(keys.values())[-1], message)
    key = next(iter(keys), f"q{number}")
    language = keys.get(key, next(iter(texts)))
    if len(key) > LONGEST_KEY:
        message = _("the key of line %(number)s has more than %(limit)s characters", number=number, limit=LONGEST_KEY)
        raise LinesError(language, message)
    marks = frozenset[str]().union(*(line.marks for line in lines.values()))
    if len(marks - {OPTIONAL}) > 1:
        message = _("line %(number)s has marks that exclude each other: %(marks)s", number=number, marks=list_of(marks))
        raise LinesError(next(iter(texts)), message)
    answer = next(iter(marks & {OPEN, YES_NO}), SCALE)
    texts = {code: line.text for code, line in lines.items()}
    return Question(key, texts, answer, is_reversed=REVERSED in marks, is_optional=OPTIONAL in marks)


def list_of(marks: frozenset[str]) -> str:
    return ", ".join(f"({mark.upper() if mark == REVERSED else mark})" for mark in sorted(marks))


def read_line(text: str) -> Line:
    """Return a line without its key in front and its marks at the end."""
    marks = set()
    while mark := MARK.search(text):
        marks.add(MARKS[mark[1].lower().replace("／", "/")])
        text = text[: mark.start()]
    key = KEY.match(text)
    return Line(text[key.end() :] if key else text, key[1] if key else "", frozenset(marks))


def write_lines(questions: Sequence[Question], language: str, *, with_marks: bool) -> str:
    """Return the box of one language. Keys and marks stand in one of them."""
    return "\n".join(
        f"{write_key(number, question)}{question.text[language]}{write_mark(question)}"
        if with_marks
        else question.text[language]
        for number, question in enumerate(questions, 1)
    )


def write_key(number: int, question: Question) -> str:
    return "" if question.key == f"q{number}" else f"{question.key}: "


def write_mark(question: Question) -> str:
    marks = ["R"] if question.is_reversed else [] if question.answer == SCALE else [question.answer]
    marks += [OPTIONAL] if question.is_optional else []
    return "".join(f" ({mark})" for mark in marks)
