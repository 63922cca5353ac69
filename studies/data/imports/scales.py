"""A check that imported ratings can be ratings on the instruments that they name."""

from dataclasses import dataclass, field

from dialogue.documents import suggestion
from studies.data.imports.rows import Row
from studies.instruments.definitions import Item
from studies.instruments.loading import instrument_ids, load
from studies.participation.responses import is_rating

WAY_OUT = "--as-is takes ratings on any other scale"


def rating_instruments() -> tuple[str, ...]:
    """Return the ids of the instruments that conversations are rated on."""
    return tuple(id for id in instrument_ids() if is_rating(load(id)))


@dataclass
class ScaleCheck:
    """A check of a file's rows against the instruments; an unknown name is told once, where it comes first."""

    reports: set[tuple[str, ...]] = field(default_factory=set)

    def check(self, row: Row, instrument: str, item: str, score: float | None) -> None:
        """Make a fault of a name or a score that the instruments do not have."""
        if instrument not in rating_instruments():
            self.refuse_name(row, "instrument", instrument, rating_instruments())
            return
        items = {one.key: one for one in load(instrument).items}
        if item not in items:
            self.refuse_name(row, "item", item, tuple(items), of=instrument)
        elif score is not None and (wrong := _wrong_score(items[item], score)):
            row.fault("score", wrong)

    def refuse_name(self, row: Row, column: str, name: str, names: tuple[str, ...], of: str = "") -> None:
        row.sound = False
        if name and (column, of, name) not in self.reports:
            self.reports.add((column, of, name))
            where = f'no item of "{of}"' if of else f"no rating instrument; known are {', '.join(names)}"
            row.fault(column, f'"{name}" is {where}{suggestion(name, names)} ({WAY_OUT})')


def _wrong_score(item: Item, score: float) -> str:
    """Return why no one can have given this score on the item's scale; empty if someone can."""
    if item.minimum is None or item.maximum is None:
        return f"{score:g} is a score, but {item.key} has no scale"
    if not item.minimum <= score <= item.maximum:
        return f"{score:g} is outside the scale of {item.key}, {item.minimum} to {item.maximum}"
    if not score.is_integer():
        return f"{score:g} is between two steps of the scale of {item.key}: whole numbers only ({WAY_OUT})"
    return ""
