"""Why a job ended before its items were done: a code with values. Pages and commands put it into words."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

VALUES = {
    "person": ("name",),
    "signal": (),
    "useless_answers": ("number",),
    "job_budget": (),
    "day_budget": (),
    "no_price": ("model", "file"),
    "failures": ("model", "status", "detail"),  # `model` is empty for a fault of our own
    "no_worker": ("queue", "seconds"),
    "unfit_workers": ("detail",),
    "batch_not_begun": ("detail",),
    "batch_refused": ("number", "detail"),
    "batch_broke": ("number", "detail"),
}


@dataclass(frozen=True)
class Reason:
    """A code of `VALUES` with its values, of which those named `detail` are the words of a server or of a fault.

    Raises KeyError for an unknown code, and TypeError for values that are not the code's own.
    """

    code: str
    values: Mapping[str, str | int]

    @classmethod
    def of(cls, code: str, /, **values: str | int) -> Self:
        if set(values) != set(VALUES[code]):
            raise TypeError(f"reason {code} takes {VALUES[code]}, not {tuple(values)}")
        return cls(code, {name: values[name] for name in VALUES[code]})  # in an order that PostgreSQL's JSON loses

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls.of(data["code"], **data["values"])

    def as_json(self) -> dict[str, Any]:
        return {"code": self.code, "values": dict(self.values)}

    def __str__(self) -> str:
        return ": ".join(str(part) for part in (self.code, *self.values.values()) if part != "")
