"""The interval of an estimate, with its method and its cautions; or the reason why there is none."""

from collections.abc import Callable

from studies.analysis.bootstrap import Inference, Interval
from studies.analysis.notes import INTERVAL, Note
from studies.analysis.rows import Row


def method_of_draws(_inference: Inference, interval: Interval) -> Note:
    return Note("cluster_bootstrap", interval=interval.method)


def add_inference(
    row: Row,
    infer: Callable[[], Inference],
    method: Callable[[Inference, Interval], Note] = method_of_draws,
    *,
    interval_of: Callable[[Inference], Interval] = lambda inference: inference.interval(),
    name: str = "",
    p: bool = False,
    of: str | Note = INTERVAL,
    lacking: str = "resamples_without_variance",
) -> None:
    """Add `low` and `high`, after `name_` where there is one, and `p` if wanted, from one inference.

    `of`: what its cautions name; `lacking`: the code of the note on resamples that are left out.
    """
    bounds = [f"{name}_{end}".lstrip("_") for end in ("low", "high")]
    with row.leave_out_if_undefined(*bounds, *(["p"] if p else [])):
        inference = infer()
        interval = interval_of(inference)
        row.values |= dict(zip(bounds, (interval.low, interval.high), strict=True))
        row.values |= {"p": inference.p_value()} if p else {}
        row.add_methods(method(inference, interval))
        row.add_notes(*inference.notes(of, lacking=lacking))
