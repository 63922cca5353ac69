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
from studies.analysis.reporting.parts import Part, Section, prose
from studies.analysis.results import Results
from studies.analysis.tables.by_language import shown_languages
from studies.analysis.tables.seeker_profiles import ANSWERS, BIG_FIVE, FACTORS, LETTERS, OTHERS, PERSON, PROFILE

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
OF_FACTORS = {factor: letter for letter, factor in LETTERS.items()}


def seeker_profiles(results: Results) -> Section | None:
    table = results.table("seeker_profiles")
    if table.empty:
        return None
    said = prose(
        _(
            "People described themselves; simulated seekers have profiles. A figure shows those of whom a "
            "characteristic is known. Values of fewer than five people are merged, so that no one can be identified. "
            "Profiles made of participants' answers count as people."
        )
    )
    return Section("seeker-profiles", _("Who the seekers were"), [said, *_figures(table)])


def _figures(table: pd.DataFrame) -> Iterator[Part]:
    """Yield a figure of people and one of simulated seekers, or of each of their languages, as EmoHarbor has them."""
    for seekers, of_seekers in table.groupby("seekers"):
        for language, rows in shown_languages(of_seekers).groupby("language"):
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
    known = rows[rows["count"].notna()]
    for name, title in TITLES.items():
        values = known[known["characteristic"] == name]
        if len(values):
            yield Panel(_(title), [*_bars(values, name)])
    means = rows[rows["characteristic"].isin(FACTORS) & rows["mean"].notna()]
    if len(means):
        yield Panel(_("Big Five"), [_factor(row) for row in means.to_dict("records")], SCALE)


def _bars(values: pd.DataFrame, name: str) -> Iterator[Bar]:
    """Yield the bars: ages upwards, others by their number, and what remains at the end."""
    merged = values["value"] == OTHERS
    single = values[~merged]
    if name != "age":
        single = single.sort_values("count", ascending=False, kind="stable")
    shown = single if name == "age" else single.iloc[:MOST]
    for row in shown.to_dict("records"):
        yield Bar(_value(row), row["count"], _number(row["count"], row["share"]))
    rest = pd.concat([single.iloc[len(shown) :], values[merged]])
    if len(rest):
        number, share = int(rest["count"].sum()), float(rest["share"].sum())
        yield Bar(_("others"), number, _number(number, share), is_rest=True)


def _number(number: int, share: float) -> str:
    return f"{count(number)} ({percent(share)})"


def _value(row: dict[str, object]) -> str:
    """Return a value in words: of people it is the key of an answer."""
    value, name = str(row["value"]), str(row["characteristic"])
    return option_name(PROFILE, ANSWERS[name], value) if row["seekers"] == PERSON and name in ANSWERS else value


def _factor(row: dict[str, float]) -> Bar:
    letter = OF_FACTORS[str(row["characteristic"])]
    labels = (scale_label(instrument, letter) for instrument in BIG_FIVE)
    label = next((label for label in labels if label != letter), letter)
    spread = row["sd"] if pd.notna(row["sd"]) else 0.0
    return Bar(label, row["mean"], f"{decimal(row['mean'])} ({decimal(row['sd'])})", spread)
