"""Real data: Kumar et al., "When LLMs are reliable judges of empathic communication" (MIT licence), where at hand."""

from pathlib import Path

import krippendorff  # noqa: TID253
import pandas as pd  # noqa: TID253
import pingouin  # noqa: TID253
import pytest
from scipy import stats  # noqa: TID253

from studies.analysis import analyse

DATA = Path(__file__).resolve().parents[3].parent / "shared" / "data"
RATINGS = DATA / "kumar_empathy" / "lend_an_ear_ratings_long.csv"
EXPERTS = ["expert1", "expert2", "expert3"]
JUDGES = ["claude", "gemini", "gpt"]

pytestmark = pytest.mark.skipif(not RATINGS.is_file(), reason="REAL DATA SKIPPED: kumar_empathy is not at hand")


@pytest.fixture(scope="module")
def raw() -> pd.DataFrame:
    """One row per conversation and dimension; one column per annotator."""
    ratings = pd.read_csv(RATINGS)
    return ratings.pivot(index=["dimension", "conversation"], columns="annotator", values="score")


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    ratings = pd.read_csv(RATINGS).rename(columns={"annotator": "rater", "dimension": "item"})
    judged = ratings["rater"].isin(JUDGES)
    ratings["rater_kind"] = ratings["rater"].map({"crowd": "crowd"} | dict.fromkeys(EXPERTS, "expert")).fillna("judge")
    ratings["strategy"] = judged.map({True: "standard", False: ""})
    ratings = ratings.assign(instrument="lend_an_ear", moment="final", participant="", arm="")
    folder = tmp_path_factory.mktemp("kumar")
    ratings.to_csv(folder / "ratings.csv", index=False)
    out = tmp_path_factory.mktemp("results")
    analyse(folder, out, bootstrap=200)
    return out


def test_kumar_agreement_equals_pandas_and_scipy_on_the_raw_file(raw: pd.DataFrame, out: Path) -> None:
    raw = raw.assign(expert=raw[EXPERTS].mean(axis=1)).rename(columns={name: f"expert:{name}" for name in EXPERTS})
    table = pd.read_csv(out / "agreement.csv")
    assert len(table) == 3 * 5 * (6 + 1)
    means = raw.select_dtypes("number").groupby(level="conversation").mean()
    for row in table.to_dict("records"):
        scores = means if row["item"] == "*" else raw.loc[row["item"]]
        # The mean of items is rounded, so that equal means are equal ranks, however they were added up.
        human, judge = (
            scores[row[side]].round(12) if row["item"] == "*" else scores[row[side]] for side in ("human", "judge")
        )
        assert row["n"] == row["clusters"] == 50
        # The files hold twelve significant digits.
        assert row["pearson"] == pytest.approx(human.corr(judge), rel=1e-11)
        assert row["spearman"] == pytest.approx(human.corr(judge, method="spearman"), rel=1e-11)
        assert row["kendall"] == pytest.approx(stats.kendalltau(human, judge).statistic, rel=1e-11)
        assert row["pearson_low"] < row["pearson"] < row["pearson_high"]


@pytest.mark.parametrize(("raters", "columns"), [("expert", EXPERTS), ("judge:standard", JUDGES)])
def test_kumar_reliability_equals_pingouin_and_krippendorff_on_the_raw_file(
    raw: pd.DataFrame, out: Path, raters: str, columns: list[str]
) -> None:
    table = pd.read_csv(out / "reliability.csv").query(f"raters == '{raters}' and item != '*'")
    assert len(table) == 6
    for row in table.to_dict("records"):
        scores = raw.loc[row["item"], columns]
        long = scores.reset_index().melt("conversation", var_name="rater", value_name="score")
        icc = pingouin.intraclass_corr(long, "conversation", "rater", "score").set_index("Type")
        for form in ("1_1", "a_1", "c_1", "1_k", "a_k", "c_k"):
            kind = f"ICC({form[0].upper()},{form[-1]})"
            assert row[f"icc_{form}"] == pytest.approx(icc.at[kind, "ICC"], rel=1e-11)
            bounds = round(row[f"icc_{form}_low"], 2), round(row[f"icc_{form}_high"], 2)
            assert bounds == pytest.approx(tuple(icc.at[kind, "CI95"]))
        for level in ("ordinal", "interval"):
            alpha = krippendorff.alpha(scores.to_numpy().T, level_of_measurement=level)
            assert row[f"alpha_{level}"] == pytest.approx(alpha, rel=1e-11)
