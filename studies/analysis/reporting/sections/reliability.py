"""The agreement of raters with each other, and how many of them a score needs."""

from collections.abc import Iterator

import pandas as pd  # noqa: TID253

from studies.analysis.language import gettext as _
from studies.analysis.language import gettext_noop, join_with_commas
from studies.analysis.pooling import ALL_ITEMS
from studies.analysis.reporting.curves import curves
from studies.analysis.reporting.dots import Line, dot_panels
from studies.analysis.reporting.drawing import SIGNS, figure
from studies.analysis.reporting.estimates import by_item, by_raters, courses_of, estimate_of, say_method
from studies.analysis.reporting.excerpts import (
    excerpt,
    remark_on_empty_rows,
    remark_on_intervals,
    with_interval,
    with_intervals,
    with_names,
    without_table,
)
from studies.analysis.reporting.exhibits.rater_reliability import NAMED, SHOWN
from studies.analysis.reporting.naming import raters_name, scale_name
from studies.analysis.reporting.numbers import LEVEL, amount, span
from studies.analysis.reporting.parts import Excerpt, Part, Section, first_unfolded, join_sentences, prose, subheading
from studies.analysis.results import Results
from studies.analysis.tables.decision_study import USERS
from studies.analysis.tables.rater_effects import of_decisions, of_strictness

FORMS = {"conversation": ("icc_a_1", "alpha_ordinal"), "arm": ("icc_1_1",)}
NAMES = {"icc_a_1": "ICC(A,1)", "icc_1_1": "ICC(1,1)", "alpha_ordinal": "α"}
AGREED = "percent_agreement"
UNITS = {"conversation": gettext_noop("conversation"), "arm": gettext_noop("arm")}
CURVES = {"erho2": "E ρ²", "phi": "Φ"}  # of rater_effects.csv
LEVELS = {  # of rater_effects.csv
    "counsellor": gettext_noop("between counsellors"),
    "reviewer": gettext_noop("between raters"),
    "card": gettext_noop("between role cards"),
    "conversation": gettext_noop("between conversations"),
    "residual": gettext_noop("residual"),
}
OF_USERS, OF_BOTH = "erho2_users", "erho2_users_raters"


def reliability(results: Results) -> Section | None:
    table = results.table("reliability")
    effects = results.table("rater_effects")
    if table.empty and effects.empty:
        return None
    decisions = of_decisions(effects)
    parts = [
        *_agreement(table),
        *_decisions(decisions),
        *_users(decisions),
        *_users_by_raters(decisions),
        *_strictness(of_strictness(effects)),
    ]
    return Section("reliability", _("Agreement between raters"), parts)


def _agreement(table: pd.DataFrame) -> Iterator[Part]:
    items = table[table["item"] != ALL_ITEMS] if len(table) else table
    if items.empty:
        yield prose(
            _(
                "No conversation was rated by several raters of the same kind, so the reliability of a single "
                "rating is unknown. Even a judge that knew the true score of a conversation could not correlate "
                "with ratings more than the square root of their reliability. Without second ratings, that bound is "
                "unknown."
            )
        )
        return
    yield prose(
        _(
            "Reliability is the share of the variance of scores that comes from what was rated and not from who rated "
            "it. ICC(A,1) is the reliability of one rater's scores if the same raters rate all conversations, and "
            "strictness is an error. ICC(1,1) is the same if each conversation has raters of its own; it is the only "
            "form if no two raters rated the same conversation. Krippendorff's alpha, here for ordered categories, "
            "compares the raters' disagreement with disagreement by chance."
        )
    )
    yield from first_unfolded(
        (_capital(raters_name(raters)), list(_among(raters, rows))) for raters, rows in by_raters(items)
    )
    people = items[~items["raters"].str.startswith("judge")]
    rows = items if people.empty else people
    rows = with_intervals(rows.assign(unit=[_(UNITS.get(unit, unit)) for unit in rows["unit"]]), SHOWN)
    caption = _("Reliability of single ratings and of means, with {level} intervals").format(level=LEVEL)
    yield excerpt("reliability", caption, rows, ["raters", "unit", "item", "n", "k", *SHOWN, AGREED], [*SHOWN, AGREED])


def _among(raters: str, table: pd.DataFrame) -> Iterator[Part]:
    for (unit, instrument, moment), rows in table.groupby(["unit", "instrument", "moment"]):
        yield figure(
            f"reliability-{raters}-{unit}-{instrument}-{moment}",
            _("Agreement between {raters} ({scale}): reliability with {level} intervals").format(
                raters=raters_name(raters), scale=scale_name(instrument, moment), level=LEVEL
            ),
            join_sentences(
                [
                    _(
                        "A high value means that raters gave the same conversation (or arm) similar scores: 1 is "
                        "perfect agreement, and at 0 scores agree no better than by chance. Next to each line: the "
                        "number of conversations (or arms) × the ratings of each, on average."
                    ),
                    say_method(rows, *NAMED),
                ]
            ),
            dot_panels({"": _lines(rows, instrument, FORMS[unit])}, _("reliability"), series=_series(unit), at=0),
        )


def _series(unit: str) -> list[str]:
    return [NAMES[form] for form in FORMS[unit]]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _lines(rows: pd.DataFrame, instrument: str, forms: tuple[str, ...]) -> list[Line]:
    lines = []
    for name, of_item in by_item(rows, instrument).items():
        row = of_item.to_dict("records")[0]
        estimates = [estimate_of(row, (form, f"{form}_low", f"{form}_high")) for form in forms]
        lines.append(Line(name, estimates, f"{row['n']} × {amount(row['k'])}"))
    return lines


def _decisions(table: pd.DataFrame) -> Iterator[Part]:
    estimated = table[table["statistic"].isin(CURVES) & table["estimate"].notna()] if len(table) else table
    if estimated.empty:
        return
    yield subheading(_("How many raters does a score need?"))
    yield prose(
        _(
            "How reliable would the mean over k raters be, from 0 (not at all) to 1 (perfectly)? E ρ² is the answer if "
            "the same k raters score all conversations and only their order matters: strict raters then do no harm. Φ "
            "is the answer if conversations have different raters, or if the level of scores matters: strictness is "
            "then an error. Both are computed from the variances between conversations, between raters and, of several "
            "items together, between items. Where a curve becomes flat, more raters help little."
        )
    )
    yield from first_unfolded(
        (_capital(raters_name(raters)), list(_curves(raters, rows))) for raters, rows in by_raters(estimated)
    )


def _curves(raters: str, table: pd.DataFrame) -> Iterator[Part]:
    for (unit, instrument, moment), rows in table.groupby(["unit", "instrument", "moment"]):
        panels = {
            name: courses_of(of_item, "k", "n", list(CURVES), "statistic")
            for name, of_item in by_item(rows, instrument).items()
        }
        yield figure(
            f"decision-study-{raters}-{unit}-{instrument}-{moment}",
            _("Reliability of a mean over several {raters} ({scale}), with {level} bands").format(
                raters=raters_name(raters), scale=scale_name(instrument, moment), level=LEVEL
            ),
            _(
                "{signs}: 1 is perfectly reliable. Horizontal: the number of raters (k). Below it: the number of "
                "conversations that were rated."
            ).format(
                signs=join_with_commas(f"{sign} {name}" for sign, name in zip(SIGNS, CURVES.values(), strict=False))
            ),
            curves(panels, _("reliability"), "k"),
        )


def _users(table: pd.DataFrame) -> Iterator[Part]:
    rows = table[table["statistic"] == OF_USERS] if len(table) else table
    people = rows[~rows["raters"].str.startswith("judge")] if len(rows) else rows
    estimated = people[people["estimate"].notna()] if len(people) else people
    if estimated.empty:
        return
    yield subheading(_("How many people tell the arms apart?"))
    yield prose(
        _(
            "How reliably would the means over k people tell the arms apart, if all these people met all arms? E ρ² "
            "is 1 if other people would show the same differences between the arms, and 0 if they would show none of "
            "them. It is computed as ICC(C,k) of arms × people, from those who met every arm; arms are treated as "
            "drawn from others like them. rater_effects.csv also shows the case where each arm has its own people "
            "(phi_users)."
        )
    )
    caption = _("E ρ² of the arms' means over 5 to 100 people (columns), with {level} intervals").format(level=LEVEL)
    yield Excerpt("decision_study", caption, _by_k(estimated), remark_on_empty_rows(people))


def _users_by_raters(table: pd.DataFrame) -> Iterator[Part]:
    of_both = table[(table["statistic"] == OF_BOTH) & table["k"].isin(USERS)] if len(table) else table
    rows = _of_whole_instruments(of_both) if len(of_both) else of_both
    estimated = rows[rows["estimate"].notna()] if len(rows) else rows
    if estimated.empty:
        return
    yield subheading(_("How many people and raters tell the arms apart?"))
    yield prose(
        _(
            "Several raters or judges scored the same conversations of people who met several arms. How reliably would "
            "the means over several people (columns) and several raters of each of their conversations (rows) tell the "
            "arms apart, from 0 (not at all) to 1 (perfectly)? E ρ² is computed from the variances of arms × people × "
            "raters, which rater_effects.csv has. If raters order the arms differently, only more raters help, however "
            "many people there are."
        )
    )
    caption = _(
        "E ρ² of the arms' means over 5 to 100 people (columns) and several raters (rows), with {level} intervals"
    ).format(level=LEVEL)
    remark = join_sentences([remark_on_empty_rows(rows), remark_on_intervals(estimated)])
    yield Excerpt("people-and-raters", caption, _by_k(estimated, "k_raters"), remark)


def _of_whole_instruments(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of all items together, or of the only one."""
    items = rows.groupby(["raters", "seekers", "condition", "instrument", "moment"])["item"].transform("nunique")
    return rows[(rows["item"] == ALL_ITEMS) | (items == 1)]


def _by_k(rows: pd.DataFrame, *beside: str) -> pd.DataFrame:
    """Return columns for k; `beside` are other columns that tell rows apart."""
    keys = ["raters", "seekers", "condition", "instrument", "moment", "item", *beside]
    wide = rows.assign(estimate=with_interval(rows)).pivot(index=keys, columns="k", values="estimate").fillna("–")
    table = with_names(wide.rename(columns=str).rename_axis(columns=None).reset_index())
    return table.loc[:, (table != "").any()]


def _strictness(table: pd.DataFrame) -> Iterator[Part]:
    variances = table[table["term"] == "variance"] if len(table) else table
    if variances.empty:
        return
    yield subheading(_("Strictness of the raters"))
    yield prose(
        _(
            "Where do differences between the scores of an arm come from? The tables split the variance of each item's "
            "scores, in squared points. If much of it lies between raters, some raters are much stricter than others, "
            "which says nothing about the arms. Residual is what nothing else in the model explains. The variances "
            "come from a mixed model of each item (REML): score ~ arm + (1 | counsellor) + (1 | card) of counsellors' "
            "own conversations, and score ~ arm + (1 | conversation) + (1 | rater) of others. With few raters, the "
            "variance between them is very uncertain."
        )
    )
    for raters, rows in variances.groupby("raters"):
        caption = _("Variances of scores by {raters} (n scores), with {level} intervals").format(
            raters=raters_name(str(raters)), level=LEVEL
        )
        estimated = rows[rows["estimate"].notna()]
        if estimated.empty:
            yield without_table(caption, rows)
        else:
            remark = join_sentences([remark_on_empty_rows(rows), remark_on_intervals(estimated)])
            yield Excerpt(f"variances-{raters}", caption, _by_level(estimated), remark)


def _by_level(rows: pd.DataFrame) -> pd.DataFrame:
    """Return items × what the variance lies between."""
    keys = ["instrument", "moment", "item"]
    texts = rows.assign(estimate=with_interval(rows))
    wide = texts.pivot(index=keys, columns="level", values="estimate").fillna("–").rename_axis(None, axis=1)
    wide = wide[list(dict.fromkeys(rows["level"]))].rename(columns=_level).join(rows.groupby(keys)["n"].agg(span))
    return with_names(wide.reset_index())


def _level(key: str) -> str:
    return _(LEVELS[key]) if key in LEVELS else key
