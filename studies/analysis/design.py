"""study.json: the study file with its prompts and parameters, of which the report tells what CHART asks for."""

import json
from pathlib import Path
from typing import Any

from studies.analysis import AnalysisError

FILE = "study.json"


def design_of(folder: Path) -> dict[str, Any]:
    """Return the study file of the last version in an export; empty where the export has none."""
    path = folder / FILE
    return read_design(path) if path.is_file() else {}


def read_design(path: Path) -> dict[str, Any]:
    """Return the study file of the last version; raise AnalysisError where the file holds something else."""
    try:
        design = json.loads(path.read_text(encoding="utf-8-sig"))[-1]["study"]
    except (ValueError, RecursionError) as error:
        raise AnalysisError(f"{path.name}: is not JSON ({error})") from error
    except (LookupError, TypeError) as error:
        raise AnalysisError(f"{path.name}: is no list of versions, each with its study") from error
    if not isinstance(design, dict):
        raise AnalysisError(f"{path.name}: the study of the last version is no object")
    return design


def models_of(design: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the arms, judges, seeker and evaluator that a study file names."""
    lists = [design.get(name) for name in ("arms", "judges")]
    listed = [model for models in lists if isinstance(models, list) for model in models]
    listed += [design.get("seeker"), design.get("evaluator")]
    return [model for model in listed if isinstance(model, dict) and model.get("key")]
