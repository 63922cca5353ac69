"""What is kept as a code with values, so that pages and commands can say it in the reader's language."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self


@dataclass(frozen=True)
class Coded:
    """A code with its values, of which one named `detail` is the words of a server or of a fault.

    Subclasses name in `VALUES` the values of each of their codes. `of` raises KeyError for an unknown code, and
    TypeError for values that are not the code's own.
    """

    VALUES: ClassVar[Mapping[str, Sequence[str]]]

    code: str
    values: Mapping[str, str | int]

    @classmethod
    def of(cls, code: str, /, **values: str | int) -> Self:
        places = cls.VALUES[code]
        if set(values) != set(places):
            raise TypeError(f"{code} takes {tuple(places)}, not {tuple(values)}")
        return cls(code, values)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls(data["code"], data["values"])

    def as_json(self) -> dict[str, Any]:
        return {"code": self.code, "values": dict(self.values)}
