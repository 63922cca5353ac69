"""One analysis from folder to folder: everything is computed before anything is written."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd  # noqa: TID253

from studies.analysis import AnalysisError, Progress, Summary
from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import Export, load
from studies.analysis.reporting.drawing import Figure
from studies.analysis.reporting.figures import figures_of
from studies.analysis.reporting.report import report
from studies.analysis.results import Results
from studies.analysis.tables import (
    ablation,
    agreement,
    arms,
    conditions,
    costs,
    emotion,
    experts,
    lengths,
    pairs,
    panels,
    probes,
    quality,
    rater_effects,
    reliability,
    sensitivity,
    survival,
    trends,
)

Part = Callable[[Export, Bootstrap], Iterator[tuple[str, list[dict[str, Any]]]]]
TABLES: dict[str, tuple[Part, list[str]]] = {
    "agreement": (agreement.agreement, agreement.COLUMNS),
    "reliability": (reliability.reliability, reliability.COLUMNS),
    "arms": (arms.arm_means, arms.COLUMNS),
    "conditions": (conditions.conditions, conditions.COLUMNS),
    "ablation": (ablation.ablation, ablation.COLUMNS),
    "survival": (survival.survival, survival.COLUMNS),
    "trends": (trends.trends, trends.COLUMNS),
    "emotion": (emotion.emotion, emotion.COLUMNS),
    "costs": (costs.costs, costs.COLUMNS),
    "lengths": (lengths.reply_lengths, lengths.COLUMNS),
    "expert_table": (experts.expert_table, experts.COLUMNS),
    "rater_effects": (rater_effects.rater_effects, rater_effects.COLUMNS),
    "quality": (quality.quality, quality.COLUMNS),
    "sensitivity": (sensitivity.sensitivity, sensitivity.COLUMNS),
    "pairwise": (pairs.pairwise, pairs.PAIRWISE),
    "bradley_terry": (pairs.strengths, pairs.BRADLEY_TERRY),
    "panels": (panels.panels, panels.COLUMNS),
    "probes": (probes.probes, probes.COLUMNS),
}


def run(folder: Path, out: Path, *, bootstrap: int, seed: int, on_progress: Progress) -> Summary:
    if bootstrap < 1 or seed < 0:
        raise AnalysisError(f"bootstrap must be at least 1 and seed at least 0, not {bootstrap} and {seed}")
    if out.exists() and not out.is_dir():
        raise AnalysisError(f"{out}: is a file, not a folder")
    results = compute(load(folder), Bootstrap(bootstrap, seed), on_progress)
    on_progress(len(TABLES), len(TABLES) + 1, "figures and report")
    files = _files(results, figures_of(results))
    for name, content in files.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_bytes(content)
    on_progress(len(TABLES) + 1, len(TABLES) + 1, "done")
    return _summary(results, list(files))


def compute(export: Export, bootstrap: Bootstrap, on_progress: Progress) -> Results:
    tables = {}
    for done, (name, (part, columns)) in enumerate(TABLES.items()):
        rows: list[dict[str, Any]] = []
        on_progress(done, len(TABLES) + 1, name)
        for what, found in part(export, bootstrap):
            rows += found
            on_progress(done, len(TABLES) + 1, f"{name}: {what}")
        tables[name] = pd.DataFrame(rows, columns=columns)
    return Results(export, bootstrap, tables)


def _files(results: Results, figures: list[Figure]) -> dict[str, bytes]:
    """By path under the folder of results."""
    tables = {f"{name}.csv": results.csv(name) for name in results.tables}
    drawn = {f"figures/{figure.name}.svg": figure.svg.encode() for figure in figures}
    return tables | drawn | {"results.json": results.as_json(), "report.html": report(results, figures).encode()}


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
