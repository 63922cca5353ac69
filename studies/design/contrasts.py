"""[[primary]]: what a study declares that it will compare, looked up in the rest of its file. Pure but for reading the
instruments."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from dialogue.documents import place_of, suggestion
from dialogue.documents import translate as _
from dialogue.judges.roles import ROLES, SEEKER
from dialogue.judges.strategies import get_strategies
from dialogue.schema import KNOWN_KEYS_ONLY, Line, Lines, NeededLine, OneOf, Rule, about, none_of
from studies.design.contrast_spec import ContrastSpec
from studies.design.spec import COUNSELLOR, StudySpec
from studies.instruments.loading import instrument_ids, load

OWN_SEEKERS = {"seeker": "person", "expert": "counsellor", "simulated_seeker": "simulated"}  # who rate what they met
RATERS = (*OWN_SEEKERS, "reviewer", "crowd")
SEEKERS = ("person", "counsellor", "simulated")
CONDITIONS = ("average", "worst_case")
FINAL = "final"
MOMENTS = (FINAL, "checkpoint", "turn")
ALL_ITEMS = "*"
OF_A_REPLY = "reply_rating"  # the instrument
WHOM = {"strategies": ("judge",), "arms": ("seekers", "condition")}  # keys that go with one kind of contrast

Scales = Mapping[str, Sequence[str]]  # the items of each instrument


def raters_of_arms() -> tuple[str, ...]:
    """Return who may rate arms: people, simulated seekers, and judges by their strategy and role."""
    others = [f":{role.code}" for role in ROLES.values() if role != SEEKER]
    return (*RATERS, *(f"judge:{strategy}{role}" for strategy in get_strategies() for role in ("", *others)))


@dataclass(frozen=True, kw_only=True)
class ContrastFile:
    """A comparison that you declare before you see data ([why](setting_up.md#declare-what-you-will-test-first))."""

    __pydantic_config__ = KNOWN_KEYS_ONLY

    strategies: Annotated[
        Lines, about("The two strategies of a judge that are compared.", ["standard", "state_aware"])
    ] = ()
    judge: Annotated[Line, about("The judge; needed where the study has several.", "gpt4o")] = ""
    arms: Annotated[Lines, about("The two arms that are compared, if not strategies.", ["a1", "a2"])] = ()
    item: Annotated[
        NeededLine, about("The key of the item; for arms also `*`, the mean over the instrument's items.", "empathetic")
    ]
    instrument: Annotated[Line, about("The item's instrument; needed where several have the item.", "emoharbor_10")] = (
        ""
    )
    raters: Annotated[
        Line,
        OneOf(raters_of_arms),
        about(
            "The raters with whom the judge is compared, or who rate the arms; by default `seeker`, the participants. "
            "`judge:…` is for arms only.",
            "seeker",
        ),
    ] = ""
    moment: Annotated[
        Line, OneOf(MOMENTS), about("The moment of the rating; by default `final`, for arms always.", "final")
    ] = ""
    seekers: Annotated[
        Line,
        OneOf(SEEKERS),
        about("For arms: who talked with them; by default the raters' own kind, else `person`.", "person"),
    ] = ""
    condition: Annotated[
        Line, OneOf(CONDITIONS), about("For arms: needed if the seekers are counsellors or simulated.", "worst_case")
    ] = ""


def resolve_contrasts(
    declared: Sequence[ContrastFile], spec: StudySpec, instruments: Collection[str], folder: Path
) -> tuple[tuple[ContrastSpec, ...], list[Rule]]:
    """Return the contrasts with what is usual filled in, and what is wrong with them. `spec` is the rest of the study;
    `instruments` are those that it may use, files in `folder`."""
    usable = [instrument for instrument in instrument_ids(folder) if instrument in instruments]
    scales = {each: [item.key for item in load(each, folder).rated_items()] for each in usable}
    faults: list[Rule] = []
    places: dict[ContrastSpec, int] = {}
    for number, one in enumerate(declared):
        resolver = Resolver(one, spec, scales)
        contrast = resolver.contrast()
        faults += [(("primary", number, *place), message) for place, message in resolver.faults]
        if contrast and contrast in places:
            faults.append(
                (("primary", number), _("is the same as %(place)s", place=place_of(("primary", places[contrast]))))
            )
        elif contrast:
            places[contrast] = number
    return tuple(places), faults


class Resolver:
    """A resolver that looks up one declared contrast in the study, and keeps what is wrong with it."""

    def __init__(self, one: ContrastFile, spec: StudySpec, scales: Scales) -> None:
        self.one, self.spec, self.scales = one, spec, scales
        self.faults: list[Rule] = []

    def contrast(self) -> ContrastSpec | None:
        """Return the contrast; None where it cannot be told what is compared."""
        if bool(self.one.strategies) == bool(self.one.arms):
            self.faults.append((("strategies",), _("give either strategies or arms")))
            return None
        kind = "arms" if self.one.arms else "strategies"
        for other, keys in WHOM.items():
            extra = [key for key in keys if other != kind and getattr(self.one, key)]
            self.faults += [((key,), _("is for contrasts of %(kind)s: leave it out", kind=other)) for key in extra]
        contrast = self.of_arms() if self.one.arms else self.of_strategies()
        return contrast if len(contrast.pair()) == 2 else None

    def of_strategies(self) -> ContrastSpec:
        """Return a contrast of two strategies of a judge."""
        strategies, judge = self.two("strategies", get_strategies()), self.judge()
        raters = self.choice("raters", RATERS)
        moment = self.choice("moment", MOMENTS)
        instrument, item = self.item(raters, moment)
        return ContrastSpec(
            strategies=strategies, judge=judge, item=item, instrument=instrument, raters=raters, moment=moment
        )

    def of_arms(self) -> ContrastSpec:
        """Return a contrast of two arms. They are compared by final scores alone (arm_pairs.csv)."""
        arms = self.two("arms", [arm.key for arm in self.spec.arms])
        raters, moment = self.choice("raters", raters_of_arms()), self.choice("moment", (FINAL,))
        instrument, item = self.item(raters, moment, ALL_ITEMS)
        own = OWN_SEEKERS.get(raters)
        seekers = self.choice("seekers", (own,) if own else SEEKERS)
        return ContrastSpec(
            arms=arms,
            item=item,
            instrument=instrument,
            raters=raters,
            seekers=seekers,
            condition=self.condition(seekers),
        )

    def choice(self, key: str, choices: Sequence[str]) -> str:
        """Return the word that is given, or the first one."""
        word: str = getattr(self.one, key)
        if word and word not in choices:
            self.faults.append(((key,), none_of(word, choices)))
        return word if word in choices else choices[0]

    def two(self, key: str, allowed: Collection[str]) -> tuple[str, ...]:
        """Return the two names in the order of the alphabet."""
        names: Sequence[str] = getattr(self.one, key)
        if len(names) != 2:
            self.faults.append(((key,), _("must name two, not %(number)s", number=len(names))))
        self.faults += [((key, at), none_of(name, allowed)) for at, name in enumerate(names) if name not in allowed]
        return tuple(sorted(names))

    def judge(self) -> str:
        """Return the judge; the only one where none is named."""
        keys = [judge.key for judge in self.spec.judges]
        judge = self.one.judge or (keys[0] if len(keys) == 1 else "")
        if not keys:
            self.faults.append((("judge",), _("the study has no judge, and only judges have strategies")))
        elif not judge:
            self.faults.append((("judge",), _("is missing: there are %(known)s", known=", ".join(keys))))
        elif judge not in keys:
            self.faults.append((("judge",), none_of(judge, keys)))
        return judge

    def item(self, raters: str, moment: str, also: str = "") -> tuple[str, str]:
        """Return (instrument, item). The instrument may be left out where only one of those asked has the item."""
        item, instrument, instruments = self.one.item, self.one.instrument, self.get_instruments(raters, moment)
        choices = instruments if raters in OWN_SEEKERS else list(self.scales)
        if instrument and instrument not in choices:
            self.faults.append((("instrument",), none_of(instrument, choices)))
            return instrument, item
        items = {one: [*self.scales.get(one, ()), also] for one in ([instrument] if instrument else instruments)}
        having = [one for one, keys in items.items() if item in keys]
        item_keys = [key for keys in items.values() for key in keys if key]
        if not items:
            self.faults.append((("moment",), _("the study does not ask these raters for ratings at this moment")))
        elif item and not having:
            self.faults.append((("item",), _('unknown item "%(item)s"', item=item) + suggestion(item, item_keys)))
        elif item and len(having) > 1:
            self.faults.append(
                (("instrument",), _("is missing: the item is in %(instruments)s", instruments=", ".join(having)))
            )
        return (having[0] if having else instrument), item

    def get_instruments(self, raters: str, moment: str) -> tuple[str, ...]:
        """Return the instruments on which these raters rate then. Raters with a plan have the study's final ones."""
        chat = self.spec.chat if raters == "seeker" else self.spec.chat.for_track(COUNSELLOR)
        if moment == "turn":
            return (OF_A_REPLY,) if chat.rate_each_reply else ()
        if moment == "checkpoint":
            instrument = self.spec.chat.checkpoint_instrument
            return (instrument,) if instrument and raters != "expert" else ()
        return chat.final_instruments

    def condition(self, seekers: str) -> str:
        """Return the condition within which arms are compared. People as themselves have none."""
        condition = self.one.condition
        if seekers == "person" and condition:
            self.faults.append((("condition",), _("is for counsellors in a role and simulated seekers")))
        elif seekers != "person" and not condition:
            self.faults.append((("condition",), _("is missing")))
        return condition
