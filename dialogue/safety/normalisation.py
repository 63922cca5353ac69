"""Brings a text into the one form that the patterns and the classifier read."""

import re
import unicodedata
from functools import cache
from typing import Any

HAN = re.compile("[\u3400-\u9fff]")
LATIN = re.compile("[a-z]")
INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff]")
MARKS = re.compile("[\u0300-\u036f]+")
APOSTROPHES = re.compile("['’‘`´ʼ]")
STRETCHED = re.compile(r"([a-z])\1{2,}")
STRETCHED_HAN = re.compile("([\u3400-\u9fff])\\1{2,}")
TRAILING_OFF = re.compile("[.。…]{2,}|…")
REPEATED_SIGN = re.compile(r"([^\w\s])\1+")
SENTENCE_END = re.compile(r"[.!?;。\n]+")
NOT_WORD = re.compile(r"[\W_]+")

# Short words of chats, and what is left of a word when its stretched letters have been cut to one.
CHAT_WORDS = {
    "abt": "about", "bc": "because", "bcs": "because", "bcuz": "because", "coz": "because", "cuz": "because",
    "becuz": "because", "u": "you", "ur": "your", "urself": "yourself", "r": "are", "n": "and", "nd": "and",
    "w": "with", "wo": "without", "b4": "before", "2nite": "tonight", "tonite": "tonight", "2night": "tonight",
    "tn": "tonight", "2day": "today", "2moro": "tomorrow", "tmr": "tomorrow", "tmrw": "tomorrow", "tmw": "tomorrow",
    "tomoz": "tomorrow", "2morrow": "tomorrow", "ppl": "people", "sb": "somebody", "smb": "somebody",
    "sm1": "someone", "no1": "no one", "noone": "no one", "every1": "everyone", "any1": "anyone", "idk": "i dont know",
    "ik": "i know", "idc": "i dont care", "idek": "i dont even know", "idgaf": "i dont care", "iwtd": "i want to die",
    "iwkms": "i want to kms", "ctb": "kms", "yall": "you all", "thru": "through", "tho": "though", "rly": "really",
    "rlly": "really", "srsly": "seriously", "prob": "probably", "prolly": "probably", "def": "definitely",
    "smth": "something", "sth": "something", "plz": "please", "pls": "please", "thx": "thanks", "ty": "thank you",
    "dunno": "dont know", "gna": "gonna", "imma": "im gonna", "ima": "im gonna", "wnna": "wanna", "wana": "wanna",
    "wanta": "want to", "tryna": "trying to", "dnt": "dont", "dun": "dont", "cnt": "cant", "wnt": "want",
    "evry": "every", "evrything": "everything", "anymor": "anymore", "4ever": "forever",
    "kil": "kill", "kiling": "killing", "pils": "pills", "wil": "will", "al": "all", "stil": "still", "fel": "feel",
    "suicidle": "suicidal", "suicidial": "suicidal", "sucide": "suicide", "suiside": "suicide", "suicid": "suicide",
    "sewerslide": "suicide", "sewercide": "suicide", "sui": "suicide", "mysef": "myself", "myslef": "myself",
    "myselff": "myself", "meself": "myself", "dieing": "dying", "deth": "death", "alot": "a lot",
}  # fmt: skip
WORD = re.compile(r"\w+")
TO = re.compile(r"\b(want|need|have|going|about|ready|used) 2(?= [a-z])")

# Words that people disguise with digits, signs and stars, or by spelling them out letter by letter; found at once, and
# in this order.
DISGUISED = dict.fromkeys((
    "suicide", "suicidal", "suicides", "kill", "killing", "killed", "die", "dying", "died", "dead", "death", "murder",
    "myself", "yourself", "overdose", "overdosed", "cutting", "unalive", "unaliving", "hang", "hanging", "rape",
    "raped", "jump", "noose", "pills", "kms", "kys", "want", "wanna", "to", "i", "live", "life", "end", "my", "it",
    "the", "me", "not", "dont", "going", "gonna", "am", "im", "self", "harm", "hurt", "tonight", "goodbye", "and",
    "cut", "wrist", "wrists",
))  # fmt: skip
LONGEST = max(map(len, DISGUISED))  # letters
LEET = str.maketrans(
    {"0": "o", "1": "i", "3": "e", "4": "a", "5": "s", "7": "t", "@": "a", "$": "s", "!": "i", "|": "i"}
)
WITHOUT_MARKS = str.maketrans("", "", "._-")
MIXED = re.compile(r"(?<![\w@$*#!])[a-z]{0,15}[\d@$!|*#._\-]{1,4}(?=[\w*#])[\w@$!|*#.\-]{1,15}")
SIGN_IN_WORD = re.compile(r"[\d@$!|*#._\-][\w*#]")  # without one there is nothing for MIXED
SPELLED = re.compile(r"\b[a-z](?:[ .\-_*/,]{1,2}[a-z]){2,}(?![a-z])")

EMOJI = {
    "💊": ("pills", "药"), "🔪": ("knife", "刀"), "🗡": ("knife", "刀"), "🔫": ("gun", "枪"), "🩸": ("blood", "血"),
    "🪢": ("rope", "绳子"), "⚰": ("coffin", "棺材"), "🪦": ("grave", "坟"), "🌉": ("bridge", "桥"),
    "😂": ("lol", "哈哈"), "🤣": ("lol", "哈哈"), "💀": ("lol", "哈哈"), "😆": ("lol", "哈哈"), "🐶": ("", "狗头"),
}  # fmt: skip
EMOJIS = re.compile("[" + "".join(EMOJI) + "]")

# Chinese words of danger as they are written to pass a filter, and a saying of longing that has one.
IN_PLAIN_CHINESE = (
    (re.compile("想死(?=[你您他她它咱]们?[了啦咯喽])"), "想念"),
    (
        re.compile("[亖呩]|歹匕|(?<=[想要去会该快早])(?:4|si|s)(?![0-9a-z])|(?<![0-9a-z.点第])4(?=了(?:算|之|一了))"),
        "死",
    ),
    (
        re.compile(
            "紫[砂杀沙]|自[鲨刹沙纱煞]|[子字籽]杀|自 ?(?:sha|s)(?![a-z])|(?<![a-z])zi ?杀|(?<=[想要去会]) ?zs(?![a-z])"
        ),
        "自杀",
    ),
    (re.compile("(?<=[想要去]) ?(?:tl|跳l|跳lou)(?![a-z])|跳喽|跳娄"), "跳楼"),
    (re.compile("割w(?:an)?(?![a-z])|割[碗晚婉宛]"), "割腕"),
    (re.compile("(?<=[想要]) ?轻声(?![说讲细])"), "轻生"),
    (re.compile("不想[火或](?![锅车热])"), "不想活"),
    (re.compile("[一]书写好"), "遗书写好"),
    (re.compile("安眠y(?:ao)?(?![a-z])"), "安眠药"),
    (re.compile("[噶嘎](?=了)"), "死"),
)

# Cantonese as it is typed, in the words of written Chinese that patterns and weights know; read so only beside a sign
# that no other Chinese has. Words that are parts of others (系 in 关系, 话 in 电话) stand in compounds alone.
IS_CANTONESE = re.compile("[唔冇佢哋咗嘅喺嚟啲嘢攞攰瞓谂鎅]")
CANTONESE = {
    "唔系": "不是", "系咪": "是不是", "就系": "就是", "都系": "都是", "真系": "真是", "唔好": "不要",
    "唔使": "不用", "唔该": "谢谢", "唔": "不", "冇咗": "没了", "冇乜": "没什么", "冇": "没有", "佢哋": "他们",
    "佢": "他", "我哋": "我们", "你哋": "你们", "人哋": "别人", "咗": "了", "嘅": "的", "喺度": "在这里",
    "喺": "在", "企喺": "站在", "企咗": "站了", "嚟": "来", "啲": "些", "嘢": "东西", "攞": "拿", "攰": "累",
    "瞓": "睡", "谂": "想", "鎅": "割", "睇": "看", "揾": "找", "畀": "给", "俾": "给", "咁样": "这样",
    "咁": "这么", "乜": "什么", "点解": "为什么", "点样": "怎么样", "边个": "谁", "边度": "哪里", "呢个": "这个",
    "呢啲": "这些", "呢度": "这里", "𠮶": "那", "而家": "现在", "依家": "现在", "听日": "明天", "听朝": "明天早上",
    "噚晚": "昨晚", "寻晚": "昨晚", "噚日": "昨天", "寻日": "昨天", "成日": "整天", "今次": "这次", "返工": "上班",
    "返学": "上学", "返屋企": "回家", "食": "吃", "饮": "喝", "闹我": "骂我", "想喊": "想哭", "喊到": "哭到",
    "好惊": "好怕", "讲": "说", "落去": "下去", "仲": "还", "屋企": "家里", "老豆": "爸爸", "阿妈": "妈妈",
    "阿爸": "爸爸", "嗌交": "吵架", "啱啱": "刚刚",
}  # fmt: skip
CANTONESE_WORD = re.compile("|".join(sorted(CANTONESE, key=len, reverse=True)))


@cache
def _converter() -> Any:
    # The dictionaries take a tenth of a second to load, and most English studies never need them.
    from opencc import OpenCC

    return OpenCC("t2s")


def fold(text: str) -> str:
    """Return the text in lower case, simplified characters and plain words, with disguises undone.

    Apostrophes are left out ("dont"), stretched letters and signs are cut, and spelled, masked and chat words are put
    right. Sentence ends stay, since a negation or a past time speaks for its own sentence only.
    """
    text = unicodedata.normalize("NFKC", text).lower() if not text.isascii() else text.lower()
    chinese = bool(HAN.search(text))
    if not text.isascii():
        text = APOSTROPHES.sub("", MARKS.sub("", unicodedata.normalize("NFD", INVISIBLE.sub("", text))))
        text = unicodedata.normalize("NFC", text)
        text = EMOJIS.sub(lambda match: f" {EMOJI[match[0]][chinese]} ", text)
    else:
        text = APOSTROPHES.sub("", text)
    if chinese:
        text = _fold_chinese(text)
    if LATIN.search(text):
        text = _fold_latin(text)
    text = text.strip()
    if ".." in text or not text.isascii():
        text = TRAILING_OFF.sub(", ", text)
    text = REPEATED_SIGN.sub(r"\1", text.replace("\n", " . "))
    return " ".join(text.split())


def _fold_chinese(text: str) -> str:
    text = STRETCHED_HAN.sub(r"\1\1", _converter().convert(text)).replace("妳", "你")
    if IS_CANTONESE.search(text):
        text = CANTONESE_WORD.sub(lambda match: CANTONESE[match[0]], text)
    for written, plain in IN_PLAIN_CHINESE:
        text = written.sub(plain, text)
    return text


def _fold_latin(text: str) -> str:
    if SIGN_IN_WORD.search(text):
        text = MIXED.sub(lambda match: _unmask(match[0]), text)
    text = SPELLED.sub(lambda match: _join_letters(match[0]), text)
    text = STRETCHED.sub(r"\1", text)
    if " 2 " in text:
        text = TO.sub(r"\1 to", text)
    if CHAT_WORDS.keys().isdisjoint(WORD.findall(text)):
        return text
    return WORD.sub(lambda match: CHAT_WORDS.get(match[0], match[0]), text)


def _unmask(word: str) -> str:
    """Return the plain word behind "su1c1de", "k*ll" or "d.i.e", or the word itself where there is none."""
    body = word.rstrip(".!-|")
    without_marks = body.translate(WITHOUT_MARKS)
    if len(without_marks) > LONGEST:
        return word
    tail = word[len(body) :]
    plain = body.translate(LEET)
    for candidate in (plain, without_marks.translate(LEET)):
        if candidate in DISGUISED:
            return candidate + tail
    if ("*" in plain or "#" in plain) and plain.strip("*#"):
        mask = re.compile(
            re.sub(
                r"[*#]+", lambda match: "." * len(match[0]), re.escape(plain).replace(r"\*", "*").replace(r"\#", "#")
            )
        )
        for candidate in DISGUISED:
            if len(candidate) > 2 and mask.fullmatch(candidate):
                return candidate + tail
    return word


def _join_letters(spelled: str) -> str:
    """Return the words that single letters spell, or the letters as they are where they spell none."""
    letters = NOT_WORD.sub("", spelled)
    words: list[str] = []
    while letters:
        longest = max((word for word in DISGUISED if letters.startswith(word)), key=len, default="")
        if not longest:
            return spelled
        words.append(longest)
        letters = letters[len(longest) :]
    return " ".join(words)


def sentences(folded: str) -> list[str]:
    """Return the sentences of a folded text, without their ends."""
    return [part for part in (one.strip() for one in SENTENCE_END.split(folded)) if part]
