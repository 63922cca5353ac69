"""Judges' scores, as probes and panels need them."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253
from numpy.typing import NDArray

from studies.analysis.bootstrap import Inference, Interval, number_names, refuse_alike
from studies.analysis.frames import VARIANT, Export
from studies.analysis.jackknife import Jackknifed, method_of_r
from studies.analysis.notes import Note
from studies.analysis.rows import Labels, Row
from studies.analysis.tables.inferences import add_inference, method_of_draws
from studies.analysis.tables.scores import mean_of_items

JUDGE = ["judge", "strategy"]
SCALE = ["instrument", "moment", "item"]
UNIT = ["conversation", "turn"]
OF = [*JUDGE, *SCALE]
ALL = "*"  # the mean over an instrument's items


def judged_rows(ratings: pd.DataFrame) -> pd.DataFrame:
    """Return judges' rows as text: JUDGE, `role`, `variant`, SCALE, UNIT and `replicate`.

    `variant` is empty for the judge as it is, and `score` is as it was.
    """
    judged = ratings[ratings["rater_kind"] == "judge"]
    codes = [str(code).partition(VARIANT) for code in judged["rater"]]
    texts = judged[["strategy", "role", *SCALE, *UNIT, "replicate"]].astype(str)
    keys, variants = [key for key, _, _ in codes], [variant for _, _, variant in codes]
    return texts.assign(judge=keys, variant=variants, score=judged["score"])


def scores_of(ratings: pd.DataFrame) -> pd.DataFrame:
    """Return columns JUDGE, `variant`, SCALE, UNIT and `score`, replicates averaged.

    Item ALL stands for answers in which all items of an instrument have a score.
    """
    rows = judged_rows(ratings).dropna(subset="score")
    single = rows.groupby([*JUDGE, "variant", *SCALE, *UNIT])["score"].mean().reset_index()
    items = single.groupby(["instrument", "moment"])["item"].transform("nunique")
    return pd.concat([single, mean_of_items(single[items > 1], items[items > 1])], ignore_index=True)


def key_columns(names: Iterable[str], key: Any) -> Labels:
    """Return the key of a group as the first columns of a row."""
    return dict(zip(names, map(str, key), strict=True))


def clusters_of(conversations: Iterable[str], export: Export) -> NDArray[np.intp]:
    return number_names(export.conversations["cluster"].loc[list(conversations)])


def add_resampled(row: Row, infer: Callable[[], Inference], to_scale: Callable[[float], float] = float) -> None:
    """Add `low` and `high`, brought to the scale of the estimate, or the reason why there are none."""

    def interval_of(inference: Inference) -> Interval:
        interval = inference.interval()
        low, high = to_scale(interval.low), to_scale(interval.high)
        refuse_alike(low, high)
        return Interval(low, high, interval.method)

    def method_of(inference: Inference, interval: Interval) -> Note:
        return (method_of_r if isinstance(inference, Jackknifed) else method_of_draws)(inference, interval)

    add_inference(row, infer, method_of, interval_of=interval_of, lacking="resamples_undefined")
