import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253
import pytest

from studies.analysis import AnalysisError, compute
from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import load
from studies.analysis.tables.primary import COLUMNS, TABLE, primary
from tests.studies.analysis.benchmark import write_table
from tests.studies.analysis.builders import frame_of, six_people

ExportOf = Callable[[Any], Path]
USUAL = {"judge": "", "instrument": "ten", "item": "care", "raters": "seeker", "moment": "final"}
DECLARED = {"version": 1, "declared_at": "2026-01-04T09:00:00Z", "before_first_answer": True, "withdrawn_in": None}
STRATEGIES = USUAL | DECLARED | {"strategies": ["standard", "user_aware"], "judge": "J"}
ARMS = USUAL | DECLARED | {"arms": ["a", "b"], "seekers": "person", "condition": ""}
NUMBERS = ["low", "high", "p", "n", "clusters"]


def declaring(folder: Path, *primary: dict[str, Any]) -> Path:
    """An export of people's own conversations, with this in its manifest."""
    ratings = pd.read_csv(folder / "ratings.csv", dtype=str)
    about = ratings.drop_duplicates("conversation")[["conversation", "participant", "arm"]].assign(seeker_kind="person")
    write_table(folder, "conversations", about.to_dict("records"))
    (folder / "manifest.json").write_text(json.dumps({"primary": primary}), encoding="utf-8")
    return folder


def table_of(folder: Path) -> pd.DataFrame:
    rows = [row for _, found in primary(load(folder), Bootstrap(200, 1)) for row in found]
    return frame_of(rows, TABLE.all_columns())


@pytest.fixture
def folder(export_of: ExportOf) -> Path:
    return export_of(six_people())


def test_columns_are_those_of_the_contract() -> None:
    promised = "contrast,raters,judge,instrument,item,a,b,estimate,low,high,p,p_holm,n,clusters,note,declared_at"
    assert promised.split(",") == COLUMNS


def test_rows_are_those_of_the_tables_they_point_to(folder: Path) -> None:
    export = load(declaring(folder, STRATEGIES, ARMS | {"item": "*"}))
    tables = compute(export, tables=["primary", "strategy_tests", "arm_pairs"], bootstrap=200, seed=1)
    of_strategies, of_arms = (row for _, row in tables["primary"].iterrows())
    tests, pairs = tables["strategy_tests"], tables["arm_pairs"]
    [test] = tests[(tests["human"] == "seeker") & (tests["item"] == "care")].to_dict("records")
    [pair] = pairs[(pairs["raters"] == "seeker") & (pairs["item"] == "*")].to_dict("records")

    assert of_strategies[["judge", "a", "b"]].tolist() == ["J", "user_aware", "standard"]
    assert (test["strategy_b"], test["strategy_a"]) == ("user_aware", "standard")
    assert of_strategies["estimate"] == test["difference"]
    assert of_strategies[NUMBERS].tolist() == [test[name] for name in NUMBERS]
    assert of_arms[["judge", "a", "b"]].tolist() == ["", pair["arm_a"], pair["arm_b"]]
    assert of_arms["estimate"] == pair["difference"]
    assert of_arms[NUMBERS].tolist() == [pair[name] for name in ("low", "high", "p", "n", "clusters")]
    assert of_arms["wilcoxon_p"] == pair["wilcoxon_p"]
    assert of_arms["hodges_lehmann_low"] < of_arms["hodges_lehmann"] < of_arms["hodges_lehmann_high"]
    assert np.isnan(of_strategies["hodges_lehmann"])
    shift = "hodges_lehmann: Wilcoxon's signed-rank test and the Hodges–Lehmann shift"
    assert (of_strategies["note"], of_strategies["method"]) == (test["note"], test["method"])
    assert (of_arms["note"], of_arms["method"]) == (pair["note"], f"{pair['method']}; {shift}")


def test_estimate_is_a_minus_b(folder: Path) -> None:
    ratings = pd.read_csv(folder / "ratings.csv").query("rater_kind == 'seeker' and item == 'care'")
    means = ratings.groupby("arm")["score"].mean()
    row = table_of(declaring(folder, ARMS)).iloc[0]
    assert row["estimate"] == pytest.approx(means[row["a"]] - means[row["b"]])
    assert row["contrast"] == "a minus b: care as rated by seeker (final, person)"


def test_holm_is_over_what_was_declared(folder: Path) -> None:
    table = table_of(declaring(folder, STRATEGIES, ARMS))
    small, large = sorted(table["p"])
    assert sorted(table["p_holm"]) == pytest.approx(sorted([min(1, 2 * small), max(min(1, 2 * small), large)]))
    alone = table_of(declaring(folder, ARMS))
    assert alone["p_holm"].tolist() == alone["p"].tolist()


def test_a_contrast_without_data_is_told_and_counts_in_the_family(folder: Path) -> None:
    absent = [STRATEGIES | {"strategies": ["standard", "state_aware"]}, ARMS | {"arms": ["a", "z"]}]
    table = table_of(declaring(folder, *absent, STRATEGIES))
    said = ["there are no scores to compare", "no arm z in the data"]
    assert table["note"].tolist()[:2] == [f"estimate, low, high, p: {reason}" for reason in said]
    assert table.loc[:1, ["estimate", "low", "high", "p", "p_holm"]].isna().all(axis=None)
    assert table.loc[:1, ["n", "clusters"]].eq(0).all(axis=None)
    assert table["p_holm"][2] == pytest.approx(min(1, 3 * table["p"][2]))


@pytest.mark.parametrize(
    ("declared", "reason"),
    [
        (ARMS | {"arms": ["zzz", "yyy"]}, "no arm yyy or zzz in the data"),
        (ARMS | {"raters": "nobody"}, "no raters nobody"),
        (STRATEGIES | {"raters": "nobody"}, "no raters nobody"),
        (ARMS | {"item": "cared"}, "there are no scores to compare"),
    ],
)
def test_a_contrast_of_what_is_not_there_says_what(folder: Path, declared: dict[str, Any], reason: str) -> None:
    [note] = table_of(declaring(folder, declared))["note"]
    assert note == f"estimate, low, high, p: {reason}"


def test_only_the_seekers_that_were_declared_count(folder: Path) -> None:
    table = table_of(declaring(folder, ARMS | {"raters": "reviewer"}, ARMS | {"seekers": "counsellor"}))
    assert table["estimate"].notna().tolist() == [True, False]


def test_a_late_contrast_is_noted_and_one_that_was_taken_back_is_left_out(folder: Path) -> None:
    table = table_of(declaring(folder, ARMS | {"before_first_answer": False}, STRATEGIES | {"withdrawn_in": 2}))
    assert len(table) == 1
    assert table["note"][0].endswith("; declared after the first answer")


@pytest.mark.parametrize("manifest", ["{}", '{"primary": []}', "[]"])
def test_an_export_that_declares_nothing_has_no_rows(folder: Path, manifest: str) -> None:
    (folder / "manifest.json").write_text(manifest)
    assert table_of(folder).empty


@pytest.mark.parametrize(
    ("primary", "fault"),
    [
        ({}, "primary: is no list"),
        (["x"], "primary[1]: is no declared contrast"),
        ([ARMS, {"arms": ["a", "b"]}], "primary[2]: is no declared contrast ('version')"),
        ([ARMS | {"itme": "care"}], "primary[1]: is no declared contrast"),
        ([USUAL | DECLARED], "primary[1]: names neither two strategies nor two arms"),
    ],
)
def test_a_broken_declaration_is_told_with_its_place(folder: Path, primary: Any, fault: str) -> None:
    (folder / "manifest.json").write_text(json.dumps({"primary": primary}))
    with pytest.raises(AnalysisError) as caught:
        load(folder)
    assert str(caught.value).startswith(f"manifest.json: {fault}")
