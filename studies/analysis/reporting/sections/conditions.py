"""Seekers who are hard to help, and what makes them so."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import pandas as pd  # noqa: TID253

from studies.analysis.language import gettext as _
from studies.analysis.language import gettext_noop
from studies.analysis.pooling import ALL_ITEMS, POOLED
from studies.analysis.reporting.dots import Line, dot_panels
from studies.analysis.reporting.drawing import figure
from studies.analysis.reporting.estimates import by_item, estimate_of, panels_of
from studies.analysis.reporting.excerpts import excerpt, remark_on_empty_rows, with_names
from studies.analysis.reporting.naming import (
    condition_name,
    in_order,
    instrument_name,
    item_name,
    language_name,
    raters_name,
    scale_name,
)
from studies.analysis.reporting.numbers import LEVEL, bounds, decimal, percent, span, with_sign
from studies.analysis.reporting.parts import Excerpt, Part, prose, section
from studies.analysis.results import Results
from studies.analysis.tables.by_language import pooled_languages, single_languages
from studies.analysis.tables.conditions import CONDITIONS

BOARD = ["arm", "condition", "language"]  # what tells the tables of an ablation's means apart


@section("conditions", gettext_noop("Average against worst case"), "conditions")
def conditions(table: pd.DataFrame, _results: Results) -> Iterator[Part]:
    yield prose(
        _(
            "The same arms with average and with worst-case seekers, final ratings: worst case minus average, so a "
            "drop is negative. Pairs are profiles (or people) that met the arm in both conditions. All items: the "
            "mean over an instrument's items. Arm *: the mean over the arms, for those who met all of them in both "
            "conditions."
        )
    )
    columns = ["arm", "item", *CONDITIONS, "difference", "low", "high", "p_holm", "rank_biserial", "pairs", "raters"]
    over_all = table[table["item"] == ALL_ITEMS]
    rows = table if over_all.empty else over_all
    yield excerpt("conditions", _("Worst case minus average"), rows, columns, ["difference"])
    yield from _figures(table[table["arm"] != POOLED])


def _figures(table: pd.DataFrame) -> Iterator[Part]:
    for (raters, seekers, instrument, moment), rows in table.groupby(["raters", "seekers", "instrument", "moment"]):
        yield figure(
            f"conditions-{raters}-{seekers}-{instrument}-{moment}",
            _("Average against worst case as rated by {raters} ({scale}): means with {level} intervals").format(
                raters=raters_name(raters), scale=scale_name(instrument, moment), level=LEVEL
            ),
            _(
                "Lines are the cluster bootstrap interval of each mean. Next to them: worst case minus average with "
                "the interval of that difference and, in brackets, the number of pairs."
            ),
            dot_panels(
                {item: _lines(of_item) for item, of_item in by_item(rows, instrument).items()},
                _("mean score"),
                series=[condition_name(condition) for condition in CONDITIONS],
            ),
        )


def _lines(rows: pd.DataFrame) -> list[Line]:
    return [
        Line(row["arm"], [estimate_of(row, _names(condition)) for condition in CONDITIONS], _difference(row))
        for row in rows.sort_values("arm").to_dict("records")
    ]


def _names(condition: str) -> tuple[str, str, str]:
    return condition, f"{condition}_low", f"{condition}_high"


def _difference(row: Mapping[Any, Any]) -> str:
    interval = bounds(row["low"], row["high"])
    return " ".join(filter(None, [with_sign(row["difference"]), interval, f"({row['pairs']})"]))


def _with_estimate(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["estimate"].notna()] if len(table) else table


@section("ablation", gettext_noop("Effect of each behaviour of the seeker"), "ablation", _with_estimate)
def ablation(estimated: pd.DataFrame, results: Results) -> Iterator[Part]:
    pooled = pooled_languages(estimated)
    yield from _changes(pooled)
    if remark := remark_on_empty_rows(pooled_languages(results.table("ablation"))):
        yield prose(remark)
    yield from _means(estimated)
    yield from _preferences(results.table("pairwise"))
    yield from _effects(pooled)


def _changes(estimated: pd.DataFrame) -> Iterator[Part]:
    yield prose(
        _(
            "Final ratings with a behaviour of the simulated seeker left out, or with a simpler seeker, minus those "
            "with the unchanged seeker on the same profiles. These conversations are not in any other table."
        )
    )
    for (raters, instrument), rows in estimated.groupby(["raters", "instrument"]):
        keys = ["arm", "condition", "setup"]
        wide = rows.pivot_table(index=keys, columns="item", values="estimate").rename_axis(None, axis=1)
        wide = wide[in_order(instrument, wide)].rename(columns=partial(item_name, instrument))
        wide = wide.join(rows.groupby(keys)["n"].agg(span))
        caption = _("Changed minus unchanged seeker, as rated by {raters} ({scale})").format(
            raters=raters_name(raters), scale=instrument_name(instrument)
        )
        yield Excerpt(f"ablation-{raters}-{instrument}", caption, with_names(wide.reset_index()))


def _means(estimated: pd.DataFrame) -> Iterator[Part]:
    """Yield the mean scores of the unchanged seeker and of each changed one, as a table of ablations has them."""
    for (raters, instrument, moment), rows in single_languages(estimated).groupby(["raters", "instrument", "moment"]):
        boards = [_board(of_board, dict(zip(BOARD, key, strict=True))) for key, of_board in rows.groupby(BOARD)]
        caption = _("Mean scores with the unchanged seeker and with each changed one, as rated by {raters} ({scale})")
        yield Excerpt(
            f"ablation-means-{raters}-{instrument}",
            caption.format(raters=raters_name(raters), scale=scale_name(instrument, moment)),
            _in_words(pd.concat(boards), instrument),
            _("The unchanged seeker's means are over the profiles that the changed seeker with most profiles met."),
        )


def _board(rows: pd.DataFrame, labels: Mapping[str, object]) -> pd.DataFrame:
    """Return the means of the unchanged seeker and of each changed one, by item, with the number of profiles."""
    changed = rows.pivot(index="setup", columns="item", values="changed")
    profiles = rows.groupby("setup")["clusters"].max()
    most = rows[rows["setup"] == profiles.idxmax()].set_index("item")["whole"]
    board = pd.concat([most.to_frame(_("unchanged seeker")).T, changed])
    return board.assign(**labels, profiles=[profiles.max(), *profiles]).rename_axis("setup").reset_index()


def _in_words(board: pd.DataFrame, instrument: str) -> pd.DataFrame:
    about = [*BOARD, "setup"] if board["language"].nunique() > 1 else ["arm", "condition", "setup"]
    items = in_order(instrument, [name for name in board if name not in (*BOARD, "setup", "profiles")])
    named = with_names(board[about])
    if "language" in named:
        named = named.assign(language=named["language"].map(language_name))
    scores = board[items].map(decimal).rename(columns=partial(item_name, instrument))
    return pd.concat([named, scores, board["profiles"]], axis=1)


def _preferences(pairwise: pd.DataFrame) -> Iterator[Part]:
    """Yield how often the unchanged seeker was preferred to each changed one, as Figure 5 of EmoHarbor."""
    with_wins = pairwise[pairwise["win"].notna()] if len(pairwise) else pairwise
    rows = [row for one in with_wins.to_dict("records") if (row := _against_whole(one))]
    if rows:
        caption = _("Unchanged seeker against each changed one, side by side: shares of the verdicts")
        yield Excerpt("ablation-preferences", caption, with_names(pd.DataFrame(rows)).drop(columns="instrument"))


def _against_whole(row: Mapping[Any, Any]) -> dict[str, object] | None:
    """Return the verdicts seen from the unchanged seeker; None where they are not a seeker and its ablation."""
    sides = {"contestant_a": ("win", "loss"), "contestant_b": ("loss", "win")}
    for (whole, (won, lost)), changed in zip(sides.items(), reversed(sides), strict=True):
        if str(row[changed]).startswith(f"{row[whole]} ("):
            keys = {name: row[name] for name in ("question", "raters", "instrument")}
            shares = {"win": row[won], "tie": row["tie"], "loss": row[lost]}
            return {"setup": _setup(row[changed]), **keys, **{k: percent(v) for k, v in shares.items()}, "n": row["n"]}
    return None


def _setup(contestant: str) -> str:
    return contestant.partition(" (")[2].removesuffix(")")


def _effects(estimated: pd.DataFrame) -> Iterator[Part]:
    for (arm, condition, raters, instrument), rows in estimated.groupby(["arm", "condition", "raters", "instrument"]):
        yield figure(
            f"ablation-{arm}-{condition}-{raters}-{instrument}",
            _(
                "Effect of leaving out a behaviour on {arm} ({condition}), as rated by {raters}: {level} intervals"
            ).format(arm=arm, condition=condition_name(condition), raters=raters_name(raters), level=LEVEL),
            _(
                "Scores with the changed seeker minus scores with the unchanged seeker, on the same profiles. In "
                "brackets: conversations of both."
            ),
            dot_panels(panels_of(rows, instrument, "setup"), _("difference in score"), at=0),
        )
