"""field_tests.csv: does a judge agree with people less well when it is not told one field of the seeker?"""

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253

from dialogue.judges.fields import get_field_left_out
from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import VARIANT, Export
from studies.analysis.language import gettext_noop as _
from studies.analysis.measures.multiple import benjamini_hochberg
from studies.analysis.tables import strategy_tests
from studies.analysis.tables.families import adjust
from studies.analysis.tables.strategy_tests import are_alike
from studies.analysis.tables.table import Table

COLUMNS = ["judge", "item", "strategy", "without", *strategy_tests.COLUMNS[4:]]
FAMILY = ("moment", "strategy", "without")  # of one human and judge, for Holm
METHODS = strategy_tests.METHODS | {
    "r_a, r_b, r_ab": _(
        "Pearson's r of people with the judge that is told everything (a) and with the same judge without the field "
        "(b), and of the two with each other, over the conversations that people and both scored; raters and "
        "replicates averaged first"
    ),
    "difference": _(
        "r_b - r_a: below 0 where the field helps; interval (95 %) and p as in strategy_tests.csv, both on the same "
        "draws"
    ),
    "p_holm": _("Holm over the items of a human × judge × moment × strategy × field"),
}


def field_tests(export: Export, bootstrap: Bootstrap) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield (`human × judge`, nothing) as it goes on, and all rows at its end.

    Each row is computed as those of strategy_tests.csv. What was asked only whole, or only without the field, has no
    row.
    """
    tests: list[dict[str, Any]] = []
    pairs = strategy_tests.comparisons(_with_variants(export))
    for (human, judge), compared in groupby(pairs, key=lambda pair: (pair[0]["human"], pair[0]["judge"])):
        rows = [
            strategy_tests.row_of(of, whole, without, export, bootstrap)
            for names, whole, without in compared
            if (of := _with_and_without(names))
        ]
        tests += adjust(rows, lambda row: tuple(row[name] for name in FAMILY), undecided=are_alike)
        yield f"{human} × {judge}", []
    yield (
        "all rows",
        adjust(tests, lambda row: 0, into="p_bh", correct=benjamini_hochberg, undecided=are_alike),
    )


def _with_variants(export: Export) -> pd.DataFrame:
    """Return the ratings of judges that were asked without a field, both as they are and so.

    What they were not told is a part of the strategy's name.
    """
    texts = {"rater": str, "strategy": str}
    whole, varied = export.ratings.astype(texts), export.variants.dropna(subset="score").astype(texts)
    codes = [code.partition(VARIANT) for code in varied["rater"]]
    named = varied.assign(
        rater=[key for key, _sign, _variant in codes],
        strategy=[
            f"{strategy}{VARIANT}{variant}"
            for strategy, (_key, _sign, variant) in zip(varied["strategy"], codes, strict=True)
        ],
    )
    asked = named[np.array([bool(get_field_left_out(variant)) for _key, _sign, variant in codes], dtype=bool)]
    people = whole["rater_kind"] != "judge"
    return pd.concat([whole[people | whole["rater"].isin(asked["rater"])], asked], ignore_index=True)


def _with_and_without(of: Mapping[str, str]) -> dict[str, str]:
    """Return the first columns of a row; empty where the two are not one strategy, whole and without a field."""
    whole, varied = of["strategy_a"], of["strategy_b"]
    strategy, _sign, variant = varied.partition(VARIANT)
    if not variant or strategy != whole:
        return {}
    first = {name: value for name, value in of.items() if name not in ("strategy_a", "strategy_b")}
    return first | {"strategy": strategy, "without": get_field_left_out(variant)}


TABLES = (
    Table(
        "field_tests",
        field_tests,
        COLUMNS,
        METHODS,
        heading=_("Judges without a field"),
        section="probes",
        empty=_("No judge that can be compared with people was asked without a field."),
    ),
)
