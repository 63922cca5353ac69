import json
from itertools import product

import pytest

from dialogue.safety.categories import PAGE_CATEGORIES
from dialogue.safety.resources import (
    RESOURCES,
    Channel,
    Resource,
    countries,
    header,
    lines_for,
    resources_for,
    standard_text,
)
from dialogue.safety.screening import screen_reply

FALLBACK = ["int_112", "int_findahelpline", "int_iasp"]  # 116 123 is a number of the EU


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
        ("FR", ["eu_112", "eu_116123", "int_findahelpline", "int_iasp"]),
        ("EU", ["eu_112", "eu_116123", "int_findahelpline", "int_iasp"]),
        ("BR", FALLBACK),
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
        ("FR", 3, "self", ["eu_112", "eu_116123"]),
        ("BR", 3, "self", ["int_112", "int_findahelpline"]),
    ],
)
def test_the_line_to_use_first_follows_level_and_category(country, level, category, first):
    """116 123 does not run in every country of the EU, nor 12338 at every hour, so they never stand first."""
    assert [one.id for one in lines_for(country, level=level, category=category)][: len(first)] == first


@pytest.mark.parametrize(
    ("category", "numbers"), [("self", ["120", "110"]), ("from_others", ["110", "120"]), ("to_others", ["110", "120"])]
)
def test_police_come_before_the_ambulance_where_somebody_is_violent(category, numbers):
    emergency = lines_for("CN", level=4, category=category)[0]
    assert [channel.value for channel in emergency.channels] == numbers


def test_no_line_is_lost_by_another_order():
    for country, _ in countries():
        for level, category in product((2, 3, 4), PAGE_CATEGORIES):
            assert set(ids(lines_for(country, level=level, category=category))) == set(ids(resources_for(country)))


def ids(resources):
    return [one.id for one in resources]


def test_resource_carries_what_a_page_shows() -> None:
    assert resources_for("GB")[1] == Resource(
        id="gb_samaritans",
        country="GB",
        region={"en": "United Kingdom", "zh": "英国"},
        name={"en": "Samaritans", "zh": "撒玛利亚会（Samaritans）"},
        kind="crisis_line",
        text={
            "en": "Free from any phone, day or night. You do not have to be suicidal to call.",
            "zh": "任何电话均可免费拨打，昼夜服务。不一定要有轻生念头才能打。",
        },
        channels=(
            Channel("call", "116 123", hours="24/7", note="free"),
            Channel("email", "jo@samaritans.org", note="not immediate"),
        ),
    )


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
    assert [code for code, _ in chosen] == ["US", "GB", "IE", "CN", "HK", "TW", "EU", "AU", "CA", "ZZ"]
    assert chosen[0] == ("US", {"en": "United States", "zh": "美国"})
    assert chosen[-1][1]["en"] == "Any other country"


def test_header_is_the_files() -> None:
    assert header() == json.loads(RESOURCES.read_text(encoding="utf-8"))["header"]


@pytest.mark.parametrize(
    ("language", "start"), [("en", "This reply"), ("zh", "这条"), ("zh-hans", "这条"), ("de", "This")]
)
def test_standard_text_is_in_the_persons_language(language: str, start: str) -> None:
    assert standard_text(language).startswith(start)
    assert screen_reply(standard_text(language)) is None
