"""A declared comparison. Pure, and without Django or pydantic, for the analysis reads it as well."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ContrastSpec:
    """A comparison that is declared before data are seen: of two strategies of a judge, or of two arms.

    Each pair in the order of the alphabet. `item` of two arms may be "*", the mean over the instrument's items."""

    strategies: tuple[str, ...] = ()
    judge: str = ""  # of two strategies
    arms: tuple[str, ...] = ()
    item: str
    instrument: str
    raters: str = "seeker"  # with whom the judge is to agree, or who rate the arms
    moment: str = "final"
    seekers: str = ""  # of two arms: who met them
    condition: str = ""  # of two arms, where not people as themselves met them

    def pair(self) -> tuple[str, ...]:
        return self.strategies or self.arms
