import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests  # noqa: TID253

from studies.analysis.measures.multiple import holm


def test_rejections_are_those_of_the_literature() -> None:
    """Benjamini & Hochberg 1995, doi 10.1111/j.2517-6161.1995.tb02031.x, section 3: of 15 tests at .05, Bonferroni and
    Holm leave 3."""
    p_values = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528]
    p_values += [0.7590, 1.0]
    assert sum(p < 0.05 for p in holm(p_values)) == 3


@settings(deadline=None, max_examples=10)
@given(st.lists(st.floats(0, 1), max_size=12))
def test_corrections_are_those_of_statsmodels(p_values: list[float]) -> None:
    expected = multipletests(p_values, method="holm")[1].tolist() if p_values else []
    assert holm(p_values) == pytest.approx(expected)
