"""What is measured of one state of a page in four windows: axe, cut text, sideways scrolling, motion.

A state is looked at where it stands and never loaded again: only the window and the colour scheme change around it.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import CDPSession, Page

from tests.amounts import choose

PROBES = f"{{ {(Path(__file__).parent / 'probes.js').read_text(encoding='utf-8')} }}"  # a block: its names are its own
RULES: dict[str, Any] = {
    "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]},
    "resultTypes": ["violations"],
    "selectors": False,  # a third of the time, and the HTML says where
}
# Contrast takes two thirds of what remains. It depends on the colour scheme, and hardly on the window.
BUT_CONTRAST = RULES | {"rules": {"color-contrast": {"enabled": False}}}
RUN_AXE = """async (rules) => (await axe.run(rules)).violations.map(
  ({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(({ html }) => html.slice(0, 160)).join(" | ")}`)"""
NEXT_FRAME = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"

Scheme = Literal["light", "dark"]
Found = dict[str, list[str]]


@dataclass(frozen=True)
class Window:
    """CSS pixels, device pixels for one of them, and whether it is touched."""

    name: str
    width: int
    height: int
    scale: int
    touched: bool
    scheme: Scheme

    def open(self, page: Page, session: CDPSession) -> None:
        page.emulate_media(color_scheme=self.scheme, reduced_motion="reduce")
        metrics = {"width": self.width, "height": self.height, "deviceScaleFactor": self.scale, "mobile": self.touched}
        session.send("Emulation.setDeviceMetricsOverride", metrics)
        session.send("Emulation.setTouchEmulationEnabled", {"enabled": self.touched})
        page.evaluate("scrollTo(0, 0)")  # further down, a control may just lie half beneath a bar that stays in sight
        page.evaluate(NEXT_FRAME)


def windows(one: Scheme, other: Scheme) -> list[Window]:
    """A phone, the narrowest one, a desktop at 200 % (1280 × 1024 then has 640 × 512) and at 100 %."""
    return [
        Window("phone", 390, 844, 2, True, one),
        Window("narrow", 320, 568, 2, True, other),
        Window("zoomed", 640, 512, 2, False, one),
        Window("desktop", 1280, 800, 1, False, other),
    ]


# The page itself is seen in all eight pairs of a window and a scheme: four in one language, four in the other. In `make
# test` it is seen in each window and each scheme once, in two windows in each language; its contrast in the first of
# them, which is dark in one language and light in the other.
WINDOWS = {
    "en": windows("dark", "light")[choose(usual=slice(0, 4, 3), full=slice(4))],
    "zh": windows("light", "dark")[choose(usual=slice(2, 0, -1), full=slice(4))],
}
WITH_CONTRAST = choose(usual=1, full=4)  # windows
LEAST_ROOM = {"en": windows("dark", "light")[1:3], "zh": windows("light", "dark")[1:3]}


taken: list["Survey"] = []


def summary() -> str:
    states = sum(len(survey.states) for survey in taken)
    runs = sum(survey.runs for survey in taken)
    violations = sum(len(found) for survey in taken for found in survey.violations.values())
    return f"axe: {states} page states, {runs} with each of their windows, {violations} violations"


@dataclass
class Survey:
    """What was found, by the state and the window it was found in."""

    language: str
    states: list[str] = field(default_factory=list)
    runs: int = 0  # of axe
    violations: Found = field(default_factory=dict)
    cut: Found = field(default_factory=dict)
    moving: Found = field(default_factory=dict)

    def __post_init__(self) -> None:
        taken.append(self)

    def __call__(self, page: Page, name: str) -> None:
        """Each state once: the second conversation looks as the first.

        What a page says besides (`name, and what`) is looked at where there is least room, and in both schemes.
        """
        if name in self.states:
            return
        self.states.append(name)
        chosen = WINDOWS[self.language] if "," not in name else LEAST_ROOM[self.language]
        if not page.evaluate("'axe' in window"):
            page.evaluate(AXE_SCRIPT)
            page.evaluate(PROBES)
        session = page.context.new_cdp_session(page)
        for number, window in enumerate(chosen):
            window.open(page, session)
            rules = RULES if number < WITH_CONTRAST else BUT_CONTRAST
            self.measure(page, window, rules, f"{name}, {window.name}, {window.scheme}")
        keep(self.moving, name, page.evaluate("probes.motion()"))
        # The session stays attached: detaching it would take a page's virtual passkeys away.
        session.send("Emulation.clearDeviceMetricsOverride")
        session.send("Emulation.setTouchEmulationEnabled", {"enabled": False})

    def measure(self, page: Page, window: Window, rules: dict[str, Any], place: str) -> None:
        self.runs += 1
        keep(self.violations, place, page.evaluate(RUN_AXE, rules))
        keep(self.cut, place, page.evaluate("(width) => probes.cutText(width)", window.width))
        keep(self.cut, f"{place}, sideways", page.evaluate("(width) => probes.sideways(width)", window.width))


def keep(where: Found, place: str, found: list[Any]) -> None:
    if found:
        where[place] = found
