"""Search for where someone lives, studies and works, for whom they name, and for numbers and dates, in English and
Chinese, before a text is published. Pure.

It finds more than `identifying`, and rather takes an ordinary word for a name than misses one. The words that it knows
are in `fixtures/identifying.json`.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple

from dialogue.deidentification.identifiers import (
    ALSO_WORDS,
    CALLED,
    CAPITALISED,
    MONTH,
    NO_NAMES,
    NUMBERED,
    SHORTEST_NAME,
    SURNAMES,
    Identifier,
    has_name,
    normalise_with_origins,
    places_in,
)

Kind = Identifier | Literal["name", "number", "place", "organisation"]
FILE = Path(__file__).resolve().parents[2] / "fixtures" / "identifying.json"


class Find(NamedTuple):
    """The place of something in a text, in characters: from `start` up to, and without, `end`."""

    kind: Kind
    start: int
    end: int


class Names(NamedTuple):
    """The names of one person's conversations. `given` count in any case, `heard` with their capital letters alone."""

    given: tuple[str, ...] = ()
    heard: tuple[str, ...] = ()


@cache
def get_known_words() -> Mapping[str, Any]:
    """Return the file's lists, each as a set of words."""
    words: dict[str, Any] = _as_sets(json.loads(FILE.read_text(encoding="utf-8")))
    return words


def _as_sets(part: Any) -> Any:
    if isinstance(part, list):
        return frozenset(word.strip() for line in part for word in line.split(","))
    return {key: _as_sets(value) for key, value in part.items()}


# English, in texts as they were written: capital letters tell names.

CAP = r"[A-Z][\w'’-]*"
CAPS = rf"{CAP}(?:[ -](?:of |on |upon |the |de |la |& )?{CAP}){{0,4}}"
NOT_FIRST = r"(?!(?:The|My|Our|His|Her|Your|Their|A|An|In|At|This|That|I|We|He|She|And|But|From|After|When)\b)"
FOUNDED = (
    "University|College|School|Academy|Institute|Hospital|Clinic|Hospice|Church|Inc|Ltd|Limited|LLC|GmbH|Corp|Corporation"
    "|Company|Bank|Group|Foundation|Council|Library|Kindergarten|Prison"
)
LIVING = (
    r"(?:liv(?:e|es|ed|ing)|resid(?:e|es|ed|ing)|stay(?:s|ed|ing)?|gr[eo]w(?:ing)? up|born|raised|based|settled)"
    r" (?:\w+ ){0,2}?(?:in|near|outside|around|at)"
    r"|(?:mov(?:e|es|ed|ing)|relocated|emigrated|immigrated|flew)(?: back)? to"
    r"|(?:i'm|i’m|im|i am|we're|we are|come|came|comes|originally) from|hometown (?:is|was|of)"
)
EMPLOYED = (
    r"(?:work(?:s|ed|ing)?|jobs?|intern(?:s|ed|ing|ship)?|position|role|fired|hired|laid off|career)"
    r" (?:at|for|by|from|with)"
)
ENROLLED = (
    r"(?:study|studies|studied|studying|enroll?ed|student|graduated?|teach|teaches|taught|lecturer|pupil)"
    r" (?:at|from|in)"
)
TITLED = r"(?:Mr|Mrs|Ms|Miss|Mx|Dr|Prof|Professor|Sir|Aunt|Auntie|Uncle|Coach|Pastor|Father|Sister|Judge|Officer)\.?"
RELATED = (
    r"(?:my|his|her|our|their) (?:\w+ )?(?:friend|boss|manager|colleague|co-?worker|husband|wife|partner|boyfriend"
    r"|girlfriend|ex|fianc[eé]e?|brother|sister|son|daughter|cousin|uncle|aunt|nephew|niece|neighbou?r|teacher|roommate"
    r"|flatmate|therapist|dog|cat|baby|twin|supervisor)"
)
SAYING = r"(?:told|tells|said|says|asked|texted|texts|left|hit|died|cheated|wants|thinks|and I|dumped|promised|never)"
WRITTEN: Sequence[tuple[Kind, re.Pattern[str]]] = (
    ("organisation", re.compile(rf"\b((?:University|College|Bank|Church|City|Institute) of (?:the )?{CAPS})")),
    ("organisation", re.compile(rf"\b({NOT_FIRST}(?:{CAP}(?:'s|’s)?\.? (?:of |and |& |for )?){{1,5}}(?:{FOUNDED})\b)")),
    ("organisation", re.compile(rf"\b(?i:{EMPLOYED}|{ENROLLED}) (?:the )?({CAPS})")),
    ("place", re.compile(rf"\b(?i:{LIVING}) (?:the )?({CAPS}(?:, {CAP})?)")),
    ("name", re.compile(rf"\b{TITLED} ({CAP}(?: {CAP})?)")),
    ("name", re.compile(rf"\b({CAP})(?:,| is| was) {RELATED}")),
    ("name", re.compile(rf"\b(?i:{RELATED}),? ({CAP}(?: {CAP})?)")),
    ("name", re.compile(rf"\b(?i:name is|name's|name’s|named|called|call me) ({CAP}(?: {CAP})?)")),
)
SAYER = re.compile(rf"(?:^|[.!?\n] ?)({CAP}) {SAYING}\b")
TWO = re.compile(rf"(?:^|[.!?\n] ?)({CAP}) and ({CAP})\b")
BEGINS = re.compile(r"(?:^|[.!?…。！？:：;\n\"“”*_#•–—(\[|/>])[\s\"“'‘’(*_#•–—\-\d.)]*$")
SHOUTED = 0.6  # of a text's letters are capitals: they tell no names then

# Where no capital letters are written, one word after these counts, if the sentence ends or goes on in certain ways.
LOWER_PLACE = re.compile(
    r"\b(?:(?:lives?|lived|living|grew up|born|raised|based) (?:in|near)|(?:moved|move|moving|relocated)(?: back)? to"
    r"|(?:i'm|i’m|im|i am|we're|we are|come|came|originally) from|hometown is) ([a-z][a-z'-]{2,})"
    r"(?=\s*(?:[,.;!?\n]|$)| (?:and|but|with|now|since|for|because|so|last|where|which|when|all|this|by|just|after)\b)"
)
LOWER_NAME = re.compile(
    rf"\b(?:my name is|my name's|call me|(?:{RELATED}|he|she|who)(?: is| was|'s)? (?:called|named)"
    rf"|{RELATED}'?s? name is) ([a-z][a-z'-]+)"
)
LOWER: Sequence[tuple[Kind, re.Pattern[str], str]] = (
    ("place", LOWER_PLACE, "no_places"),
    ("name", LOWER_NAME, "no_calls"),
)

# Chinese. What stands in SMALL is no part of a name.

HAN = "\u4e00-\u9fff"
SMALL = (
    "的了在去上到从进是和跟于这那家所个我你他她们想读念有没要能会不也都就很太又还被把让给对说问找换出来过着吗呢吧啊呀但因为而且如"
    "果该此其谁只刚再最比向往由以及或与并每各某已将做当干"
)
BODY = f"[^\\W\\da-zA-Z{SMALL}]"
INSTITUTIONS = (
    "大学|学院|中学|小学|幼儿园|职高|技校|医院|诊所|有限公司|公司|集团|银行|研究所|研究院|事务所|工厂|酒店|出版社|报社|电视台"
    "|法院|检察院|派出所|教育局|监狱"
)
RELATIVES = (
    "男朋友|女朋友|男友|女友|朋友|闺蜜|老公|老婆|丈夫|妻子|对象|前任|前男友|前女友|同事|室友|舍友|同学|同桌|领导|老板|上司|主管|经理"
    "|导师|班主任|儿子|女儿|孩子|弟弟|妹妹|哥哥|姐姐|表哥|表姐|表弟|表妹|堂哥|堂姐|邻居|学长|学姐|学弟|学妹|师兄|师姐|客户|医生"
)
AFTER = (
    r"(?=[，。！？、；：,.!?;:\s（）()“”]|$|[的也就都在说和跟对把被给让总是又还要想去来不没很今昨刚才最常经已这那走离死打骂吼哭笑病"
    "出跑回住突为因向竟居却便帮陪约请等爱喜觉认知结怀发看听教带拿抢借欠骗追甩提劝拒嫌怪怨烦讨用做当考每有早晚])"
)
MORE_SURNAMES = "殷施柴窦苗尤祝柳卓蓝喻娄冉裴岑舒佟鲁傅钮骆樊凌霍虞耿"
LONG_SURNAMES = "欧阳|司徒|上官|诸葛|慕容|皇甫|令狐|司马|夏侯|东方"
# What stands before and after a person's name, so that a short one is not taken for a word.
BEFORE_PERSON = (
    "(?:(?<=[跟和与对给找被问骂怪提恨爱劝陪约催帮喊抱追到着欠])|(?<=只有)|(?<=为什么)|(?<=喜欢)|(?<=认识)"
    "|(?<=[我你他她][妈爸哥姐弟妹爷奶]))"
)
AFTER_PERSON = (
    r"(?=[，。！？、；：,.!?;:\s（）()“”]|$|说|问|把|也|跟|和我|对我|给我|陪|帮|骂|打|从来|一直|总|不|没|昨|今|又|就是|真的"
    "|这个?人|那个?人|他|她|的事|吵|闹|分手|离|走了|来找|人很|突然|最近|啊|可以|怎么|在)"
)
GIVEN = f"(?:(?![的了在是和跟说对总也都就又还要想去来不没很把被给让因所一])[{HAN}])"  # a sign of a given name
ORDINARY_BODY = re.compile(
    "送|意外|关|重点|普通|外地|当地|本地|附近|全国|小型|大型|国有|民营|外资|联网|私立|公立|儿童|人民|其他|上市|创业|外贸|精神|专科|中心|综合"
    "|三甲|市区|城区|小区|名牌|好|老年|孩子|儿子|女儿|朋友|同事|老师|学生|爸|妈|父母|老公|老婆|离开|辞|入职|面试|毕业|同一|别|咱|自己"
    "|现|今天|昨天|明天|时候|整|两|几|多|第一|下次|一|住|开|设计|广告|保险|装修|物业|科技公|那边|五星|连锁|快捷|国际"
)
NO_WHERE = re.compile(
    "学校|家|这|那|外|公司|一起|医院|国|城|农村|乡|宿舍|单位|工厂|老家|同|他|她|我|校|本|大学|高中|初中|小学|父母|爸|妈|爷|奶|出租|附近"
    "|线|网|室|办公|压力|痛苦|别|楼|小|大|租|酒店|一|隔壁|亲戚|朋友|婆婆|公婆|岳|单亲|普通|贫困|内心|工作|家庭|生活|社会|身边|北方|南方"
)
NO_CALLED = re.compile("我|你|他|她|它|人|外卖|救命|什么|啥|车|停|苦|好|做|床|醒|号|板|出|喊|嚣|一")
NO_NICKNAMES = re.compile(
    "天天|常常|慢慢|刚刚|渐渐|偏偏|仅仅|往往|每每|时时|处处|明明|默默|偷偷|悄悄|小[时心学气看说声区孩]|阿姨"
)
OFFICES = (
    "税务|公安|教育|卫生|民政|财政|交通|林业|水利|规划|统计|环保|气象|邮政|供电|铁路|国土|司法|审计|电力|工商|城管"
)
NO_SURNAMES = re.compile(
    "谢谢|任|.你|.[我他她]|高兴|高中|高考|高一|高二|高三|高学历|高层|高级|马上|任性|任何|曾经|万一|方便|方式|方面|严格|严重|严厉|常|安慰"
    "|白天|毛病|成|程度|金钱|温柔|许多|于是|江湖|时|向|全|连|黄金|龙头|石头|钱|易|余下|叶子|雷声|万分|段时|田里|武汉|林子"
)
NO_TITLED = re.compile("高中|初中|万一|马上|方便|任何|金融|温柔|严厉|程序|高[一二三]|大[一二三四]|钱|于")
CHINESE: Sequence[tuple[Kind, re.Pattern[str], re.Pattern[str] | None]] = (
    ("organisation", re.compile(rf"({BODY}{{2,12}}?(?:{INSTITUTIONS})+)"), ORDINARY_BODY),
    ("organisation", re.compile(rf"({BODY}{{0,6}}第[一二三四五六七八九十\d]+(?:{INSTITUTIONS}|实验|附属)+)"), None),
    (
        "place",
        re.compile(
            rf"({BODY}{{2,5}}(?:(?<![城都花门股超夜菜早集黑])市|(?<!城农)省|县|(?<![农家故城下他异])乡(?!下)|镇|"
            rf"(?<![小社地山校园郊市城片误禁盲景适])区|(?<![农全乡])村|街道))(?!里)"
        ),
        re.compile(
            "超市|城市|都市|门市|股市|上市|本|全|小|外|整|县城|冷|一线|二线|三线|四线|五线|大|农|老|周边|同|内向|村|镇定"
        ),
    ),
    ("place", re.compile(rf"住在([{HAN}]{{2,8}}?)(?=[，。,.!?！？、；\s的里上和跟，]|$)"), NO_WHERE),
    (
        "place",
        re.compile(rf"我(?:们)?(?:现在|目前|一个人)?在([{HAN}]{{2,6}}?)(?:住|定居|长大|生活|打工|打拼|漂)"),
        NO_WHERE,
    ),
    ("place", re.compile(rf"(?:我|他|她|们|都)(?:是)?来自([{HAN}]{{2,8}}?)(?=[，。,.!?！？、；\s的]|$)"), NO_WHERE),
    ("place", re.compile(rf"(?:老家|家乡|户口|籍贯)(?:是|在)([{HAN}]{{2,8}}?)(?=[，。,.!?！？、；\s的]|$)"), NO_WHERE),
    (
        "place",
        re.compile(
            rf"(?:村|镇|县|小区|小城|学校|公司|单位)(?:名字)?叫(?:做)?([{HAN}]{{2,8}}?)(?=[，。,.!?！？、；\s的]|$)"
        ),
        NO_CALLED,
    ),
    (
        "name",
        re.compile(rf"(?:我|他|她|名字|小名|名|大名|{RELATIVES})(?:就)?叫(?:做)?([{HAN}]{{2,4}}?){AFTER}"),
        NO_CALLED,
    ),
    (
        "name",
        re.compile(rf"(?:{RELATIVES})([{SURNAMES}]{GIVEN}{{1,2}}?{AFTER}|[{SURNAMES}]{GIVEN}{{2}})"),
        NO_SURNAMES,
    ),
    ("name", re.compile(rf"(?:^|[，。！？\s])([{SURNAMES}]{GIVEN}{{1,2}})(?:是|，)我的?(?:{RELATIVES})"), NO_SURNAMES),
    ("name", re.compile(rf"(?:{RELATIVES})((?P<one>[{HAN}])(?P=one)|[小阿]{GIVEN})"), NO_NICKNAMES),
    (
        "name",
        re.compile(rf"([{SURNAMES}]{GIVEN}{{1,2}}?)(?:告诉我|(?:给|对|跟|找|骂|打|约|问|叫|劝|陪)我)"),
        NO_SURNAMES,
    ),
    (
        "organisation",
        re.compile(r"((?<![心其当])(?:第?[一二三四五六七八九十]{1,4}|\d{1,3})中)(?=读|上|学|念|的|毕业|[，。,.]|$)"),
        None,
    ),
    ("organisation", re.compile(rf"({BODY}{{0,4}}(?:{OFFICES})局)"), None),
    (
        "organisation",
        re.compile(rf"叫([{HAN}]{{2,6}}?)的(?:{INSTITUTIONS}|学校|单位|村|镇|县|小城|城市|地方)"),
        NO_CALLED,
    ),
    ("place", re.compile(rf"在([{HAN}]{{2,5}}?)(?:老家|乡下|农村)"), NO_WHERE),
    ("date", re.compile(rf"((?:19|20)\d\d ?年 ?(?:{NUMBERED} ?月 ?{NUMBERED} ?[日号]))"), None),
    ("date", re.compile(rf"({NUMBERED} ?月 ?{NUMBERED} ?[日号])"), None),
    ("date", re.compile(r"((?:19|20)\d\d ?年?)(?:出生|生的|生人)"), None),
    ("date", re.compile(r"(?:生于|出生于|出生在) ?((?:19|20)\d\d ?年?)"), None),
    ("date", re.compile(r"([一二][九〇零][〇零一二三四五六七八九]{2}年)"), None),
)

# Numbers and dates, in texts in lower case.

YEAR = r"(?:,? ?(?:19|20)\d\d)"
FOLDED: Sequence[tuple[Kind, re.Pattern[str]]] = (
    ("date", re.compile(rf"\b(?:the )?(\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {MONTH}{YEAR}?)(?!\w)")),
    ("date", re.compile(rf"\b({MONTH} \d{{1,2}}(?:st|nd|rd|th)?{YEAR}?)(?!\w)")),
    ("date", re.compile(r"\bborn (?:(?:back )?in|on) ((?:19|20)\d\d)(?!\d)")),
    ("date", re.compile(r"\bon (\d{1,2}[/.]\d{1,2})(?![\d/.]*\d)")),
    ("number", re.compile(r"(?<![\d.,])(\d{5,}|\d{2,3},\d{3}(?:,\d{3})*|\d(?:,\d{3}){2,})(?!\d)")),
    (
        "account",
        re.compile(
            r"((?:snapchat|snap|insta|ig|tiktok|twitter|facebook|抖音|小红书|微博|b站|支付宝|学号|工号|身份证)"
            r"(?:号|号码| id| number)?"
            r" ?(?:[:：是为]|is|was) ?@?[a-z0-9_.-]{4,})"
        ),
    ),
)
MONTHS_AND_WORDS = re.compile(r"\b(?:may|march|mar)$|^(?:may|march|mar)\b")


def find_identifying(text: str, names: Names) -> list[Find]:
    """Return the places of everything that could tell who someone is, in the order of the text. Some may overlap."""
    places = [Find(*place) for place in places_in(text, names.given)]
    finds = [find for find in places if find.kind != "name"]
    finds += chain(
        _find_written(text),
        _find_numbers(text),
        _find_chinese(text),
        _find_names_by_characters(text),
        _find_known_words(text),
        _find_names(text, names.heard),
    )
    finds += [find for find in places if find.kind == "name"]  # the kind of the first of several counts: a town is one
    return sorted(finds, key=lambda find: (find.start, -find.end))


def collect_names(texts: Iterable[str]) -> set[str]:
    """Return the names that someone probably mentions in their own texts: of people, places and firms."""
    return {
        name for text in texts for name in chain(_find_capitalised(text), _find_sayers(text), _find_chinese_names(text))
    }


def collect_repeated_names(own: Sequence[str], answers: Iterable[str]) -> set[str]:
    """Return the names that the answers write with a capital letter, and someone's own texts without one."""
    answers = list(answers)
    own_text = "\n".join(own)
    plain = set(re.findall(r"\b[a-z][a-z'’-]+", "\n".join(answers)))
    candidates = {name for text in answers for name in _find_capitalised(text) if name.casefold() not in plain}
    return {name for name in candidates if has_name(own_text, name) and name.casefold() not in ALSO_WORDS}


def _find_written(text: str) -> Iterator[Find]:
    for kind, pattern in WRITTEN:
        for match in pattern.finditer(text):
            if kind != "name" or _may_be_name(match[1]):
                yield Find(kind, *match.span(1))


def _find_numbers(text: str) -> Iterator[Find]:
    plain, origins = normalise_with_origins(text)
    for kind, pattern in FOLDED:
        for match in pattern.finditer(plain):
            find = Find(kind, origins[match.start(1)], origins[match.end(1) - 1] + 1)
            if not (MONTHS_AND_WORDS.search(match[1]) and text[find.start : find.end].islower()):
                yield find
    for kind, pattern, ordinary in LOWER:
        for match in pattern.finditer(plain):
            if match[1] not in get_known_words()[ordinary]:
                yield Find(kind, origins[match.start(1)], origins[match.end(1) - 1] + 1)


def _find_chinese(text: str) -> Iterator[Find]:
    for kind, pattern, ordinary in CHINESE:
        for match in pattern.finditer(text):
            if ordinary is None or not ordinary.match(match[1]):
                yield Find(kind, *match.span(1))


def _find_names_by_characters(text: str) -> Iterator[Find]:
    """Yield Chinese names by the characters that they are made of."""
    ordinary = get_known_words()["no_chinese_names"]
    for pattern in _patterns_of_chinese_names():
        for match in pattern.finditer(text):
            if ordinary.isdisjoint((match[0], match[0][:2])):
                yield Find("name", *match.span())


@cache
def _patterns_of_chinese_names() -> Sequence[re.Pattern[str]]:
    """Return the patterns of surnames and nicknames with characters that given names are made of."""
    words = get_known_words()
    signs, doubled = ("".join(sorted(words[key])) for key in ("given_name_characters", "nickname_characters"))
    # After 一 or 几, characters such as 段, 周 and 张 count something.
    surname = f"(?:(?<![一两三几每半多])[{SURNAMES}{MORE_SURNAMES}]|{LONG_SURNAMES})"
    patterns = (
        f"{surname}[{signs}]{{2}}",
        f"{surname}[{signs}]{AFTER_PERSON}",
        f"{BEFORE_PERSON}{surname}[{signs}]",
        f"(?:(?<![{HAN}])|{BEFORE_PERSON})[小阿][{signs}]{AFTER_PERSON}",
        f"([{doubled}])\\1",  # 婷婷
    )
    return [re.compile(pattern) for pattern in patterns]


def _find_known_words(text: str) -> Iterator[Find]:
    """Yield the words of the file, wherever they stand."""
    for kind, pattern in _patterns_of_known_words():
        for match in pattern.finditer(text):
            yield Find(kind, *match.span())


@cache
def _patterns_of_known_words() -> Sequence[tuple[Kind, re.Pattern[str]]]:
    words = get_known_words()
    lists: Sequence[tuple[Kind, str, Iterable[str]]] = (
        ("organisation", "en", words["organisations"]["en"]),
        ("place", "en", words["places"]["en"]),
        ("name", "en", words["given_names"]),
        ("organisation", "zh", words["organisations"]["zh"]),
        ("place", "zh", words["places"]["zh"]),
    )
    return [(kind, _any_of(listed, language)) for kind, language, listed in lists]


def _any_of(words: Iterable[str], language: str) -> re.Pattern[str]:
    either = "|".join(sorted(map(re.escape, words), key=lambda word: (-len(word), word)))
    return re.compile(f"(?:{either})" if language == "zh" else rf"(?<![\w-])(?i:{either})(?![a-zA-Z0-9-])")


def _find_names(text: str, names: Sequence[str]) -> Iterator[Find]:
    for name in names:
        edge = r"(?<![\w])", r"(?![\w])"
        pattern = f"{edge[0]}{re.escape(name)}{edge[1]}" if name.isascii() else re.escape(name)
        for match in re.finditer(pattern, text):
            yield Find("name", *match.span())


def _find_capitalised(text: str) -> Iterator[str]:
    if _is_shouted(text):
        return
    for match in CAPITALISED.finditer(text):
        if _may_be_name(match[0]) and not BEGINS.search(text[: match.start()]):
            yield re.sub(r"['’]s$", "", match[0])


def _find_sayers(text: str) -> Iterator[str]:
    """Yield names at the beginning of a sentence, where every word has a capital letter."""
    for match in chain(SAYER.finditer(text), TWO.finditer(text)):
        if match[1].casefold() not in get_known_words()["no_sayers"] and _may_be_name(match[1]):
            yield match[1]


def _may_be_name(word: str) -> bool:
    words = get_known_words()
    bare = re.sub(r"['’](?:s|m|re|ve|ll|d)$", "", word)
    return bare not in NO_NAMES | words["no_names"] and bare.casefold() not in words["emphasised"]


def _is_shouted(text: str) -> bool:
    letters = [sign for sign in text if sign.isascii() and sign.isalpha()]
    return len(letters) > 20 and sum(sign.isupper() for sign in letters) > SHOUTED * len(letters)


def _find_chinese_names(text: str) -> Iterator[str]:
    for match in CALLED.finditer(text):
        name = next(filter(None, match.groups()))
        if not NO_TITLED.match(name) and not NO_CALLED.match(name[1:]):
            bare = name.rstrip(f"{SMALL}总")  # "王芳总是" has no title
            yield bare if len(bare) >= SHORTEST_NAME else name
    for find in chain(_find_chinese(text), _find_names_by_characters(text)):
        if find.kind == "name":
            yield text[find.start : find.end]
