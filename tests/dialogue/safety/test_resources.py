import json
from itertools import product

import pytest

from dialogue.safety.categories import PAGE_CATEGORIES
from dialogue.safety.resources import (
    RESOURCES,
    Channel,
    countries,
    header,
    lines_for,
    resources_for,
    standard_text,
)
from dialogue.safety.screening import screen_reply

FILE = json.loads(RESOURCES.read_text(encoding="utf-8"))
DIRECTORIES = ["int_findahelpline", "int_iasp"]
EUROPE = ["eu_112", "eu_116123", *DIRECTORIES]
FALLBACK = ["int_112", *DIRECTORIES]  # 116 123 is a number of the EU


@pytest.mark.parametrize(
    ("country", "ids"),
    [
        ("US", ["us_911", "us_988", "us_ndvh", "us_childhelp"]),
        ("GB", ["gb_999", "gb_samaritans", "gb_domestic_abuse", "gb_childline"]),
        ("IE", ["ie_112", "ie_samaritans", "ie_womens_aid", "ie_childline"]),
        ("CN", ["cn_120_110", "cn_12356", "cn_12338"]),
        ("AU", ["au_000", "au_lifeline", "au_1800respect", "au_kids_helpline"]),
        ("CA", ["ca_911", "ca_988", "ca_kids_help_phone"]),
        ("HK", ["hk_999", "hk_18111", "hk_sbhk", "hk_samaritans"]),
        ("FR", ["fr_15", "fr_3114", "fr_3919", "fr_119"]),
        ("IT", ["it_112", "it_telefono_amico", "it_1522", "it_114", *DIRECTORIES]),
        ("TR", ["tr_112", "tr_183", *DIRECTORIES]),
        ("MO", ["mo_999", "mo_caritas", *DIRECTORIES]),
        ("BG", EUROPE),
        ("EU", EUROPE),
        ("AR", FALLBACK),
        ("ZZ", FALLBACK),
        ("", FALLBACK),
    ],
)
def test_country_has_its_lines_emergency_first(country: str, ids: list[str]) -> None:
    assert [one.id for one in resources_for(country)] == ids


@pytest.mark.parametrize(
    ("country", "level", "category", "first"),
    [
        ("US", 3, "self", ["us_988", "us_911"]),
        ("US", 4, "self", ["us_911", "us_988"]),
        ("US", 3, "from_others", ["us_ndvh", "us_911", "us_988"]),
        ("US", 4, "from_others", ["us_911", "us_ndvh", "us_988"]),
        ("US", 3, "to_others", ["us_988", "us_911"]),
        ("GB", 3, "child", ["gb_childline", "gb_999", "gb_samaritans"]),
        ("IE", 3, "child", ["ie_childline", "ie_112", "ie_samaritans"]),
        ("AU", 4, "from_others", ["au_000", "au_1800respect", "au_lifeline"]),
        ("CA", 3, "from_others", ["ca_988", "ca_911"]),
        ("CN", 3, "from_others", ["cn_12356", "cn_120_110", "cn_12338"]),
        ("TW", 3, "child", ["tw_113", "tw_119", "tw_1925", "tw_1995"]),
        ("FR", 3, "self", ["fr_3114", "fr_15"]),
        ("FR", 4, "self", ["fr_15", "fr_3114"]),
        ("IT", 3, "self", ["it_112", "it_telefono_amico"]),
        ("IT", 3, "from_others", ["it_1522", "it_112"]),
        ("JP", 3, "self", ["jp_yorisoi", "jp_119", "jp_inochisos"]),
        ("TR", 3, "self", ["tr_112", "tr_183"]),
        ("BG", 3, "self", ["eu_112", "eu_116123"]),
        ("AR", 3, "self", ["int_112", "int_findahelpline"]),
    ],
)
def test_the_line_to_use_first_follows_level_and_category(country, level, category, first):
    """116 123 does not run in every country of the EU, nor 12338 or Telefono Amico at every hour, so they never stand
    first."""
    assert [one.id for one in lines_for(country, level=level, category=category)][: len(first)] == first


@pytest.mark.parametrize(
    ("category", "numbers"), [("self", ["120", "110"]), ("from_others", ["110", "120"]), ("to_others", ["110", "120"])]
)
def test_police_come_before_the_ambulance_where_somebody_is_violent(category, numbers):
    emergency = lines_for("CN", level=4, category=category)[0]
    assert [channel.value for channel in emergency.channels] == numbers


def test_directories_are_those_that_the_file_names_for_any_other_country():
    assert FILE["choose"]["fallback"] == FALLBACK


@pytest.mark.parametrize("country", [code for code, _ in countries()])
def test_whoever_thinks_of_suicide_first_sees_a_line_to_talk_that_is_always_open(country):
    """Where the country has one (China's is open for 18 hours); elsewhere its emergency number, and a directory
    further down."""
    first, second = lines_for(country, level=3, category="self")[:2]
    kinds = {one.kind for one in resources_for(country)}
    if first.kind == "crisis_line":
        assert (first.partial, second.kind) == (False, "emergency")
        assert all(channel.hours for channel in first.channels if channel.type == "call")
    else:
        assert first.kind == "emergency"
        assert "directory" in kinds


@pytest.mark.parametrize("country", sorted({code for code, _ in countries()} - {"EU", "ZZ"}))
def test_every_country_has_an_emergency_number_at_all_hours(country):
    emergency, *others = [one for one in resources_for(country) if one.kind == "emergency"]
    assert others == []
    assert {(channel.type, channel.hours) for channel in emergency.channels} == {("call", "24/7")}


@pytest.mark.parametrize("raw", FILE["resources"], ids=lambda raw: raw["id"])
def test_line_says_who_saw_it_where(raw):
    """High confidence of a new line: two sources agree, or the operator's own page was seen."""
    assert raw["id"].partition("_")[0] in (raw["country_code"].lower(), "int")
    assert set(raw["name"]) == set(raw["text"]) == set(raw["region"]) == {"en", "zh"}
    assert {source["seen"] for source in raw["sources"]} <= {True, False}
    if raw["checked"]["date"] >= "2026-12-01" and raw["country_code"] != "ZZ":
        assert all(source["seen"] and source["url"] and source["supports"] for source in raw["sources"])
        assert len(raw["sources"]) >= 2 or raw["checked"]["confidence"] != "high"


def test_no_two_lines_of_the_file_have_one_id():
    ids = [raw["id"] for raw in FILE["resources"]]
    assert len(ids) == len(set(ids))


def test_no_line_is_lost_by_another_order():
    for country, _ in countries():
        for level, category in product((2, 3, 4), PAGE_CATEGORIES):
            assert set(ids(lines_for(country, level=level, category=category))) == set(ids(resources_for(country)))


def ids(resources):
    return [one.id for one in resources]


def test_resource_carries_what_a_page_shows() -> None:
    assert vars(resources_for("GB")[1]) == {
        "id": "gb_samaritans",
        "country": "GB",
        "region": {"en": "United Kingdom", "zh": "英国"},
        "name": {"en": "Samaritans", "zh": "撒玛利亚会（Samaritans）"},
        "kind": "crisis_line",
        "text": {
            "en": "Free from any phone, day or night. You do not have to be suicidal to call.",
            "zh": "任何电话均可免费拨打，昼夜服务。不一定要有轻生念头才能打。",
        },
        "channels": (
            Channel("call", "116 123", hours="24/7", note="free"),
            Channel("email", "jo@samaritans.org", note="not immediate"),
        ),
        "about": (),
        "partial": False,
    }


@pytest.mark.parametrize(
    ("channel", "href"),
    [
        (Channel("call", "116 123"), "tel:116123"),
        (Channel("call", "+852 2389 2222"), "tel:+85223892222"),
        (Channel("text", "0477 13 11 14"), "sms:0477131114"),
        (Channel("email", "jo@samaritans.org"), "mailto:jo@samaritans.org"),
        (Channel("chat", "https://988lifeline.org/chat/"), "https://988lifeline.org/chat/"),
        (Channel("web", "https://findahelpline.com/"), "https://findahelpline.com/"),
    ],
)
def test_channel_can_be_followed(channel: Channel, href: str) -> None:
    assert channel.href == href


def test_every_channel_of_the_file_can_be_followed() -> None:
    codes = [code for code, _ in countries()]
    hrefs = [channel.href for code in codes for one in resources_for(code) for channel in one.channels]
    assert [href for href in hrefs if not href.startswith(("tel:", "sms:", "mailto:", "https://"))] == []


def test_countries_are_those_of_the_file_once() -> None:
    chosen = countries()
    codes = (
        "US GB IE CN HK TW EU AU CA AT BE BR CZ DK FI FR DE GR IN IL IT JP MO MY MX NL NZ NO PL PT SG ZA KR ES SE CH TR"
    )
    assert [code for code, _ in chosen] == [*codes.split(), "ZZ"]
    assert chosen[0] == ("US", {"en": "United States", "zh": "美国"})
    assert chosen[-1][1]["en"] == "Any other country"


def test_header_is_the_files() -> None:
    assert header() == FILE["header"]


@pytest.mark.parametrize(
    ("language", "start"), [("en", "This reply"), ("zh", "这条"), ("zh-hans", "这条"), ("de", "This")]
)
def test_standard_text_is_in_the_persons_language(language: str, start: str) -> None:
    assert standard_text(language).startswith(start)
    assert screen_reply(standard_text(language)) is None
