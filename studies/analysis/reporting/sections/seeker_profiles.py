"""The section about the seekers: age, gender, work, personality, and what troubled them."""

from collections.abc import Iterator

import pandas as pd  # noqa: TID253

from studies.analysis.language import gettext as _
from studies.analysis.language import gettext_noop
from studies.analysis.pooling import POOLED
from studies.analysis.reporting.distributions import Bar, Panel, distributions
from studies.analysis.reporting.drawing import Figure, figure
from studies.analysis.reporting.naming import language_name, option_name, scale_label, seekers_name
from studies.analysis.reporting.numbers import count, decimal, percent
from studies.analysis.reporting.parts import Part, prose, section
from studies.analysis.results import Results
from studies.analysis.tables.by_language import single_languages
from studies.analysis.tables.seeker_profiles import FACTORS, OTHERS, PEOPLE, PROFILE, SIMULATED

MOST = 12  # values of a characteristic with a bar of their own
SCALE = (1.0, 5.0)  # of the Big Five
TITLES = {
    "age": gettext_noop("Age"),
    "gender": gettext_noop("Gender"),
    "nationality": gettext_noop("Nationality"),
    "mbti": gettext_noop("MBTI type"),
    "occupation": gettext_noop("Occupation"),
    "problem_category": gettext_noop("Problem"),
    "emotion": gettext_noop("Feeling at first"),
}
SEEKERS = {PEOPLE: "person", SIMULATED: "simulated"}  # by track
BIG_FIVE = ("mini_ipip", "ipip_bfm_50")
LETTERS = dict(zip(("E", "A", "C", "N", "O", "ES"), FACTORS, strict=True))  # of the scales of BIG_FIVE
ANSWERS = {"age_band": "age", "topic": "problem_category"}  # of people, and what a profile calls them
ITEMS = {"age": "age_band", "gender": "gender", "occupation": "occupation", "problem_category": "topic"}
OF_FACTORS = {factor: letter for letter, factor in LETTERS.items()}


def _of_seekers(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of participants and simulated seekers in the words of a profile, with `seekers`."""
    if table.empty:
        return table
    rows = table[table["track"].isin(SEEKERS)]
    scales = rows["instrument"].isin(BIG_FIVE)
    items = rows["item"].replace(ANSWERS).mask(scales, rows["item"].map(LETTERS))
    rows = rows.assign(seekers=rows["track"].map(SEEKERS), item=items)
    # Of two questionnaires about the Big Five the first counts.
    return rows[rows["item"].isin([*TITLES, *FACTORS])].drop_duplicates(["track", "language", "item", "level"])


@section("seeker-profiles", gettext_noop("Who the seekers were"), "people", _of_seekers)
def seeker_profiles(table: pd.DataFrame, _results: Results) -> Iterator[Part]:
    yield prose(
        _(
            "People described themselves; simulated seekers have profiles. A figure shows those of whom a "
            "characteristic is known. Values of fewer than five people are hidden or merged, so that no one can be "
            "identified. Profiles made of participants' answers count as people."
        )
    )
    yield from _figures(table)


def _figures(table: pd.DataFrame) -> Iterator[Part]:
    """Yield a figure of people and one of simulated seekers, or of each of their languages, as EmoHarbor has them."""
    for seekers, of_kind in table.groupby("seekers"):
        for language, rows in single_languages(of_kind).groupby("language"):
            if panels := [*_panels(rows)]:
                yield _figure(str(seekers), str(language), panels, int(rows["n"].max()))


def _figure(seekers: str, language: str, panels: list[Panel], n: int) -> Figure:
    named = seekers_name(seekers) if language == POOLED else f"{seekers_name(seekers)}, {language_name(language)}"
    return figure(
        f"seeker-profiles-{seekers}-{language}",
        _("Who the seekers were: {named} ({count})").format(named=named, count=count(n)),
        _(
            "Numbers and, in brackets, shares of those of whom it is known. A grey bar holds all other values. Big "
            "Five: means with standard deviations, from 1 to 5."
        ),
        distributions(panels),
    )


def _panels(rows: pd.DataFrame) -> Iterator[Panel]:
    counted = rows[rows["count"].notna()]
    for name, title in TITLES.items():
        values = counted[counted["item"] == name]
        if (values["level"] != OTHERS).any():
            yield Panel(_(title), [*_bars(values, name)])
    means = rows[rows["item"].isin(FACTORS) & rows["mean"].notna()]
    if len(means):
        yield Panel(_("Big Five"), [_factor(row) for row in means.to_dict("records")], SCALE)


def _bars(values: pd.DataFrame, name: str) -> Iterator[Bar]:
    """Yield the bars: ages upwards, others by their number, and what remains at the end."""
    merged = values["level"] == OTHERS
    single = values[~merged]
    if name != "age":
        single = single.sort_values("count", ascending=False, kind="stable")
    main = single if name == "age" else single.iloc[:MOST]
    for row in main.to_dict("records"):
        yield Bar(_value(row), row["count"], _number(row["count"], row["share"]))
    rest = pd.concat([single.iloc[len(main) :], values[merged]])
    if len(rest):
        number, share = int(rest["count"].sum()), float(rest["share"].sum())
        yield Bar(_("others"), number, _number(number, share), is_rest=True)


def _number(number: int, share: float) -> str:
    return f"{count(number)} ({percent(share)})"


def _value(row: dict[str, object]) -> str:
    """Return a value in words: of people it is the key of an answer."""
    value, name = str(row["level"]), str(row["item"])
    return option_name(PROFILE, ITEMS[name], value) if row["instrument"] == PROFILE and name in ITEMS else value


def _factor(row: dict[str, float]) -> Bar:
    letter = OF_FACTORS[str(row["item"])]
    labels = (scale_label(instrument, letter) for instrument in BIG_FIVE)
    label = next((label for label in labels if label != letter), letter)
    spread = row["sd"] if pd.notna(row["sd"]) else 0.0
    return Bar(label, row["mean"], f"{decimal(row['mean'])} ({decimal(row['sd'])})", spread)
