"""expert_table.csv: how the counsellors rated each system, laid out as Table 3 of Yang et al. 2026 (arXiv:2605.28228).

One table for each instrument, never merged: the ten dimensions and the four worst-case ones are not of one scale. The
paper's table has no column of averages, so this one has none.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253

from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import Export
from studies.analysis.language import gettext_noop as _
from studies.analysis.notes import Note
from studies.analysis.rows import Row
from studies.analysis.tables.table import Table

COLUMNS = ["arm", "instrument", "item", "short", "n", "mean", "sd", "lowest", "highest", "note"]
METHODS = {
    "mean": _("over counsellors, each with the mean of their final ratings of the arm"),
}
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
MOMENTS = ("", "final")


def expert_table(export: Export, _bootstrap: Bootstrap) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield (instrument, its rows: arm × item); n is the number of counsellors, each with their mean."""
    rated = export.ratings[(export.ratings["rater_kind"] == "expert") & export.ratings["moment"].isin(MOMENTS)]
    arms = export.conversations["arm"].reindex(rated["conversation"].astype(str)).to_numpy()
    rated = rated.assign(arm=arms)[arms != ""]
    by = ["arm", "instrument", "item", "rater"]
    each = rated.groupby(by, observed=True)["score"].mean().reset_index()
    for instrument, of_instrument in each.groupby("instrument", observed=True):
        scores = dict(list(of_instrument.groupby(["arm", "item"], observed=True)["score"]))
        items = in_printed_order(str(instrument), {str(item) for _arm, item in scores})
        arms = sorted({str(arm) for arm, _item in scores})
        yield str(instrument), [_row(str(instrument), arm, item, scores) for arm in arms for item in items]


def in_printed_order(instrument: str, items: set[str]) -> list[str]:
    """Return items in the order in which the paper prints them; others follow by name."""
    printed = [item for item in SHORT.get(instrument, {}) if item in items]
    return printed + sorted(items - set(printed))


def _row(instrument: str, arm: str, item: str, scores: dict[Any, pd.Series]) -> dict[str, Any]:
    short = SHORT.get(instrument, {}).get(item, item)
    given = scores[arm, item].to_numpy(float) if (arm, item) in scores else np.zeros(0)
    row = Row(arm=arm, instrument=instrument, item=item, short=short, n=len(given))
    if not len(given):
        row.leave_out("mean", "sd", "lowest", "highest", because=Note("no_counsellor"))
        return row.cells()
    row.values |= {"mean": float(given.mean()), "lowest": float(given.min()), "highest": float(given.max())}
    if len(given) > 1:
        row.values["sd"] = float(given.std(ddof=1))
    else:
        row.leave_out("sd", because=Note("one_counsellor"))
    return row.cells()


def printed_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of one instrument as the paper prints them: a line for each system, means with two decimals."""
    wide = rows.assign(mean=rows["mean"].map("{:.2f}".format).where(rows["mean"].notna(), "–"))
    table = wide.pivot(index="arm", columns="short", values="mean")[list(dict.fromkeys(rows["short"]))]
    return table.rename_axis("Model").rename_axis(None, axis=1).reset_index()


def latex(table: pd.DataFrame) -> str:
    """Return a booktabs table of what `printed` gave."""
    lines = [" & ".join(map(_escape_latex, row)) + r" \\" for row in table.itertuples(index=False)]
    head = " & ".join(map(_escape_latex, table.columns)) + r" \\"
    begin = rf"\begin{{tabular}}{{l{'c' * (table.shape[1] - 1)}}}"
    return "\n".join([begin, r"\toprule", head, r"\midrule", *lines, r"\bottomrule", r"\end{tabular}"])


def _escape_latex(text: str) -> str:
    signs = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "–": "--"}
    signs |= {sign: f"\\{sign}" for sign in "&%$#_{}"}
    return "".join(signs.get(sign, sign) for sign in text)


TABLES = (
    Table(
        "expert_table",
        expert_table,
        COLUMNS,
        METHODS,
        heading=_("How counsellors rated the systems"),
        section="expert-table",
        empty=_("No counsellor rated a conversation with a known arm."),
    ),
)
