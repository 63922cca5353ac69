"""Whom a person can call, by country, from crisis_resources.json. Nothing here needs the network."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from dialogue.safety.categories import PageCategory

RESOURCES = Path(__file__).resolve().parents[2] / "fixtures" / "instruments" / "crisis_resources.json"
EUROPE = "EU"
ANYWHERE = "ZZ"

Text = Mapping[str, str]

# Stands where a supporter's reply was withheld; the help list is shown beside it.
WITHHELD = {
    "en": (
        "This reply is not shown. What you feel matters, and you do not have to carry it alone. The people on the help "
        "list are there for you at this moment."
    ),
    "zh": "这条回复没有显示。您的感受很重要，您不必独自承受。求助列表里的人现在就可以联系。",
}


@dataclass(frozen=True)
class Channel:
    type: str  # call, text, email, chat, web
    value: str
    hours: Text | str = ""  # "24/7", else in words
    note: str = ""
    about: tuple[str, ...] = ()  # categories of a page for which it comes first among the channels of its line

    @property
    def href(self) -> str:
        scheme = {"call": "tel:", "text": "sms:", "email": "mailto:"}.get(self.type, "")
        return scheme + self.value.replace(" ", "")


@dataclass(frozen=True, eq=False)  # by identity: of the lines of a country, a page keeps what it has rendered
class Resource:
    id: str
    country: str
    region: Text
    name: Text
    kind: str  # emergency, crisis_line, special_line, directory
    text: Text
    channels: tuple[Channel, ...]
    about: tuple[str, ...] = ()  # categories of a page that a special line is for
    partial: bool = False  # not in service everywhere, or not at every hour


@cache
def resources_for(country: str) -> tuple[Resource, ...]:
    """Return the lines of a country (two letters), or those of the entry of the list that stands for it.

    In the file's order of kinds: emergency numbers come first. Where no crisis line is in service everywhere and at all
    hours, the directories are the last.
    """
    everyone, listed = _resources(), get_listed_country(country)
    resources = [one for one in everyone if one.country == listed]
    if not any(one.kind == "crisis_line" and not one.partial for one in resources):
        resources += [one for one in everyone if one.kind == "directory" and one not in resources]
    order = _data()["choose"]["order"]
    return tuple(sorted(resources, key=lambda one: order.index(one.kind)))


def get_listed_country(country: str) -> str:
    """Return the entry of the list whose lines a country has: its own, the EU's, or that of any other country."""
    if any(one.country == country for one in _resources()):
        return country
    return EUROPE if country in _data()["eu_members"] else ANYWHERE


@cache
def lines_for(country: str, *, level: int, category: PageCategory) -> tuple[Resource, ...]:
    """Return the lines of a country, at the head the two to use first: its emergency number and the best other line.

    The emergency number comes first at level 4. The best other line is one for this category where the country has one,
    else its crisis line. A line that is not in service everywhere and at all hours is never it.
    """
    lines = [_with_channels_for(one, category) for one in resources_for(country)]
    emergency = [one for one in lines if one.kind == "emergency"]
    special = [one for one in lines if category in one.about and not one.partial]
    crisis = [one for one in lines if one.kind == "crisis_line" and not one.partial]
    best = (special or crisis)[:1]
    head = [*emergency, *best] if level >= 4 else [*best, *emergency]
    return (*head, *(one for one in lines if one not in head))


@cache
def get_phone_lines(country: str) -> tuple[Resource, ...]:
    """Return the lines of a country that a phone reaches without the internet, and only these ways."""
    lines = (
        replace(one, channels=tuple(channel for channel in one.channels if channel.type in ("call", "text")))
        for one in lines_for(country, level=2, category="self")
    )
    return tuple(one for one in lines if one.channels)


@cache
def get_call_lines(country: str) -> tuple[Resource, ...]:
    """Return the two of these lines to use first."""
    return get_phone_lines(country)[:2]


def _with_channels_for(one: Resource, category: PageCategory) -> Resource:
    return replace(one, channels=tuple(sorted(one.channels, key=lambda channel: category not in channel.about)))


def countries() -> list[tuple[str, Text]]:
    """Return code and name of each country that a person can choose, in the file's order; the last is any other
    country."""
    names: dict[str, Text] = {}
    for one in _resources():
        names.setdefault(one.country, one.region)
    return list(names.items())


def standard_text(language: str) -> str:
    return WITHHELD["zh" if language.startswith("zh") else "en"]


def header() -> Text:
    text: Text = _data()["header"]
    return text


def list_version() -> str:
    """Return the version of the list of lines."""
    version: str = _data()["version"]
    return version


@cache
def _data() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(RESOURCES.read_text(encoding="utf-8"))
    return data


@cache
def _resources() -> tuple[Resource, ...]:
    return tuple(_resource(raw) for raw in _data()["resources"])


def _resource(raw: dict[str, Any]) -> Resource:
    return Resource(
        id=raw["id"],
        country=raw["country_code"],
        region=raw["region"],
        name=raw["name"],
        kind=raw["kind"],
        text=raw["text"],
        channels=tuple(Channel(**{**channel, "about": tuple(channel.get("about", ()))}) for channel in raw["channels"]),
        about=tuple(raw.get("about", ())),
        partial=raw.get("partial", False),
    )
