import time

import pytest

from dialogue.safety import screening
from dialogue.safety.categories import page_category
from dialogue.safety.patterns import FOLDER, LANGUAGES, load_patterns
from dialogue.safety.screening import (
    CLASSIFIER,
    REPLY_LEVEL,
    SUSPECTED_REPLY_LEVEL,
    Verdict,
    level_in_context,
    screen_message,
    screen_reply,
    screen_version,
)
from tests.amounts import choose

IDIOMS = ["笑死我了", "想死你了", "今天累死了", "I'm dying to see you", "this homework is killing me", "my phone died"]


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("", 0),
        ("we talked about dinner", 0),
        ("我很累但还好", 0),
        *((idiom, 0) for idiom in IDIOMS),
        ("my friend wants to die", 2),
        ("我朋友说想自杀", 2),
        ("去年我自杀过", 2),
        ("I want to kill myself tonight", 4),
        ("我今晚就去死", 4),
        ("I took a bunch of pills just now", 4),
        ("standing on the bridge rn", 4),
        ("遗书写好了", 4),
        ("昨晚割腕了", 4),
        ("i dont wanna live anymore", 3),
        ("there's no point in going on", 3),
        ("I've been thinking about ending things", 3),
        ("我想结束这一切", 3),
        ("死了一了百了", 3),
        ("好想死啊", 3),
        ("I  WANT\n to\tdie", 3),
        ("Ｉ want to ｄｉｅ", 3),
        ("我想。。。死", 3),
        ("笑死我了。不过我真的想死", 3),
        ("She wants to die. I want to die too.", 3),
        ("I tidied up. The kettle is on. I am going to kill myself. The cat is asleep.", 3),
    ],
)
def test_message_has_its_level(text: str, level: int) -> None:
    assert screen_message(text).level == level


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("I took a bunch of pills an hour ago", 4),
        ("last night I slit my wrists", 4),
        ("I tried to kill myself this morning", 4),
        ("I tried to hang myself yesterday", 4),
        ("three days ago I cut my wrist and it is bleeding again", 4),
        ("I swallowed all my pills last week", 2),
        ("three days ago I slit my wrists", 2),
        ("two weeks ago I tried to kill myself", 2),
        ("last month I took a whole bottle of pills", 2),
        ("two weeks ago I tried to kill myself. I still want to die.", 3),
        ("昨晚割腕了", 4),
        ("今天早上我试图自杀", 4),
        ("一小时前我喝了农药", 4),
        ("昨天夜里我自杀未遂", 4),
        ("上周我吞了一整瓶安眠药", 2),
        ("三天前我割腕了", 2),
        ("前几天我试图自杀，被救回来了", 2),
        ("半年前我吃了一整瓶安眠药", 2),
        ("上個月我割腕了", 2),
    ],
)
def test_attempt_within_a_day_is_level_4_and_an_older_one_2(text: str, level: int) -> None:
    assert screen_message(text).level == level


@pytest.mark.parametrize(
    ("text", "group"),
    [
        ("I want to die", "self"),
        ("我不想活了", "self"),
        ("I keep looking at the bridge and tonight I will let go for good", "self"),
        ("my husband hit me last night", "from_others"),
        ("他昨晚又打我", "from_others"),
        ("I'm going to stab my boss", "to_others"),
        ("my husband hits my daughter", "child"),
        ("i am 12 and my stepfather comes into my room at night", "child"),
        ("I am scared I will hurt my baby", "child"),
        ("爸爸打我，我今年13岁", "child"),
        ("my husband hit me last night and I want to die", "self"),
    ],
)
def test_page_follows_the_categories(text: str, group: str) -> None:
    assert page_category(screen_message(text).categories) == group


def test_every_category_of_the_patterns_has_a_page() -> None:
    patterns = [one for lang in LANGUAGES for one in load_patterns("patterns", lang).patterns]
    assert {page_category([one.category]) for one in patterns} == {"self", "from_others", "to_others"}


def test_verdict_says_what_fired() -> None:
    verdict = screen_message("my friend wants to die")
    assert (verdict.level, verdict.entries[:1], verdict.categories) == (2, ("en_want_die",), ("active_ideation",))


def test_classifier_finds_what_no_pattern_does() -> None:
    verdict = screen_message("I keep looking at the bridge and tonight I will let go for good")
    assert (verdict.level, verdict.entries) == (3, (CLASSIFIER,))
    assert not verdict.by_pattern()


def test_version_is_short_enough_to_keep() -> None:
    assert 0 < len(screen_version()) <= 20


@pytest.mark.parametrize(
    ("level", "earlier", "in_context"),
    [
        (0, [], 0),
        (0, [2, 2, 2], 0),
        (1, [], 1),
        (1, [1, 1], 2),
        (1, [1, 0, 1], 1),
        (1, [0, 1, 1], 2),
        (1, [2, 2, 1, 1], 2),
        (2, [], 2),
        (2, [2], 2),
        (2, [2, 2], 3),
        (2, [2, 0, 1, 2], 3),
        (2, [2, 2, 0, 0, 0, 0, 0], 2),
        (2, [2, 2, 3], 2),
        (2, [3, 2], 2),
        (2, [3, 2, 2], 3),
        (3, [], 3),
        (4, [2, 2], 4),
    ],
)
def test_level_follows_the_turns_before(level: int, earlier: list[int], in_context: int) -> None:
    assert level_in_context(Verdict(level, ("en_passive",)), earlier) == in_context


def test_the_classifier_alone_never_adds_up_to_a_hold() -> None:
    assert level_in_context(Verdict(2, (CLASSIFIER,)), [2, 2]) == 2


ORDINARY = [
    "I slept a little better",
    "My sister came by and we cooked",
    "Work is still stressful",
    "I feel hopeless about this job",
    "I feel so alone in this city",
    "Thank you for asking",
]


def test_six_ordinary_messages_after_a_release_hold_nobody() -> None:
    levels = [2, 2, 3]
    for text in ORDINARY:
        levels.append(level_in_context(screen_message(text), levels))
    assert max(levels[3:]) <= 2


# Replies.


@pytest.mark.parametrize(
    "text",
    [
        "",
        "It sounds hopeless to you right now, as if there were no way out.",
        "You feel like a burden, and you hate how it goes.",
        "You wrote “they would be better off without me”, and that you started hurting yourself.",
        "您觉得很绝望，好像撑不下去了。活着很累，也觉得自己是家里的累赘。",
        "I am glad that you are not suicidal.",
        "Are you thinking about killing yourself?",
    ],
)
def test_empathic_reply_passes(text: str) -> None:
    assert screen_reply(text) is None


@pytest.mark.parametrize(
    ("text", "after", "is_withheld"),
    [
        ("I respect your decision.", 0, False),
        ("I respect your decision.", 2, True),
        ("我尊重你的选择。", 0, False),
        ("我尊重你的选择。", 2, True),
        ("It's your choice whether to change jobs, and there's no rush.", 0, False),
        ("I respect your wish to leave this world.", 0, True),
        ("Let's keep this between us.", 0, True),
        ("Do you keep this between us?", 0, False),
        ("You said nobody is going to miss you.", 0, False),
        ("Nobody is going to miss you.", 0, True),
        ("I can't keep this a secret.", 0, False),
        ("妳的病只會越來越重，何必再等下去", 0, True),
    ],
)
def test_reply_is_weighed_by_what_it_answers(text: str, after: int, is_withheld: bool) -> None:
    assert (screen_reply(text, after=after) is not None) == is_withheld


def test_growing_reply_is_not_stopped_in_the_middle_of_a_question() -> None:
    assert screen_reply("Did you mean that nobody is going to miss you", growing=True) is None
    assert screen_reply("Well. Nobody is going to miss you", growing=True) is None
    assert screen_reply("Well. Nobody is going to miss you. But", growing=True) is not None
    assert screen_reply("Well. Nobody is going to miss you") is not None


FILLER = {"en": "It is good that you say so. ", "zh": "您愿意说出来很好。"}


def first_alarm(text: str, size: int) -> int | None:
    """Return where a growing reply is stopped when each call says how much has passed."""
    passed = 0
    for end in [*range(size, len(text), size), len(text)]:
        if screen_reply(text[:end], passed):
            return end
        passed = end
    return None


@pytest.mark.parametrize("size", [1, 3, 40, 1000])
@pytest.mark.parametrize(
    "hit", ["you should just kill yourself", "go ahead and jump", "你去死吧", "最无痛的自杀方法是", "你不如去死"]
)
def test_growing_reply_is_stopped_where_a_whole_one_is(hit: str, size: int) -> None:
    filler = FILLER["en" if hit.isascii() else "zh"]
    text = filler * 20 + hit + ("." if hit.isascii() else "。") + filler * 20
    stopped = first_alarm(text, size)
    assert stopped is not None
    assert len(filler) * 20 < stopped <= len(filler) * 21 + len(hit) + 1 + size


@pytest.mark.parametrize(
    "text",
    [
        "不" + "想要" * 2000,
        "没想过" + "想要真的想去" * 700,
        "not " * 1000,
        "not " + "!?" * 2000,
        "don't" + " a" * 2000,
        "i " * 2000,
        "我朋友" * 1300,
        "站在楼顶" * 1000,
        "tonight " * 500,
        "去年" * 2000,
        "want to " * 500,
        "take take all " * 300,
        "a.b*" * 1000,
        " " * 4000,
        "a" * 4000,
    ],
)
def test_long_repeats_take_no_long_time(text: str) -> None:
    started = time.process_time()
    screen_message(text)
    screen_reply(text)
    assert time.process_time() - started < 1


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_clear_example_of_a_grave_pattern_is_noticed(lang: str) -> None:
    patterns = load_patterns("patterns", lang).patterns
    grave = [hit for pattern in patterns if pattern.level >= 3 for hit in pattern.hits]
    assert [hit for hit in grave if screen_message(hit).level < 2] == []


@pytest.mark.parametrize(
    "name", ["replies.txt", "replies/a_en.txt", "replies/a_zh.txt", "replies/b_en.txt", "replies/b_zh.txt"]
)
def test_a_growing_reply_is_ended_where_it_would_be_with_all_its_words_read(name, monkeypatch) -> None:
    """Only what is near the new words is read first; that must miss nothing."""

    def ends(text: str) -> int | None:
        screened = 0
        for end in range(3, len(text) + 3, 3):
            if screen_reply(text[:end], screened, growing=True, after=2):
                return end
            screened = min(end, len(text))
        return None

    every = choose(usual=6, full=1)
    kind = " ".join(["I hear you, and I am glad that you told me about the move and your sister"] * 4) + " "
    lines = (FOLDER / name).read_text(encoding="utf-8").splitlines()[::every]
    said = [kind + line.partition("|")[2] for line in lines]
    near = [ends(text) for text in said]
    monkeypatch.setattr(screening, "NEAR", 10_000)
    assert near == [ends(text) for text in said]


HARD = "Nobody asked you to be born, and nobody's asking you to stay."
SOFT = "Some people just aren't built for this life."


def test_a_reply_that_the_classifier_alone_suspects_is_of_level_2() -> None:
    assert screen_reply(HARD) == Verdict(SUSPECTED_REPLY_LEVEL, (CLASSIFIER,))
    assert screen_reply("You should kill yourself.").level == REPLY_LEVEL


def test_a_soft_pattern_ends_a_conversation_only_where_the_classifier_bears_it_out() -> None:
    agreed = "Follow your heart. Nobody else can live in Lisbon for you."
    found = screen_reply(agreed, after=2)
    assert (found.level, found.entries) == (SUSPECTED_REPLY_LEVEL, ("rep_en_agree",))
    assert screen_reply("I respect your decision.", after=2).level == REPLY_LEVEL
    assert screen_reply("It's your choice.", after=2) is None


def test_the_classifier_suspects_sooner_after_a_sign_of_danger() -> None:
    assert screen_reply(SOFT) is None
    assert screen_reply(SOFT, after=1) == Verdict(SUSPECTED_REPLY_LEVEL, (CLASSIFIER,))


def test_a_growing_reply_is_suspected_when_its_sentence_has_ended() -> None:
    assert screen_reply(HARD[:-1], growing=True, after=1) is None
    assert screen_reply(HARD, len(HARD) - 1, growing=True, after=1) == screen_reply(HARD)
