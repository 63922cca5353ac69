"""How wide an interval would become, on data whose truth is known."""

import json

import numpy as np
import pytest

from studies.analysis import AnalysisError
from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import load
from studies.analysis.planning import plan_precision, precision
from studies.analysis.tables.agreement import agreement
from tests.studies.analysis.builders import write_export

R = 0.5  # of the judge with what a conversation is worth
RELIABILITY = 0.5


def ratings(*, people=80, each=3, raters=1, reliability=RELIABILITY, kind="reviewer", seed=1):
    """Conversations of worth 0 ± 1, rated by `raters` with errors, and by a judge."""
    random = np.random.default_rng(seed)
    for place in range(people * each):
        about = {"conversation": f"C{place}", "participant": f"P{place // each}", "arm": "ab"[place % 2]}
        worth, error = random.normal(), np.sqrt(1 / reliability - 1)
        for rater in range(raters):
            score = worth + random.normal(0, error)
            yield about | {"rater": f"R{rater}", "rater_kind": kind, "score": round(score, 6)}
        score = R * worth + random.normal(0, np.sqrt(1 - R**2))
        yield about | {"rater": "J", "rater_kind": "judge", "strategy": "standard", "score": round(score, 6)}


def planned(folder, rows, **wanted):
    return precision.compute_precision(load(write_export(folder, rows)), wanted, Bootstrap(1000, 1))


def cell(plan, more, second):
    return next(cell for cell in plan["cells"] if (cell["more"], cell["second"]) == (more, second))


def test_the_interval_now_is_that_of_the_report(tmp_path):
    export = load(write_export(tmp_path, ratings()))
    now = precision.compute_precision(export, {}, Bootstrap(1000, 1))["now"]
    *_others, (_what, [row]) = agreement(export, Bootstrap(1000, 1))
    assert (now["r"], now["low"], now["high"]) == (row["pearson"], row["pearson_low"], row["pearson_high"])
    assert now["half_width"] == pytest.approx((row["pearson_high"] - row["pearson_low"]) / 2)


def test_more_people_narrow_it_with_the_root_of_their_number(tmp_path):
    rows = planned(tmp_path, ratings())["participants"]
    assert [(row["clusters"], row["n"]) for row in rows] == [(80, 240), (88, 264), (100, 300), (120, 360), (160, 480)]
    ratios = [rows[0]["half_width"] / row["half_width"] for row in rows]
    assert ratios == pytest.approx([1, 1.1**0.5, 1.25**0.5, 1.5**0.5, 2**0.5], rel=0.03)


def test_half_width_is_what_studies_of_that_size_have(tmp_path):
    """A study with 80 people foretells the middle 95 % of r of studies with 160."""
    random = np.random.default_rng(5)
    expected = next(row for row in planned(tmp_path, ratings())["participants"] if row["more"] == 1.0)
    found = []
    for _study in range(2000):
        worth = random.normal(size=480)
        judge = R * worth + random.normal(0, np.sqrt(1 - R**2), 480)
        found.append(np.corrcoef(worth + random.normal(size=480), judge)[0, 1])
    low, high = np.quantile(found, [0.025, 0.975])
    assert expected["half_width"] == pytest.approx((high - low) / 2, rel=0.12)


def test_people_whose_conversations_are_alike_count_once(tmp_path):
    """Each conversation five times over: as wide as with one of each."""
    once = list(ratings(people=60, each=1))
    copies = [row | {"conversation": f"{row['conversation']}-{copy}"} for row in once for copy in range(5)]
    widths = [planned(tmp_path / name, rows)["participants"][0]["half_width"] for name, rows in
              (("once", once), ("copies", copies))]  # fmt: skip
    assert widths[0] == pytest.approx(widths[1])


def test_reliability_comes_from_the_data_where_conversations_have_several_raters(tmp_path):
    found = planned(tmp_path, ratings(people=200, raters=2))
    [plan] = found["plans"]
    assert plan["reliability"]["source"] == "estimated"
    assert plan["reliability"]["low"] < RELIABILITY < plan["reliability"]["high"]
    assert found["notes"] == []


def test_reliability_is_assumed_and_said_so_where_nobody_rated_twice(tmp_path):
    found = planned(tmp_path, ratings())
    assert [plan["reliability"] for plan in found["plans"]] == [
        {"estimate": value, "low": None, "high": None, "source": "assumed"} for value in precision.ASSUMED
    ]
    assert found["notes"] == [
        "the reliability of a single rating is assumed, because no conversation has several raters of this kind"
    ]


def test_a_reliability_that_the_agreement_rules_out_is_left_out(tmp_path):
    found = planned(tmp_path, like_minded(ratings()))
    assert found["plans"] == []
    assert found["left_out"] == list(precision.ASSUMED)


def like_minded(rows):
    """The judge says what the person said, but for a trifle: more than a rating of reliability .8 allows."""
    given = {}
    for row in rows:
        if row["rater_kind"] == "judge":
            row = row | {"score": given[row["conversation"]] + 0.01 * row["score"]}
        given.setdefault(row["conversation"], row["score"])
        yield row


def test_second_ratings_raise_r_as_spearman_says(tmp_path):
    """Planted: r with one rating is .5 √.5, with two .5 √(2/3)."""
    plan = precision.plan(units(tmp_path, ratings(people=400, seed=3)), RELIABILITY, seed=1)
    assert cell(plan, 0.0, 1.0)["r"] / cell(plan, 0.0, 0.0)["r"] == pytest.approx((2 / 3 / RELIABILITY) ** 0.5)
    assert cell(plan, 0.0, 1.0)["reliability"] == pytest.approx(2 / 3)
    assert cell(plan, 0.0, 0.5)["reliability"] == pytest.approx(1 / 1.75)


def test_second_ratings_narrow_it_as_true_second_ratings_do(tmp_path):
    """From one rating each, what two would give: against the same conversations with two that were really given."""
    foretold, given = [], []
    for seed in range(12):
        two = list(ratings(people=150, raters=2, seed=seed))
        one = units(tmp_path / f"one-{seed}", [row for row in two if row["rater"] != "R1"])
        foretold.append(cell(precision.plan(one, RELIABILITY, seed=1), 0.0, 1.0)["half_width"])
        given.append(planned(tmp_path / f"two-{seed}", two)["participants"][0]["half_width"])
    assert np.mean(foretold) == pytest.approx(np.mean(given), rel=0.04)


def test_cells_are_narrower_the_more_there_is(tmp_path):
    plan = precision.plan(units(tmp_path, ratings()), RELIABILITY, seed=1)
    widths = np.array([cell["corrected_half_width"] for cell in plan["cells"]]).reshape(len(precision.MORE), -1)
    assert (np.diff(widths, axis=0) < 0).all()
    assert (np.diff(widths, axis=1) < 0).all()
    assert [cell["second_ratings"] for cell in plan["cells"][:4]] == [0, 60, 120, 240]


def test_per_ten_is_the_smallest_step_scaled(tmp_path):
    plan = precision.plan(units(tmp_path, ratings()), RELIABILITY, seed=1)
    people, second = cell(plan, 0.1, 0.0), cell(plan, 0.0, 0.25)
    assert plan["per_ten"] == {
        "conversations": pytest.approx(10 * people["narrower"] / 24),
        "second_ratings": pytest.approx(10 * second["narrower"] / 60),
    }


def units(folder, rows):
    export = load(write_export(folder, rows))
    [of] = precision.agreements(export)
    return precision.units_of(export, of, precision.single_scores(export.ratings, of))


def test_the_primary_agreement_is_the_participants_own_at_the_end(tmp_path):
    rows = [*ratings(people=10), *ratings(people=10, kind="seeker")]
    rows += [row | {"moment": "checkpoint", "turn": 5} for row in rows]
    known = precision.agreements(load(write_export(tmp_path, rows)))
    assert [(of["human"], of["moment"]) for of in known] == [
        ("seeker", "final"), ("reviewer", "final"), ("seeker", "checkpoint"), ("reviewer", "checkpoint"),
    ]  # fmt: skip


def test_what_is_not_there_is_refused_with_what_is(tmp_path):
    with pytest.raises(AnalysisError, match=r"compared with item warmth; there are:\n  J · standard · reviewer · ten"):
        planned(tmp_path, ratings(people=5), item="warmth")
    people = [row for row in ratings(people=5) if row["rater_kind"] != "judge"]
    with pytest.raises(AnalysisError, match="no judge and person scored the same conversation"):
        planned(tmp_path, people)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda row: {"score": 3}, "the human scores do not vary"),
        (lambda row: {"participant": "P0"}, "fewer than two clusters"),
    ],
)
def test_an_interval_that_does_not_exist_says_why(change, reason, tmp_path):
    with pytest.raises(AnalysisError, match=reason):
        planned(tmp_path, [row | change(row) for row in ratings(people=5)])


def test_perfect_agreement_has_no_interval_to_plan(tmp_path):
    rows = [
        {"conversation": f"C{n}", "participant": f"P{n}", "score": n % 3, **who}
        for n in range(6)
        for who in ({"rater_kind": "seeker"}, {"rater": "J", "rater_kind": "judge"})
    ]
    with pytest.raises(AnalysisError, match="a correlation is 1 or -1"):
        planned(tmp_path, rows)


def test_the_same_folder_and_seed_give_the_same(tmp_path):
    write_export(tmp_path, ratings(people=20))
    found = [plan_precision(tmp_path, {}, bootstrap=200, seed=7) for _time in range(2)]
    assert json.dumps(found[0]) == json.dumps(found[1])


def test_settings_are_checked(tmp_path):
    with pytest.raises(AnalysisError, match="not 0 and 1"):
        plan_precision(tmp_path, {}, bootstrap=0, seed=1)
