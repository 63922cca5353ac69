"""The arms' ratings, and how well the arms can be told apart."""

from collections.abc import Iterator
from typing import Any

import pandas as pd  # noqa: TID253

from studies.analysis.bootstrap import FEW_CLUSTERS
from studies.analysis.frames import FINAL, Export
from studies.analysis.language import gettext as _
from studies.analysis.language import gettext_noop, join_with_commas, join_with_semicolons
from studies.analysis.notes import in_words
from studies.analysis.pooling import ALL_ITEMS, PARTS, POOLED
from studies.analysis.reporting.board import board, board_of, explain_marks
from studies.analysis.reporting.dots import dot_panels
from studies.analysis.reporting.drawing import figure
from studies.analysis.reporting.estimates import by_raters, count_below, panels_of
from studies.analysis.reporting.excerpts import excerpt, reasons_in_words, with_names
from studies.analysis.reporting.exhibits.arm_means import MEAN, arm_rows, shows_items
from studies.analysis.reporting.naming import (
    join_names,
    kind_of_seekers,
    raters_name,
    scale_name,
    seekers_name,
)
from studies.analysis.reporting.numbers import LEVEL, span
from studies.analysis.reporting.parts import Excerpt, Folded, Part, first_unfolded, join_sentences, prose, section
from studies.analysis.reporting.study import describe_arms
from studies.analysis.results import Results
from studies.analysis.tables.arms import pooled_rows, single_rows
from studies.analysis.tables.rater_effects import OWN

SCALE = ["raters", "instrument", "moment"]
IMPORTED = "imported"  # as a kind of seekers
PAIRED = [*SCALE, "seekers", "condition"]  # only those who were met in the same way are compared


@section("arms", gettext_noop("Comparison of the arms"), "arms")
def arms(table: pd.DataFrame, results: Results) -> Iterator[Part]:
    yield prose(
        _(
            "Each dot is the mean over the conversations of an arm, and each line its interval. Several raters "
            "of the same conversation count as one, with their mean. Missing scores are not part of any mean."
        )
    )
    yield from first_unfolded(
        (_("As rated by {raters}").format(raters=raters_name(raters)), list(_of_raters(raters, rows, results)))
        for raters, rows in by_raters(table)
    )
    yield from _discrimination(results.table("discrimination"))


def _of_raters(raters: str, means: pd.DataFrame, results: Results) -> Iterator[Part]:
    yield from _means(raters, means, results)
    table = results.table("arm_pairs")
    rows = table[table["raters"] == raters] if len(table) else table
    if len(rows):
        yield from _differences(rows)


def _means(raters: str, table: pd.DataFrame, results: Results) -> Iterator[Part]:
    for (instrument, moment), of_scale in sorted(table.groupby(["instrument", "moment"]), key=_final_first):
        names = {"raters": raters_name(raters), "scale": scale_name(instrument, moment)}
        pooled, singles = pooled_rows(of_scale), single_rows(of_scale)
        of_items = pooled[pooled["item"] != ALL_ITEMS]
        rows, lead = primary(of_items, results)
        in_main_part = rows is of_items and _is_in_main_part(of_scale, results)
        if not (in_main_part and shows_items(arm_rows(results))):
            yield figure(
                f"arms-{raters}-{instrument}-{moment}",
                _("Arms as rated by {raters} ({scale}): means with {level} intervals").format(level=LEVEL, **names),
                join_sentences(
                    [
                        lead,
                        _(
                            "Next to each line: the mean and, in brackets, the number of conversations, each counted "
                            "once for every moment at which it was rated."
                        ),
                    ]
                ),
                dot_panels(panels_of(rows, instrument, "arm", MEAN), _("mean score")),
            )
        descriptions = describe_arms(results.export)
        if not in_main_part or len(descriptions):  # the main part names no groups and models
            # The mixed model gives no mean over the items, and means of two kinds do not belong into one row.
            yield board_of(raters, pooled if rows is of_items else rows, results, descriptions)
        if len(singles):
            yield from _singles(raters, instrument, moment, singles, descriptions)


def _is_in_main_part(rows: pd.DataFrame, results: Results) -> bool:
    """Return whether the main part shows the means of these raters on this questionnaire at this moment."""
    main = arm_rows(results)
    return main["arm"].nunique() > 1 and bool((main[SCALE].iloc[0] == rows[SCALE].iloc[0]).all())


def primary(rows: pd.DataFrame, results: Results) -> tuple[pd.DataFrame, str]:
    """Return rows of arms.csv with the means and intervals to be shown, and what these are.

    Of few counsellors in their own conversations they are the mixed model's: of eight, bootstrap intervals of means
    hold 87 % instead of 95.
    """
    modelled = _by_model(rows, results)
    is_modelled = modelled["mean"].notna()
    if not is_modelled.any():
        return rows, _("Lines are cluster bootstrap intervals.")
    remark = _(
        "With so few counsellors, bootstrap intervals are too narrow. Means and lines therefore come from the mixed "
        "model of rater_effects.csv, score ~ arm + (1|counsellor) + (1|card), with Student's t. arms.csv has the "
        "plain means with bootstrap intervals."
    )
    rest = "" if is_modelled.all() else _("Where the model could not be fitted, they come from arms.csv.")
    columns = {name: modelled[name].where(is_modelled, rows[name]) for name in ("mean", "low", "high")}
    return rows.assign(**columns), join_sentences([remark, rest])


def _by_model(rows: pd.DataFrame, results: Results) -> pd.DataFrame:
    """Return the arms' means by the model of counsellors' own conversations.

    They are in the order of the rows; nan where none is.
    """
    means, keys = results.table("rater_effects"), ["raters", "instrument", "moment", "item", "arm"]
    if len(means):
        means = means[(means["raters"] == OWN) & (means["term"] == "arm") & (means["clusters"] < FEW_CLUSTERS)]
    means = means.rename(columns={"level": "arm", "estimate": "mean"}).reindex(columns=[*keys, "mean", "low", "high"])
    if not _all_own(results.export):
        means = means.iloc[:0]
    cells = rows[keys].assign(raters=rows["raters"].replace("expert", OWN)).astype(str)
    return cells.merge(means, how="left", on=keys).set_index(rows.index)


def _all_own(export: Export) -> bool:
    own = export.ratings[export.ratings["rater_kind"] == "expert"]
    participants = export.conversations["participant"].reindex(own["conversation"].astype(str))
    return bool((own["rater"].astype(str).to_numpy() == participants.to_numpy()).all())


def _final_first(group: tuple[Any, pd.DataFrame]) -> tuple[bool, Any]:
    (_instrument, moment), _rows = group
    return moment != FINAL, group[0]


def _singles(
    raters: str, instrument: str, moment: str, rows: pd.DataFrame, descriptions: pd.DataFrame
) -> Iterator[Part]:
    """Yield a table of the arms for each combination of judge, seekers, condition and language."""
    varied = [name for name in PARTS if len({*rows[name]} - {POOLED}) > 1]
    tables = []
    for key, of_part in rows.groupby(varied):
        part = with_names(pd.DataFrame([dict(zip(varied, key, strict=True))]))
        means = board(of_part, instrument, descriptions)
        tables.append(means.assign(**{name: _part_name(part[name].iloc[0]) for name in varied}))
    table = pd.concat(tables, ignore_index=True).fillna("–")
    names = [*varied, *(name for name in table.columns if name not in varied)]
    caption = _("Means of the arms as rated by {raters} ({scale}), by judge, seekers, condition and language").format(
        raters=raters_name(raters), scale=scale_name(instrument, moment)
    )
    boards = Excerpt(f"leaderboard-{raters}-{instrument}", caption, table[names], explain_marks(table))
    yield Folded(_("By judge, seekers, condition and language"), [boards])


def _part_name(name: str) -> str:
    return _("all") if name == POOLED else name


def _differences(table: pd.DataFrame) -> Iterator[Part]:
    if table["difference"].isna().all():
        why = reasons_in_words(table, ["difference"])
        yield prose(_("No difference between two arms could be computed: {reasons}.").format(reasons=why))
        return
    tested = table[table["p_holm"].notna()]
    tests = len(tested)
    of_items = tested[tested["item"] != ALL_ITEMS]
    tested = of_items if len(of_items) else tested
    yield prose(
        _(
            "Differences between two arms with a p below .05 after Holm's correction within their item: {kept} of "
            "{tested} tested."
        ).format(kept=count_below(tested), tested=len(tested)),
        _('These are differences on single items; those of "All items" are not counted here.')
        if len(tested) < tests
        else "",
        _of_same_users(table),
    )
    named = table.assign(pair=table["arm_a"] + " − " + table["arm_b"])
    for (raters, instrument, moment, seekers, condition), rows in named.groupby(PAIRED):
        yield figure(
            f"arm-pairs-{raters}-{instrument}-{moment}-{seekers}-{condition}",
            _("Differences between two arms as rated by {raters} ({of}), with {level} intervals").format(
                raters=raters_name(raters), of=_of(instrument, moment, seekers, condition), level=LEVEL
            ),
            join_sentences(
                [
                    _(
                        "The first arm minus the second, in points. Next to each line: the difference and, in "
                        "brackets, how many met both. Each interval stands alone: even if no two arms differed, "
                        "about one in twenty of these {count} would miss the line. See p_holm in arm_pairs.csv "
                        "for the results after correction."
                    ).format(count=int(rows["low"].notna().sum())),
                    few_users(rows),
                ]
            ),
            dot_panels(
                panels_of(rows, instrument, "pair", ("difference", "low", "high"), "clusters"),
                _("difference in score"),
                at=0,
            ),
        )


def _of_same_users(table: pd.DataFrame) -> str:
    """Return who is compared: those who met both arms. Of imports it is not known whether these are people."""
    kinds = sorted(set(table["seekers"]))
    if IMPORTED in kinds:
        return _("Differences are computed for those who met both arms, each compared with themselves.")
    return _(
        "Differences are computed for those who met both arms: the same {seekers}, each compared with themselves."
    ).format(seekers=join_names([seekers_name(kind) for kind in kinds]))


def few_users(rows: pd.DataFrame) -> str:
    """Return a warning, empty where every interval rests on FEW_CLUSTERS or more."""
    users = rows.loc[rows["low"].notna(), "clusters"]
    few = users[users < FEW_CLUSTERS]
    if few.empty:
        return ""
    return _("Few met both ({users}). With fewer than {enough}, an interval may be too narrow.").format(
        users=span(few), enough=FEW_CLUSTERS
    )


def _of(instrument: str, moment: str, seekers: str, condition: str) -> str:
    return join_with_commas([scale_name(instrument, moment), kind_of_seekers(seekers, condition)])


def _discrimination(table: pd.DataFrame) -> Iterator[Part]:
    values = ["msr", "f_oneway", "f_repeated", "kendall_w", "pairwise_share"]
    if table.empty or table[values].isna().all(axis=None):
        return
    yield prose(
        _(
            "How well do the ratings tell the arms apart? MSR compares the variance between the arms with the "
            "variance within them (MSR without noise removes the part that noise alone adds). MAC is MSR / (1 + MSR) "
            "and carries the same information. There are three F values, and they differ: F (one-way) treats ratings "
            "as independent, F (equation 13) is the formula as EmoHarbor prints it, F (repeated measures) compares "
            "each person with themselves. Pairs told apart is the share of pairs of arms that differ by this test: "
            "{test}; {correction}."
        ).format(**_tests(table))
    )
    columns = [
        *("raters", "judge", "condition", "item", "users", "models", "msr", "msr_corrected", "msr_low", "msr_high"),
        *("mac", "f_oneway", "f_eq13", "f_repeated", "p_repeated", "kendall_w", "pairwise_share"),
    ]
    judged = table["raters"].str.startswith("judge")
    people, judges = _over_items(table[~judged]), _over_items(table[judged])
    if len(people):
        yield excerpt("discrimination", _("How well the arms can be told apart"), people, columns, values)
    if len(judges):
        caption = _("How well the arms can be told apart by judges")
        named = judges.assign(judge=judges["judge"].map(_part_name))
        by_judges = excerpt("discrimination-judges", caption, named, columns, values)
        yield Folded(_("By strategy and judge"), [by_judges]) if len(people) else by_judges


def _over_items(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the mean over the items where there are such, else all."""
    over_items = rows[rows["item"] == ALL_ITEMS]
    return rows if over_items.empty else over_items


def _tests(table: pd.DataFrame) -> dict[str, str]:
    return {
        name: join_with_semicolons(sorted(map(in_words, set(table[name].dropna())))) for name in ("test", "correction")
    }
