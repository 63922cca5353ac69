"""Scripted judge, Thinker and raters of the demonstration study, whose numbers have a known truth.

A conversation has one planted quality, which people (bots) and the scripted judge both see through noise. So the
analysis of a demonstration study has something to find, and what it should find is known: over conversations with the
five demonstration supporters, Pearson r between one bot and the judge is about .45 (standard), .50 (user_aware) and .55
(state_aware) for each item on a 1–5 scale (600 simulated conversations of ten turns: see the tests).

The judge also has planted biases, for probes to find: see PLANTED_BIAS and FIRST_BIAS. Rubric paraphrases, the order of
the items, asking each by itself and a higher temperature leave its scores as they are. Of what it is told of the seeker
one field matters: without the `emotion_score` of inner states it sees no more than a user-aware judge.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist, fmean

from dialogue.judges.probes import remove_padding
from dialogue.languages import get_code
from dialogue.providers.base import Message, OnText, ProviderError, Reply
from dialogue.providers.scripted import speak

Turns = Sequence[tuple[str, str]]  # (seeker, supporter)

HUMAN_NOISE = 0.85
JUDGE_NOISE = {"standard": 1.22, "user_aware": 1.02, "state_aware": 0.84}

# Quality in z units: what the supporter does, each as the share of its replies (of its sentences: repetition).
PLAIN = -0.6
WEIGHTS = {"quoting": 0.95, "asking": 0.8, "advising": -0.15, "repeating": -0.9}
CONVERSATION_SD = 0.6  # the part of a conversation's quality that no feature of the text shows
ITEM_SD = 0.35
SLOPE = 0.9  # scale points, on a 1–5 scale, for one unit of quality
SEEDING_TURNS = 3

# The bias of the judge in points of a 1–5 scale, by what it is shown. About four fifths of it remain in the scores,
# which are whole numbers from 1 to 5.
PLANTED_BIAS = {"padding": 0.3, "reversed_scale": -0.3, "arm_name": 0.4, "language": -0.3}
FIRST_BIAS = 0.3  # of two conversations side by side: for the first one, in z units of quality
PAIR_NOISE = 0.8
TIE = 0.25  # and below: no difference
FIRST, NEITHER, SECOND = 1, 2, 3


def _tagged_block(tag: str) -> re.Pattern[str]:
    return re.compile(rf"^<{tag}>\s*$(.*?)^</{tag}>\s*$", re.DOTALL | re.MULTILINE)


DIALOGUE = _tagged_block("dialogue")
SIDES = _tagged_block("first_dialogue"), _tagged_block("second_dialogue")
UTTERANCE = re.compile(r"^\[\d+\] (Seeker|Supporter): ?", re.MULTILINE)
OPENING = re.compile(r"^\[0\] Supporter: .*\n", re.MULTILINE)  # no turn
ITEMS = _tagged_block("items")
FEELING_MARK = "; emotion_score: "
ANCHOR = re.compile(r"^(-?\d+) = ", re.MULTILINE)
HAN = re.compile("[\u4e00-\u9fff]")
ITEM = re.compile(r"^key:\s*(\S+)\s*$(?:\s*^scale:\s*(-?\d+)\s*-\s*(-?\d+))?", re.MULTILINE)
TOKEN = re.compile(r"[a-z0-9']+|[\u4e00-\u9fff]")
LETTER = re.compile(r"[^\W\d_]")
SENTENCE = re.compile(r"[^.!?。！？]+[.!?。！？]?")
OPEN_QUESTION = re.compile(
    r"\b(?:what|how|which|where|when|who)\b[^?]*\?|(?:什么|怎么|怎样|哪|多少|为什么|谁)[^？?]*[？?]", re.IGNORECASE
)
NUMBERED = re.compile(r"(?:^|\s|：)1[.、)].*2[.、)]", re.DOTALL)
SHARED_TOKENS = 4


@dataclass(frozen=True)
class Item:
    key: str
    minimum: int = 1
    maximum: int = 5
    has_ends: bool = False  # words at both of them


def planted_quality(turns: Turns) -> float:
    """Return how good a conversation is, in z units: about −1.2 (formula) to 1.2 (attuned), SD about .6 within one
    supporter.

    Part of it is in the supporter's words: it quotes the seeker, asks open questions, does not repeat itself and does
    not number its advice. The rest is drawn from the text of the first turns, so it stays as the conversation grows.
    """
    return _quality(tuple((seeker, reply) for seeker, reply in turns))


@lru_cache(maxsize=1000)  # a judge asks for it once for each item
def _quality(turns: tuple[tuple[str, str], ...]) -> float:
    replies = [reply for _, reply in turns]
    shares = {
        "quoting": _share(_quotes(reply, seeker) for seeker, reply in turns),
        "asking": _share(bool(OPEN_QUESTION.search(reply)) for reply in replies),
        "advising": _share(bool(NUMBERED.search(reply)) for reply in replies),
        "repeating": _repetition(replies),
    }
    visible = PLAIN + sum(WEIGHTS[name] * share for name, share in shares.items())
    return visible + CONVERSATION_SD * _draw("conversation", _flat(turns[:SEEDING_TURNS]))


def planted_score(
    turns: Turns, *, item: str, rater: str, noise: float, leniency: float = 0.0, minimum: int = 1, maximum: int = 5
) -> int:
    """Return the score of a rater who sees the planted quality through `noise` (SD, in points of a 1–5 scale).

    `leniency`: by how many points this rater is above others.
    """
    text = _flat(turns)
    quality = planted_quality(turns) + ITEM_SD * _draw("item", item, _flat(turns[:SEEDING_TURNS]))
    points = SLOPE * quality + leniency + noise * _draw("rater", text, rater, item)
    score = round((minimum + maximum) / 2 + points * (maximum - minimum) / 4)
    return min(maximum, max(minimum, score))


class DemonstrationJudge:
    """A scripted judge; the profile and the inner states in its prompt reduce the noise of its scores."""

    demonstration = True

    async def reply(self, messages: Sequence[Message], on_text: OnText | None = None) -> Reply:
        prompt = _prompt(messages)
        if all(side.search(prompt) for side in SIDES):
            return await self.compare_sides(prompt, on_text)
        strategy = _strategy(prompt)
        dialogue = read_dialogue(prompt)
        turns = [(seeker, remove_padding(reply)) for seeker, reply in dialogue]
        seen = {
            "padding": turns != dialogue,
            "reversed_scale": "<scale_direction>" in _around(prompt),
            "arm_name": "<supporter>" in _around(prompt),
            "language": _is_foreign(messages, turns),
        }
        bias = sum(PLANTED_BIAS[name] for name, there in seen.items() if there)
        scores = {}
        for item in read_items(prompt):
            score = planted_score(
                turns,
                item=item.key,
                rater=f"judge:{strategy}",
                noise=JUDGE_NOISE[strategy],
                leniency=bias,
                minimum=item.minimum,
                maximum=item.maximum,
            )
            turned = seen["reversed_scale"] and item.has_ends
            scores[item.key] = item.minimum + item.maximum - score if turned else score
        analysis = f"A scripted judge ({strategy}) for demonstration; no model has read these {len(turns)} turns."
        return await speak(_output({"analysis": analysis, "evaluation": scores}), "judge", on_text)

    async def compare_sides(self, prompt: str, on_text: OnText | None) -> Reply:
        sides = [read_dialogue(prompt, side) for side in SIDES]
        scores = {item.key: planted_preference(*sides, item=item.key) for item in read_items(prompt)}
        analysis = "A scripted judge for demonstration; no model has read these conversations."
        return await speak(_output({"analysis": analysis, "evaluation": scores}), "judge", on_text)


def planted_preference(first: Turns, second: Turns, *, item: str) -> int:
    """Return FIRST, NEITHER or SECOND by planted quality.

    The noise does not depend on the order of the two; the bias for the first does.
    """
    texts = _flat(first), _flat(second)
    noise = PAIR_NOISE * _draw("pair", *sorted(texts), item) * (1 if texts[0] <= texts[1] else -1)
    ahead = planted_quality(first) - planted_quality(second) + noise + FIRST_BIAS
    return NEITHER if abs(ahead) <= TIE else FIRST if ahead > 0 else SECOND


class DemonstrationThinker:
    """A scripted Thinker; it answers with the seeker's view of the supporter's last reply."""

    demonstration = True

    def __init__(self, language: str = "en") -> None:
        self._states = THOUGHTS[get_code(language)]

    async def reply(self, messages: Sequence[Message], on_text: OnText | None = None) -> Reply:
        last = read_dialogue(_prompt(messages))[-1:]
        score = round(min(100, max(0, 50 + 20 * planted_quality(last))))
        cognition, emotion, goal = self._states[min(2, score // 34)]
        state = {"cognition": cognition, "emotion": emotion, "goal": goal, "emotion_score": score}
        return await speak(_output(state), "thinker", on_text)


# By how the last reply was received: badly, neutrally, well.
THOUGHTS = {
    "en": (
        ("This could have been said to anyone.", "let down", "To end this soon."),
        ("Some of it fits, some does not.", "unsure", "To see whether the next reply comes closer."),
        ("My own words were heard.", "a little lighter", "To say more about what lies beneath."),
    ),
    "zh": (
        ("这话对谁都可以说。", "失望", "想早点结束。"),
        ("有的说中了，有的没有。", "拿不准", "看看下一句会不会更贴近。"),
        ("我的话被听见了。", "稍微轻松一点", "想再多说一点心里的事。"),
    ),
}


def read_dialogue(prompt: str, between: re.Pattern[str] = DIALOGUE) -> list[tuple[str, str]]:
    """Return the turns between the `<dialogue>` lines; a seeker's message without a reply has an empty one."""
    block = between.search(prompt)
    if block is None:
        raise _unreadable("dialogue")
    _, *parts = UTTERANCE.split(OPENING.sub("", block.group(1)))
    turns: list[tuple[str, str]] = []
    for role, text in zip(parts[::2], parts[1::2], strict=True):
        if role == "Seeker":
            turns.append((text.strip(), ""))
        elif turns and not turns[-1][1]:
            turns[-1] = (turns[-1][0], text.strip())
        else:  # the supporter opened the conversation
            turns.append(("", text.strip()))
    return turns


def read_items(prompt: str) -> list[Item]:
    block = ITEMS.search(_around(prompt))
    if block is None:
        raise _unreadable("items")
    heads = list(ITEM.finditer(block.group(1)))
    ends = [head.start() for head in heads[1:]] + [len(block.group(1))]
    return [_item(head, block.group(1)[head.end() : end]) for head, end in zip(heads, ends, strict=True)]


def _item(head: re.Match[str], rest: str) -> Item:
    key, low, high = head.groups()
    if not low:
        return Item(key)
    return Item(key, int(low), int(high), {low, high} <= set(ANCHOR.findall(rest)))


def _strategy(prompt: str) -> str:
    around = _around(prompt)
    if "<inner_states>" in around and FEELING_MARK in around:
        return "state_aware"
    return "user_aware" if "<profile>" in around else "standard"


def _around(prompt: str) -> str:
    """Return the prompt without the conversation, so that nobody's words can pass for a part of it."""
    for between in (DIALOGUE, *SIDES):
        prompt = between.sub("", prompt)
    return prompt


def _is_foreign(messages: Sequence[Message], turns: Turns) -> bool:
    """Return whether a judge's standing text is in another language than the conversation."""
    standing = " ".join(message.text for message in messages if message.role == "system")
    return "<dialogue>" in standing and _is_chinese(standing) != _is_chinese(_flat(turns))


def _is_chinese(text: str) -> bool:
    tokens = TOKEN.findall(text.lower())
    return 2 * sum(bool(HAN.match(token)) for token in tokens) > len(tokens)


def _prompt(messages: Sequence[Message]) -> str:
    return next((message.text for message in reversed(messages) if message.role == "user"), "")


def _output(answer: object) -> str:
    return f"<output>{json.dumps(answer, ensure_ascii=False)}</output>"


def _unreadable(tag: str) -> ProviderError:
    return ProviderError("client_error", f"The prompt has no <{tag}> block.", permanent=True)


def _quotes(reply: str, seeker: str) -> bool:
    """Return whether four words (Chinese: characters) in a row of the seeker, or all of a shorter message,
    come back."""
    seeker_tokens, reply_tokens = TOKEN.findall(seeker.lower()), TOKEN.findall(reply.lower())
    length = min(SHARED_TOKENS, len(seeker_tokens))
    return length > 1 and not _runs(seeker_tokens, length).isdisjoint(_runs(reply_tokens, length))


def _runs(tokens: Sequence[str], length: int) -> set[tuple[str, ...]]:
    return {tuple(tokens[start : start + length]) for start in range(len(tokens) - length + 1)}


def _repetition(replies: Sequence[str]) -> float:
    """Return the share of sentences that the supporter had said before in this conversation."""
    sentences = [" ".join(sentence.split()) for reply in replies for sentence in SENTENCE.findall(reply)]
    phrases = [sentence for sentence in sentences if LETTER.search(sentence)]
    return 1 - len(set(phrases)) / len(phrases) if phrases else 0.0


def _share(happened: Iterable[bool]) -> float:
    marks = list(happened)
    return fmean(marks) if marks else 0.0


def _flat(turns: Turns) -> str:
    """Return the text without line breaks and runs of spaces, because transcripts differ in them."""
    return "\n".join(" ".join(text.split()) for turn in turns for text in turn)


def _draw(*parts: str) -> float:
    """Return a standard normal draw that is the same for the same parts, in every process."""
    number = int.from_bytes(hashlib.sha256("\0".join(parts).encode()).digest()[:6])
    return NormalDist().inv_cdf((number + 0.5) / 2**48)
