"""Judges in several roles: no row of any table pools two of them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253
import pytest

from dialogue.judges.roles import BY_CODE
from studies.analysis import AnalysisError
from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import load
from studies.analysis.notes import in_english
from studies.analysis.raters import name_group, read_group
from studies.analysis.reporting.naming import raters_name
from studies.analysis.run import compute
from studies.analysis.tables.registry import TABLES
from tests.studies.analysis.builders import write_export

ExportOf = Callable[[Any], Path]

STRATEGIES, ITEMS, MODELS = ("standard", "user_aware"), ("care", "safety"), ("big", "small")
OVER_OTHERS = {"p_holm", "p_bh", "significant", "note", "method"}  # of a family of tests, and the words about them


def people() -> Iterator[dict[str, Any]]:
    for person in range(8):
        for arm in "ab":
            for item in ITEMS:
                about = {"conversation": f"C{person}{arm}", "participant": f"P{person}", "arm": arm, "item": item}
                score = 1 + (person * 3 + (arm == "b") + len(item)) % 5
                yield about | {"rater": f"P{person}", "score": score}


def judges(roles: Any = tuple(BY_CODE)) -> Iterator[dict[str, Any]]:
    """Two models in each of these roles; each role is off by a number of points of its own."""
    for place, role in enumerate(BY_CODE):
        for number, model in enumerate(MODELS):
            for strategy in STRATEGIES:
                for at, felt in enumerate(people()):
                    score = 1 + (felt["score"] + place + (at * (number + 2 + place)) % 3 * (strategy == "standard")) % 5
                    said = {"rater": f"{model}-{role}", "rater_kind": "judge", "strategy": strategy, "role": role}
                    if role in roles:
                        yield felt | said | {"score": score}


def tables_of(folder: Path, ratings: Any) -> dict[str, pd.DataFrame]:
    export = load(write_export(folder, ratings))
    names = [table.name for table in TABLES if table.name not in ("cross_check", "quality", "rater_effects")]
    return compute(export, Bootstrap(40, 1), lambda *_: None, names).tables


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pd.DataFrame]:
    return tables_of(tmp_path_factory.mktemp("together"), [*people(), *judges()])


@pytest.mark.parametrize("role", BY_CODE)
def test_rows_of_a_role_are_those_of_its_judges_alone(
    role: str, together: dict[str, pd.DataFrame], tmp_path: Path
) -> None:
    alone = tables_of(tmp_path / "alone", [*people(), *judges([role])])
    compared = []
    for name, table in together.items():
        for column in {"role", "raters", "source"} & set(table.columns):
            rows, expected = (
                found[[_is_of(column, value, role) for value in found[column]]] for found in (table, alone[name])
            )
            numbers = [one for one in rows.columns if one not in OVER_OTHERS]
            pd.testing.assert_frame_equal(_plain(rows[numbers]), _plain(expected[numbers]), check_dtype=False, obj=name)
            compared += [name] * bool(len(rows))
    assert {"agreement", "arms", "discrimination", "reliability", "strategy_tests"} <= set(compared)


def _is_of(column: str, value: Any, role: str) -> bool:
    if column == "role":
        return bool(value == role)
    group = read_group(str(value))
    return group.is_of_judges and (group.role or "seeker") == role


def _plain(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.map(in_english).reset_index(drop=True)


def test_every_table_with_judges_has_their_role(together: dict[str, pd.DataFrame]) -> None:
    with_judge = [table for table in TABLES if "judge" in table.columns]
    assert all("role" in table.columns and "role" in table.methods for table in with_judge)
    agreement = together["agreement"]
    assert {(judge, role) for judge, role in zip(agreement["judge"], agreement["role"], strict=True)} == {
        (f"{model}-{role}", role) for model in MODELS for role in BY_CODE
    }
    panels = together["probes"].query("variant == 'panel'")
    assert set(panels["role"]) == set(BY_CODE)
    assert panels["note"].str.contains(f"the mean over {len(MODELS)} judges").all()


def test_judges_of_a_strategy_are_a_group_for_each_role(together: dict[str, pd.DataFrame]) -> None:
    arms = together["arms"]
    pooled = arms[(arms["judge"] == "*") & (arms["item"] == "care") & (arms["arm"] == "a")]
    assert sorted(zip(pooled["raters"], pooled["strategy"], pooled["role"], strict=True)) == sorted(
        (f"judge:{strategy}{end}", strategy, role)
        for strategy in STRATEGIES
        for end, role in (("", "seeker"), (":evaluator", "evaluator"), (":third_person", "third_person"))
    )
    means = {
        (strategy, role): np.mean(
            [
                row["score"]
                for row in judges([role])
                if (row["arm"], row["item"], row["strategy"]) == ("a", "care", strategy)
            ]
        )
        for strategy in STRATEGIES
        for role in BY_CODE
    }
    for _, row in pooled.iterrows():
        assert row["mean"] == pytest.approx(means[row["strategy"], row["role"]])
    assert set(arms.loc[arms["raters"] == "seeker", "role"]) == {""}


@pytest.mark.parametrize(
    ("parts", "group"),
    [
        (("seeker", "", ""), "seeker"),
        (("judge", "", ""), "judge"),
        (("judge", "standard", ""), "judge:standard"),
        (("judge", "standard", "seeker"), "judge:standard"),
        (("judge", "standard", "evaluator"), "judge:standard:evaluator"),
        (("judge", "", "third_person"), "judge::third_person"),
    ],
)
def test_group_of_judges_is_named_by_strategy_and_role(parts: tuple[str, str, str], group: str) -> None:
    assert name_group(*parts) == group
    assert read_group(group)[:2] == parts[:2]


def test_report_names_the_role_of_judges_that_are_not_the_seeker() -> None:
    assert raters_name("judge:standard") == "judges (standard)"
    assert raters_name("judge:standard:evaluator") == "judges (standard, as an outside evaluator)"
    assert raters_name("judge:user_aware:third_person") == "judges (user-aware, by the third-person rubric)"


def test_file_without_roles_is_read_as_before(export_of: ExportOf) -> None:
    export = load(export_of([*people(), *({**row, "role": ""} for row in judges(["seeker"]))]))
    assert set(export.ratings["group"]) == {"seeker", "judge:standard", "judge:user_aware"}
    assert export.roles == {}


def test_variant_and_silent_rows_have_the_role_of_their_judge(export_of: ExportOf) -> None:
    rows = [*people(), *judges(["evaluator"])]
    silent = [row | {"role": "", "rater": f"{row['rater']}~padding"} for row in judges(["evaluator"])]
    export = load(export_of([*rows, *silent]))
    assert set(export.variants["role"]) == {"evaluator"}


@pytest.mark.parametrize(
    ("role", "fault"),
    [
        ("seeker", "the judge big-evaluator has two roles, evaluator and seeker: give each its own rater"),
        ("rubric", "'rubric' is not one of seeker, evaluator, third_person"),
    ],
)
def test_second_role_of_a_judge_is_refused(export_of: ExportOf, role: str, fault: str) -> None:
    rows = [*people(), *judges(["evaluator"])]
    folder = export_of([*rows, rows[-1] | {"rater": "big-evaluator~padding", "role": role}])
    with pytest.raises(AnalysisError) as refusal:
        load(folder)
    assert str(refusal.value).startswith(f"ratings.csv:{len(rows) + 2}:role: {fault}")
