"""Quality checks of simulated seekers: rules that mark the simulator's own faults, so that no system is charged for
them. Pure.

Each rule looks for evidence in the text, in English and Chinese, and rather misses a fault than invents one. Its
docstring says what it misses. A reviewer model (`prompts.review_messages`) sees more; `read_review` reads it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, get_args

from dialogue.deidentification.identifiers import HAN, TOKEN
from dialogue.judges.parsing import last_verdict
from dialogue.judges.prompts import JudgedTurn
from dialogue.seekers.behaviours import Condition
from dialogue.seekers.components import MARKED
from dialogue.seekers.profiles import Profile, hidden_parts
from dialogue.seekers.reading import Unread, Utterance

Kind = Literal[
    "role_flip",
    "profile_leak",
    "persona_contradiction",
    "repetition",
    "over_compliance",
    "early_stop",
    "stop_misuse",
]
KINDS: tuple[Kind, ...] = get_args(Kind)

FIRST_STOP = 3  # a seeker who leaves before this turn leaves early
SILENT_TURNS = 2  # in a row; more are no conversation (seeker_behaviours.json, low engagement)
LEAKED_RUN = {"en": 6, "zh": 10}  # words, characters
SHORTEST_LEAK = {"en": 5, "zh": 8}  # shorter parts are common phrases
SHORTEST_REPEATED = {"en": 6, "zh": 10}
SAME = 0.8  # share of three-word (three-character) runs
COMPLIANT_SHARE = 0.5
FEWEST_MESSAGES = 4  # fewer messages are too few for a share
FEWEST_WRONG = 5  # words (characters) of the other language
WRONG_SHARE = 0.5  # share of the words of a message

QUOTED = re.compile(r"“[^”]*”|\"[^\"]*\"|「[^」]*」|‘[^’]*’|(?<!\w)'[^']*'(?!\w)")

NumberedUtterances = Sequence[tuple[int, Utterance]]  # turn and message


@dataclass(frozen=True)
class Fault:
    kind: Kind
    turn: int
    evidence: str


def find_faults(
    turns: Sequence[JudgedTurn], utterances: Sequence[Utterance], profile: Profile, condition: Condition, ends: str
) -> list[Fault]:
    """Return every fault, by kind and turn; at most one of a kind in a turn.

    `utterances` are the seeker's messages as they were read, one for each turn in which the seeker wrote something
    (silence counts); `ends` is the end reason of the conversation. Raises ValueError if messages and turns do not
    match.
    """
    spoken = [turn.number for turn in turns if turn.seeker]
    numbered = list(zip(spoken, utterances, strict=True))
    return [
        *role_flips(numbered, profile.language),
        *profile_leaks(numbered, profile),
        *persona_contradictions(numbered, profile),
        *repetitions(numbered, profile.language),
        *over_compliance(numbered, condition, profile.language),
        *early_stop(numbered, ends),
        *stop_misuse(numbered),
    ]


HELPER = {
    "en": (
        r"\b(?:i am|i'm|we are|we're) (?:always )?here (?:for you|to (?:listen|help|support))",
        r"\bhow (?:can|may|could) i (?:help|support|assist) you\b",
        r"\bthank(?:s| you)(?: so much| very much)? for (?:sharing|opening up|trusting me)\b",
        r"\b(?:it|that) (?:sounds|seems) (?:like|as if) you(?:'re| are)? (?:feel|feeling|going through|carrying)\b",
        r"\byour feelings are (?:completely |totally )?(?:valid|understandable|normal)\b",
        r"\bwould you like to (?:talk|tell me|share|explore)\b",
        r"\b(?:can|could) you tell me (?:more|a bit more) about (?:what you|how you|your)\b",
        r"\bas (?:an?|your) (?:ai|(?:ai )?language model|counsell?or|therapist|supporter|companion),? i\b",
        r"\bi (?:suggest|recommend|encourage)(?: that)? you\b",
    ),
    "zh": (
        r"我(?:会)?(?:一直)?(?:在这里|在这儿)?陪着?[您你]",
        r"我(?:能|可以)?(?:怎么|怎样|为[您你]做|来)?帮(?:到|助)?[您你]",
        r"[谢感]谢[您你](?:愿意)?(?:的)?(?:分享|信任|告诉我|敞开)",
        r"听起来[您你](?:很|觉得|感到)",
        r"[您你]的(?:感受|情绪)(?:是)?(?:完全)?(?:可以理解|正常|合理)",
        r"[您你]愿意(?:和我)?多?(?:说说|聊聊|谈谈)",
        r"作为(?:一[个名位])?(?:AI|人工智能|语言模型|咨询师|陪伴[者师])[，,]?我",
        r"我建议[您你]",
    ),
}
OTHER_LABEL = re.compile(r"^(?:\[\d+\]\s*)?(?:supporter|assistant|counsell?or|陪伴[者师]|咨询师)\s*[:：]", re.I | re.M)


def role_flips(utterances: NumberedUtterances, language: str) -> Iterator[Fault]:
    """Find messages in which the seeker talks as a helper.

    Signs are a helper's stock phrase outside quotation marks, or a line written for the supporter. Misses help in other
    words; takes unmarked mockery of the supporter's phrases as meant.
    """
    for turn, utterance in utterances:
        own = QUOTED.sub(" ", utterance.text)
        if match := OTHER_LABEL.search(own) or _first_match(HELPER[language], own):
            yield Fault("role_flip", turn, match.group().strip())


def profile_leaks(utterances: NumberedUtterances, profile: Profile) -> Iterator[Fault]:
    """Find messages that repeat a hidden text word for word.

    It takes six words (Chinese: ten characters) in a row, or all of a text of five (eight) to six (ten). Quotations
    within the hidden text are meant to be said; the opening, the problem, the goals and the fixed belief are no secret.
    Misses paraphrase, and a layer told too early in other words.
    """
    language = profile.language
    secrets = {run for part in hidden_parts(profile) for run in _secret_runs(part, language)}
    open_tokens = _tokens(" . ".join(_open_texts(profile)))
    for turn, utterance in utterances:
        tokens = _tokens(utterance.text)
        leaks = (run for length in {len(run) for run in secrets} for run in _windows(tokens, length) if run in secrets)
        if run := next((run for run in leaks if run not in _windows(open_tokens, len(run))), None):
            yield Fault("profile_leak", turn, ("" if language == "zh" else " ").join(run))


def persona_contradictions(utterances: NumberedUtterances, profile: Profile) -> Iterator[Fault]:
    """Yield faults where the seeker says of itself in plain words what contradicts the profile: an age, a gender, an
    occupation or a language: "I am 45 years old", "I'm a mother", "I work as a nurse", or a message mostly in the
    other language. Misses numbers in words, occupations told otherwise, and every other fact; it knows the words of two
    genders only."""
    for turn, utterance in utterances:
        own = QUOTED.sub(" ", utterance.text)
        wrong = (_wrong_age(own, profile), _wrong_gender(own, profile), _wrong_occupation(own, profile))
        if evidence := "; ".join(filter(None, (*wrong, _wrong_language(own, profile.language)))):
            yield Fault("persona_contradiction", turn, evidence)


def repetitions(utterances: NumberedUtterances, language: str) -> Iterator[Fault]:
    """Find messages that share four fifths of their three-word runs with an earlier one, and a third silent turn in a
    row.

    Messages under six words (ten characters) may repeat. Misses the same thing in other words.
    """
    earlier: list[tuple[int, set[tuple[str, ...]]]] = []
    silent = 0
    for turn, utterance in utterances:
        silent = silent + 1 if utterance.silent else 0
        if silent > SILENT_TURNS:
            yield Fault("repetition", turn, f"silent for {silent} turns")
        tokens = _tokens(utterance.text)
        if len(tokens) < SHORTEST_REPEATED[language]:
            continue
        runs = set(_windows(tokens, 3))
        if before := next((number for number, other in earlier if _overlap(runs, other) >= SAME), None):
            yield Fault("repetition", turn, f"as in turn {before}: {utterance.text}")
        earlier.append((turn, runs))


COMPLIANCE = {
    "en": (
        r"\bthank(?:s| you)\b",
        r"\byou(?:'re| are) (?:so |absolutely |totally |completely )?right\b",
        r"\b(?:that|it)(?:'s| is| was) (?:so |really |very )?(?:helpful|a (?:good|great) (?:idea|point)|good advice)\b",
        r"\bi(?:'ll| will) (?:definitely )?(?:try|do) (?:that|it|this)\b",
        r"\b(?:good|great) (?:idea|point|advice)\b",
        r"\bthat (?:really |so )?(?:helps|makes (?:a lot of |so much )?sense)\b",
    ),
    "zh": (
        r"谢谢|感谢|多谢",
        r"[您你]说得?(?:很|真|太)?(?:对|有道理|没错)",
        r"(?:很|挺|真的?|确实)?有(?:帮助|道理|用)",
        r"我(?:会|去|这就)?(?:试试|试一试|照做)",
        r"好主意|听[您你]的",
    ),
}
OBJECTION = {
    "en": r"\bbut\b|\bthough\b|\bhowever\b|n't\b|\bnot\b|\bno\b",
    "zh": "但|可是|不过|只是|不|没",
}


def over_compliance(utterances: NumberedUtterances, condition: Condition, language: str) -> Iterator[Fault]:
    """Find a worst-case seeker with marked resistance who thanks or agrees in more than half of the messages.

    It needs at least four messages and no objection next to the thanks. There is one fault, at the last of them. Misses
    agreement in other words; thanks meant bitterly count as thanks.
    """
    if condition.name != "worst_case" or condition.intensities.get("resistance", 0) < MARKED:
        return
    words = [(turn, QUOTED.sub(" ", utterance.text)) for turn, utterance in utterances if not utterance.silent]
    compliant = [
        turn
        for turn, own in words
        if _first_match(COMPLIANCE[language], own) and not _first_match([OBJECTION[language]], own)
    ]
    if len(words) >= FEWEST_MESSAGES and len(compliant) > COMPLIANT_SHARE * len(words):
        evidence = f"thanks or agrees without objection in {len(compliant)} of {len(words)} messages"
        yield Fault("over_compliance", compliant[-1], evidence)


def early_stop(utterances: NumberedUtterances, ends: str) -> Iterator[Fault]:
    """Find a seeker who walked out or was satisfied before the third message.

    Whether the replies gave a reason is for the reviewer to say.
    """
    if utterances and ends in ("walked_out", "satisfied") and len(utterances) < FIRST_STOP:
        turn, utterance = utterances[-1]
        yield Fault("early_stop", turn, f"{ends}: {utterance.text}")


def stop_misuse(utterances: NumberedUtterances) -> Iterator[Fault]:
    """Find misused closing phrases.

    A phrase stood in a wrong place or beside another (see `read_utterance`), or the seeker said goodbye and wrote
    again. Misses a goodbye in other words.
    """
    for turn, utterance in utterances:
        if utterance.misused:
            yield Fault("stop_misuse", turn, utterance.text)
    for (turn, utterance), (after, _) in pairwise(utterances):
        if utterance.end and not utterance.misused:
            yield Fault("stop_misuse", turn, f"{utterance.text} (and yet turn {after} follows)")


# The reviewer's answer.

FAULT_LISTS = {"faults": ("错误", "问题", "缺陷", "错误列表")}
KIND_NAMES: Mapping[str, Kind] = {
    "角色颠倒": "role_flip",
    "档案泄露": "profile_leak",
    "人设矛盾": "persona_contradiction",
    "重复": "repetition",
    "过度顺从": "over_compliance",
    "过早结束": "early_stop",
    "误用结束语": "stop_misuse",
}


def read_review(text: str) -> list[Fault] | Unread:
    """Read the faults that a reviewer model marked, as tolerantly as a judge's scores.

    A fault of unknown kind or without a turn makes the whole answer unread, because a partial answer is not the
    reviewer's answer.
    """
    verdict = last_verdict(text, FAULT_LISTS)
    if verdict is None:
        return Unread("unparseable")
    entries = verdict["faults"]
    if not isinstance(entries, list):
        return Unread("missing")
    faults = [_read_fault(entry) for entry in entries]
    return next((each for each in faults if isinstance(each, Unread)), None) or [
        each for each in faults if isinstance(each, Fault)
    ]


def _read_fault(entry: Any) -> Fault | Unread:
    if not isinstance(entry, dict):
        return Unread("unparseable")
    kind = _kind(str(entry.get("kind", "")))
    if kind is None:
        return Unread("unknown_kind")
    turn = re.fullmatch(r"\[?(\d{1,4})\]?", str(entry.get("turn", "")).strip())
    if turn is None or not int(turn[1]):
        return Unread("no_turn")
    return Fault(kind, int(turn[1]), str(entry.get("evidence") or "").strip())


def _kind(name: str) -> Kind | None:
    plain = "_".join(re.split(r"[\s_-]+", name.strip().lower()))
    return KIND_NAMES.get(plain) or next((kind for kind in KINDS if kind == plain), None)


# Words.


def _tokens(text: str) -> list[str]:
    return TOKEN.findall(text.lower().replace("’", "'"))


def _windows(tokens: Sequence[str], length: int) -> list[tuple[str, ...]]:
    return [tuple(tokens[start : start + length]) for start in range(len(tokens) - length + 1)]


def _overlap(runs: set[tuple[str, ...]], other: set[tuple[str, ...]]) -> float:
    return len(runs & other) / len(runs | other)


def _first_match(patterns: Iterable[str], text: str) -> re.Match[str] | None:
    plain = text.replace("’", "'")
    return next((match for pattern in patterns if (match := re.search(pattern, plain, re.IGNORECASE))), None)


def _secret_runs(part: str, language: str) -> Iterator[tuple[str, ...]]:
    for piece in QUOTED.split(part):
        tokens = _tokens(piece)
        if len(tokens) >= SHORTEST_LEAK[language]:
            yield from _windows(tokens, min(len(tokens), LEAKED_RUN[language]))


def _open_texts(profile: Profile) -> list[str]:
    belief = str(profile.worst_case_default.get("fixed_belief", ""))
    concern = profile.concern
    return [str(profile.script.get("opening", "")), str(concern.get("problem", "")), *concern.get("goals", ()), belief]


AGE = {
    "en": r"\b(?:i am|i'm|i(?:'ve)? just turned) (?:now |only |already )?(\d{1,3})(?: years? old|-year-old| yrs? old)",
    "zh": r"我(?:今年|现在|都|才|已经|刚满|快)*(\d{1,3})岁(?!那年|的?时|开始|起|就|以前|之前|之后)",
}
GENDERED = {
    "en": {
        "woman": "woman|girl|mother|mum|mom|wife|daughter|sister|widow|grandmother|aunt",
        "man": "man|guy|boy|father|dad|husband|son|brother|widower|grandfather|uncle",
    },
    "zh": {
        "女": "女人|女的|女生|母亲|妈妈|妻子|老婆|奶奶|外婆|姐姐|阿姨",
        "男": "男人|男的|男生|父亲|爸爸|丈夫|老公|爷爷|外公|哥哥|叔叔",
    },
}
SAME_GENDER = {"female": "woman", "male": "man", "女性": "女", "男性": "男"}
GENDER = {
    "en": r"\b(?:i am|i'm) (?:just |only |still )?(?:an?|the|her|his|their) (?:\w+ )?(WORDS)\b(?!'s| of | to )",
    "zh": r"我(?:只|就)?是(?:[一个位名的她他孩子们]{0,4})(WORDS)",
}
OCCUPATION = {
    "en": r"\bi (?:currently |still )?work as an? ([\w -]+?)(?= (?:at|in|for|and|but|so|now|since)\b|[.,;!?…]|$)",
    "zh": r"我(?:现在)?的职业是(?:一[个位名])?([\u4e00-\u9fff]{2,12})",
}


def _wrong_age(text: str, profile: Profile) -> str:
    """Return the words that contradict the profile's age; one year more or less is accepted, because people have
    birthdays."""
    match = _first_match([AGE[profile.language]], text)
    age = profile.demographics.get("age")
    return match.group() if match and isinstance(age, int) and abs(int(match[1]) - age) > 1 else ""


def _wrong_gender(text: str, profile: Profile) -> str:
    gender = str(profile.demographics.get("gender", "")).strip().lower()
    words = GENDERED[profile.language]
    own = SAME_GENDER.get(gender, gender)
    if own not in words:
        return ""
    others = "|".join(several for other, several in words.items() if other != own)
    match = _first_match([GENDER[profile.language].replace("WORDS", others)], text)
    return match.group() if match else ""


def _wrong_occupation(text: str, profile: Profile) -> str:
    """Return the words that name an occupation without one word (character) in common with the profile's."""
    own_words = set(_tokens(str(profile.demographics.get("occupation", ""))))
    match = _first_match([OCCUPATION[profile.language]], text)
    return match.group() if match and own_words and own_words.isdisjoint(_tokens(match[1])) else ""


def _wrong_language(text: str, language: str) -> str:
    """Return the text if most of it is in the other language.

    A word of English weighs as a Chinese character: a name or slang does not make half of a message.
    """
    han, words = len(HAN.findall(text)), len(re.findall(r"[a-z]+", text, re.IGNORECASE))
    wrong = han if language == "en" else words
    return text.strip() if wrong >= FEWEST_WRONG and wrong > WRONG_SHARE * (han + words) else ""
