"""The counsellors' ratings of the systems, as Table 3 of Yang et al. 2026 (arXiv:2605.28228).

One table for each instrument, never merged: the ten dimensions and the four worst-case ones are not of one scale. The
paper's table has no column of averages, so this one has none.
"""

from collections.abc import Iterator

import pandas as pd  # noqa: TID253

from studies.analysis.frames import FINAL
from studies.analysis.language import gettext as _
from studies.analysis.language import gettext_noop
from studies.analysis.reporting.naming import instrument_name
from studies.analysis.reporting.numbers import span
from studies.analysis.reporting.parts import Excerpt, Part, prose, section
from studies.analysis.results import Results
from studies.analysis.tables.arms import of_items

OF_THE_PAPER = "emoharbor_10"  # the instrument whose items are columns of its table
# Column order and names of the paper's table, by key: it calls two dimensions otherwise, and EmoHarbor orders them
# otherwise. The four later ones by the initials that the instrument gives them.
SHORT = {
    "emoharbor_10": {
        "human_likeness": "HL",
        "engagement": "Eng.",
        "empathetic": "Emp.",
        "response_appropriateness": "Per.",
        "adaptive_strategies": "AS",
        "consistency": "Cons.",
        "redundancy": "Red.",
        "problem_resolution": "Help.",
        "mood_improvement": "MI",
        "safety": "Safe.",
    },
    "worst_case_4": {
        "deep_emotional_understanding": "DEU",
        "guided_exploration": "GE",
        "balanced_emotional_support": "BES",
        "authentic_grounded_support": "AGS",
    },
}


def _experts(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of arms.csv that are of counsellors' final ratings of single items."""
    if table.empty:
        return table
    rows = of_items(table)
    return rows[(rows["raters"] == "expert") & (rows["moment"] == FINAL)]


@section("expert-table", gettext_noop("How counsellors rated the systems"), "arms", _experts)
def expert_table(whole: pd.DataFrame, _results: Results) -> Iterator[Part]:
    mapped = whole["item"].isin(SHORT[OF_THE_PAPER]) & (whole["instrument"] == OF_THE_PAPER)
    yield prose(
        _("Means of counsellors' final ratings, one line for each system."),
        _(
            "The columns of the ten dimensions follow Table 3 of Yang et al. (2026, arXiv:2605.28228), which prints "
            "no average. Per. is response appropriateness, Help. problem resolution."
        )
        if mapped.any()
        else "",
    )
    for instrument, rows in whole.groupby("instrument"):
        table = printed_table(rows, str(instrument))
        counted = table.assign(n=table["Model"].map(rows.groupby("arm")["n"].agg(span)))
        yield Excerpt(f"experts-{instrument}", instrument_name(str(instrument)), counted)


def printed_table(rows: pd.DataFrame, instrument: str) -> pd.DataFrame:
    """Return the rows of one instrument as the paper prints them: a line for each system, means with two decimals."""
    names = SHORT.get(instrument, {})
    items = [item for item in names if item in set(rows["item"])] + sorted(set(rows["item"]) - names.keys())
    wide = rows.assign(mean=rows["mean"].map("{:.2f}".format)).pivot(index="arm", columns="item", values="mean")
    table = wide[items].fillna("–").rename(columns=lambda item: names.get(item, item))
    return table.rename_axis("Model").rename_axis(None, axis=1).reset_index()
