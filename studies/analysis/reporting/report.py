"""report.html: one page without network, written from what was done."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd  # noqa: TID253

from studies.analysis.reporting import told
from studies.analysis.reporting.drawing import Figure
from studies.analysis.reporting.markup import Markup, tag
from studies.analysis.results import METHODS, Results

STYLE = Path(__file__).with_name("report.css")
HEADINGS = {
    "agreement": "Judges and people",
    "reliability": "Raters among themselves",
    "arms": "The arms",
    "conditions": "Average against worst case",
    "ablation": "What each behaviour of the seeker does",
    "survival": "How long conversations stay open",
    "trends": "Over the turns",
    "emotion": "Before and after",
    "costs": "What a conversation costs",
    "lengths": "Length and speed of the replies",
    "expert_table": "How counsellors rated the systems",
    "rater_effects": "How strict the raters are",
    "quality": "Data quality",
    "sensitivity": "With and without",
    "pairwise": "Side by side: who was preferred",
    "bradley_terry": "Side by side: how strong they are",
    "panels": "Judges as panels",
    "probes": "What judges' scores hang on",
}
TOLD = {
    "conditions": told.of_conditions,
    "ablation": told.of_ablation,
    "survival": told.of_survival,
    "trends": told.of_trends,
    "emotion": told.of_emotion,
    "costs": told.of_costs,
    "expert_table": told.of_experts,
    "rater_effects": told.of_rater_effects,
    "quality": told.of_quality,
    "sensitivity": told.of_sensitivity,
    "pairwise": told.of_pairs,
}
LENGTHS_MATTER = (
    "Longer replies are often rated better, and arms whose replies differ in length or speed can be told apart: "
    "read the ratings beside these figures."
)
MEANS = {  # of lengths.csv, as the report heads them
    "characters": "mean characters",
    "first_token_seconds": "mean seconds to first words",
    "total_seconds": "mean seconds to end",
}
COUNTS = {"names_itself_share": "named itself", "masked_share": "masked"}
LENGTHS_MEAN = (
    "Named itself: replies in which the model named itself or its maker. Masked: replies in place of which, or of a "
    "part of which, something else was shown."
)
SMALL = ("p", "p_holm", "wilcoxon_p", "cost")  # where a fourth decimal tells something
EMPTY = {  # the sections that are there in any case
    "agreement": "No judge and person scored the same conversation, so there is nothing to compare.",
    "reliability": "No conversation has several raters of a kind, and no instrument several items.",
    "arms": "No rating names an arm.",
    "lengths": "No reply belongs to a conversation that names an arm.",
    "expert_table": "No counsellor rated a conversation with a known arm.",
    "rater_effects": "Neither counsellors' own conversations nor conversations with several raters.",
    "quality": "No ratings of people by instruments of several items, and no conversations of theirs.",
    "sensitivity": "No judge and person scored the same conversation, so there is nothing to compare.",
    "pairwise": "No pair of different arms or seekers was compared.",
    "bradley_terry": "No pair of different arms or seekers was compared.",
    "panels": "No judge rated anything.",
    "probes": "No judge rated anything.",
}


def report(results: Results, figures: list[Figure]) -> str:
    title = "Analysis of a study's ratings"
    ribbon = [tag("p", "Demonstration data", class_="ribbon")] if results.export.demonstration else []
    shown = [name for name in HEADINGS if name in EMPTY or not results.tables[name].empty]
    sections = [_section(name, results, figures) for name in shown]
    main = tag("main", tag("h1", title), *_opening(results), *sections, _methods(results), _origin(results))
    head = tag("head", Markup('<meta charset="utf-8">'), _viewport(), tag("title", title), _style())
    return f"<!doctype html>\n{tag('html', head, tag('body', *ribbon, main), lang='en')}\n"


def _viewport() -> Markup:
    return Markup('<meta name="viewport" content="width=device-width, initial-scale=1">')


def _style() -> Markup:
    return tag("style", Markup(STYLE.read_text(encoding="utf-8")))


def _opening(results: Results) -> list[Markup]:
    counts = results.counts()
    said = ", ".join(f"{count:,} {what}" for what, count in counts.items())
    limits = results.limits()
    return [
        tag("p", f"From {said}. Every table below is also a CSV file beside this page; results.json holds everything."),
        *([tag("h2", "Keep in mind"), _list(limits, class_="notes")] if limits else []),
    ]


def _section(name: str, results: Results, figures: list[Figure]) -> Markup:
    table = results.tables[name]
    if table.empty:
        return tag("section", tag("h2", HEADINGS[name]), tag("p", EMPTY[name]))
    drawn = [_drawn(figure) for figure in figures if figure.name.startswith(name.replace("_", "-"))]
    said = _lengths(results) if name == "lengths" else [_part(part) for part in TOLD.get(name, _nothing)(results)]
    rows = tag("details", tag("summary", f"All {len(table)} rows of {name}.csv"), _table(table))
    return tag("section", tag("h2", HEADINGS[name]), *said, *drawn, rows)


def _nothing(_results: Results) -> Iterable[told.Part]:
    return ()


def _part(part: told.Part) -> Markup:
    return _table(part) if isinstance(part, pd.DataFrame) else part


def _lengths(results: Results) -> list[Markup]:
    if results.export.replies is None:
        return [tag("p", "There is no turns.csv, so nothing is known of the replies.")]
    by_arm = results.tables["lengths"].groupby(["arm", "language"])
    return [
        tag("p", LENGTHS_MATTER),
        tag("p", LENGTHS_MEAN),
        _table(pd.DataFrame([_of_arm(arm, language, rows) for (arm, language), rows in by_arm])),
    ]


def _of_arm(arm: str, language: str, rows: pd.DataFrame) -> dict[str, Any]:
    """What lengths.csv says of the replies of one arm in one language; its shares as numbers of replies."""
    found = rows.set_index("measure")
    means = {heading: found.at[measure, "estimate"] for measure, heading in MEANS.items()}
    counts = {heading: _share(found.loc[measure]) for measure, heading in COUNTS.items()}
    return {"arm": arm, "language": language, "replies": found.at["characters", "n"], **means, **counts}


def _share(row: pd.Series) -> str:
    return f"{round(row['estimate'] * row['n'])} of {row['n']}" if row["n"] else ""


def _drawn(figure: Figure) -> Markup:
    svg = Markup(figure.svg)
    caption = tag("figcaption", tag("strong", figure.title), figure.caption)
    return tag("figure", tag("div", svg, role="img", aria_label=figure.title), caption)


def _table(table: pd.DataFrame) -> Markup:
    head = tag("tr", *(tag("th", column, scope="col") for column in table.columns))
    rows = (tag("tr", *map(_cell, table.columns, row)) for row in table.itertuples(index=False))
    content = tag("table", tag("thead", head), tag("tbody", *rows))
    # A region that scrolls must be reachable by the keyboard.
    return tag("div", content, class_="wide", tabindex="0", role="region", aria_label="Table")


def _cell(column: str, value: Any) -> Markup:
    if column == "note":
        return tag("td", str(value), class_="note")
    if pd.isna(value):
        return tag("td")
    if isinstance(value, float):
        return tag("td", f"{value:.{4 if column in SMALL else 3}f}", class_="number")
    return tag("td", str(value), **({} if isinstance(value, str) else {"class_": "number"}))


def _methods(results: Results) -> Markup:
    settings = (
        f"Intervals and p values come from {results.bootstrap.replicates:,} resamples of "
        f"{results.export.conversations['cluster'].nunique():,} clusters, seed {results.bootstrap.seed}. "
        "A cluster is a participant with all of their conversations, of simulated seekers the profile, or the "
        "conversation where neither is named. "
        "BCa corrections are left out where they do not exist; the column method says so. "
        "A score that is missing is left out, never counted as 0."
    )
    by_name = (f"{name}: {method}." for name, method in METHODS.items())
    return tag("section", tag("h2", "Methods"), tag("p", settings), _list(by_name))


def _origin(results: Results) -> Markup:
    exclusions = results.exclusions()
    missing = sum(exclusions.pop("ratings_without_score").values())
    counted = [f"ratings without score: {missing}", *(f"{_words(name)}: {n}" for name, n in exclusions.items())]
    files = [f"{name}, SHA-256 {digest}" for name, digest in sorted(results.export.hashes.items())]
    versions = ", ".join(f"{name} {number}" for name, number in results.versions().items())
    absent = [tag("h3", "Files that were not there"), tag("p", _absent(results))] if results.export.absent else []
    return tag(
        "section",
        tag("h2", "Data"),
        tag("h3", "Files that were read"),
        _list(files),
        *absent,
        tag("h3", "Counted"),
        _list(counted),
        tag("h3", "Software"),
        tag("p", versions),
    )


def _absent(results: Results) -> str:
    return f"{', '.join(results.export.absent)}. What needs them is left out."


def _words(name: str) -> str:
    return name.replace("_", " ")


def _list(items: Iterable[str], **attributes: str) -> Markup:
    return tag("ul", *(tag("li", item) for item in items), **attributes)
