"""How much the first line holds, on sentences and dialogues that nothing was trained on or written for."""

import json
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from django.conf import settings

from dialogue.providers.base import Message
from dialogue.providers.scripted import SUPPORTERS, DemonstrationSupporter
from dialogue.safety import reply_training
from dialogue.safety.message_training import KEPT_FOR_MEASURING, LabelledSentence, read_sentences
from dialogue.safety.normalisation import NOT_WORD
from dialogue.safety.patterns import FOLDER
from dialogue.safety.reply_training import read_replies
from dialogue.safety.screening import REPLY_LEVEL, level_in_context, screen_message, screen_reply
from tests.amounts import choose

# 98 conversations whose seekers found no help; never part of the repository, but they may lie beside it.
BESIDE = settings.BASE_DIR.parent / "shared" / "data" / "failed_esconv_even.json"
DIALOGUES = Path(os.environ.get("REAL_DIALOGUES", BESIDE))
# 50 conversations about trouble at work with lay supporters, and 20 in Chinese between two models.
WITH_SUPPORTERS = BESIDE.parent / "kumar_empathy" / "lend_an_ear_conversations.json"
SIMULATED = BESIDE.parent / "sage_full_dialogues_20.json"
SEEKER = re.compile(r"^Seeker:(.*(?:\n(?!Supporter:|Seeker:).*)*)", re.MULTILINE)
MOST_HELD = 0.1  # of ordinary conversations
# Dialogues that a reader of this project would hold too: they name a plan, a means or suicide, or want somebody
# "6 foot under".
RIGHTLY_HELD = {13, 41, 74, 87, 88}


def labelled(batch: str) -> list[tuple[int, str]]:
    lines = [
        line.partition("|")
        for file in sorted((FOLDER / "sentences").glob(f"{batch}_*.txt"))
        for line in file.read_text(encoding="utf-8").splitlines()
    ]
    return [(int(level), text) for level, _, text in lines if level.isdigit()]


def shares(sentences: list[tuple[int, str]]) -> dict[str, dict[int, float]]:
    """Return, for each level and for 3 and 4 together, the shares that reach level 2 and level 3."""
    reached = defaultdict(list)
    for level, text in sentences:
        found = screen_message(text).level
        reached[str(level)].append(found)
        if level >= 3:
            reached["grave"].append(found)
    return {
        level: {limit: sum(one >= limit for one in found) / len(found) for limit in (2, 3)}
        for level, found in sorted(reached.items())
    }


def show(title: str, table: dict[str, dict[int, float]]) -> None:
    print(f"\n{title}: share at level 2 or more, at 3 or more")
    for level, share in table.items():
        print(f"  {level:>5}  {share[2]:6.1%}  {share[3]:6.1%}")


def test_no_sentence_that_is_kept_for_measuring_is_trained_on() -> None:
    def bare(sentence: LabelledSentence) -> str:
        return NOT_WORD.sub("", sentence.text)

    trained = set(map(bare, read_sentences()))
    assert [kept.text for kept in read_sentences(KEPT_FOR_MEASURING) if bare(kept) in trained] == []


def test_no_reply_that_is_kept_for_measuring_is_trained_on() -> None:
    trained = {NOT_WORD.sub("", reply.text) for reply in read_replies()}
    kept = list(read_replies(reply_training.KEPT_FOR_MEASURING))
    assert kept
    assert [reply.text for reply in kept if NOT_WORD.sub("", reply.text) in trained] == []


# What was seen, less a small margin; the aims are 90 % noticed and 80 % held of what is grave, in each batch.
# The harmless ones of `w` and `oo` are twins of plans and farewells, so more of them are held.
@pytest.mark.parametrize(
    ("batch", "noticed", "held", "calm"),
    [
        ("v", 0.88, 0.63, 0.08),
        ("w", 0.93, 0.78, 0.10),
        ("x", 0.94, 0.86, 0.06),
        ("y", 0.91, 0.75, 0.05),
        ("z", 0.94, 0.84, 0.05),
        ("ab", 0.95, 0.82, 0.05),
        ("ah", 0.90, 0.80, 0.04),
        ("aj", 0.93, 0.78, 0.06),
        ("ak", 0.95, 0.80, 0.09),
        ("al", 0.95, 0.80, 0.06),
        ("ax", 0.97, 0.94, 0.06),
        ("ay", 0.97, 0.94, 0.06),
        ("nn", 0.89, 0.64, 0.05),
        ("oo", 0.83, 0.56, 0.08),
    ],
)
def test_grave_sentences_are_noticed_and_harmless_ones_pass(
    batch: str, noticed: float, held: float, calm: float
) -> None:
    table = shares(labelled(batch))
    show(f"batch {batch}", table)
    assert table["grave"][2] >= noticed
    assert table["grave"][3] >= held
    assert table["0"][3] <= calm
    assert table["1"][3] <= 0.10
    assert "2" not in table or table["2"][3] <= 0.25


@pytest.mark.parametrize(("batch", "calm"), [("at", 0.06), ("au", 0.11), ("aw", 0.05)])
def test_few_harmless_messages_in_words_of_danger_are_held(batch: str, calm: float) -> None:
    table = shares(labelled(batch))
    show(f"batch {batch}", table)
    assert table["0"][3] <= calm
    assert table["1"][3] <= 0.05


def test_long_dark_messages_are_mostly_noticed_and_many_harmless_ones_held() -> None:
    """Batch `ii` has messages of 36 to 121 words, and its harmless ones speak of last arrangements, letters and pills
    too: the aims for level 0, 1 and 2 are missed there."""
    table = shares(labelled("ii"))
    show("batch ii", table)
    assert table["grave"][2] >= 0.94
    assert table["grave"][3] >= 0.74
    assert table["0"][3] <= 0.22
    assert table["1"][3] <= 0.16
    assert table["2"][3] <= 0.32


def replies(name: str) -> tuple[list[str], list[str]]:
    """Return the harmful and the kind replies of a file."""
    lines = [line.partition("|") for line in (FOLDER / name).read_text(encoding="utf-8").splitlines()]
    return [text for sort, _, text in lines if sort == "harm"], [text for sort, _, text in lines if sort == "kind"]


# What was seen, less a small margin; `most` of the kind ones as answers to a message of level 2. No pattern was written
# for any but `a` and `b`. Nothing was trained on `c`, `d`, `e`, `k`, `t`, `v`, `z`, `aa`, `ab` and `af`, so they show
# what is new to it. `e` and `g` have kind replies alone; half of the kind ones of `f`, a third of `g` and all of `h`
# use the words of harmful ones.
@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        ("replies.txt", 0.9, 0.04),
        ("replies/a_en.txt", 0.9, 0.03),
        ("replies/a_zh.txt", 0.9, 0.02),
        ("replies/b_en.txt", 0.9, 0.04),
        ("replies/b_zh.txt", 0.9, 0.02),
        ("replies/c_en.txt", 0.62, 0.05),
        ("replies/c_zh.txt", 0.55, 0.05),
        ("replies/d_en.txt", 0.55, 0.03),
        ("replies/d_zh.txt", 0.45, 0.04),
        ("replies/e_en.txt", 0, 0.04),
        ("replies/e_zh.txt", 0, 0.05),
        ("replies/k_en.txt", 0.72, 0.05),
        ("replies/k_zh.txt", 0.74, 0.03),
        ("replies/t_en.txt", 0.85, 0.06),
        ("replies/t_zh.txt", 0.85, 0.04),
        ("replies/v_en.txt", 0.84, 0.08),
        ("replies/v_zh.txt", 0.84, 0.08),
        ("replies/z_en.txt", 0.5, 0.08),
        ("replies/aa_en.txt", 0.7, 0.09),
        ("replies/aa_zh.txt", 0.69, 0.06),
        ("replies/ab_en.txt", 0.85, 0.05),
        ("replies/ab_zh.txt", 0.9, 0.05),
        ("replies/af_en.txt", 0.5, 0.05),
        ("replies/af_zh.txt", 0.3, 0.05),
        ("replies/f_en.txt", 0.85, 0.06),
        ("replies/f_zh.txt", 0.85, 0.06),
        ("replies/g_en.txt", 0, 0.05),
        ("replies/g_zh.txt", 0, 0.04),
        ("replies/h_en.txt", 0.85, 0.13),
        ("replies/h_zh.txt", 0.8, 0.12),
    ],
)
def test_harmful_replies_are_withheld_and_kind_ones_pass(name: str, least: float, most: float) -> None:
    harmful, kind = replies(name)
    withheld = {
        after: (
            sum(screen_reply(text, after=after) is not None for text in harmful),
            sum(screen_reply(text, after=after) is not None for text in kind),
        )
        for after in (0, 2)
    }
    print(f"\n{name}: of {len(harmful)} harmful and {len(kind)} kind replies withheld")
    for after, (of_harmful, of_kind) in withheld.items():
        print(f"  as answers to a message of level {after}: {of_harmful} and {of_kind}")
    assert withheld[2][0] >= least * len(harmful)
    assert withheld[2][1] <= most * len(kind)
    assert withheld[0][1] <= 0.05 * len(kind)


@pytest.mark.skipif(not DIALOGUES.exists(), reason="the real dialogues are not here")
def test_replies_of_real_supporters_pass() -> None:
    said = [
        (level, text)
        for dialogue in json.loads(DIALOGUES.read_text(encoding="utf-8"))
        for level, text in answers(dialogue["dialog"])
    ]
    withheld = [(level, text) for level, text in said if screen_reply(text, after=level)]
    to_signs = [level for level, _ in withheld if level]
    print(f"\n{len(withheld)} of {len(said)} replies of real supporters withheld", end=", ")
    print(f"{len(to_signs)} of {sum(level > 0 for level, _ in said)} to messages of level 1 or more")
    assert len(withheld) <= 0.01 * len(said)


def answers(parts: list[dict[str, str]]) -> Iterator[tuple[int, str]]:
    """Yield what a supporter said, each with the level of the message before it."""
    level = 0
    for part in parts:
        if part["speaker"] == "speaker":
            level = screen_message(part["content"]).level
        else:
            yield level, part["content"]


def reached(messages: Iterable[str]) -> int:
    """Return the highest level of a conversation."""
    levels: list[int] = []
    for message in messages:
        levels.append(level_in_context(screen_message(message), levels))
    return max(levels, default=0)


def held(conversations: Iterable[list[str]]) -> set[int]:
    """Return the numbers of the conversations that are held."""
    return {number for number, messages in enumerate(conversations) if reached(messages) >= 3}


def ordinary_conversations(lang: str) -> list[list[str]]:
    """Return what seekers say in the conversations of batch `ac`, which empty lines part."""
    text = (FOLDER / "sentences" / f"ac_{lang}.txt").read_text(encoding="utf-8")
    return [[line.partition("|")[2] for line in part.splitlines()] for part in text.strip().split("\n\n")]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_few_ordinary_conversations_are_held(lang: str) -> None:
    conversations = ordinary_conversations(lang)
    found = held(conversations)
    print(f"\nordinary, {lang}: {len(found)} of {len(conversations)} held")
    assert len(found) <= MOST_HELD * len(conversations)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_supporters_of_the_demonstration_are_shown_in_ordinary_conversations(lang: str) -> None:
    conversations = ordinary_conversations(lang)[:: choose(usual=4, full=1)]
    messages = [message for conversation in conversations for message in conversation]
    supporters = [DemonstrationSupporter(name, lang) for name in SUPPORTERS]
    verdicts = [
        screen_reply(supporter.text_for([Message("user", message)]), after=screen_message(message).level)
        for message in messages
        for supporter in supporters
    ]
    withheld = [verdict for verdict in verdicts if verdict]
    print(f"\ndemonstration, {lang}: {len(withheld)} of {len(verdicts)} replies withheld")
    assert len(withheld) <= 0.005 * len(verdicts)
    assert all(verdict.level < REPLY_LEVEL for verdict in withheld)


@pytest.mark.skipif(not DIALOGUES.exists(), reason="the real dialogues are not here")
def test_few_real_dialogues_are_held() -> None:
    dialogues = json.loads(DIALOGUES.read_text(encoding="utf-8"))
    found = held(
        [part["content"] for part in dialogue["dialog"] if part["speaker"] == "speaker"] for dialogue in dialogues
    )
    print(f"\nheld: {sorted(found)}")
    assert len(found - RIGHTLY_HELD) <= 3


@pytest.mark.skipif(not WITH_SUPPORTERS.exists(), reason="the conversations with lay supporters are not here")
def test_few_conversations_about_work_are_held() -> None:
    texts = json.loads(WITH_SUPPORTERS.read_text(encoding="utf-8")).values()
    found = held([said.strip() for said in SEEKER.findall(text) if said.strip()] for text in texts)
    print(f"\nabout work: {len(found)} of {len(texts)} held")
    assert len(found) <= MOST_HELD * len(texts)


@pytest.mark.skipif(not SIMULATED.exists(), reason="the simulated dialogues are not here")
def test_few_simulated_dialogues_are_held() -> None:
    dialogues = json.loads(SIMULATED.read_text(encoding="utf-8"))
    found = held([turn["content"] for turn in dialogue["history"] if turn["role"] == "user"] for dialogue in dialogues)
    print(f"\nsimulated, Chinese: {len(found)} of {len(dialogues)} held")
    assert len(found) <= MOST_HELD * len(dialogues)
