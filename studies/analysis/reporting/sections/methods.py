"""The methods by which everything was computed, written from what was done, and the files it was computed from."""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd  # noqa: TID253

from studies.analysis.design import design_of, models_of
from studies.analysis.language import gettext as _
from studies.analysis.language import gettext_noop, join_with_commas, join_with_semicolons, ngettext
from studies.analysis.reporting.limits import differing_numbers
from studies.analysis.reporting.markup import tag
from studies.analysis.reporting.naming import join_names, raters_name, strategy_name
from studies.analysis.reporting.numbers import count
from studies.analysis.reporting.parts import Excerpt, Part, Section, listing, prose, subheading
from studies.analysis.reporting.study import (
    column_of,
    manifest_of,
    values_of,
    who_took_part,
)
from studies.analysis.results import Results
from studies.analysis.tables.cross_check import NO, YES

SETTINGS = ("model", "temperature", "max_tokens")  # of models in a study file


def methods(results: Results) -> Section:
    parts: list[Part] = [
        prose(*_resampling(results)),
        *_chart(results),
        subheading(_("How each number is computed")),
        *_of_the_paper(results),
        *_sentences(results),
        *_checks(results),
        *_empty_tables(results),
    ]
    return Section("methods", _("Methods"), parts)


def _resampling(results: Results) -> Iterator[str]:
    yield _(
        "Bootstrap intervals, and the p values next to them, come from {resamples} resamples of clusters, seed "
        "{seed}. There are {clusters} clusters in all; each row says how many it rests on. Other intervals and "
        "tests use a jackknife of clusters, F, Student's t, chi-square, the normal distribution or Wilson's formula, "
        "or are exact. The "
        "column method or the list below says which."
    ).format(
        resamples=count(results.bootstrap.replicates),
        clusters=count(results.export.conversations["cluster"].nunique()),
        seed=results.bootstrap.seed,
    )
    yield _(
        "A cluster is a participant with all of their conversations. For simulated seekers it is the profile, or "
        "the conversation if neither is named. BCa corrections are left out where they do not exist; the column "
        "method says so."
    )
    yield _("A missing score is left out, never counted as 0.")
    yield _(
        "These are corrected for multiple testing: p_holm, within the family that the list below names; "
        "p_adjusted of the alternative annotator test, with the winning rate that follows from it; and the count "
        "behind pairwise_share. No other p and no interval is corrected."
    )
    yield _declaration(results)


def _of_the_paper(results: Results) -> Iterator[Part]:
    """Yield what a reader must know of the paper's formulas; docs/papers.md has how it was found."""
    if len(results.table("discrimination")):
        yield prose(
            _(
                "MSR, MAC and F are computed with EmoHarbor's formulas as they are written. Not all numbers of its "
                "Table 2 follow from them: with an MSR of .745, 100 profiles and 20 models, equation 13 gives an F "
                "of 77.6, but 112 is printed; the MAC of .427 does follow. Do not compare an F of this report with "
                "the printed one."
            )
        )


def _declaration(results: Results) -> str:
    if results.table("primary").empty:
        return _(
            "No primary contrast was declared in the study file, so all tests are exploratory, except those the "
            "authors registered elsewhere beforehand."
        )
    return _(
        "Only the contrasts in primary.csv, which the study file declares, are primary. All other tests are "
        "exploratory."
    )


def _chart(results: Results) -> Iterator[Part]:
    rows = [
        {"CHART": number, _("item"): name, _("what the data say"): text or _("not in the data")}
        for number, name, text in _items(results)
    ]
    yield subheading(_("CHART checklist"))
    yield prose(
        _(
            "What the reporting guideline for studies of chatbots (CHART 2025, doi 10.1136/bmjmed-2025-001632) asks "
            "for, as far as the exported data contain it. The authors must write the rest."
        )
    )
    yield Excerpt("chart", _("CHART items that the data answer"), pd.DataFrame(rows))


def _items(results: Results) -> Iterator[tuple[str, str, str]]:
    """Yield the number of each item of CHART, its name, and what is known of it; empty where nothing is."""
    export = results.export
    yield "3", _("model identifiers"), join_names(values_of(export, "conversations.csv", "model"))
    yield "4", _("model details"), _design(results)
    yield "5", _("prompt engineering"), _prompts(results)
    yield "6", _("query strategy"), _queries(results)
    yield "7", _("performance evaluation"), _evaluation(results)
    yield "8", _("sample size"), _size(results)
    yield "9", _("data analysis"), _("the whole of this section")
    yield "12c", _("ethics"), _consent(results)
    yield "12d", _("protocol"), _protocol(results)
    yield "12e", _("data availability"), _("SHA-256 of the files read: {hash}").format(hash=results.data_hash())


def _design(results: Results) -> str:
    design = design_of(results.export.folder)
    arms = sorted(set(results.export.conversations["arm"]) - {""})
    parts = [_("arms: {arms}").format(arms=join_names(arms))] if arms else []
    models = [f"{model['key']}: {parameters}" for model in models_of(design) if (parameters := _parameters(model))]
    return join_with_semicolons(
        parts + ([_("parameters: {parameters}").format(parameters=join_names(models))] if models else [])
    )


def _parameters(model: Mapping[str, Any]) -> str:
    """Return the settings of a model that the study file names."""
    settings = {name: model[name] for name in SETTINGS if model.get(name) not in (None, "")}
    extra = model.get("extra")
    settings |= extra if isinstance(extra, dict) else {}
    return ", ".join(f"{name} {value}" for name, value in settings.items())


def _prompts(results: Results) -> str:
    """Return which prompts were used; their texts are in study.json."""
    design = design_of(results.export.folder)
    own = [f"{model['key']}: {model['prompt']}" for model in models_of(design) if model.get("prompt")]
    of_judges = values_of(results.export, "ratings.csv", "prompt")
    parts = [_("prompts of the study file: {prompts}").format(prompts=join_names(own))] if own else []
    if of_judges:
        parts.append(_("prompts of judges (version and hash): {prompts}").format(prompts=join_names(of_judges)))
    if design:
        parts.append(_("texts of prompts and all parameters: study.json of the export"))
    return join_with_semicolons(parts)


def _queries(results: Results) -> str:
    started = column_of(results.export, "conversations.csv", "started_at")
    days = sorted(day[:10] for day in started if day)
    languages = values_of(results.export, "conversations.csv", "language")
    parts = [_("{first} to {last}").format(first=days[0], last=days[-1])] if days else []
    return join_with_semicolons(
        parts + ([_("languages: {languages}").format(languages=join_names(languages))] if languages else [])
    )


def _evaluation(results: Results) -> str:
    ratings = results.export.ratings
    kinds = [raters_name(str(kind)) for kind in sorted(ratings["rater_kind"].astype(str).unique())]
    strategies = [strategy_name(name) for name in sorted(set(ratings["strategy"].astype(str)) - {""})]
    parts = [_("raters: {raters}").format(raters=join_names(kinds))]
    return join_with_semicolons(
        parts + ([_("strategies: {strategies}").format(strategies=join_names(strategies))] if strategies else [])
    )


def _size(results: Results) -> str:
    chats = len(results.export.conversations)
    conversations = ngettext("{count} conversation", "{count} conversations", chats).format(count=count(chats))
    return join_names([conversations, *who_took_part(results.export)])


def _consent(results: Results) -> str:
    versions = values_of(results.export, "participants.csv", "consent_version")
    return _("consent form: version {versions}").format(versions=join_names(versions)) if versions else ""


def _protocol(results: Results) -> str:
    protocols = manifest_of(results.export).get("protocols") or []
    texts = [f"{one.get('version')}: {one.get('hash')}" for one in protocols if isinstance(one, dict)]
    return _("versions and hashes: {protocols}").format(protocols=join_names(texts)) if texts else ""


def _sentences(results: Results) -> Iterator[Part]:
    """Yield the methods of the tables that have rows."""
    for table in results.computed:
        if not results.table(table.name).empty and table.methods:
            terms = (
                part for name, method in table.methods.items() for part in (tag("dt", name), tag("dd", f"{_(method)}."))
            )
            summary = tag("summary", f"{_(table.heading)} ({table.file_name()})")
            yield tag("details", summary, tag("dl", *terms))


def _checks(results: Results) -> Iterator[Part]:
    """Say what was computed a second time, and with what result."""
    table = results.table("cross_check")
    if table.empty:
        return
    verdicts = table["agrees"].value_counts()
    agreeing, differing = (int(verdicts.get(verdict, 0)) for verdict in (YES, NO))
    yield subheading(_("Checked by other packages"))
    yield prose(
        _(
            "{packages} computed {compared} numbers a second time, from the same complete rows: {agreeing} agree, "
            "and {differing} differ by more than the tolerance."
        ).format(
            compared=count(agreeing + differing),
            packages=join_names(sorted(set(table["library"]))),
            agreeing=count(agreeing),
            differing=count(differing),
        ),
        _("{count} cannot be compared; cross_check.csv says why.").format(
            count=count(len(table) - agreeing - differing)
        ),
        _("If there are very many numbers or ratings, the check uses a random part of them."),
        *differing_numbers(results.tables),
    )


def _empty_tables(results: Results) -> Iterator[Part]:
    nothing = [table for table in results.computed if results.table(table.name).empty]
    if nothing:
        yield subheading(_("Tables without rows"))
        yield listing(f"{_(table.heading)} ({table.file_name()}): {_(table.empty)}" for table in nothing)


COUNTED = {
    "ratings_of_ablations": gettext_noop("ratings of ablations"),
    "repeated_ratings_averaged": gettext_noop("repeated ratings, averaged"),
    "excluded_participants": gettext_noop("excluded participants"),
    "invalid_conversations": gettext_noop("conversations left out"),
    "ratings_left_out_for_them": gettext_noop("ratings left out with them"),
    "conversations_without_arm": gettext_noop("conversations without arm"),
}


def data(results: Results) -> Section:
    absent = results.export.absent
    files = [
        {_("file"): name, _("rows"): results.export.rows.get(name, pd.NA), "SHA-256": digest}
        for name, digest in sorted(results.export.hashes.items())
    ]
    versions = ", ".join(f"{name} {number}" for name, number in results.versions().items())
    gone = _("{files}. What needs them is left out.").format(files=", ".join(absent)) if absent else ""
    parts: list[Part] = [
        Excerpt("files", _("Files read"), pd.DataFrame(files)),
        *([subheading(_("Missing files")), prose(gone)] if absent else []),
        subheading(_("Counted")),
        listing(_counts(results)),
        subheading(_("Software")),
        prose(versions + ".", _("The same folder, seed, machine and versions give the same bytes.")),
    ]
    return Section("data", _("Data and software"), parts)


def _counts(results: Results) -> Iterator[str]:
    exclusions = results.exclusions()
    missing = exclusions["ratings_without_score"]
    reasons = join_with_commas(f"{reason} {count(number)}" for reason, number in missing.items())
    heading = _("ratings without score")
    without = f"{heading}: {count(sum(missing.values()))}"
    yield f"{without} ({reasons})" if reasons else without
    for name, label in COUNTED.items():
        yield f"{_(label)}: {count(exclusions[name])}"
