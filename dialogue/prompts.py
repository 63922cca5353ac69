"""The standing texts of prompts: emostudy's own files, or a study's texts in their place. Pure.

A text can have placeholders, such as `{dialogue}`, for the parts of a question. Parts without a placeholder follow in
a second message, each between tags, as they do with emostudy's own texts.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from dialogue.documents import suggestion
from dialogue.documents import translate as _
from dialogue.providers.base import Message
from dialogue.quoting import quote_answer, quote_part

FOLDER = Path(__file__).resolve().parents[1] / "fixtures" / "prompts"
VERSION = "version:"
FORM = "<output>"  # begins the line that gives the form of the answer
PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
FORM_KEY = re.compile(r'"(\w+)":')
ENDINGS = ("satisfied", "walked_out")
JUDGE, JUDGE_EVALUATOR, JUDGE_RUBRIC = "judge", "judge_evaluator", "judge_rubric"
OF_ROLES = (JUDGE, JUDGE_EVALUATOR, JUDGE_RUBRIC)  # of judges
OF_CONVERSATION = ("dialogue", "profile", "inner_states", "scope", "items")
PLACEHOLDERS: Mapping[str, Sequence[str]] = {  # of each prompt that a study can word itself
    "supporter": ("profile",),
    "supporter_opens": (),
    JUDGE: OF_CONVERSATION,
    JUDGE_EVALUATOR: OF_CONVERSATION,
    JUDGE_RUBRIC: OF_CONVERSATION,
    "judge_pairs": ("first_dialogue", "second_dialogue", "scope", "items"),
    "last_reply": (),
    "thinker": ("dialogue", "profile"),
    "repair": ("answer",),
    "reminder": (),
    "seeker_thinker": ("profile", "memory", "behaviour"),
    "seeker_talker": ("profile", "dialogue", "thought", "behaviour", *ENDINGS),
    "seeker_one_agent": ("profile", "dialogue", "behaviour", *ENDINGS),
    "seeker_reviewer": ("profile", "behaviour", "dialogue"),
    "seeker_evaluator": OF_CONVERSATION,
    "profile_writer": ("person", "answers"),
    "profile_expander": ("seed", "person"),
    "profile_validator": ("profile",),
}
WRITTEN_BY_RESEARCHERS = ("items", "scope", "behaviour")  # parts that hold nothing that a person or a model wrote
WITH_FORM = (  # the others get it with each question
    "thinker",
    "seeker_thinker",
    "seeker_reviewer",
    "profile_writer",
    "profile_expander",
    "profile_validator",
)

Part = tuple[str, Sequence[str] | None]  # a part's name and its lines; None for a part that is not shown


@dataclass(frozen=True)
class StandingText:
    """A standing text. `label` is kept with each answer: `judge.en/1`, or `judge.en/own-1f0c2a9b` of a study's own."""

    label: str
    text: str

    @property
    def digest(self) -> str:
        """Return the beginning of the text's SHA-256."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:8]


@dataclass(frozen=True)
class PromptFile:
    version: str  # "" where the file names none
    text: str


def mark_digest(label: str, standing: StandingText) -> str:
    """Return what exported ratings call the text by which a model was asked: `judge.en/1#1f0c2a9b`."""
    return f"{label}#{standing.digest}"


@dataclass(frozen=True)
class Prompts:
    """The prompts of a study. `own`: its own texts by name and language; the language "" stands for all."""

    own: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def get(self, name: str, language: str, folder: Path = FOLDER) -> StandingText:
        """Return a standing text; the study's own, or else that of the file NAME.LANGUAGE.txt in `folder`."""
        texts = self.own.get(name, {})
        if text := texts.get(language) or texts.get(""):
            return StandingText(f"{name}.{language}/own-{StandingText('', text).digest}", text)
        file = _read_once(folder / f"{name}.{language}.txt")
        return StandingText(f"{name}.{language}/{file.version}", file.text)

    def choose(self, name: str, usual: str) -> str:
        """Return the name where the study has a text of that name, else the usual one."""
        return name if name in self.own else usual


DEFAULTS = Prompts()


def read_prompt(path: Path) -> PromptFile:
    """Read a prompt file; a first line `version: …` is its version and not part of the text."""
    text = path.read_text(encoding="utf-8-sig").strip()
    first, _, rest = text.partition("\n")
    if first.startswith(VERSION):
        return PromptFile(first.removeprefix(VERSION).strip(), rest.strip())
    return PromptFile("", text)


@cache
def _read_once(path: Path) -> PromptFile:
    return read_prompt(path)


def build_messages(text: str, parts: Sequence[Part], end: Sequence[str] = ()) -> list[Message]:
    """Return the text with the parts that it has placeholders for, then a message with the other parts and the end.

    Parts are filled in at once, so a placeholder within someone's words stays as it is. What looks like a tag in them
    is quoted, so they cannot end their part.
    """
    parts = [(name, texts and [_quote(name, line) for line in texts]) for name, texts in parts]
    lines = {name: "\n".join(texts or ()) for name, texts in parts}
    placed = set(PLACEHOLDER.findall(text)) & lines.keys()
    filled = PLACEHOLDER.sub(lambda match: lines.get(match[1], match[0]), text)
    rest = [line for name, texts in parts if name not in placed and texts is not None for line in _tag(name, texts)]
    rest += end
    return [Message("system", filled), Message("user", "\n".join(rest))] if rest else [Message("user", filled)]


def _quote(name: str, text: str) -> str:
    if name in WRITTEN_BY_RESEARCHERS:
        return text
    return quote_answer(text) if name == "answer" else quote_part(text)


def _tag(name: str, lines: Sequence[str]) -> list[str]:
    return [f"<{name}>", *lines, f"</{name}>"]


def find_faults(name: str, text: str) -> Iterator[str]:
    """Yield what is wrong with a text that stands for the prompt of this name."""
    placeholders = placeholders_of(name)
    for placeholder in dict.fromkeys(PLACEHOLDER.findall(text)):
        if placeholder not in placeholders:
            message = _("{%(name)s} is not a placeholder of this prompt", name=placeholder)
            yield f"{message}{suggestion(placeholder, placeholders) or '.'} {_list_placeholders(placeholders)}"
    if name in WITH_FORM:
        form = next((line for line in text.splitlines() if line.startswith(FORM)), "")
        needed = FORM_KEY.findall(_form_of_default(name))
        if not form:
            usual = _form_of_default(name)
            yield _(
                "needs a line that begins with %(form)s and shows the form of the answer, such as %(usual)s",
                form=FORM,
                usual=usual,
            )
        elif missing := [key for key in needed if f'"{key}"' not in form]:
            yield _("the line that begins with %(form)s lacks %(missing)s", form=FORM, missing=", ".join(missing))


def is_of_judge(name: str) -> bool:
    """Return whether this is the prompt of judges in one role, or with one strategy (`judge_STRATEGY`)."""
    return name in OF_ROLES or (name.startswith(f"{JUDGE}_") and name not in PLACEHOLDERS)


def placeholders_of(name: str) -> Sequence[str]:
    """Return the placeholders of a prompt. That of judges with one strategy has those of `judge`."""
    return PLACEHOLDERS[name] if name in PLACEHOLDERS else PLACEHOLDERS[JUDGE]


def _list_placeholders(placeholders: Sequence[str]) -> str:
    if not placeholders:
        return _("It has none")
    return _("It has %(placeholders)s", placeholders=", ".join(f"{{{one}}}" for one in placeholders))


def _form_of_default(name: str) -> str:
    text = DEFAULTS.get(name, "en").text
    return next(line for line in text.splitlines() if line.startswith(FORM))
