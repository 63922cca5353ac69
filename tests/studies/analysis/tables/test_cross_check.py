"""The headline numbers beside those of other packages."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253
import pytest

from studies.analysis import compute, load
from studies.analysis.bootstrap import Bootstrap
from studies.analysis.language import speaking
from studies.analysis.measures import coincidence, correlation, discrimination, libraries, mixed, variance
from studies.analysis.reporting.page import page
from studies.analysis.reporting.sections import keep_in_mind, sections_of
from studies.analysis.reporting.sections.methods import methods
from studies.analysis.results import Results
from studies.analysis.rows import Undefined
from studies.analysis.tables import cross_check as module
from studies.analysis.tables import reliability
from studies.analysis.tables.cross_check import TABLE, Check, cross_check, reduce_model, sample_of
from studies.analysis.tables.registry import TABLES
from tests.languages import CHINESE
from tests.studies.analysis.benchmark import write_table
from tests.studies.analysis.builders import experts, frame_of, six_people, write_export

CHECKED = ("agreement", "reliability", "discrimination", "rater_effects", "order")
ALPHAS = {"alpha_nominal", "alpha_ordinal", "alpha_interval", "alpha_ratio"}
CLOSED = {"pearson", "cronbach_alpha", "f_repeated", *ALPHAS, *variance.FORMS}


def write_study(folder: Path, *, people: int, gaps: float = 0.0, seed: int = 2) -> Path:
    """Three arms in random order, rated on two items by each person, three reviewers and a judge with two strategies.

    `gaps`: the share of reviewers' ratings that are missing.
    """
    random = np.random.default_rng(seed)
    ratings: list[dict[str, Any]] = []
    chats: list[dict[str, Any]] = []
    strictness = {"R1": -0.7, "R2": 0.0, "R3": 0.7}
    for person in range(people):
        ease = random.normal(0, 0.7)
        for position, arm in enumerate(random.permutation(["kind", "mild", "stern"]), start=1):
            about = {"conversation": f"C{person}-{arm}", "participant": f"P{person}", "arm": str(arm)}
            chats.append(about | {"seeker_kind": "person", "position": position, "turns": 8, "end_reason": "finished"})
            for item in ("care", "safety"):
                true = 3 + ease + random.normal(0, 0.6) + (arm == "kind") * 0.5
                given = {("seeker", f"P{person}", ""): 0.0} | {("judge", "J", name): 0.3 for name in ("a", "b")}
                given |= {
                    ("reviewer", rater, ""): shift for rater, shift in strictness.items() if random.random() >= gaps
                }
                for (kind, rater, strategy), shift in given.items():
                    score = int(np.clip(round(true + shift + random.normal(0, 0.6)), 1, 5))
                    of = {"rater_kind": kind, "rater": rater, "strategy": strategy, "item": item, "score": score}
                    ratings.append(about | of)
    write_export(folder, ratings)
    write_table(folder, "conversations", chats)
    return folder


def rows_of(folder: Path, tables: Mapping[str, pd.DataFrame] | None = None) -> pd.DataFrame:
    found = [row for _, rows in cross_check(load(folder), Bootstrap(20, 1), tables) for row in rows]
    return frame_of(found, TABLE.all_columns())


def computed(folder: Path) -> Results:
    """All tables that are checked, and the check of them."""
    names = (*CHECKED, "cross_check")
    tables = {table.name: pd.DataFrame(columns=table.all_columns()) for table in TABLES}
    tables |= compute(load(folder), bootstrap=20, tables=list(names))
    return Results(load(folder), Bootstrap(20, 1), tables, TABLES)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_study(tmp_path_factory.mktemp("study") / "export", people=16)


@pytest.fixture(scope="module")
def results(study: Path) -> Results:
    return computed(study)


def test_the_numbers_of_the_tables_are_those_of_the_packages(results: Results) -> None:
    rows = results.table("cross_check")
    assert set(rows["agrees"]) == {"true"}
    assert set(rows["statistic"]) == CLOSED | {
        *("reviewer_variance", "conversation_variance", "residual_variance"),
        "position_slope",
    }
    assert (rows["difference"] == rows["ours"] - rows["value"]).all()
    closed = rows[rows["statistic"].isin(CLOSED)]
    assert closed["difference"].abs().max() < 1e-9
    assert set(rows["library"].str.split().str[0]) == {"pingouin", "krippendorff", "statsmodels"}


def test_ours_are_the_numbers_that_the_table_gives(results: Results) -> None:
    rows = results.table("cross_check")
    of_care = rows[rows["of"].str.startswith("reviewer") & (rows["item"] == "care")]
    row = of_care.set_index("statistic").loc["icc_a_1"]
    table = results.table("reliability")
    given = table[(table["raters"] == "reviewer") & (table["item"] == "care")].iloc[0]
    assert (row["ours"], row["n"]) == (given["icc_a_1"], given["n"])
    assert rows["ours"].notna().all()


def test_without_the_tables_ours_are_computed_anew(study: Path, results: Results) -> None:
    alone, beside = rows_of(study), results.table("cross_check")
    assert alone["statistic"].tolist() == beside["statistic"].tolist()
    assert alone["ours"].to_numpy(float) == pytest.approx(beside["ours"].to_numpy(float), rel=1e-9)


def test_counsellors_own_conversations_are_checked_by_arm(tmp_path: Path) -> None:
    ratings, _truth, _bias = experts(counsellors=8, arms=8, each=3, seed=1)
    rows = computed(write_export(tmp_path / "export", ratings)).table("cross_check")
    by_arm = rows[rows["of"].str.startswith("expert, arm, ")]
    assert by_arm[["statistic", "agrees"]].to_numpy().tolist() == [["icc_1_1", "true"], ["icc_1_k", "true"]]
    assert {"counsellor_variance", "residual_variance"} <= set(rows.loc[rows["agrees"] == "true", "statistic"])


def planted(_function: Callable[..., Any], change: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda *arguments, **options: change(_function(*arguments, **options))


def change_of_squares(found: variance.MeanSquares) -> variance.MeanSquares:
    return variance.MeanSquares(found.targets, found.within, found.raters * 1.01, found.residual)


@pytest.mark.parametrize(
    ("place", "name", "change", "wrong"),
    [
        (correlation, "pearson", lambda r: r + 2e-6, {"pearson"}),
        (variance, "mean_squares", change_of_squares, {"icc_a_1", "icc_a_k"}),
        (coincidence, "alpha_from_sums", lambda alpha: alpha - 1e-4, ALPHAS),
        (reliability, "cronbach_alpha", lambda alpha: alpha + 1e-5, {"cronbach_alpha"}),
        (discrimination.MeanSquares, "f_repeated", lambda f: f * 1.001, {"f_repeated"}),
        (mixed, "best_deviations", lambda relative: relative * 1.05, {"reviewer_variance", "conversation_variance"}),
        (module.order.Fit, "effect", None, {"position_slope"}),
    ],
)
def test_a_planted_error_is_found(
    study: Path,
    monkeypatch: pytest.MonkeyPatch,
    place: Any,
    name: str,
    change: Callable[[Any], Any] | None,
    wrong: set[str],
) -> None:
    if change is None:
        effect = place.effect
        monkeypatch.setattr(place, name, lambda fit, contrast: effect(fit, contrast * 1.1))
    else:
        monkeypatch.setattr(place, name, planted(getattr(place, name), change))
    rows = rows_of(study)
    assert wrong <= set(rows.loc[rows["agrees"] == "false", "statistic"]) <= wrong | {"residual_variance"}


@pytest.fixture(scope="module")
def wrong(results: Results) -> Results:
    """With a number that no package gives."""
    rows = results.table("cross_check").copy()
    rows.loc[rows["statistic"] == "icc_a_1", "agrees"] = "false"
    return Results(results.export, results.bootstrap, results.tables | {"cross_check": rows}, results.computed)


def test_the_report_warns_of_a_difference_in_both_languages(wrong: Results, results: Results) -> None:
    assert not any("WARNING" in limit for limit in results.limits())
    assert wrong.limits()[0].startswith("WARNING: ")
    assert "icc_a_1 (reliability.csv)" in wrong.limits()[0]
    for language, said in (("en", "WARNING"), (CHINESE, "警告")):
        with speaking(language):
            assert said in "".join(part for part in keep_in_mind(wrong).parts if isinstance(part, str))
            assert said in "".join(part for part in methods(wrong).parts if isinstance(part, str))


def test_the_warning_stands_at_the_top_of_the_page(wrong: Results, results: Results) -> None:
    assert 'class="alarm"' in page(wrong, sections_of(wrong), {}).split("</h1>")[1]
    assert 'class="alarm"' not in page(results, sections_of(results), {})


def test_methods_say_what_was_checked(results: Results) -> None:
    said = "".join(part for part in methods(results).parts if isinstance(part, str))
    count = len(results.table("cross_check"))
    assert f"computed {count} numbers a second time" in said
    assert "krippendorff" in said
    assert f"{count} agree, and 0 differ" in said


def test_the_table_stands_once_in_the_report(results: Results) -> None:
    assert [section.key for section in sections_of(results) if "cross_check" in section.tables] == ["methods"]


def test_gaps_are_not_compared_and_say_why(tmp_path: Path) -> None:
    rows = computed(write_study(tmp_path / "export", people=16, gaps=0.2)).table("cross_check")
    gaps = rows[(rows["table"] == "reliability") & rows["of"].str.startswith("reviewer") & (rows["item"] == "care")]
    notes = gaps.set_index("statistic")["note"]
    assert notes["icc_a_1"].startswith("not comparable: the table uses variance components")
    assert notes["icc_1_1"] == "not comparable: the number of ratings differs between conversations"
    assert gaps.loc[gaps["statistic"].str.startswith("alpha"), "agrees"].tolist() == ["true"] * 4
    left_out = rows[rows["agrees"] == ""]
    assert left_out["note"].str.startswith("not comparable: ").all()
    assert left_out["difference"].isna().all()
    assert left_out["ours"].notna().any()


def test_one_way_forms_do_not_ask_who_rated(tmp_path: Path) -> None:
    """Each conversation has two of three reviewers."""
    ratings = [
        {"conversation": f"C{number}", "participant": f"P{number}", "arm": "a", "rater_kind": "reviewer"}
        | {"rater": f"R{(number + place) % 3}", "score": 1 + (number * 7 + place * 2) % 5}
        for number in range(12)
        for place in (0, 1)
    ]
    rows = computed(write_export(tmp_path / "export", ratings)).table("cross_check").set_index("statistic")
    assert rows.loc[["icc_1_1", "icc_1_k"], "agrees"].tolist() == ["true", "true"]
    assert rows.loc["icc_c_1", "agrees"] == ""


def test_a_number_that_the_table_lacks_is_not_compared(tmp_path: Path) -> None:
    ratings = [rating | {"score": 3} for rating in six_people()]
    rows = computed(write_export(tmp_path / "export", ratings)).table("cross_check")
    assert set(rows["agrees"]) == {""}
    pearson = rows[rows["statistic"] == "pearson"].iloc[0]
    assert pearson["note"] == "not comparable: the table has no number"


@pytest.mark.parametrize(
    "ratings",
    [
        [{"conversation": "C1", "score": 3}],
        [{"conversation": f"C{number}", "participant": f"P{number}", "arm": "a", "score": 3} for number in range(3)],
        [
            {"conversation": "C1", "rater": rater, "rater_kind": "reviewer", "item": item, "score": score}
            for rater, item, score in (("R1", "care", 1), ("R2", "care", 2), ("R1", "safety", 2), ("R2", "safety", 2))
        ],
        six_people()[:30],
        [rating for rating in six_people() if rating.get("rater_kind") == "judge"],
        [rating | {"score": rating["score"] * 1e11} for rating in six_people()],
    ],
)
def test_thin_exports_leave_reasons_and_no_traceback(tmp_path: Path, ratings: list[dict[str, Any]]) -> None:
    rows = computed(write_export(tmp_path / "export", ratings)).table("cross_check")
    assert "false" not in set(rows["agrees"])
    assert (rows.loc[rows["agrees"] == "", "note"] != "").all()


def test_many_ratings_are_checked_on_a_sample_of_clusters(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    export = load(study)
    tables = compute(export, bootstrap=20, tables=["agreement"])
    monkeypatch.setattr(module, "MOST_RATINGS", len(export.ratings) // 2)
    rows = rows_of(study, tables)
    assert set(rows["agrees"]) <= {"true", ""}
    closed = rows[rows["statistic"] == "pearson"]
    assert set(closed["note"]) == {"a sample of 8 of 16 clusters"}
    assert set(closed["n"]) == {24}
    assert rows_of(study, tables).equals(rows)


def test_a_sample_has_whole_clusters(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    export = load(study)
    assert sample_of(export) == (export, None)
    monkeypatch.setattr(module, "MOST_RATINGS", len(export.ratings) // 4)
    sampled, said = sample_of(export)
    assert str(said) == "a sample of 4 of 16 clusters"
    assert sampled.conversations.groupby("cluster").size().tolist() == [3] * 4
    assert len(sampled.ratings) == len(export.ratings) // 4


def test_a_large_model_is_fitted_on_some_of_its_levels() -> None:
    levels = np.repeat(np.arange(300), 4)
    data = mixed.Data(np.arange(1200.0), np.ones((1200, 1)), {"profile": levels})
    few, said = reduce_model(data)
    assert (str(said), few.sizes) == ("a sample of 400 of 1200 ratings", {"profile": 100})
    crossed = mixed.Data(data.scores, data.fixed, {"conversation": levels, "reviewer": np.tile(np.arange(4), 300)})
    assert reduce_model(crossed)[0].sizes == {"conversation": 50, "reviewer": 4}
    small = mixed.Data(data.scores[:40], data.fixed[:40], {"profile": levels[:40]})
    assert reduce_model(small) == (small, None)


def test_a_package_that_fails_gives_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: Any, **_options: Any) -> None:
        raise KeyError("ICC2")

    monkeypatch.setattr("pingouin.intraclass_corr", fail)
    with pytest.raises(Undefined, match=r"the package fails \(KeyError\)"):
        libraries.intraclass_correlations(np.array([[1.0, 2.0], [3.0, 5.0]]))


def test_a_package_that_gives_no_number_is_not_compared() -> None:
    with pytest.raises(Undefined, match="the package gives no number"):
        libraries.pearson(np.ones(5), np.arange(5.0))


def test_a_variance_of_zero_has_no_maximum_inside() -> None:
    levels = np.repeat(np.arange(6), 4)
    scores = np.tile([1.0, 2.0, 3.0, 4.0], 6)
    with pytest.raises(Undefined, match="does not converge"):
        libraries.fit_mixed_model(mixed.Data(scores, np.ones((24, 1)), {"user": levels}))


@pytest.mark.parametrize(("ours", "spread", "tolerance"), [(0.5, None, 1e-6), (-40.0, None, 4e-5), (0.001, 1.0, 1e-4)])
def test_tolerance_grows_with_the_number(ours: float, spread: float | None, tolerance: float) -> None:
    check = Check("f", "order", {}, "", 1, lambda: 0.0, lambda: 0.0, "pingouin", spread)
    assert check.tolerance(ours) == pytest.approx(tolerance)
