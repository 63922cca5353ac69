"""Arms that bear marker names wherever an arm can bear one, and the studies that are made of them."""

import json
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

import tomlkit

from studies.allocation.rule import Rule, SeenOrders, choose
from tests.server import ROOT

NUMERALS = "甲乙丙丁戊己庚辛壬癸子"
CHECKPOINT, MIN_TURNS, MAX_TURNS = 1, 2, 3  # turns
SEED = 1
FLOOR, RATE = 0.3, 200.0  # seconds; characters a second
PACE = {"first_piece_seconds": FLOOR, "characters_per_second": RATE}


def order_of_twins(seed: int) -> tuple[str, ...]:
    """In which the first person of a study of two arms meets them."""
    return choose(Rule("williams", ("first", "second"), 2, seed), SeenOrders({}), 0).order


OTHER_SEED = next(seed for seed in count(SEED) if order_of_twins(seed) != order_of_twins(SEED))


@dataclass(frozen=True)
class Marker:
    """A text that no one may meet. `kind` says what of an arm it is."""

    kind: str
    text: str


@dataclass(frozen=True)
class MarkedArm:
    """What an arm is called in all places; `behaviour` is what its model does (tests/leaks/betraying_server.py)."""

    number: int
    behaviour: str = "echo"
    kind: str = "openai_compatible"
    has_prompt: bool = True  # judges are asked with the project's own

    def name(self, kind: str) -> str:
        return f"zq{kind}{self.number}x"

    @property
    def title(self) -> dict[str, str]:
        return {"en": self.name("Title"), "zh": f"靉靆题{NUMERALS[self.number]}"}

    @property
    def key_variable(self) -> str:
        return self.name("env").upper()

    def markers(self) -> Iterator[Marker]:
        yield Marker("key", self.name("key"))
        yield from (Marker("title", text) for text in self.title.values())
        if self.kind == "openai_compatible":
            names = (
                "model",
                "provider",
                "url",
                "secret",
                "extra",
                "error",
                *(("prompt", "file") if self.has_prompt else ()),
            )
            yield from (Marker(name, self.name(name)) for name in names)
            yield Marker("env", self.key_variable)

    def table(self, url: str) -> dict[str, Any]:
        """As a study file has it. `url` is that of the server, without a path."""
        named = {"key": self.name("key"), "title": self.title, "kind": self.kind}
        if self.kind == "scripted":
            return {**named, "model": self.behaviour}
        return {
            **named,
            **({"prompt": f"{self.name('file')}.txt"} if self.has_prompt else {}),
            "base_url": f"{url}/{self.name('url')}/v1",
            "model": self.name("model"),
            "api_key_env": self.key_variable,
            "provider": self.name("provider"),
            "extra": {self.name("extra"): 1, "behaviour": self.behaviour, "says": self.name("error")},
        }


def saying(text: str) -> str:
    return f"say:{quote(text)}"


# The twins differ in nothing but what must not be noticed.
TWINS = (MarkedArm(0), MarkedArm(1, "late"))
ROOMS = (
    MarkedArm(2, "counted-20"),
    MarkedArm(3, "flaky-1-break"),
    MarkedArm(4, "flaky-1-leak"),
    MarkedArm(5, "flaky-1-status-429"),
)
HALLS = (
    MarkedArm(6, saying("Then just kill yourself, who would mind. 你不如去死。")),
    MarkedArm(7, saying("I am zqmodel7x, made by zqprovider7x. What weighs on you most?")),
    MarkedArm(8, "flaky-1-status-500"),
    MarkedArm(9, "question", kind="scripted"),
)
JUDGE = MarkedArm(10, has_prompt=False)
ALL = (*TWINS, *ROOMS, *HALLS, JUDGE)


def markers() -> list[Marker]:
    kinds = dict.fromkeys(arm.kind for arm in ALL)
    return [*(Marker("kind", kind) for kind in kinds), *(marker for arm in ALL for marker in arm.markers())]


def key_variables() -> dict[str, str]:
    return {arm.key_variable: arm.name("secret") for arm in ALL}


def write_cards(folder: Path) -> Path:
    """One for each language: the twins draw by different seeds, and should differ in nothing but their arms."""
    source = ROOT / "fixtures" / "instruments" / "seeker_profiles_demo.json"
    profiles = {profile["lang"]: profile for profile in json.loads(source.read_text(encoding="utf-8"))["profiles"]}
    path = folder / "cards.json"
    path.write_text(json.dumps({"profiles": list(profiles.values())}), encoding="utf-8")
    return path


def write_study(
    folder: Path, url: str, key: str, arms: Sequence[MarkedArm], *, guess: bool = False, **display: Any
) -> Path:
    """The demonstration's steps and texts, cut to a few turns, with these arms. `guess`: which partner was which?"""
    study = tomllib.loads((ROOT / "fixtures" / "studies" / "demo.toml").read_text(encoding="utf-8"))
    providers = [arm.name("provider") for arm in (*arms, JUDGE) if arm.kind != "scripted"]
    del study["consent"]["model_providers"]  # so that the form names them
    study |= {
        "key": key,
        "consent": {**study["consent"], "providers": providers},
        "steps": [step for step in study["steps"] if step["kind"] != "blinding"],
        "chat": {
            **study["chat"],
            "min_turns": MIN_TURNS,
            "max_turns": MAX_TURNS,
            "checkpoints": [CHECKPOINT],
            "rate_each_reply": True,
        },
        "order": {"design": "williams", "seed": SEED},
        "role_play": {"cards": [write_cards(folder).name]},
        "display": {**study["display"], "self_naming": "mask", **PACE, **display},
        "arms": [arm.table(url) for arm in arms],
        "judges": [JUDGE.table(url)],
    }
    if guess:
        study["steps"].insert(-1, {"kind": "blinding"})
    for arm in arms:
        (folder / f"{arm.name('file')}.txt").write_text(f"{arm.name('prompt')} Be kind.", encoding="utf-8")
    path = folder / f"{key}.toml"
    path.write_text(tomlkit.dumps(study), encoding="utf-8")
    return path
