"""One analysis from folder to folder: everything is read before anything is computed, and computed before anything is
written."""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from numbers import Integral
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from types import ModuleType
from typing import Any

import pandas as pd  # noqa: TID253
from threadpoolctl import threadpool_limits

from dialogue.languages import LANGUAGES
from studies.analysis import AnalysisError, Progress, Summary
from studies.analysis.bootstrap import Bootstrap
from studies.analysis.checking import check
from studies.analysis.frames import Export, load
from studies.analysis.language import ENGLISH, report_file, speaking
from studies.analysis.language import gettext_noop as _
from studies.analysis.reporting.page import page
from studies.analysis.reporting.parts import Section, figures_in
from studies.analysis.reporting.sections import sections_of
from studies.analysis.results import Part, Results, Table
from studies.analysis.tables import (
    ablation,
    agreement,
    alt_test,
    arm_pairs,
    arms,
    blinding,
    condition_effects,
    conditions,
    costs,
    coverage,
    cross_check,
    decision_study,
    discrimination,
    emotion,
    experts,
    field_tests,
    flow,
    item_tests,
    lengths,
    order,
    pairs,
    panels,
    people,
    primary,
    probes,
    quality,
    ranks,
    rater_effects,
    reliability,
    sensitivity,
    strategy_tests,
    survival,
    trends,
)


def _table(name: str, part: Part, module: ModuleType, heading: str) -> Table:
    return Table(name, part, module.COLUMNS, module.METHODS, heading)


TABLES = (
    _table("agreement", agreement.agreement, agreement, _("Judges and people")),
    _table("strategy_tests", strategy_tests.strategy_tests, strategy_tests, _("Strategies compared")),
    _table("item_tests", item_tests.item_tests, item_tests, _("Items compared")),
    _table("alt_test", alt_test.alt_test, alt_test, _("Judge in place of a person")),
    _table("reliability", reliability.reliability, reliability, _("Agreement between raters")),
    _table("arms", arms.arm_means, arms, _("Means of the arms")),
    _table("arm_pairs", arm_pairs.arm_pairs, arm_pairs, _("Arms compared with each other")),
    _table("ranks", ranks.ranks, ranks, _("Ranks of the arms")),
    _table("discrimination", discrimination.discrimination, discrimination, _("How well the arms can be told apart")),
    _table("conditions", conditions.conditions, conditions, _("Average against worst case")),
    _table(
        "condition_effects",
        condition_effects.condition_effects,
        condition_effects,
        _("Average and worst case, over the arms"),
    ),
    _table("ablation", ablation.ablation, ablation, _("Effect of each behaviour of the seeker")),
    _table("survival", survival.survival, survival, _("How long conversations stay open")),
    _table("trends", trends.trends, trends, _("Over the turns")),
    _table("emotion", emotion.emotion, emotion, _("Before and after")),
    _table("costs", costs.costs, costs, _("Cost of a conversation")),
    _table("lengths", lengths.reply_lengths, lengths, _("Length and speed of the replies")),
    _table("expert_table", experts.expert_table, experts, _("How counsellors rated the systems")),
    _table("rater_effects", rater_effects.rater_effects, rater_effects, _("Strictness of the raters")),
    _table("decision_study", decision_study.decision_study, decision_study, _("How many raters a score needs")),
    _table("order", order.order, order, _("Order effects")),
    _table("blinding", blinding.blinding, blinding, _("Could people tell the arms?")),
    _table("coverage", coverage.coverage, coverage, _("Missing data")),
    _table("quality", quality.quality, quality, _("Data quality")),
    _table("sensitivity", sensitivity.sensitivity, sensitivity, _("With and without")),
    Table("pairwise", pairs.pairwise, pairs.PAIRWISE, pairs.METHODS, _("Side-by-side preferences")),
    Table("bradley_terry", pairs.strengths, pairs.BRADLEY_TERRY, pairs.STRENGTH_METHODS, _("Side by side: strengths")),
    _table("flow", flow.flow, flow, _("From invitation to analysis")),
    _table("people", people.people, people, _("People of each track")),
    _table("panels", panels.panels, panels, _("Judges as panels")),
    _table("probes", probes.probes, probes, _("What influences judges' scores")),
    _table("field_tests", field_tests.field_tests, field_tests, _("Judges without a field")),
    _table("primary", primary.primary, primary, _("Primary contrasts")),
    Table(
        "cross_check",
        cross_check.cross_check,
        cross_check.COLUMNS,
        cross_check.METHODS,
        _("Numbers checked by other packages"),
        reads_tables=True,
    ),
)
REPORTS = {language.html: report_file(language) for language in LANGUAGES}


def run(folder: Path, out: Path, *, bootstrap: int, seed: int, radar: bool, on_progress: Progress) -> Summary:
    resampling = settings(bootstrap, seed)
    export = load(folder)
    check(folder)
    with _made(out):
        results = replace(compute(export, resampling, on_progress), radar=radar)
        files = files_of(results, partial(on_progress, len(TABLES), len(TABLES) + 1))
        _put(files, out)
    on_progress(len(TABLES) + 1, len(TABLES) + 1, "done")
    return _summary(results, list(files))


@contextmanager
def _made(out: Path) -> Iterator[None]:
    """Before the tables, which may take an hour; where these come to nothing, a new folder goes again."""
    is_new = not out.exists()
    _make(out)
    try:
        yield
    except BaseException:
        if is_new:
            with suppress(OSError):  # by now somebody has put something into it
                out.rmdir()
        raise


def _put(files: Mapping[str, bytes], out: Path) -> None:
    """All of them, or none: a full disk leaves earlier results as they are."""
    with TemporaryDirectory(prefix=".analysis-", dir=out) as folder:
        for name, content in files.items():
            (Path(folder) / name).parent.mkdir(exist_ok=True)
            (Path(folder) / name).write_bytes(content)
        for name in files:
            (out / name).parent.mkdir(exist_ok=True)
            (Path(folder) / name).replace(out / name)


def _make(out: Path) -> None:
    """Raises AnalysisError where nothing could be written into it."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=out).close()
    except FileExistsError as error:
        raise AnalysisError(f"{out}: is a file, not a folder") from error
    except OSError as error:
        raise AnalysisError(f"{out}: is no folder that can be written into ({error.strerror})") from error


def settings(bootstrap: int, seed: int) -> Bootstrap:
    if not (isinstance(bootstrap, Integral) and isinstance(seed, Integral)):
        raise AnalysisError(f"bootstrap and seed must be whole numbers, not {bootstrap!r} and {seed!r}")
    if bootstrap < 1 or seed < 0:
        raise AnalysisError(f"bootstrap must be at least 1 and seed at least 0, not {bootstrap} and {seed}")
    return Bootstrap(bootstrap, seed)


def compute(export: Export, bootstrap: Bootstrap, on_progress: Progress, names: Collection[str] = ()) -> Results:
    """Without `names` every table. One thread for linear algebra: the order of its sums is then always the same."""
    if isinstance(names, str):
        raise AnalysisError(f"tables must be a list of names, as in [{names!r}], not a text")
    unknown = set(names) - {table.name for table in TABLES}
    if unknown:
        raise AnalysisError(f"there is no table {', '.join(sorted(unknown))}")
    wanted = tuple(table for table in TABLES if not names or table.name in names)
    tables: dict[str, pd.DataFrame] = {}
    with threadpool_limits(limits=1):
        for done, table in enumerate(wanted):
            part = partial(table.part, tables=dict(tables)) if table.reads_tables else table.part
            tell = partial(on_progress, done, len(wanted) + 1)
            tables[table.name] = _computed(replace(table, part=part), export, bootstrap, tell)
    return Results(export, bootstrap, tables, wanted)


def _computed(table: Table, export: Export, bootstrap: Bootstrap, tell: Callable[[str], None]) -> pd.DataFrame:
    rows: list[dict[str, Any]] = []
    tell(table.name)
    for what, found in table.part(export, bootstrap):
        rows += found
        tell(f"{table.name}: {what}")
    return pd.DataFrame(rows, columns=table.columns)


def files_of(results: Results, tell: Callable[[str], None]) -> dict[str, bytes]:
    """By path under the folder of results. The files of the figures are in English."""
    tables = {f"{name}.csv": results.csv(name) for name in results.tables}
    sections = {language: _sections(results, language, tell) for language in REPORTS}
    figures = figures_in(sections[ENGLISH])
    drawn = {f"figures/{figure.name}.svg": figure.svg.encode() for figure in figures}
    drawn |= {f"figures/{figure.name}.pdf": figure.pdf for figure in figures}
    reports = {REPORTS[language]: _page(results, sections[language], language) for language in REPORTS}
    return tables | drawn | {"results.json": results.as_json()} | reports


def _sections(results: Results, language: str, tell: Callable[[str], None]) -> list[Section]:
    with speaking(language):
        return sections_of(results, lambda section: tell(f"{REPORTS[language]}: {section}"))


def _page(results: Results, sections: list[Section], language: str) -> bytes:
    with speaking(language):
        others = {name: file for name, file in REPORTS.items() if name != language}
        return page(results, sections, others).encode()


def _summary(results: Results, files: list[str]) -> Summary:
    counts = results.counts()
    return Summary(
        ratings=counts["ratings"],
        conversations=counts["conversations"],
        participants=counts["participants"],
        rows={name: len(table) for name, table in results.tables.items()},
        files=files,
        warnings=results.limits(),
        demonstration=results.export.demonstration,
    )
