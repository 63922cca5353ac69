"""How far raters agree with each other, and how many of them a score needs."""

from collections.abc import Iterator

import pandas as pd  # noqa: TID253

from studies.analysis.language import gettext as _
from studies.analysis.reporting.curves import curves
from studies.analysis.reporting.dots import Line, dot_panels
from studies.analysis.reporting.drawing import SIGNS, figure
from studies.analysis.reporting.estimates import by_item, by_raters, courses_of, estimate_of, with_item_names
from studies.analysis.reporting.naming import raters_name, scale_name
from studies.analysis.reporting.numbers import LEVEL
from studies.analysis.reporting.parts import Excerpt, Part, Section, first_unfolded, prose, subheading
from studies.analysis.results import Results

TABLES = ("reliability", "decision_study", "rater_effects")
ALL_ITEMS = "*"
FORMS = {"conversation": ("icc_a_1", "alpha_ordinal"), "arm": ("icc_1_1",)}
NAMES = {"icc_a_1": "ICC(A,1)", "icc_1_1": "ICC(1,1)", "alpha_ordinal": "α"}
CURVES = {"erho2": "E ρ²", "phi": "Φ"}  # of decision_study.csv
OF_USERS = "erho2_users"


def reliability(results: Results) -> Section | None:
    table = results.table("reliability")
    if table.empty and results.table("rater_effects").empty:
        return None
    parts = [
        *_agreement(table),
        *_decisions(results.table("decision_study")),
        *_users(results.table("decision_study")),
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
    shown = ["raters", "unit", "item", "n", "k", "icc_1_1", "icc_a_1", "icc_a_k", "alpha_ordinal", "percent_agreement"]
    people = items[~items["raters"].str.startswith("judge")]
    rows = with_item_names(items if people.empty else people)[shown].dropna(axis=1, how="all")
    yield Excerpt("reliability", _("Reliability of single ratings and of means"), rows)


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
    rows = table[(table["statistic"] == OF_USERS) & table["estimate"].notna()] if len(table) else table
    people = rows[rows["raters"] != "judge"] if len(rows) else rows
    if people.empty:
        return
    yield subheading(_("How many people tell the arms apart?"))
    yield prose(
        _(
            "How surely the means over so many people (k) would put arms in their order, which all of them meet (E ρ²; "
            "1 is surely). Arms are taken as drawn from others like them; intervals stand in decision_study.csv, which "
            "also tells how it is where each arm has people of its own (phi_users)."
        )
    )
    keys = ["raters", "condition", "instrument", "moment", "item"]
    wide = with_item_names(people).pivot(index=keys, columns="k", values="estimate")
    yield Excerpt("decision_study", _("E ρ² of the arms' means over so many people"), _named(wide))


def _named(wide: pd.DataFrame) -> pd.DataFrame:
    table = wide.rename(columns=str).rename_axis(columns=None).reset_index()
    return table.loc[:, (table != "").any()]


def _strictness(table: pd.DataFrame) -> Iterator[Part]:
    rows = table[(table["term"] == "variance") & table["estimate"].notna()] if len(table) else table
    if rows.empty:
        return
    yield subheading(_("How strict the raters are"))
    yield prose(
        _(
            "Variances by a mixed model of each item (counsellors' own conversations: score ~ arm + (1 | counsellor) "
            "+ (1 | card); second raters: score ~ arm + (1 | conversation) + (1 | reviewer)). What lies between "
            "raters is strictness, not the systems."
        )
    )
    for raters, found in rows.groupby("raters"):
        keys = ["instrument", "moment", "item"]
        wide = found.pivot(index=keys, columns="level", values="estimate").rename_axis(None, axis=1)
        wide = with_item_names(wide[list(dict.fromkeys(found["level"]))].reset_index())
        yield Excerpt(f"variances-{raters}", _("Variances of ratings by {raters}").format(raters=raters), wide)
