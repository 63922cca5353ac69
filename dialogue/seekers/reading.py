"""Read the answers of the seeker's models as thoughts or utterances. Unreadable answers become `Unread`. Pure."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

from dialogue.judges.parsing import Reason, Unscored, parse_state

End = Literal["", "walked_out", "satisfied"]

# The end markers of seeker_behaviours.json (EmoHarbor, Section 3.3), by why the seeker leaves. The types are ours.
END_PHRASES: Mapping[str, Mapping[End, tuple[str, ...]]] = {
    "en": {"satisfied": ("Goodbye", "Bye"), "walked_out": ("That's all", "I don't want to continue")},
    "zh": {"satisfied": ("再见", "拜拜"), "walked_out": ("就这样吧", "我不想继续了")},
}

LABEL = re.compile(r"^(?:\[\d+\]\s*)?(?:seeker|user|client|来访者|求助者|用户)\s*[:：]\s*(?=\S)", re.IGNORECASE)
QUOTES = (("“", "”"), ('"', '"'), ("「", "」"), ("『", "』"), ("‘", "’"))
DIRECTIONS = (("**", "**"), ("*", "*"), ("（", "）"), ("(", ")"), ("[", "]"), ("【", "】"))
DOTS = re.compile(r"[\s.…。·—–~～-]+")
SILENCE = re.compile(
    r"(?:a )?(?:long |short )?(?:silen(?:ce|t)|pause|no (?:answer|reply))|(?:say|stay|remain)s (?:nothing|silent)"
    r"|(?:长久的?|短暂的?|长时间)?(?:沉默|停顿|无言)(?:不语|了?(?:一会儿|很久|片刻))?|不说话|没有?说话|没有?回[答复应]|不[答语]",
    re.IGNORECASE,
)
AFTER_PHRASE = " .!。！~～…*_"
SENTENCE_END = re.compile(r"(?<=[.!?。！？…])")
APOSTROPHES = str.maketrans("’‘`´", "''''")


@dataclass(frozen=True)
class Thought:
    """A Thinker's state. `emotion_score` is from 0 (as bad as can be) to 100 (as good as can be)."""

    cognition: str
    emotion: str
    goal: str
    emotion_score: int


@dataclass(frozen=True)
class Unread:
    reason: Reason | Literal["unknown_kind", "no_turn"]


@dataclass(frozen=True)
class Utterance:
    """A message of the seeker. `misused`: a closing phrase stands where it does not end the conversation, or beside
    another one."""

    text: str
    end: End = ""
    misused: bool = False

    @property
    def silent(self) -> bool:
        """Return whether nothing is said: dots, or a bare note of silence. An empty text is no silence but a missing
        answer."""
        return bool(self.text) and (bool(DOTS.fullmatch(self.text)) or _is_silence(self.text))


def read_thought(text: str) -> Thought | Unread:
    """Read a thought, as tolerantly as the judges' parser."""
    state = parse_state(text)
    return Unread(state.reason) if isinstance(state, Unscored) else Thought(**state)


def read_utterance(text: str, language: str) -> Utterance:
    """Read what the seeker says aloud.

    A label before it, and quotation marks or marks of a stage direction around all of it, are removed; nothing else is.
    The conversation ends if one of the given phrases is the last line by itself. Within a sentence it ends nothing.
    """
    speech = _strip_marks(text)
    lines = [line for line in speech.split("\n") if line.strip()]
    phrases = [_phrase(line, language) for line in lines]
    end: End = phrases[-1] if phrases else ""
    alone = sum(map(bool, phrases))
    misused = alone > 1 or (alone == 1 and not end) or (not end and _trails_off(lines, language))
    return Utterance(speech, end, misused)


def _phrase(line: str, language: str) -> End:
    return _ends(language).get(_normalise(line), "")


def _trails_off(lines: list[str], language: str) -> bool:
    """Return whether the last line closes with a phrase as its last sentence, after others: `Okay then. Bye.`"""
    sentences = [part for part in SENTENCE_END.split(lines[-1]) if part.strip(AFTER_PHRASE)] if lines else []
    return bool(sentences) and bool(_phrase(sentences[-1], language))


@cache
def _ends(language: str) -> Mapping[str, End]:
    return {_normalise(phrase): end for end, several in END_PHRASES[language].items() for phrase in several}


def _normalise(text: str) -> str:
    narrow = unicodedata.normalize("NFKC", text.translate(APOSTROPHES)).casefold()
    return " ".join(narrow.split()).strip(AFTER_PHRASE)


def _strip_marks(text: str) -> str:
    speech = text.strip()
    while (inner := _unwrap(LABEL.sub("", speech, count=1)).strip()) != speech:
        speech = inner
    return speech


def _unwrap(speech: str) -> str:
    if _is_silence(speech):
        return speech
    return next((inner for marks in (*QUOTES, *DIRECTIONS) if (inner := _inside(speech, *marks))), speech)


def _is_silence(speech: str) -> bool:
    """Return whether a text is a stage direction that only says that nothing is said."""
    return any(SILENCE.fullmatch(_normalise(_inside(speech, *marks))) for marks in DIRECTIONS)


def _inside(speech: str, opening: str, closing: str) -> str:
    """Return the text within the marks if they stand around all of it and nowhere in it; else empty."""
    if not (speech.startswith(opening) and speech.endswith(closing)):
        return ""
    inner = speech[len(opening) : -len(closing)]
    return "" if opening in inner or closing in inner else inner.strip()
