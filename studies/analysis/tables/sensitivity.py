"""sensitivity.csv: Pearson's r of judges and people as it is, with what was left out, and without flags."""

from collections.abc import Iterator
from typing import Any

import pandas as pd  # noqa: TID253

from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import Export
from studies.analysis.language import gettext_noop as _
from studies.analysis.measures import correlation
from studies.analysis.rows import Row
from studies.analysis.tables import quality
from studies.analysis.tables.agreement import SCALE, both_sides

OF = ["judge", "strategy", "human", *SCALE]
WITH, WITHOUT = "with_left_out", "without_flagged"
COLUMNS = [*OF, "n", "pearson", f"n_{WITH}", f"pearson_{WITH}", f"n_{WITHOUT}", f"pearson_{WITHOUT}", "note"]
METHODS = {
    "pearson": _(
        "Pearson's r as in agreement.csv, once more with the ratings that two coders left out, and once more "
        "without the ratings and conversations that a rule of quality.csv flags"
    ),
}


def sensitivity(export: Export, _bootstrap: Bootstrap) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yields (what, its rows): those of agreement.csv, but those of single raters."""
    sets = {
        "": export.ratings,
        f"_{WITH}": pd.concat([export.ratings, export.left_out]),
        f"_{WITHOUT}": without_flagged(export),
    }
    pairs = {name: _pairs(ratings) for name, ratings in sets.items()}
    yield "judges and people", [_row(key, pairs) for key in sorted(set().union(*pairs.values()))]


def without_flagged(export: Export) -> pd.DataFrame:
    """Without flagged people's ratings, those that were given too fast, and all of conversations that are flagged."""
    table = pd.DataFrame(quality.indices(quality.of_export(export)), columns=quality.COLUMNS)
    flagged = quality.flagged_rows(table)
    said = flagged["statistic"].isin(quality.OF_WHAT_WAS_SAID)
    given = set(flagged.loc[~said, ["person", "conversation"]].itertuples(index=False, name=None))
    rater, conversation = (export.ratings[name].astype(str) for name in ("rater", "conversation"))
    by_flagged = [(who, "") in given or (who, what) in given for who, what in zip(rater, conversation, strict=True)]
    out = conversation.isin(flagged.loc[said, "conversation"]) | pd.Series(by_flagged, index=rater.index, dtype=bool)
    return export.ratings[~out]


def _pairs(ratings: pd.DataFrame) -> dict[tuple[str, ...], pd.DataFrame]:
    found = {tuple(of[name] for name in OF): both for of, both in both_sides(ratings)}
    return {key: both for key, both in found.items() if ":" not in key[OF.index("human")]}


def _row(key: tuple[str, ...], pairs: dict[str, dict[tuple[str, ...], pd.DataFrame]]) -> dict[str, Any]:
    row = Row(**dict(zip(OF, key, strict=True)))
    for name, found in pairs.items():
        both = found.get(key, pd.DataFrame({"human": [], "judge": []}))
        human, judge = both["human"].to_numpy(float), both["judge"].to_numpy(float)
        row.values[f"n{name}"] = len(both)
        row.compute(f"pearson{name}", lambda x=human, y=judge: correlation.pearson(x, y))  # type: ignore[misc]
    return row.finished()
