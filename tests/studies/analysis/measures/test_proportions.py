import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.analysis.measures.proportions import add_wilson, wilson
from studies.analysis.rows import Row, Undefined


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    # Newcombe 1998, Statistics in Medicine 17:857, table I, method 3.
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_is_the_printed_interval(successes: int, n: int, low: float, high: float) -> None:
    assert [round(bound, 4) for bound in wilson(successes / n, n)] == [low, high]


@given(st.integers(0, 40), st.integers(1, 40))
def test_wilson_of_the_others_mirrors_it(successes: int, n: int) -> None:
    share = min(successes, n) / n
    low, high = wilson(share, n)
    assert 0 <= low <= share + 1e-12
    assert share - 1e-12 <= high <= 1
    assert wilson(1 - share, n) == pytest.approx((1 - high, 1 - low), abs=1e-9)


def test_wilson_of_nobody_is_undefined() -> None:
    with pytest.raises(Undefined, match="nothing to take a share of"):
        wilson(0.0, 0)


def test_add_wilson_takes_clusters_for_independent() -> None:
    row = Row(n=526, clusters=263)
    add_wilson(row, 81 / 263)
    assert [round(row.values[name], 4) for name in ("estimate", "low", "high")] == [0.308, 0.2553, 0.3662]
    assert row.values["method"] == "Wilson, n = clusters"
