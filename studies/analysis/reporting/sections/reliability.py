"""How far raters agree with each other, and how many of them a score needs."""

from collections.abc import Iterator

import pandas as pd  # noqa: TID253

from studies.analysis.language import gettext as _
from studies.analysis.language import gettext_noop
from studies.analysis.reporting.curves import curves
from studies.analysis.reporting.dots import Line, dot_panels
from studies.analysis.reporting.drawing import SIGNS, figure
from studies.analysis.reporting.estimates import by_item, by_raters, courses_of, estimate_of
from studies.analysis.reporting.excerpts import bounded, excerpt, gaps, left_out, named, with_intervals
from studies.analysis.reporting.naming import raters_name, scale_name
from studies.analysis.reporting.numbers import LEVEL, span
from studies.analysis.reporting.parts import Excerpt, Part, Section, first_unfolded, joined, prose, subheading
from studies.analysis.results import Results
from studies.analysis.tables.decision_study import USERS

TABLES = ("reliability", "decision_study", "rater_effects")
ALL_ITEMS = "*"
FORMS = {"conversation": ("icc_a_1", "alpha_ordinal"), "arm": ("icc_1_1",)}
NAMES = {"icc_a_1": "ICC(A,1)", "icc_1_1": "ICC(1,1)", "alpha_ordinal": "α"}
SHOWN = ("icc_1_1", "icc_a_1", "icc_a_k", "alpha_ordinal")  # in the table
AGREED = "percent_agreement"
UNITS = {"conversation": gettext_noop("conversation"), "arm": gettext_noop("arm")}
CURVES = {"erho2": "E ρ²", "phi": "Φ"}  # of decision_study.csv
LEVELS = {  # of rater_effects.csv
    "counsellor": gettext_noop("counsellor"),
    "reviewer": gettext_noop("reviewer"),
    "card": gettext_noop("card"),
    "conversation": gettext_noop("conversation"),
    "residual": gettext_noop("what is left"),
}
OF_USERS, OF_BOTH = "erho2_users", "erho2_users_raters"


def reliability(results: Results) -> Section | None:
    table = results.table("reliability")
    if table.empty and results.table("rater_effects").empty:
        return None
    parts = [
        *_agreement(table),
        *_decisions(results.table("decision_study")),
        *_users(results.table("decision_study")),
        *_users_by_raters(results.table("decision_study")),
        *_strictness(results.table("rater_effects")),
    ]
    return Section("reliability", _("Raters among themselves"), parts, TABLES)


def _agreement(table: pd.DataFrame) -> Iterator[Part]:
    items = table[table["item"] != ALL_ITEMS] if len(table) else table
    if items.empty:
        yield prose(
            _(
                "No conversation was rated by several raters of a kind, so nobody knows how reliable a single rating "
                "is. Even a judge that knew what a conversation deserves could not correlate with ratings more than "
                "the root of their reliability: without second ratings that bound is unknown."
            )
        )
        return
    yield prose(
        _(
            "Reliability says how much of the difference between two scores lies in what was rated and not in who "
            "rated it. ICC(A,1) is of a single rater whose level counts, alpha is Krippendorff's for ordered "
            "categories, ICC(1,1) is all that can be said where each rater rated a conversation of their own."
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
            _("{raters} among themselves ({scale}): reliability with {level} intervals").format(
                raters=_capital(raters_name(raters)), scale=scale_name(instrument, moment), level=LEVEL
            ),
            _("1 is perfect agreement, 0 what chance gives. Beside each: how many were rated, times raters."),
            dot_panels({"": _lines(rows, instrument, FORMS[unit])}, _("reliability"), series=_series(unit), at=0),
        )


def _series(unit: str) -> list[str]:
    return [NAMES[form] for form in FORMS[unit]]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _lines(rows: pd.DataFrame, instrument: str, forms: tuple[str, ...]) -> list[Line]:
    lines = []
    for name, found in by_item(rows, instrument).items():
        row = found.to_dict("records")[0]
        estimates = [estimate_of(row, (form, f"{form}_low", f"{form}_high")) for form in forms]
        lines.append(Line(name, estimates, f"{row['n']} × {row['k']}"))
    return lines


def _decisions(table: pd.DataFrame) -> Iterator[Part]:
    drawn = table[table["statistic"].isin(CURVES) & table["estimate"].notna()] if len(table) else table
    if drawn.empty:
        return
    yield subheading(_("How many raters does a score need?"))
    yield prose(
        _(
            "From the variances that were found: how reliable the mean over so many raters (k) would be, where only "
            "the order of what was rated counts (E ρ²) and where the level of each rater counts too (Φ). Where a "
            "curve grows flat, more raters buy little."
        )
    )
    yield from first_unfolded(
        (_capital(raters_name(raters)), list(_curves(raters, rows))) for raters, rows in by_raters(drawn)
    )


def _curves(raters: str, table: pd.DataFrame) -> Iterator[Part]:
    for (unit, instrument, moment), rows in table.groupby(["unit", "instrument", "moment"]):
        panels = {
            name: courses_of(found, "k", "n", list(CURVES), "statistic")
            for name, found in by_item(rows, instrument).items()
        }
        yield figure(
            f"decision-study-{raters}-{unit}-{instrument}-{moment}",
            _("Reliability of a mean over several {raters} ({scale}), with {level} bands").format(
                raters=raters_name(raters), scale=scale_name(instrument, moment), level=LEVEL
            ),
            _("{signs}. Below: how many were rated.").format(
                signs=", ".join(f"{sign} {name}" for sign, name in zip(SIGNS, CURVES.values(), strict=False))
            ),
            curves(panels, _("reliability"), "k"),
        )


def _users(table: pd.DataFrame) -> Iterator[Part]:
    rows = table[table["statistic"] == OF_USERS] if len(table) else table
    people = rows[~rows["raters"].str.startswith("judge")] if len(rows) else rows
    known = people[people["estimate"].notna()] if len(people) else people
    if known.empty:
        return
    yield subheading(_("How many people tell the arms apart?"))
    yield prose(
        _(
            "How surely the means over so many people (k) would put arms in their order, which all of them meet (E ρ²; "
            "1 is surely). Arms are taken as drawn from others like them. decision_study.csv also tells how it is "
            "where each arm has people of its own (phi_users)."
        )
    )
    caption = _("E ρ² of the arms' means over so many people, with {level} intervals").format(level=LEVEL)
    yield Excerpt("decision_study", caption, _by_k(known), left_out(people))


def _users_by_raters(table: pd.DataFrame) -> Iterator[Part]:
    of_both = table[(table["statistic"] == OF_BOTH) & table["k"].isin(USERS)] if len(table) else table
    rows = _of_whole_instruments(of_both) if len(of_both) else of_both
    known = rows[rows["estimate"].notna()] if len(rows) else rows
    if known.empty:
        return
    yield subheading(_("How many people and raters tell the arms apart?"))
    yield prose(
        _(
            "Where several raters or judges scored the same conversations of people who met several arms: how surely "
            "the means over so many people (columns) and so many raters of each of their conversations (k_raters) "
            "would put arms in their order (E ρ²). A rater who orders the arms in a way of their own is made up for "
            "by more raters alone, however many people there are. decision_study.csv has the variances and the single "
            "items too."
        )
    )
    caption = _("E ρ² of the arms' means over so many people and raters, with {level} intervals").format(level=LEVEL)
    remark = joined([left_out(rows), gaps(known, ["low"])])
    yield Excerpt("people-and-raters", caption, _by_k(known, "k_raters"), remark)


def _of_whole_instruments(rows: pd.DataFrame) -> pd.DataFrame:
    """All items together, or the only one."""
    items = rows.groupby(["raters", "seekers", "condition", "instrument", "moment"])["item"].transform("nunique")
    return rows[(rows["item"] == ALL_ITEMS) | (items == 1)]


def _by_k(rows: pd.DataFrame, *beside: str) -> pd.DataFrame:
    """Columns for k; `beside`: what else tells rows apart."""
    keys = ["raters", "seekers", "condition", "instrument", "moment", "item", *beside]
    wide = rows.assign(estimate=bounded(rows)).pivot(index=keys, columns="k", values="estimate").fillna("–")
    table = named(wide.rename(columns=str).rename_axis(columns=None).reset_index())
    return table.loc[:, (table != "").any()]


def _strictness(table: pd.DataFrame) -> Iterator[Part]:
    variances = table[table["term"] == "variance"] if len(table) else table
    if variances.empty:
        return
    yield subheading(_("How strict the raters are"))
    yield prose(
        _(
            "Variances by a mixed model of each item (counsellors' own conversations: score ~ arm + (1 | counsellor) "
            "+ (1 | card); second raters: score ~ arm + (1 | conversation) + (1 | reviewer)). What lies between "
            "raters is strictness, not the systems."
        )
    )
    for raters, rows in variances.groupby("raters"):
        caption = _("Variances of ratings by {raters}, with {level} intervals").format(
            raters=raters_name(str(raters)), level=LEVEL
        )
        found = rows[rows["estimate"].notna()]
        if found.empty:
            yield prose(f"{caption}:", left_out(rows))
        else:
            remark = joined([left_out(rows), gaps(found, ["low"])])
            yield Excerpt(f"variances-{raters}", caption, _by_level(found), remark)


def _by_level(rows: pd.DataFrame) -> pd.DataFrame:
    """Items × what the variance lies between."""
    keys = ["instrument", "moment", "item"]
    texts = rows.assign(estimate=bounded(rows))
    wide = texts.pivot(index=keys, columns="level", values="estimate").fillna("–").rename_axis(None, axis=1)
    wide = wide[list(dict.fromkeys(rows["level"]))].rename(columns=_level).join(rows.groupby(keys)["n"].agg(span))
    return named(wide.reset_index())


def _level(key: str) -> str:
    return _(LEVELS[key]) if key in LEVELS else key
