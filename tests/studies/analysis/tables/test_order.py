from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253
import pytest
from scipy import stats  # noqa: TID253
from statsmodels.stats.multitest import multipletests  # noqa: TID253

from studies.analysis import AnalysisError
from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import load
from studies.analysis.measures import mixed
from studies.analysis.tables.order import METHODS, TABLE, order, read_positions
from tests.studies.analysis.benchmark import write_table
from tests.studies.analysis.builders import frame_of, write_export

ARMS = {"a": 3.0, "b": 3.4, "c": 4.0, "d": 3.2, "e": 3.5}
# A Williams design: each arm at each place once, and after each other arm once.
SEQUENCES = ("abdc", "bcad", "cdba", "dacb")
PLANTED = {"a": -0.6, "b": 0.1, "c": 0.2, "d": 0.3}


def study(
    folder: Path,
    *,
    people: int,
    slope: float = 0.0,
    after: dict[str, float] | None = None,
    sequences: tuple[str, ...] = SEQUENCES,
    seed: int = 1,
    items: tuple[str, ...] = ("care",),
    **more: Any,
) -> Path:
    """Each person meets the arms of a sequence. `slope`: points per position; `after`: what an arm adds to the next
    one's score."""
    random = np.random.default_rng(seed)
    ratings, chats = [], []
    for person in range(people):
        sequence, own = sequences[person % len(sequences)], random.normal(0, 0.7)
        for place, arm in enumerate(sequence):
            of = {"conversation": f"P{person:03}{arm}", "participant": f"P{person:03}", "arm": arm}
            chats.append(of | {"position": place + 1})
            before = (after or {}).get(sequence[place - 1], 0.0) if place else 0.0
            for item in items:
                score = ARMS[arm] + own + slope * place + before + random.normal(0, 0.6)
                given = {"rater": f"P{person:03}", "item": item, "score": round(score, 6)}
                ratings.append(of | given | more)
    write_export(folder, ratings)
    write_table(folder, "conversations", chats)
    return folder


def table_of(folder: Path) -> pd.DataFrame:
    rows = [row for _, found in order(load(folder), Bootstrap(200, 1)) for row in found]
    return frame_of(rows, TABLE.all_columns())


def of(table: pd.DataFrame, statistic: str) -> pd.DataFrame:
    return table[table["statistic"] == statistic]


def with_positions(folder: Path) -> pd.DataFrame:
    places = pd.read_csv(folder / "conversations.csv")[["conversation", "position"]]
    return pd.read_csv(folder / "ratings.csv").merge(places)


def change(folder: Path, name: str, how: Callable[[pd.DataFrame], pd.DataFrame]) -> None:
    path = folder / f"{name}.csv"
    how(pd.read_csv(path, dtype=str, keep_default_na=False)).to_csv(path, index=False)


def test_planted_slope_and_carry_over_come_back(tmp_path: Path) -> None:
    tables = [
        table_of(study(tmp_path / str(seed), people=80, slope=0.2, after=PLANTED, seed=seed)) for seed in range(5)
    ]
    after = [of(table, "carry_over").set_index("arm") for table in tables]
    held = [row["low"] < PLANTED[str(arm)] < row["high"] for one in after for arm, row in one.iterrows()]
    assert sum(held) >= 17  # of 20
    means = pd.concat([one["estimate"] for one in after]).groupby("arm").mean()
    assert means.to_dict() == pytest.approx(PLANTED, abs=0.1)
    slopes = pd.concat([of(table, "position_slope") for table in tables])
    assert slopes["estimate"].mean() == pytest.approx(0.2, abs=0.03)
    assert slopes["p"].max() < 0.001


def test_rows_of_the_model_say_what_they_are_of(tmp_path: Path) -> None:
    table = table_of(study(tmp_path / "export", people=80, slope=0.2, after=PLANTED))
    after = of(table, "carry_over")
    assert after["estimate"].sum() == pytest.approx(0, abs=1e-9)
    assert after["arm"].tolist() == list(PLANTED)
    [wald] = of(table, "carry_over_f").to_dict("records")
    assert (wald["n"], wald["clusters"]) == (320, 80)
    # 320 ratings, 80 people, 3 differences of arms, position, 3 of previous arms.
    assert (wald["method"], wald["note"]) == ("Wald F (REML), 3 and 233 df", "low, high: it is an F")
    assert wald["p"] == pytest.approx(stats.f.sf(wald["estimate"], 3, 233))
    assert of(table, "position_slope")["note"].tolist() == [""]


def test_what_an_arm_carries_over_shifts_the_means_of_the_others_alone(tmp_path: Path) -> None:
    """Each arm follows each other as often, and none itself: with +.75 after a and -.25 after the others a's mean moves
    by 3/4 × -.25, the others' by (.75 - .25 - .25) / 4. With the previous arm in the model nothing moves."""
    effects = {"a": 0.75, "b": -0.25, "c": -0.25, "d": -0.25}
    plain, shifted = (
        table_of(study(tmp_path / name, people=40, after=of)) for name, of in (("0", None), ("1", effects))
    )
    moved = {
        name: (of(shifted, name).set_index("arm")["estimate"] - of(plain, name).set_index("arm")["estimate"]).to_dict()
        for name in ("arm_difference", "arm_difference_adjusted")
    }
    assert moved["arm_difference"] == pytest.approx({"a": -0.1875, "b": 0.0625, "c": 0.0625, "d": 0.0625}, abs=1e-5)
    assert moved["arm_difference_adjusted"] == pytest.approx(dict.fromkeys("abcd", 0), abs=1e-5)
    truth = {arm: ARMS[arm] - np.mean([ARMS[name] for name in "abcd"]) for arm in "abcd"}
    adjusted = of(shifted, "arm_difference_adjusted").set_index("arm")
    assert adjusted["estimate"].sum() == pytest.approx(0)
    assert all(adjusted.at[arm, "low"] < truth[arm] < adjusted.at[arm, "high"] for arm in "abcd")


def test_arms_are_compared_within_their_condition(tmp_path: Path) -> None:
    folder = study(tmp_path / "export", people=40)
    conditions = {"a": "average", "b": "average", "c": "worst_case", "d": "worst_case"}
    for name in ("ratings", "conversations"):
        change(folder, name, lambda rows: rows.assign(condition=rows["arm"].map(conditions)))
    rows = of(table_of(folder), "arm_difference")
    assert rows.groupby("condition")["estimate"].sum().to_dict() == pytest.approx({"average": 0, "worst_case": 0})
    assert rows.set_index("arm")["condition"].to_dict() == conditions


def test_without_an_effect_of_order_none_is_found(tmp_path: Path) -> None:
    table = table_of(study(tmp_path / "export", people=40, seed=3))
    assert of(table, "position_slope")["p"].iloc[0] > 0.05
    assert of(table, "carry_over_f")["p"].iloc[0] > 0.05


def test_the_model_is_the_one_that_is_named(tmp_path: Path) -> None:
    """score ~ arm + position + previous arm + (1 | user), as mixed.py fits it."""
    folder = study(tmp_path / "export", people=13, slope=0.1, after={"b": 0.4})
    scores = pd.read_csv(folder / "ratings.csv").merge(
        pd.read_csv(folder / "conversations.csv")[["conversation", "position"]]
    )
    scores = scores.sort_values(["participant", "position"])
    before = scores.groupby("participant")["arm"].shift().fillna("")
    fixed = [scores["arm"] == arm for arm in "abcd"] + [scores["position"]]
    fixed += [(before == arm).astype(float) - (before == "d") for arm in "abc"]
    user = np.unique(scores["participant"], return_inverse=True)[1]
    fitted = mixed.fit(scores["score"].to_numpy(), np.column_stack(fixed).astype(float), {"user": user}).fixed_effects()
    table = table_of(folder)
    assert of(table, "position_slope")["estimate"].iloc[0] == pytest.approx(fitted[4].estimate, rel=1e-5)
    effects = [fit.estimate for fit in fitted[5:]]
    assert of(table, "carry_over")["estimate"].tolist() == pytest.approx([*effects, -sum(effects)], rel=1e-4)
    # 52 ratings, 13 people, 3 differences of arms, position, 3 of previous arms.
    half = (of(table, "position_slope")["high"] - of(table, "position_slope")["low"]).iloc[0] / 2
    assert half == pytest.approx((fitted[4].high - fitted[4].low) / 2, rel=0.02)


def test_means_of_positions_and_of_first_conversations(tmp_path: Path) -> None:
    folder = study(tmp_path / "export", people=10, slope=0.3)
    scores = pd.read_csv(folder / "ratings.csv").merge(
        pd.read_csv(folder / "conversations.csv")[["conversation", "position"]]
    )
    table = table_of(folder)
    means = of(table, "position_mean")
    assert means["position"].tolist() == [1, 2, 3, 4]
    assert means["estimate"].tolist() == pytest.approx(scores.groupby("position")["score"].mean().tolist())
    first = of(table, "first_position_mean").set_index("arm")
    assert first["n"].to_dict() == {"a": 3, "b": 3, "c": 2, "d": 2}
    expected = scores[scores["position"] == 1].groupby("arm")["score"].mean()
    assert first["estimate"].to_dict() == pytest.approx(expected.to_dict())
    assert (means["low"] < means["estimate"]).all()
    modelled = table[~table["statistic"].isin(["position_mean", "first_position_mean"])]
    assert modelled["position"].isna().all()


def test_means_of_fewer_than_eight_people_have_no_interval(tmp_path: Path) -> None:
    """31 people: eight began with a, b and c, seven with d."""
    table = table_of(study(tmp_path / "export", people=31))
    first = of(table, "first_position_mean").set_index("arm")
    assert first["clusters"].to_dict() == {"a": 8, "b": 8, "c": 8, "d": 7}
    assert first["low"].notna().to_dict() == {"a": True, "b": True, "c": True, "d": False}
    assert first.at["d", "note"] == "low, high: fewer than eight users, of whom resamples say too little"
    assert of(table, "position_mean")["low"].notna().all()


def test_what_came_before_counts_although_it_was_not_rated_or_is_left_out(tmp_path: Path) -> None:
    folder = study(tmp_path / "export", people=40, after={"a": -0.8})
    change(folder, "ratings", lambda rows: rows[rows["arm"] != "a"])
    table = table_of(folder)
    assert of(table, "carry_over")["arm"].tolist() == ["a", "b", "c", "d"]
    assert of(table, "carry_over").set_index("arm").at["a", "high"] < 0
    assert of(table, "position_slope")["n"].tolist() == [120]


def test_conversations_after_one_that_the_file_has_not_are_left_out_of_the_model(tmp_path: Path) -> None:
    folder = study(tmp_path / "export", people=40)
    change(folder, "conversations", lambda rows: rows[~rows["conversation"].isin(["P000a", "P001b"])])
    table = table_of(folder)
    slope = of(table, "position_slope").iloc[0]
    assert slope["n"] == 156  # two that have no position, and what came after each
    assert slope["note"] == "2 conversations are left out: what came before is not known"


def test_holm_is_over_the_items(tmp_path: Path) -> None:
    table = table_of(study(tmp_path / "export", people=16, slope=0.1, items=("care", "safety", "warmth")))
    assert table["item"].unique().tolist() == ["*", "care", "safety", "warmth"]
    for statistic in ("position_slope", "carry_over_f"):
        rows = of(table, statistic)
        assert rows["p_holm"].iloc[0] == rows["p"].iloc[0]
        expected = multipletests(rows["p"].iloc[1:], method="holm")[1]
        assert rows["p_holm"].iloc[1:].tolist() == pytest.approx(expected.tolist())
    assert of(table, "carry_over")["p_holm"].isna().all()


def test_only_own_ratings_count(tmp_path: Path) -> None:
    """Of counsellors those of their own conversations, of others none."""
    folder = study(tmp_path / "export", people=8, rater_kind="expert")
    alone = table_of(folder)
    assert set(alone["raters"]) == {"expert"}
    others = {"rater": "E9", "score": "1"}

    def with_others(rows: pd.DataFrame) -> pd.DataFrame:
        reviewed = rows.assign(**others, rater_kind="reviewer")
        return pd.concat([rows, rows.assign(**others), reviewed])

    change(folder, "ratings", with_others)
    pd.testing.assert_frame_equal(table_of(folder), alone)


def test_the_same_order_for_everybody_tells_nothing(tmp_path: Path) -> None:
    folder = study(tmp_path / "export", people=12)
    places = {"a": "1", "b": "2", "c": "3", "d": "4"}
    change(folder, "conversations", lambda rows: rows.assign(position=rows["arm"].map(places)))
    table = table_of(folder)
    assert of(table, "position_slope")["note"].tolist() == ["estimate, low, high, p: position and arm go together"]
    assert of(table, "carry_over_f")["estimate"].isna().all()
    assert of(table, "carry_over").empty
    assert len(of(table, "position_mean")) == 4


def test_what_two_arms_carry_over_is_the_difference_of_the_sequences(tmp_path: Path) -> None:
    """Of AB and BA it is known between people alone: a t test of their sums (Grizzle 1965, doi 10.2307/2528104)."""
    folder = study(tmp_path / "export", people=40, sequences=("ab", "ba"), after={"a": 0.8})
    sums = pd.read_csv(folder / "ratings.csv").groupby("participant")["score"].sum().to_numpy()
    test = stats.ttest_ind(sums[::2], sums[1::2]).confidence_interval()
    effect = of(table_of(folder), "carry_over").set_index("arm").loc["a"]
    assert effect["estimate"] == pytest.approx((sums[::2].mean() - sums[1::2].mean()) / 2, rel=1e-5)
    assert (effect["low"], effect["high"]) == pytest.approx((test.low / 2, test.high / 2), rel=1e-4)


@pytest.mark.parametrize(
    ("sequences", "reason"),
    [
        (("b", "ab"), "fewer than two arms came before others"),
        (("ac", "bd", "e", "ae"), "arm, position and previous arm go together"),
    ],
)
def test_a_slope_is_left_where_previous_arms_cannot_be_told_apart(
    tmp_path: Path, sequences: tuple[str, ...], reason: str
) -> None:
    table = table_of(study(tmp_path / "export", people=160, sequences=sequences, slope=0.5))
    slope, test = of(table, "position_slope").iloc[0], of(table, "carry_over_f").iloc[0]
    assert slope["low"] < 0.5 < slope["high"]
    assert slope["note"] == f"no previous arm in the model: {reason}"
    assert test["note"] == f"low, high: it is an F; estimate, p: {reason}"
    assert of(table, "arm_difference_adjusted").empty
    assert of(table, "arm_difference")["estimate"].notna().all()
    assert of(table, "carry_over").empty


def test_names_of_arms_order_of_rows_and_a_constant_change_no_effect(tmp_path: Path) -> None:
    folder = study(tmp_path / "export", people=20, slope=0.1, after={"c": 0.5})
    before = table_of(folder)
    names = {"a": "z", "b": "y", "c": "x", "d": "w"}
    for name in ("ratings", "conversations"):
        change(folder, name, lambda rows: rows.sample(frac=1, random_state=3).assign(arm=rows["arm"].map(names)))
    change(folder, "ratings", lambda rows: rows.assign(score=(rows["score"].astype(float) + 2).astype(str)))
    after = table_of(folder)
    for statistic in ("position_slope", "carry_over_f"):
        one, other = (of(table, statistic)[["estimate", "p"]].iloc[0].tolist() for table in (before, after))
        assert other == pytest.approx(one, rel=1e-5)
    turned = of(after, "carry_over").set_index("arm")["estimate"]
    for arm, estimate in of(before, "carry_over").set_index("arm")["estimate"].items():
        assert turned[names[str(arm)]] == pytest.approx(estimate, rel=1e-5)
    shift = np.array(of(after, "position_mean")["estimate"]) - np.array(of(before, "position_mean")["estimate"])
    assert shift == pytest.approx(2)


def test_without_positions_the_table_is_empty(tmp_path: Path) -> None:
    folder = study(tmp_path / "export", people=4)
    change(folder, "conversations", lambda rows: rows.assign(position=""))
    assert table_of(folder).empty
    change(folder, "conversations", lambda rows: rows.drop(columns="position"))
    assert table_of(folder).empty
    (folder / "conversations.csv").unlink()
    assert table_of(folder).empty


@pytest.mark.parametrize("text", ["0", "1.5", "-1", "first"])
def test_a_position_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    folder = study(tmp_path / "export", people=4)
    change(folder, "conversations", lambda rows: rows.assign(position=["1", text, *rows["position"][2:]]))
    with pytest.raises(AnalysisError, match=rf"^conversations\.csv:3:position: '{text}' is not a whole number from 1$"):
        table_of(folder)


def test_positions_saved_as_decimals_are_read(tmp_path: Path) -> None:
    folder = study(tmp_path / "export", people=1)
    change(folder, "conversations", lambda rows: rows.assign(position=rows["position"] + ".0"))
    found = read_positions(folder / "conversations.csv")
    assert found["position"].tolist() == [1, 2, 3, 4]
    assert found["previous"].tolist() == ["", "a", "b", "d"]


def test_every_statistic_is_explained(tmp_path: Path) -> None:
    assert set(table_of(study(tmp_path / "export", people=8))["statistic"]) == set(METHODS)
