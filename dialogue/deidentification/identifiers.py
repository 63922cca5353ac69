"""Search for identifying details in texts: addresses, numbers, dates and names, in English and Chinese. Pure.

The patterns rather take an ordinary number for a telephone's than miss one. Unknown names are found by their form only,
so an English name at the beginning of a sentence is missed. A known name is found wherever it stands as a word.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

Identifier = Literal["email", "url", "account", "date", "phone", "street"]

TOKEN = re.compile(r"[a-z0-9']+|[\u4e00-\u9fff]")
HAN = re.compile("[\u4e00-\u9fff]")

MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\.?"
)
ROAD = r"(?:street|st|road|rd|avenue|ave|lane|drive|square|court|boulevard|blvd|terrace|crescent|gardens)"
NUMBERED = r"[\d一二三四五六七八九十百]+"
PATTERNS: Mapping[Identifier, tuple[str, ...]] = {
    "email": (
        r"[^\s@,;:()<>\[\]\"“”\u3000-\u9fff]+@[^\s@,;:!?()<>\"“”\u3000-\u9fff]+\.[^\s@,;:!?()<>\"“”\u3000-\u9fff]+",
        r"[a-z0-9_.+-]+ ?(?:\(at\)|\[at\]| at ) ?[a-z0-9-]+ ?(?:\(dot\)|\[dot\]| dot ) ?[a-z0-9]+",
    ),
    "url": (
        r"https?://[^\s\u3000-\u9fff]+",
        r"(?<![a-z0-9_])www\.[^\s\u3000-\u9fff]+",
        r"(?<![@a-z0-9_.-])[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:com|org|net|edu|gov|info|io|me|app|cn|uk|de|fr|co)"
        r"(?![a-z0-9_])(?:/[^\s\u3000-\u9fff]*)?",
    ),
    "account": (
        r"(?<![a-z0-9_.])@[a-z0-9_]{3,}",
        r"(?:微信|wechat|weixin|(?<![a-z])(?:wx|qq)|telegram|instagram|whatsapp|skype|discord)(?:号|号码| id| number)?"
        r" ?(?:[:：是为]|is|was) ?[a-z0-9_.-]{4,}",
        r"(?<![a-z0-9])[a-z]{1,3}\d{5,}[a-z]?(?![a-z0-9])",
        r"(?<!\d)\d{17}x",
    ),
    "date": (
        r"(?<!\d)(?:19|20)\d\d ?[-/.年] ?\d{1,2} ?[-/.月] ?\d{1,2}(?!\d)",
        r"(?<![\d.])\d{1,2}[-/.]\d{1,2}[-/.](?:19|20)?\d\d(?![\d.]*\d)",
        rf"\b\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {MONTH}(?!\w)",
        rf"\b{MONTH} \d{{1,2}}(?!\d)",
        rf"{NUMBERED} ?月 ?{NUMBERED} ?[日号]",
    ),
    "phone": (r"\+?\d(?:[ ().\-–—/_]{0,3}\d){6,}", r"[〇零一二两三四五六七八九幺]{7,}"),
    "street": (
        rf"\b\d+[a-z]?,? (?:[a-z'-]+ ){{1,3}}{ROAD}\b",
        rf"{NUMBERED} ?(?:号楼|号院|单元|弄\d|栋)",
        rf"[\u4e00-\u9fff]{{2,4}}(?:路|街|大道|巷|胡同) ?{NUMBERED} ?号",
        r"\b[a-z]{1,2}\d[a-z\d]? \d[a-z]{2}\b",  # a British postcode
    ),
}
COMPILED = {rule: tuple(re.compile(each) for each in patterns) for rule, patterns in PATTERNS.items()}
YEARS = re.compile(r"(?:19|20)\d\d\D{1,3}(?:19|20)\d\d")  # from one to another


AROUND = " .,;:"  # signs around a match that are not part of it


class Place(NamedTuple):
    """The place of something in a text, in characters: from `start` up to, and without, `end`."""

    kind: Identifier | Literal["name"]
    start: int
    end: int


def identifiers_in(text: str) -> Iterator[tuple[Identifier, str]]:
    """Yield each identifier's kind and its words in lower case."""
    plain = _normalise(text)
    for kind, match in _identifier_matches(plain):
        yield kind, match[0].strip(AROUND)


def places_in(text: str, names: Sequence[str] = ()) -> list[Place]:
    """Return the places of everything that `identifiers_in` finds and of `names`, in the order of the text. Some may
    overlap."""
    plain, origins = normalise_with_origins(text)
    spans = [(kind, *_trimmed_span(match)) for kind, match in _identifier_matches(plain)]
    places = [Place(kind, origins[start], origins[end - 1] + 1) for kind, start, end in spans]
    places += [place for name in names for place in _places_of_name(text, plain, origins, _normalise(name))]
    return sorted(places, key=lambda place: (place.start, -place.end))


def _identifier_matches(plain: str) -> Iterator[tuple[Identifier, re.Match[str]]]:
    dates = [match.span() for match in _matches("date", plain)]
    for kind in COMPILED:
        for match in _matches(kind, plain):
            if kind != "phone" or _is_phone(match, dates):
                yield kind, match


def _trimmed_span(match: re.Match[str]) -> tuple[int, int]:
    before = len(match[0]) - len(match[0].lstrip(AROUND))
    return match.start() + before, match.start() + len(match[0].rstrip(AROUND))


def _matches(kind: Identifier, plain: str) -> Iterator[re.Match[str]]:
    return (match for pattern in COMPILED[kind] for match in pattern.finditer(plain))


def _is_phone(match: re.Match[str], dates: Sequence[tuple[int, int]]) -> bool:
    """Return whether a match is a phone number and not a date or a span of years."""
    within = any(start <= match.start() and match.end() <= end for start, end in dates)
    return not within and not YEARS.fullmatch(match[0])


ORDINARY = """
    I AI OK TV PC CV HR PhD MBA ADHD OCD PTSD GP USA UK Monday Tuesday Wednesday Thursday Friday Saturday Sunday
    January February March April May June July August September October November December Christmas Easter English
    Chinese Internet ChatGPT DeepSeek Mum Mom Dad God Uni Mr Mrs Ms Dr Sir
"""
NO_NAMES = frozenset(ORDINARY.split())
CAPITALISED = re.compile(r"(?<![\w'’])(?:[A-Z][a-z'’-]+|[A-Z]{3,})(?:[A-Z][a-z]+)*(?!\w)")
SENTENCE_BEGINS = re.compile(r"(?:^|[.!?…。！？:：\n\"“])[\s\"“'‘(]*$")
SURNAMES = (
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何林高罗郑梁谢宋唐许韩冯邓曹彭曾肖田董袁潘蒋蔡余杜叶程苏魏吕丁任沈姚卢姜崔钟谭陆汪范金石廖"
    "贾夏韦付白邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严覃武戴莫孔"
)
TITLES = "老师|先生|女士|小姐|医生|大夫|经理|主任|总监|教授|局长|校长|师傅|总|哥|姐"
CALLED = re.compile(
    rf"(?:名叫|名字叫|叫做|叫)([{SURNAMES}][\u4e00-\u9fff]{{1,2}})"
    rf"|([{SURNAMES}][\u4e00-\u9fff]{{0,2}}?(?:{TITLES}))"
    rf"|((?:小|老|阿)[{SURNAMES}])(?![\u4e00-\u9fff]{{0,1}}(?:时|师))"
)
SMALL = "的了在去上到从进是和跟于这那家所个我你他她们"  # stand before an institution's name and are no part of it
PLACED = re.compile(
    rf"(?=([^\W\da-zA-Z{SMALL}][^\W\da-zA-Z{SMALL}城农小社地山]"
    "(?:省|市|县|区|镇|村|大学|学院|中学|医院|公司|集团|银行)))"
)
ORDINARY_PLACE = re.compile("重点|普通|外地|当地|本地|附近|全国|小型|大型|国有|民营|外资|联网|私立|公立|儿童|人民|其他")


def names_in(text: str) -> set[str]:
    """Return words that are probably names of people, places or firms.

    English names are capitalised within a sentence, or in capitals. Chinese names are a surname with a title or after
    叫, and words that end like a place or an institution. Misses other names.
    """
    words = {
        match[0]
        for match in CAPITALISED.finditer(text)
        if match[0] not in NO_NAMES and not SENTENCE_BEGINS.search(text[: match.start()])
    }
    people = {next(filter(None, match.groups())) for match in CALLED.finditer(text)}
    return words | people | {place for place in PLACED.findall(text) if not ORDINARY_PLACE.match(place)}


def has_name(text: str, name: str, *, exactly: bool = False) -> bool:
    """Return whether `name` stands in the text as a word of its own; in Chinese, without spaces, anywhere.

    `exactly`: with its capital letters.
    """
    fold = _fold if exactly else _normalise
    return _has(fold(text), fold(name))


# Names that are ordinary words too; without a capital letter they do not count as names.
NAMES_AND_WORDS = """
    amber angel april art august autumn bill chase crystal daisy dawn drew faith frank grace grant guy heather holly
    hope iris ivy jack jasmine joy june lily mark may melody mercy miles nick olive pat pearl penny ray rich rob robin
    rose ruby sky star sue summer sunny victor violet wade will
"""
ALSO_WORDS = frozenset(NAMES_AND_WORDS.split())
NO_NAME_GIVEN = """
    me you no none nobody anything whatever anonymous friend guest user 没有 随便 匿名 朋友 不知道
"""
NOBODY = frozenset(NO_NAME_GIVEN.split())
SHORTEST_NAME = 2  # characters; a shorter one would be found everywhere


def forms_of_name(answer: str) -> tuple[str, ...]:
    """Return the names in an answer to "What are you called?": the whole, and each part of "Ann Lee".

    It is empty if the answer names no one.
    """
    whole = _fold(answer)
    parts = whole.split(" ") if all(part[:1].isupper() for part in whole.split(" ")) else []
    names = dict.fromkeys([whole, *parts])
    return tuple(name for name in names if len(name) >= SHORTEST_NAME and _normalise(name) not in NOBODY)


def _places_of_name(text: str, plain: str, origins: Sequence[int], name: str) -> Iterator[Place]:
    for start in _starts(plain, name):
        first, last = origins[start], origins[start + len(name) - 1]
        if name not in ALSO_WORDS or text[first].isupper():
            yield Place("name", first, last + 1)


def runs(text: str, length: int) -> list[tuple[str, ...]]:
    """Return each run of `length` words, or Chinese characters, in a row."""
    tokens = TOKEN.findall(_normalise(text).replace("’", "'"))
    return [tuple(tokens[start : start + length]) for start in range(len(tokens) - length + 1)]


def _normalise(text: str) -> str:
    """Return the text in lower case, with narrow signs and single spaces."""
    return _fold(_fold(text).casefold())


def _fold(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).split())


def normalise_with_origins(text: str) -> tuple[str, list[int]]:
    """Return the normalised text and for each of its characters the place in `text` that it comes from."""
    signs: list[str] = []
    origins: list[int] = []
    for place, sign in enumerate(text):
        for each in unicodedata.normalize("NFKC", sign).casefold():
            if not each.isspace() or (signs and signs[-1] != " "):
                signs.append(" " if each.isspace() else each)
                origins.append(place)
    return "".join(signs), origins


def _has(text: str, name: str) -> bool:
    return any(True for _ in _starts(text, name))


def _starts(text: str, name: str) -> Iterator[int]:
    """Yield where `name` stands as a word of its own; in Chinese, without spaces, anywhere."""
    if not name:
        return
    for match in re.finditer(f"(?={re.escape(name)})", text):
        start, end = match.start(), match.start() + len(name)
        if not (_joins(text[start - 1 : start], name[0]) or _joins(name[-1], text[end : end + 1])):
            yield start


def _joins(before: str, after: str) -> bool:
    """Return whether the two characters belong to the same word."""
    return all(each.isalnum() and not HAN.match(each) for each in (before or " ", after or " "))
