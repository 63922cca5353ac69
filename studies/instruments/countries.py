"""Countries and regions to choose from, by ISO 3166-1 code, each in the order of the page's language. Pure.

Named as in fixtures/instruments/crisis_resources.json, whose list of help depends on the choice; all that it knows and
the members of the EU are here, and others from which people are likely to come. Who is elsewhere chooses "ZZ".
"""

from collections.abc import Iterable

from studies.instruments.definitions import Option

ELSEWHERE = "ZZ"
EUROPE = "EU"  # of the list of help
_CODES = (
    "AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ CA "
    "CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA "
    "GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP "
    "KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS "
    "MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS "
    "RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW "
    "TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW"
)
ISO_CODES = frozenset(_CODES.split())
KNOWN_CODES = ISO_CODES | {EUROPE, ELSEWHERE}
MISTAKEN = {"UK": "GB", "EL": "GR", "USA": "US", "PRC": "CN"}  # codes and short names that are in use elsewhere

# Code, English, Chinese, and how the Chinese is read: a blank comes before all letters, so syllables are compared.
_NAMES = (
    ("AR", "Argentina", "阿根廷", "a1 gen1 ting2"),
    ("AU", "Australia", "澳大利亚", "ao4 da4 li4 ya4"),
    ("AT", "Austria", "奥地利", "ao4 di4 li4"),
    ("BD", "Bangladesh", "孟加拉国", "meng4 jia1 la1 guo2"),
    ("BE", "Belgium", "比利时", "bi3 li4 shi2"),
    ("BR", "Brazil", "巴西", "ba1 xi1"),
    ("BG", "Bulgaria", "保加利亚", "bao3 jia1 li4 ya4"),
    ("KH", "Cambodia", "柬埔寨", "jian3 pu3 zhai4"),
    ("CA", "Canada", "加拿大", "jia1 na2 da4"),
    ("CL", "Chile", "智利", "zhi4 li4"),
    ("CO", "Colombia", "哥伦比亚", "ge1 lun2 bi3 ya4"),
    ("HR", "Croatia", "克罗地亚", "ke4 luo2 di4 ya4"),
    ("CY", "Cyprus", "塞浦路斯", "sai4 pu3 lu4 si1"),
    ("CZ", "Czechia", "捷克", "jie2 ke4"),
    ("DK", "Denmark", "丹麦", "dan1 mai4"),
    ("EG", "Egypt", "埃及", "ai1 ji2"),
    ("EE", "Estonia", "爱沙尼亚", "ai4 sha1 ni2 ya4"),
    ("ET", "Ethiopia", "埃塞俄比亚", "ai1 sai4 e2 bi3 ya4"),
    ("FI", "Finland", "芬兰", "fen1 lan2"),
    ("FR", "France", "法国", "fa3 guo2"),
    ("DE", "Germany", "德国", "de2 guo2"),
    ("GH", "Ghana", "加纳", "jia1 na4"),
    ("GR", "Greece", "希腊", "xi1 la4"),
    ("HK", "Hong Kong SAR", "中国香港", "zhong1 guo2 xiang1 gang3"),
    ("HU", "Hungary", "匈牙利", "xiong1 ya2 li4"),
    ("IS", "Iceland", "冰岛", "bing1 dao3"),
    ("IN", "India", "印度", "yin4 du4"),
    ("ID", "Indonesia", "印度尼西亚", "yin4 du4 ni2 xi1 ya4"),
    ("IE", "Ireland", "爱尔兰", "ai4 er3 lan2"),
    ("IL", "Israel", "以色列", "yi3 se4 lie4"),
    ("IT", "Italy", "意大利", "yi4 da4 li4"),
    ("JP", "Japan", "日本", "ri4 ben3"),
    ("KE", "Kenya", "肯尼亚", "ken3 ni2 ya4"),
    ("LV", "Latvia", "拉脱维亚", "la1 tuo1 wei2 ya4"),
    ("LT", "Lithuania", "立陶宛", "li4 tao2 wan3"),
    ("LU", "Luxembourg", "卢森堡", "lu2 sen1 bao3"),
    ("MO", "Macao SAR", "中国澳门", "zhong1 guo2 ao4 men2"),
    ("CN", "Mainland China", "中国大陆", "zhong1 guo2 da4 lu4"),
    ("MY", "Malaysia", "马来西亚", "ma3 lai2 xi1 ya4"),
    ("MT", "Malta", "马耳他", "ma3 er3 ta1"),
    ("MX", "Mexico", "墨西哥", "mo4 xi1 ge1"),
    ("MN", "Mongolia", "蒙古", "meng3 gu3"),
    ("MA", "Morocco", "摩洛哥", "mo2 luo4 ge1"),
    ("MM", "Myanmar", "缅甸", "mian3 dian4"),
    ("NP", "Nepal", "尼泊尔", "ni2 bo2 er3"),
    ("NL", "Netherlands", "荷兰", "he2 lan2"),
    ("NZ", "New Zealand", "新西兰", "xin1 xi1 lan2"),
    ("NG", "Nigeria", "尼日利亚", "ni2 ri4 li4 ya4"),
    ("NO", "Norway", "挪威", "nuo2 wei1"),
    ("PK", "Pakistan", "巴基斯坦", "ba1 ji1 si1 tan3"),
    ("PE", "Peru", "秘鲁", "bi4 lu3"),
    ("PH", "Philippines", "菲律宾", "fei1 lv4 bin1"),
    ("PL", "Poland", "波兰", "bo1 lan2"),
    ("PT", "Portugal", "葡萄牙", "pu2 tao2 ya2"),
    ("RO", "Romania", "罗马尼亚", "luo2 ma3 ni2 ya4"),
    ("RU", "Russia", "俄罗斯", "e2 luo2 si1"),
    ("SA", "Saudi Arabia", "沙特阿拉伯", "sha1 te4 a1 la1 bo2"),
    ("RS", "Serbia", "塞尔维亚", "sai4 er3 wei2 ya4"),
    ("SG", "Singapore", "新加坡", "xin1 jia1 po1"),
    ("SK", "Slovakia", "斯洛伐克", "si1 luo4 fa2 ke4"),
    ("SI", "Slovenia", "斯洛文尼亚", "si1 luo4 wen2 ni2 ya4"),
    ("ZA", "South Africa", "南非", "nan2 fei1"),
    ("KR", "South Korea", "韩国", "han2 guo2"),
    ("ES", "Spain", "西班牙", "xi1 ban1 ya2"),
    ("LK", "Sri Lanka", "斯里兰卡", "si1 li3 lan2 ka3"),
    ("SE", "Sweden", "瑞典", "rui4 dian3"),
    ("CH", "Switzerland", "瑞士", "rui4 shi4"),
    ("TW", "Taiwan", "中国台湾", "zhong1 guo2 tai2 wan1"),
    ("TZ", "Tanzania", "坦桑尼亚", "tan3 sang1 ni2 ya4"),
    ("TH", "Thailand", "泰国", "tai4 guo2"),
    ("TR", "Türkiye", "土耳其", "tu3 er3 qi2"),
    ("UA", "Ukraine", "乌克兰", "wu1 ke4 lan2"),
    ("AE", "United Arab Emirates", "阿联酋", "a1 lian2 qiu2"),
    ("GB", "United Kingdom", "英国", "ying1 guo2"),
    ("US", "United States", "美国", "mei3 guo2"),
    ("VN", "Vietnam", "越南", "yue4 nan2"),
    ("ZZ", "Another country or region", "其他国家或地区", "qi2 ta1 guo2 jia1 huo4 di4 qu1"),
)
COUNTRIES = tuple(Option(code, {"en": english, "zh": chinese}) for code, english, chinese, _ in _NAMES)

_PINYIN = {code: pinyin for code, _english, _chinese, pinyin in _NAMES} | {EUROPE: "ou1 meng2"}


def find_code(written: str) -> str:
    """Return the code that is meant by small letters, a code of other lists, or a name; empty if unknown."""
    code = written.strip().upper()
    code = MISTAKEN.get(code, code)
    names = (str(one.value) for one in COUNTRIES if written.strip().casefold() in map(str.casefold, one.text.values()))
    return code if code in KNOWN_CODES else next(names, "")


def in_order(countries: Iterable[Option], language: str, *, first: str = "") -> list[Option]:
    """Sort countries by name, Chinese names by pinyin. `first` comes first, "another country" last."""

    def place(country: Option) -> tuple[bool, bool, str]:
        name = _PINYIN.get(str(country.value), "") if language == "zh" else ""
        return country.value != first, country.value == ELSEWHERE, name or country.text[language].casefold()

    return sorted(countries, key=place)
