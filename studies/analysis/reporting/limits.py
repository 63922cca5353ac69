"""The limits that a reader must keep in mind, found by rules."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict

import pandas as pd  # noqa: TID253

from studies.analysis.bootstrap import FEW_CLUSTERS, Bootstrap
from studies.analysis.frames import Export
from studies.analysis.language import gettext as _
from studies.analysis.language import join_with_semicolons, ngettext
from studies.analysis.reporting.naming import contrast_name, item_name, join_names, of_all, raters_name, seekers_name
from studies.analysis.reporting.study import manifest_of, with_kinds
from studies.analysis.tables.cross_check import NO

PEOPLE = ("seeker", "expert", "reviewer", "crowd")
FEW_RESAMPLES = 1000  # below, the ends of an interval depend on the seed
RESTRICTED = 0.8  # of an item's scores on two neighbouring values; of a normal spread of one point: two thirds
ENOUGH_SCORES = 20
UNEVEN = 0.1  # between the arms' shares of conversations that no one rated
OFTEN_MISSING = 0.05

Tables = Mapping[str, pd.DataFrame]


def limits_of(export: Export, tables: Tables, bootstrap: Bootstrap) -> list[str]:
    """Return one sentence for each limit, the gravest first."""
    return [
        *differing_numbers(tables),
        *_of_demonstration(export),
        *_of_unblinding(export),
        *_of_declaration(export),
        *_of_clusters(export, bootstrap),
        *_of_raters(export, tables),
        *_of_range(export),
        *_of_missing(export, tables),
        *_of_odd_ratings(export),
        *_of_what_was_left_out(export),
        *_of_pooling(export),
        *_of_conditions(tables),
    ]


def differing_numbers(tables: Tables) -> Iterator[str]:
    """Yield a warning where numbers differ from those of other packages."""
    table = tables.get("cross_check", pd.DataFrame(columns=["agrees"]))
    rows = table[table["agrees"] == NO]
    if len(rows):
        names = dict.fromkeys(f"{row.statistic} ({row.table}.csv)" for row in rows.itertuples())
        yield ngettext(
            "WARNING: {count} number differs from what another package computes from the same rows: {names}. Do not "
            "use the results before you know why; cross_check.csv has both numbers.",
            "WARNING: {count} numbers differ from what other packages compute from the same rows: {names}. Do not "
            "use the results before you know why; cross_check.csv has both numbers.",
            len(rows),
        ).format(count=len(rows), names=join_names(list(names)))


def _of_demonstration(export: Export) -> Iterator[str]:
    if export.demonstration:
        yield _("These are demonstration data: scripts or test people produced them, and nothing was measured.")


def _of_unblinding(export: Export) -> Iterator[str]:
    """Say where data came after the results by arm were seen, or could be."""
    unblinded = manifest_of(export).get("unblinded")
    when = unblinded.get("when") if isinstance(unblinded, dict) else ""
    if when == "earlier":
        yield _("Researchers saw the results by arm before data collection was finished.")
    elif when == "reopened":
        yield _("The study was opened again after researchers had seen the results by arm.")


def _of_declaration(export: Export) -> Iterator[str]:
    """Say what weakens a primary contrast, and which contrasts were withdrawn."""
    standing = [declared for declared in export.primary if declared.withdrawn_in is None]
    late = [contrast_name(declared.as_columns()) for declared in standing if not declared.before_first_answer]
    left = [contrast_name(declared.as_columns()) for declared in export.primary if declared not in standing]
    if late:
        yield _("Declared as primary only after the first answer, so treat as exploratory: {contrasts}.").format(
            contrasts=join_with_semicolons(late)
        )
    if left:
        yield _("Declared as primary, but removed in a later version of the study file: {contrasts}.").format(
            contrasts=join_with_semicolons(left)
        )


def _of_clusters(export: Export, bootstrap: Bootstrap) -> Iterator[str]:
    yield from _of_few(with_kinds(export).groupby("kind")["cluster"].nunique())
    named = (export.conversations["participant"] != "") | (export.conversations["profile"] != "")
    if not named.any():
        yield _("No conversation names its participant. Conversations count as independent, which they may not be.")
    if bootstrap.replicates < FEW_RESAMPLES:
        yield ngettext(
            "Intervals rest on only {count} resample. Another seed would change them.",
            "Intervals rest on only {count} resamples. Another seed would change them.",
            bootstrap.replicates,
        ).format(count=bootstrap.replicates)


def _of_few(clusters: "pd.Series[int]") -> Iterator[str]:
    """Say where there are few, by kind of seekers: many profiles do not make few people more."""
    few = clusters[clusters < FEW_CLUSTERS]
    if len(clusters) == 1 and len(few):
        yield ngettext(
            "There is only {count} independent cluster, so the intervals may be too narrow.",
            "There are only {count} independent clusters, so the intervals may be too narrow.",
            int(few.iloc[0]),
        ).format(count=few.iloc[0])
    elif len(few):
        yield _(
            "There are few independent clusters ({kinds}). Intervals that rest only on these may be too narrow."
        ).format(kinds=join_names([f"{seekers_name(str(kind))}: {count}" for kind, count in few.items()]))


def _of_raters(export: Export, tables: Tables) -> Iterator[str]:
    kinds = set(export.ratings["rater_kind"].astype(str))
    if not kinds & set(PEOPLE):
        yield _("No person rated anything. These results only show what models say about models.")
    if tables["agreement"].empty:
        yield _("No judge has scores that can be compared with people's scores.")
    if tables["reliability"].query("item != '*'").empty:
        yield _(
            "No conversation was rated by several raters of the same kind, so the reliability of single ratings is "
            "unknown."
        )
    if _shows_names(export):
        yield _(
            "Some replies in which a model named itself or its maker were shown unchanged. People who read one may "
            "have known the arm."
        )


def _shows_names(export: Export) -> bool:
    replies = export.replies
    return replies is not None and bool(((replies["names_itself"] == 1) & (replies["masked"] != 1)).any())


def _of_range(export: Export) -> Iterator[str]:
    names = restricted_items(export.ratings)
    if names:
        yield _(
            "People used only a small part of the scale of {items}: at least four fifths of their scores lie on two "
            "neighbouring values. Correlations there are lower than over the whole scale and say little."
        ).format(items=join_names(of_all(names)))


def restricted_items(ratings: pd.DataFrame) -> list[str]:
    """Return items on which people gave whole scores, RESTRICTED of them on two neighbouring values."""
    people = ratings[ratings["rater_kind"].isin(PEOPLE)]
    groups = people.groupby(["instrument", "item"], observed=True)["score"]
    return [item_name(*map(str, key)) for key, scores in groups if _is_restricted(scores)]


def _is_restricted(scores: pd.Series) -> bool:
    if len(scores) < ENOUGH_SCORES or (scores % 1 != 0).any():
        return False
    shares = scores.value_counts(normalize=True)
    return bool(max(shares[value] + shares.get(value + 1, 0) for value in shares.index) >= RESTRICTED)


def _of_missing(export: Export, tables: Tables) -> Iterator[str]:
    unrated = _unrated_shares(export)
    if len(unrated) > 1 and unrated["share"].max() - unrated["share"].min() > UNEVEN:
        most, fewest = unrated["share"].idxmax(), unrated["share"].idxmin()
        yield _(
            "Conversations without any score are spread unevenly: {most_missing} of {most_all} with {most}, "
            "{fewest_missing} of {fewest_all} with {fewest}. Missing scores therefore depend on the arm (they are "
            "not missing completely at random), and the means may be too high for arms that people left."
        ).format(
            most=most,
            most_missing=unrated.at[most, "missing"],
            most_all=unrated.at[most, "all"],
            fewest=fewest,
            fewest_missing=unrated.at[fewest, "missing"],
            fewest_all=unrated.at[fewest, "all"],
        )
    yield from _of_coverage(tables.get("coverage", pd.DataFrame()))


def _unrated_shares(export: Export) -> pd.DataFrame:
    """Return, by arm, the conversations that began: `all`, `missing` (no one scored them) and its `share`."""
    chats = export.whole()
    chats = chats[(chats["arm"] != "") & (chats["turns"].fillna(1) > 0)]
    rated = chats.index.isin(export.ratings["conversation"].astype(str))
    by_arm = pd.DataFrame({"arm": chats["arm"], "missing": ~rated}).groupby("arm")["missing"].agg(["size", "sum"])
    by_arm = by_arm.rename(columns={"size": "all", "sum": "missing"})
    return by_arm.assign(share=by_arm["missing"] / by_arm["all"])


def _of_coverage(table: pd.DataFrame) -> Iterator[str]:
    if table.empty:
        return
    missing = table[(table["statistic"] == "missing_share") & (table["estimate"] > OFTEN_MISSING)]
    judges = sorted(set(missing["judge"].astype(str)) - {""})
    if judges:
        yield _(
            "More than one in twenty scores of {judges} is missing for some arm and item. Check the coverage before "
            "you read the means."
        ).format(judges=join_names(judges))


def _of_what_was_left_out(export: Export) -> Iterator[str]:
    if len(export.left_out):
        yield ngettext(
            "{count} score is not in any figure, because a person or conversation was left out; sensitivity.csv "
            "shows the agreement with it.",
            "{count} scores are not in any figure, because people or conversations were left out; sensitivity.csv "
            "shows the agreement with them.",
            len(export.left_out),
        ).format(count=len(export.left_out))
    if len(export.ablated):
        yield _("Ratings of seekers that were changed for an ablation are only in sensitivity.csv.")


def _of_odd_ratings(export: Export) -> Iterator[str]:
    """Say which ratings deserve a look, with the line of the first."""
    if outside := export.odd.outside:
        yield ngettext(
            "{count} score lies outside its scale (ratings.csv, line {line}): {instrument}/{item} {score:g} "
            "({lowest:g} to {highest:g}).",
            "{count} scores lie outside their scale (the first in ratings.csv, line {line}): {instrument}/{item} "
            "{score:g} ({lowest:g} to {highest:g}).",
            outside.count,
        ).format(**asdict(outside))
    for unknown in export.odd.unknown:
        text = (
            _("{instrument} has no item {item} (ratings.csv, line {line}). Did you mean {similar}?")
            if unknown.similar
            else _("{instrument} has no item {item} (ratings.csv, line {line}).")
        )
        yield text.format(**asdict(unknown))
    if unlisted := export.odd.unlisted:
        yield ngettext(
            "{count} rated conversation is not in conversations.csv: {conversation} (ratings.csv, line {line}).",
            "{count} rated conversations are not in conversations.csv, the first of them {conversation} (ratings.csv, "
            "line {line}).",
            unlisted.count,
        ).format(**asdict(unlisted))
    if repeats := export.odd.repeats:
        yield ngettext(
            "{count} rating repeats an earlier one of the same rater (ratings.csv, line {line}); the mean counts.",
            "{count} ratings repeat earlier ones of the same rater (the first in ratings.csv, line {line}); the mean "
            "counts.",
            repeats.count,
        ).format(count=repeats.count, line=repeats.line)


def _of_pooling(export: Export) -> Iterator[str]:
    """Yield a limit where seekers are pooled.

    agreement.csv, and arms.csv in its pooled rows, have one row for all seekers that the same raters judged.
    """
    rated = export.ratings[["rater_kind", "conversation"]].drop_duplicates().astype(str)
    met = rated.join(with_kinds(export)[["kind", "condition"]], on="conversation")
    several = met.groupby("rater_kind")[["kind", "condition"]].agg(lambda values: len(set(values) - {""}) > 1)
    if several["condition"].any():
        yield _(
            "agreement.csv and the pooled rows of arms.csv combine average and worst-case seekers (as rated by "
            "{raters}). Differences between the conditions affect r, system_r and the means of the arms."
        ).format(raters=join_names([raters_name(str(kind)) for kind in several.index[several["condition"]]]))
    kinds = [str(kind) for kind in several.index[several["kind"]]]
    if humans := [kind for kind in kinds if kind != "judge"]:
        yield _(
            "agreement.csv and the pooled rows of arms.csv combine several kinds of seekers (as rated by {raters}). "
            "Differences between, for example, people and simulated seekers affect r, system_r and the means of the "
            "arms."
        ).format(raters=join_names([*map(raters_name, humans)]))
    elif kinds:
        yield _(
            "The pooled rows of arms.csv combine several kinds of seekers (as rated by {raters}). Differences between, "
            "for example, people and simulated seekers affect the means of the arms."
        ).format(raters=join_names([*map(raters_name, kinds)]))


def _of_conditions(tables: Tables) -> Iterator[str]:
    if (tables["conditions"]["pairs"] == 0).any():
        yield _(
            "Some arms met different seekers in the worst case than in the average case. Differences may come from "
            "the seekers."
        )
