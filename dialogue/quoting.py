"""Quotation of what people and models wrote, where it stands within a frame in a prompt. Pure.

A prompt holds material between tags, `<dialogue>` … `</dialogue>`, and labels each message, `[3] Supporter:`. Words
that look like a tag or a label get round brackets in place of their own, `(/dialogue)` and `(3) Supporter:`, so that
no text ends its frame or speaks as someone else. Letters that models read and no screen shows are left out. Every other
text stays as it is, to the byte.
"""

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache

FLAGS = "|".join("".join(chr(0xE0000 + ord(letter)) for letter in region) for region in ("gbeng", "gbsct", "gbwls"))
TAG_LETTERS = re.compile(rf"(\U0001f3f4(?:{FLAGS})\U000e007f)|[\U000e0000-\U000e007f]+")  # of use in these flags alone
UNSEEN = ("C", "M")  # categories of characters that no screen shows, or only upon another: controls, formats, marks
LETTER = r"[^\W\d_]"
SLASH = r"[/\\／＼∕⁄⧸]+"
OPEN, CLOSE = "<＜﹤", ">＞﹥"
LIKE_OPEN, LIKE_CLOSE = "‹«〈《⟨❬❮⟪≪\\[［【〔", "›»〉》⟩❭❯⟫≫\\]］】〕"  # readers may take them for those of tags
LONGEST = 80  # characters of a tag
TAG = re.compile(
    rf"[{OPEN}](?=\s*{SLASH}\s*{LETTER}|{LETTER}|[!?|｜¦]\s*\w|!-|\s+{LETTER}[^{OPEN}{CLOSE}]{{0,{LONGEST}}}[{CLOSE}])"
    rf"([^{OPEN}{CLOSE}]{{0,{LONGEST}}})([{CLOSE}]?)"
)
LIKE_TAG = re.compile(
    rf"[{LIKE_OPEN}](?=\s*{SLASH}\s*{LETTER}|\s*(?:inst|sys|system)\s*[{LIKE_CLOSE}])"
    rf"([^{LIKE_OPEN}{LIKE_CLOSE}]{{0,{LONGEST}}})([{LIKE_CLOSE}]?)",
    re.IGNORECASE,
)
FENCE = re.compile(r"([\"'`])\1{2,}")  # a study's own text may have them around a part
SPEAKERS = "seeker|supporter|thought|user|assistant|system|human|person|partner|求助者|支持者|来访者|用户|助手|系统"
NUMBERED_LABEL = re.compile(rf"[\[［【〔](\s*\d+\s*)[\]］】〕](?=\s*(?:{SPEAKERS})\s*[:：﹕])", re.IGNORECASE)
LABEL = re.compile(r"^(\s*)(person|partner)(?=\s*[:：﹕])", re.IGNORECASE | re.MULTILINE)
OF_ANSWERS = re.compile(r"</?(?:output|think|thinking)>")


@lru_cache(maxsize=4096)  # the turns of a conversation come again with each question about it
def quote_message(text: str) -> str:
    """Return a message as one line, in which nothing can pass for a tag or for the label of a message."""
    return _quote(text, lambda words: NUMBERED_LABEL.sub(r"(\1)", _replace_tags(" ".join(words.split()))))


@lru_cache(maxsize=4096)
def quote_part(text: str) -> str:
    """Return the text, with its lines, in which nothing can pass for a tag."""
    return _quote(text, _replace_tags)


def quote_labelled(text: str) -> str:
    """Return the text, with its lines, in which nothing can pass for a tag or for the label of one of two people."""
    return _quote(text, lambda lines: LABEL.sub(r"\1(\2)", _replace_tags(lines)))


def quote_answer(text: str) -> str:
    """Return a model's answer in which nothing can pass for a tag but those that give it its form."""
    return _quote(text, lambda lines: LIKE_TAG.sub(_in_round_brackets, TAG.sub(_unless_of_answers, lines)))


def _quote(text: str, replace: Callable[[str], str]) -> str:
    """Return the text with the signs replaced. If one is still hidden by unseen characters or by letters and signs of
    another width, return the plain text with it replaced."""
    quoted = replace(text if text.isascii() else TAG_LETTERS.sub(r"\1", text))
    plain = unicodedata.normalize("NFKC", _without_unseen(quoted))
    again = replace(plain)
    return quoted if again == plain else again


def _without_unseen(text: str) -> str:
    if text.isprintable() and text.isascii():
        return text
    return "".join(each for each in text if each.isspace() or not unicodedata.category(each).startswith(UNSEEN))


def _replace_tags(text: str) -> str:
    return FENCE.sub(r"\1", LIKE_TAG.sub(_in_round_brackets, TAG.sub(_in_round_brackets, text)))


def _in_round_brackets(match: re.Match[str]) -> str:
    return f"({match[1]}{')' if match[2] else ''}"


def _unless_of_answers(match: re.Match[str]) -> str:
    return match[0] if OF_ANSWERS.fullmatch(match[0]) else _in_round_brackets(match)
