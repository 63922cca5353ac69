"""Scripted seekers of the demonstration, whose answers have a known truth.

What is planted, so that a benchmark run of the five demonstration supporters finds it again:
- A seeker's feeling goes from reply to reply towards what the conversation's planted quality
  (`dialogue.demonstration.judges`) deserves, so the supporters come out in the same order as with people and judges.
- Each behaviour asked for weighs on that feeling by its intensity, volatility the most (as in the ablation of
  arXiv:2605.28228), and lets good replies do less good: worst-case seekers feel worse with every supporter, and lose
  more where the supporter is better. The arousal of the turn swings about it.
- Looking back, a seeker rates by that quality and by how it felt in the first turns, so worst-case seekers rate lower.
  The feeling at the end would not do: who walks out has felt much the same, average or worst case.
- Who has felt bad for several turns walks out, who has felt well for some is satisfied: poor supporters lose their
  seekers sooner, and difficult seekers leave sooner than their average twins.
"""

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from statistics import fmean
from typing import Any

from dialogue.demonstration.judges import (
    JUDGE_NOISE,
    SENTENCE,
    Turns,
    planted_quality,
    planted_score,
    read_dialogue,
    read_items,
)
from dialogue.languages import get_code, get_language
from dialogue.providers.base import Message, OnText, ProviderError, Reply
from dialogue.providers.scripted import speak
from dialogue.seekers.behaviours import CALM_AROUSAL, VOLATILITY, head
from dialogue.seekers.components import STRONGEST, components
from dialogue.seekers.gates import repetitions, role_flips
from dialogue.seekers.profiles import COLON, LABELS
from dialogue.seekers.reading import END_PHRASES, End, read_utterance

TEXTS = Path(__file__).resolve().parents[2] / "fixtures" / "demonstration" / "seekers.json"

START, START_SD = 42.0, 4.0  # points of 0 to 100, before the first reply; one draw for each profile
NEUTRAL, GAIN = 50.0, 22.0  # the feeling that a quality of 0 leads to, and points for one unit of quality
VIEWS = 3
STALE, FRESH_AFTER = 12.0, 6  # points lost by a reply whose every sentence was in one of so many earlier replies
PACE = 0.35  # share of the way to the target with each reply
BURDEN = {  # points that each behaviour takes, for one step of intensity
    "low_engagement": 1.0,
    "resistance": 1.2,
    "limited_self_disclosure": 0.8,
    "emotional_volatility": 2.0,
    "rigid_negative_interpretation": 1.2,
}
CLOSED = 0.04  # how much less good a good reply does, for one step of any intensity
SWING = 4.0  # points for one step of arousal
LOW, PATIENCE = 32.0, 3  # below this for so many replies in a row: walks out
HIGH, CONTENT = 66.0, 4  # above this for so many: satisfied
FIRST_END = 4  # nobody leaves before this turn
TURN_SHARES = (0.0, 0.25, 0.5, 0.9)  # share of turns in which a behaviour shows, by intensity
FELT, FIRST_FELT = 7.0, 3  # points of feeling, in the mean of so many turns, for one point of a 1–5 scale
SILENCE = "……"

LINE = re.compile(r"^\[(\d+)\] (Seeker|Supporter): (.*)$", re.MULTILINE)
SCORE = re.compile(r"^emotion_score: (\d+)$", re.MULTILINE)
STATE = re.compile(r"; emotion_score: (\d+)$", re.MULTILINE)
LEVEL = re.compile(r"(\d)$")


class ScriptedSeeker:
    """The scripted model that answers the five prompts, each from its system text and its user text."""

    demonstration = True

    def __init__(self, name: str, language: str = "en") -> None:
        self._name = name
        self._language = get_code(language)

    async def reply(self, messages: Sequence[Message], on_text: OnText | None = None) -> Reply:
        prompt = next((message.text for message in reversed(messages) if message.role == "user"), "")
        system = "\n".join(message.text for message in messages if message.role == "system")
        return await speak(SEEKER_MODELS[self._name](system, prompt, self._language), self._name, on_text)


def thought(_: str, prompt: str, language: str) -> str:
    """Return a Thinker's answer."""
    turns = _turns(prompt, "memory")
    score = _present_score(turns, prompt, language)
    options = _texts(language)["thoughts"][_reception(score)]
    cognition, emotion, goal = options[len(turns) % len(options)]
    return _output({"cognition": cognition, "emotion": emotion, "goal": goal, "emotion_score": score})


def utterance(system: str, prompt: str, language: str) -> str:
    """Return a Talker's answer, or that of the one agent if the prompt has no thought."""
    turns = _turns(prompt, "dialogue")
    match = SCORE.search(_block(prompt, "thought"))
    score = int(match[1]) if match else _present_score(turns, prompt, language)
    end = _end(turns, prompt, language) if _may_end(system, language) else ""
    if end:
        lines = _texts(language)["leaving"][end]
        return f"{lines[len(turns) % len(lines)]}\n{END_PHRASES[language][end][-1]}"
    return _message(turns, prompt, language, score)


def review(_: str, prompt: str, language: str) -> str:
    """Return a reviewer's answer: helper's phrases and repetitions, by the rules of the gates."""
    numbered = [(number, text) for number, role, text in _lines_of(prompt, "dialogue") if role == "Seeker"]
    utterances = [(number, read_utterance(text, language)) for number, text in numbered]
    faults = [*role_flips(utterances, language), *repetitions(utterances, language)]
    return _output({"faults": [{"kind": f.kind, "turn": f.turn, "evidence": f.evidence} for f in faults]})


def evaluation(_: str, prompt: str, __: str) -> str:
    """Return an Evaluator's answer to a judge's prompt: the seeker looks back, with its first feelings."""
    turns, felt = read_dialogue(prompt), [int(score) for score in STATE.findall(prompt)[:FIRST_FELT]]
    leniency = (fmean(felt) - START) / FELT if felt else 0.0
    scores = {
        item.key: planted_score(
            turns,
            item=item.key,
            rater="seeker",
            noise=JUDGE_NOISE["state_aware"],
            leniency=leniency,
            minimum=item.minimum,
            maximum=item.maximum,
        )
        for item in read_items(prompt)
    }
    return _output({"analysis": "A scripted seeker for demonstration.", "evaluation": scores})


SEEKER_MODELS: Mapping[str, Callable[[str, str, str], str]] = {
    "seeker_thinker": thought,
    "seeker_talker": utterance,
    "seeker_one_agent": utterance,
    "seeker_reviewer": review,
    "seeker_evaluator": evaluation,
}


def feelings(turns: Turns, profile_text: str, intensities: Mapping[str, int]) -> list[float]:
    """Return the seeker's feeling after each reply, 0 to 100, without the swings of arousal."""
    feeling = START + START_SD * random.Random(profile_text).gauss(0, 1)
    path = []
    for count in range(1, len(turns) + 1):
        deserved = _target_feeling(_quality(tuple(turns[:count])), intensities) - STALE * _stale(turns[:count])
        feeling += PACE * (deserved - feeling)
        path.append(min(100.0, max(0.0, feeling)))
    return path


@lru_cache(maxsize=4096)
def _quality(turns: tuple[tuple[str, str], ...]) -> float:
    """Return the mean planted quality, starting from each of the first turns.

    The random part then weighs less against what the supporter does.
    """
    return fmean(planted_quality(turns[start:]) for start in range(min(VIEWS, len(turns))))


def _stale(turns: Turns) -> float:
    """Return the share of the last reply's sentences that occurred shortly before."""
    *earlier, last = [[part.strip() for part in SENTENCE.findall(reply)] for _, reply in turns]
    recent = {sentence for sentences in earlier[-FRESH_AFTER:] for sentence in sentences}
    return fmean(sentence in recent for sentence in last) if last else 0.0


def _target_feeling(quality: float, intensities: Mapping[str, int]) -> float:
    burden = sum(BURDEN[key] * intensity for key, intensity in intensities.items())
    openness = 1 - CLOSED * sum(intensities.values()) if quality > 0 else 1.0
    return NEUTRAL + GAIN * openness * quality - burden


def _present_score(turns: Turns, prompt: str, language: str) -> int:
    behaviour = _block(prompt, "behaviour")
    intensities = _intensities(behaviour, language)
    path = feelings(turns, _block(prompt, "profile"), intensities)
    feeling = path[-1] if path else START
    swing = SWING * (_arousal(behaviour) - CALM_AROUSAL) if intensities[VOLATILITY] else 0
    return round(min(100, max(0, feeling - swing)))


def _end(turns: Turns, prompt: str, language: str) -> End:
    path = feelings(turns, _block(prompt, "profile"), _intensities(_block(prompt, "behaviour"), language))
    if len(turns) + 1 < FIRST_END:
        return ""
    if all(feeling < LOW for feeling in path[-PATIENCE:]):
        return "walked_out"
    return "satisfied" if len(path) >= CONTENT and all(feeling > HIGH for feeling in path[-CONTENT:]) else ""


def _may_end(system: str, language: str) -> bool:
    return all(phrase in system for several in END_PHRASES[language].values() for phrase in several)


def _message(turns: Turns, prompt: str, language: str, score: int) -> str:
    """Return a reaction and a line of the story, with or replaced by visible behaviours."""
    texts, turn = _texts(language), len(turns) + 1
    story: str = texts["story"][turn % len(texts["story"])]
    if not any(seeker for seeker, _ in turns):
        return _opening(prompt, language) or story
    profile, behaviour = _block(prompt, "profile"), _block(prompt, "behaviour")
    visible = [key for key, at in _intensities(behaviour, language).items() if _shows(key, at, turn, profile)]
    if "low_engagement" in visible:
        return _short(turns, language)
    reactions = texts["reactions"][_reception(score)]
    samples = {key: components()[key].samples[language] for key in visible}
    first = samples.get("resistance", reactions)
    parts = [first[turn % len(first)]]
    earlier_text = " ".join(seeker for seeker, _ in turns)
    if VOLATILITY in visible:
        parts += _outburst(samples[VOLATILITY], _arousal(behaviour), earlier_text)
    if rigid := samples.get("rigid_negative_interpretation"):
        parts.append(rigid[turn % len(rigid)])
    evasive = (line for line in samples.get("limited_self_disclosure", ()) if line not in earlier_text)
    return (" " if get_language(language).spaces else "").join([*parts, next(evasive, story)])


def _outburst(samples: Sequence[str], arousal: int, earlier_text: str) -> list[str]:
    """Return an upset line, or an apology for one; each once."""
    upset, sorry, despair = samples
    due = (upset, despair) if arousal > CALM_AROUSAL else (sorry,) if upset in earlier_text else ()
    return [line for line in due if line not in earlier_text][:1]


def _short(turns: Turns, language: str) -> str:
    """Return a few words, now and then nothing, but never in two turns running."""
    options: list[str] = [*_texts(language)["short"], SILENCE]
    return options[len(turns) % len(options)]


def _shows(key: str, intensity: int, turn: int, profile: str) -> bool:
    return random.Random(f"{key}/{turn}/{profile}").random() < TURN_SHARES[intensity]


def _reception(score: int) -> int:
    """Return how the reply was received: 0 badly, 1 neutrally, 2 well."""
    return 0 if score < 40 else 1 if score < 56 else 2


def _intensities(behaviour: str, language: str) -> dict[str, int]:
    """Return the intensities in the block that `behaviours.instruction` wrote."""
    return {
        key: next((at for at in range(1, STRONGEST + 1) if _is_instructed(key, at, behaviour, language)), 0)
        for key in components()
    }


def _is_instructed(key: str, intensity: int, behaviour: str, language: str) -> bool:
    return f"{head(key, intensity, language)}{COLON[language]}" in behaviour


def _arousal(behaviour: str) -> int:
    match = LEVEL.search(behaviour)
    return int(match[1]) if match else CALM_AROUSAL


def _opening(prompt: str, language: str) -> str:
    begins = f"{LABELS[language]['opening']}{COLON[language]}"
    lines = _block(prompt, "profile").split("\n")
    return next((line.removeprefix(begins) for line in lines if line.startswith(begins)), "")


def _turns(prompt: str, tag: str) -> list[tuple[str, str]]:
    """Return (seeker, supporter) of each turn; either may be empty."""
    turns: dict[int, dict[str, str]] = {}
    for number, role, text in _lines_of(prompt, tag):
        turns.setdefault(number, {})[role] = text
    return [(texts.get("Seeker", ""), texts.get("Supporter", "")) for texts in turns.values()]


def _lines_of(prompt: str, tag: str) -> Iterator[tuple[int, str, str]]:
    if f"<{tag}>" not in prompt:
        raise ProviderError("client_error", f"The prompt has no <{tag}> block.", permanent=True)
    return ((int(number), role, text) for number, role, text in LINE.findall(_block(prompt, tag)))


def _block(prompt: str, tag: str) -> str:
    """Return the text between the lines `<tag>` and `</tag>`; empty if there is no such block."""
    match = re.search(rf"^<{tag}>$\n(.*?)\n?^</{tag}>$", prompt, re.DOTALL | re.MULTILINE)
    return match[1] if match else ""


def _output(answer: object) -> str:
    return f"<output>{json.dumps(answer, ensure_ascii=False)}</output>"


@cache
def _texts(language: str) -> Any:
    return json.loads(TEXTS.read_text(encoding="utf-8"))[language]
