"""By how much a judge may be behind a human rater in the alternative annotator test, for being cheaper."""

from typing import Annotated

from pydantic.dataclasses import dataclass

from dialogue.schema import KNOWN_KEYS_ONLY, Number, about


@dataclass(frozen=True, kw_only=True, config=KNOWN_KEYS_ONLY)
class AltTestSpec:
    """Epsilon of the [alternative annotator test](analysis_reference.md), by kind of raters. A judge passes if it is no
    further behind them; the defaults are those of Calderon et al. (2025)."""

    expert: Annotated[Number, about("Behind counsellors.", 0.2, ge=0, le=1)] = 0.2
    reviewer: Annotated[Number, about("Behind second raters.", 0.15, ge=0, le=1)] = 0.15
    crowd: Annotated[Number, about("Behind raters of a crowd.", 0.1, ge=0, le=1)] = 0.1
