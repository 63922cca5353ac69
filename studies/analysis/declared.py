"""Declarations of the study file, as manifest.json repeats them: primary contrasts, and epsilon of the alt-test."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from pydantic import ValidationError

from studies.analysis import AnalysisError
from studies.design.alt_test_spec import AltTestSpec
from studies.design.contrast_spec import ContrastSpec

OF_DECLARATION = ("version", "declared_at", "before_first_answer", "withdrawn_in")


@dataclass(frozen=True)
class Declared:
    contrast: ContrastSpec
    version: int  # of the study file, since which it is declared
    declared_at: str  # UTC
    before_first_answer: bool
    withdrawn_in: int | None  # the version that does not declare it any more

    def as_columns(self) -> dict[str, str]:
        """Return what is compared, by the names of columns: `a` minus `b`, of strategies of a `judge`, else of arms."""
        contrast = self.contrast
        a, b = contrast.arms or reversed(contrast.strategies)  # as arm_pairs.csv and strategy_tests.csv subtract them
        return {
            "raters": contrast.raters,
            "judge": contrast.judge,
            "instrument": contrast.instrument,
            "item": contrast.item,
            "moment": contrast.moment,
            "a": a,
            "b": b,
            "seekers": contrast.seekers,
            "condition": contrast.condition,
        }


def read_contrasts(manifest: Mapping[str, Any]) -> tuple[Declared, ...]:
    """Return the declared contrasts; none of an export from before there were any. Raises AnalysisError."""
    primary = manifest.get("primary", [])
    if not isinstance(primary, list):
        raise AnalysisError("manifest.json: primary: is no list")
    return tuple(_contrasts(primary))


def _contrasts(primary: list[Any]) -> Iterator[Declared]:
    for number, one in enumerate(primary, 1):
        try:
            declaration = {name: one[name] for name in OF_DECLARATION}
            comparison = {name: value for name, value in one.items() if name not in OF_DECLARATION}
            pairs: dict[str, Any] = {name: tuple(sorted(comparison.pop(name, ()))) for name in ("strategies", "arms")}
            contrast = ContrastSpec(**comparison, **pairs)
        except (KeyError, TypeError, AttributeError) as error:
            raise AnalysisError(f"manifest.json: primary[{number}]: is no declared contrast ({error})") from error
        if len(contrast.pair()) != 2:
            raise AnalysisError(f"manifest.json: primary[{number}]: names neither two strategies nor two arms")
        yield Declared(contrast, **declaration)


def read_epsilon(manifest: Mapping[str, Any]) -> dict[str, float]:
    """Return epsilon of the alternative annotator test by kind of raters; the usual ones of an older export.

    Raises AnalysisError.
    """
    try:
        return asdict(AltTestSpec(**manifest.get("alt_test_epsilon", {})))
    except (TypeError, ValidationError) as error:
        raise AnalysisError("manifest.json: alt_test_epsilon: is not a number from 0 to 1 for each kind") from error
