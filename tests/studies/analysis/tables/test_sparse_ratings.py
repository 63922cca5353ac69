"""Few raters in any pattern: each table of raters gives its numbers or says why there are none."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings

from studies.analysis import compute, load
from tests.amounts import choose
from tests.studies.analysis.builders import write_export
from tests.studies.analysis.measures.test_mixed import Terms, designs

OF_RATERS = ("rater_effects", "reliability", "arms", "discrimination")


@pytest.mark.parametrize("kind", ["reviewer", "expert"])
@given(design=designs())
@settings(max_examples=choose(usual=6, full=300), deadline=None)
def test_any_few_ratings_give_tables_of_numbers_or_of_reasons(
    kind: str, design: tuple[np.ndarray, np.ndarray, Terms]
) -> None:
    scores, arms, terms = design
    ratings = [
        {
            # Counsellors rate conversations of their own; reviewers rate those of others, several the same one.
            "conversation": f"C{conversation}-{rater}" if kind == "expert" else f"C{conversation}",
            "participant": f"R{rater}" if kind == "expert" else f"P{conversation}",
            "arm": "abc"[int(np.argmax(arm))],
            "rater": f"R{rater}",
            "rater_kind": kind,
            "item": item,
            "score": float(score),
        }
        for score, arm, rater, conversation in zip(scores, arms, terms["rater"], terms["conversation"], strict=True)
        for item in ("care", "clear")
    ]
    with TemporaryDirectory() as folder:
        tables = compute(load(write_export(Path(folder) / "export", ratings)), tables=OF_RATERS, bootstrap=20)
    effects = tables["rater_effects"]
    if len(effects):
        at_bound = effects[(effects["term"] == "variance") & (effects["estimate"] == 0)]
        assert at_bound["note"].astype(str).str.contains("comes out as 0").all()
        assert effects.loc[effects["estimate"].isna(), "note"].astype(str).str.len().gt(0).all()
