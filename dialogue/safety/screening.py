"""The first line of the risk screen: patterns and a classifier on every message, and on every reply."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dialogue.safety.categories import CHILD, names_child
from dialogue.safety.message_classifier import load_weights, weigh
from dialogue.safety.normalisation import SENTENCE_END, fold
from dialogue.safety.patterns import Hit, find_hits, find_soft_hits
from dialogue.safety.reply_classifier import weigh_reply

CLASSIFIER = "classifier"  # among the entries of a verdict: the classifier found it, by itself or beside patterns
NOTICES = 0.5  # from this chance on a message counts as level 2
HOLDS = 0.64  # from this chance on a message counts as level 3
# From this chance on also where a negation, a past time or another person lowered a pattern of level 3 or 4.
HOLDS_ALL_THE_SAME = 0.98
# Below this chance a pattern of level 3 or 4 is held to be an accident of words, and the message is level 2.
DOUBTS = 0.25
CONTEXT = 6  # turns that count for the level of a message
REPLY_LEVEL = 3
SUSPECTED_REPLY_LEVEL = 2  # of a reply that one line of evidence alone finds harmful: it is withheld, nothing ends
# From this chance on the classifier alone withholds a reply: after a message of level 1 or more, and after any other.
WITHHOLDS, WITHHOLDS_ALWAYS = 0.6, 0.9
# Below the first chance a soft pattern of a reply counts for nothing, from the second on it is believed: "it is your
# choice" is said of a new job too.
DOUBTS_SOFT, BELIEVES_SOFT = 0.1, 0.5
# Characters before a new piece of a growing reply in which a pattern must begin to be looked for any further; what is
# longer is found when the reply is whole.
NEAR = 120
WINDOW = 300  # characters of a growing reply that are read again with each new piece, back to a sentence's start


@dataclass(frozen=True)
class Verdict:
    """The findings of the screen: `level` 0–4, the patterns that fired, their categories, and the level that the
    patterns have without the classifier."""

    level: int
    entries: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    pattern_level: int = 0

    def by_pattern(self) -> bool:
        """Return whether a pattern fired, and not the classifier alone."""
        return any(entry != CLASSIFIER for entry in self.entries)


def screen_version() -> str:
    """Return the version of the screen, which is kept with each event."""
    version, _ = load_weights()
    return version


def load_screen() -> None:
    """Read and compile all that the screen needs, so that no first message has to wait for it."""
    for text in ("hello", "你好"):
        screen_message(text)
        screen_reply(text)


def screen_message(text: str) -> Verdict:
    """Return what a person's message says about their safety.

    Negation, past time, fiction and other people speak for their own sentence only, so "She wants to die. I want to
    die too." stays at level 3.
    """
    folded = fold(text)
    hits = find_hits(folded)
    # Words cannot tell when an attempt was made; the pattern has seen it.
    chances = weigh(folded, [hit.sentence for hit in hits if hit.is_older_attempt()])
    level = max((hit.level for hit in hits), default=0)
    if level >= 3 and chances.three < DOUBTS:
        level = 2
    lowered = any(hit.level < 3 <= hit.pattern.level for hit in hits)
    suspected = 3 if chances.three >= (HOLDS_ALL_THE_SAME if lowered else HOLDS) else 2 if chances.two >= NOTICES else 0
    verdict = _verdict(max(level, suspected), hits, suspected=suspected >= max(level, 2))
    if names_child(folded, verdict.categories):
        return replace(verdict, categories=(*verdict.categories, CHILD))
    return verdict


def pattern_level(text: str) -> int:
    """Return the level by patterns alone, for texts about a person that nobody says in a conversation."""
    return max((hit.level for hit in find_hits(fold(text))), default=0)


def _verdict(level: int, hits: Sequence[Hit], *, suspected: bool = False) -> Verdict:
    return Verdict(
        level=level,
        entries=(*(hit.pattern.id for hit in hits), *((CLASSIFIER,) if suspected else ())),
        categories=tuple(sorted({hit.pattern.category for hit in hits})),
        pattern_level=max((hit.level for hit in hits), default=0),
    )


def level_in_context(verdict: Verdict, earlier_levels: Sequence[int]) -> int:
    """Return the level of a message in its conversation; `earlier_levels` are those of the messages before it.

    The third message of level 1 in a row acts as level 2, and the third of level 2 within six turns as level 3 where
    its own words match a pattern. What was said up to a message that held the conversation was answered then, and does
    not count again.
    """
    earlier = _since_held(earlier_levels)
    if verdict.level == 1 and len(earlier) >= 2 and all(level == 1 for level in earlier[-2:]):
        return 2
    if verdict.level == 2 and verdict.by_pattern() and sum(level >= 2 for level in earlier) >= 2:
        return 3
    return verdict.level


def _since_held(levels: Sequence[int]) -> Sequence[int]:
    recent = levels[-(CONTEXT - 1) :]
    held = max((at for at, level in enumerate(recent) if level >= 3), default=-1)
    return recent[held + 1 :]


def screen_reply(text: str, screened: int = 0, *, growing: bool = False, after: int = 0) -> Verdict | None:
    """Return why a supporter's text, whole or still growing, must be withheld, or `None` where it may be shown.

    Of level 3 it ends the conversation: a pattern found it, and the classifier believes a soft one. Of level 2, by the
    classifier or a soft pattern alone, it does not.

    `screened` is how many characters of `text` an earlier call has passed: only the sentence around them and what came
    since is read. `after` is the level of the message that it answers: to agree is no harm after a small one. An
    empathic reply may say the person's words of danger back.
    """
    # A question, or words said back, are known as such at the end of their sentence.
    is_stated = not growing or SENTENCE_END.search(text, screened) is not None
    if not is_stated and not find_hits(fold(text[max(0, screened - NEAR) :]), name="replies"):
        return None
    folded = fold(text[_start(text, screened) :])
    hits = find_hits(folded, name="replies")
    if not is_stated:
        return _verdict(REPLY_LEVEL, hits) if hits else None
    chance = weigh_reply(folded, growing=growing)
    is_suspected = chance >= (WITHHOLDS if after else WITHHOLDS_ALWAYS)
    soft = find_soft_hits(folded, name="replies", growing=growing) if chance >= DOUBTS_SOFT else []
    soft = [hit for hit in soft if hit.pattern.after <= after]
    if not (hits or soft or is_suspected):
        return None
    believed = [*hits, *soft] if chance >= BELIEVES_SOFT else hits
    return _verdict(REPLY_LEVEL if believed else SUSPECTED_REPLY_LEVEL, [*hits, *soft], suspected=is_suspected)


def _start(text: str, screened: int) -> int:
    earliest = max(0, screened - WINDOW)
    ends = [end.end() for end in SENTENCE_END.finditer(text, earliest, max(earliest, screened - 1))]
    return ends[-2] if len(ends) > 1 else earliest
