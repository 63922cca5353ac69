"""Wilson's score interval of a share (Wilson 1927, doi 10.1080/01621459.1927.10502953)."""

from statsmodels.stats.proportion import proportion_confint  # noqa: TID253

from studies.analysis.rows import Row, Undefined

METHOD = "Wilson, n = clusters"


def wilson(share: float, n: int) -> tuple[float, float]:
    """95 %. `n`: what is independent, so that `share` of it need be no whole number."""
    if n < 1:
        raise Undefined("there is nothing to take a share of")
    low, high = proportion_confint(share * n, n, method="wilson")
    return float(low), float(high)


def add_wilson(row: Row, share: float) -> None:
    """Add `estimate`, `low`, `high` and `method`. Only the row's `clusters` count as independent."""
    low, high = wilson(share, row.values["clusters"])
    row.values |= {"estimate": share, "low": low, "high": high, "method": METHOD}
