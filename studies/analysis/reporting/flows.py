"""The stages of a study that people reached, and where some were lost."""

from collections.abc import Mapping, Sequence

import pandas as pd  # noqa: TID253

from studies.analysis.language import gettext as _
from studies.analysis.language import gettext_noop
from studies.analysis.reporting.drawing import Figure, figure
from studies.analysis.reporting.flowchart import Box, flow_chart
from studies.analysis.reporting.naming import seekers_name
from studies.analysis.reporting.numbers import count
from studies.analysis.results import Results

STAGES: dict[str, tuple[Sequence[str], Sequence[str]]] = {
    # that lead on; what is said in the same box; and beside it, at which some were lost
    "invited": ((), ()),
    "arrived": ((), ("screened_out", "in_review", "declined")),
    "consented": ((), ()),
    "started_chatting": (("completed",), ("withdrawn", "stopped", "ended", "held", "timed_out", "active", "excluded")),
    "analysed": ((), ()),
    "conversations_begun": (
        ("conversations_finished", "conversations_early", "conversations_walked_out", "conversations_safety"),
        ("conversations_technical", "conversations_withdrawn", "conversations_open", "conversations_left_out"),
    ),
    "conversations_analysed": ((), ()),
}
NAMES = {
    "invited": gettext_noop("invited"),
    "arrived": gettext_noop("opened their link"),
    "screened_out": gettext_noop("screened out"),
    "in_review": gettext_noop("not yet decided"),
    "declined": gettext_noop("did not consent"),
    "consented": gettext_noop("gave consent"),
    "started_chatting": gettext_noop("began a conversation"),
    "withdrawn": gettext_noop("withdrew"),
    "stopped": gettext_noop("stopped"),
    "ended": gettext_noop("ended by the team"),
    "held": gettext_noop("held for safety"),
    "timed_out": gettext_noop("did not come back"),
    "active": gettext_noop("still in the study"),
    "completed": gettext_noop("completed the study"),
    "excluded": gettext_noop("left out by decision"),
    "analysed": gettext_noop("are in the results"),
    "conversations_begun": gettext_noop("conversations started"),
    "conversations_early": gettext_noop("ended early by the person"),
    "conversations_walked_out": gettext_noop("left by the seeker"),
    "conversations_safety": gettext_noop("stopped for safety"),
    "conversations_technical": gettext_noop("technical failures"),
    "conversations_withdrawn": gettext_noop("withdrawn"),
    "conversations_open": gettext_noop("still open"),
    "conversations_finished": gettext_noop("came to a regular end"),
    "conversations_left_out": gettext_noop("left out by decision"),
    "conversations_analysed": gettext_noop("rated and in the results"),
}
TRACKS = {
    "participant": gettext_noop("participants"),
    "counsellor": gettext_noop("counsellors"),
    "reviewer": gettext_noop("reviewers"),
}


def flows(results: Results) -> list[tuple[str, dict[str, int]]]:
    """Return each track with the number of people at each stage that the files tell; participants come first."""
    table = results.table("flow")
    counts = table[(table["statistic"] == "count") & table["estimate"].notna()] if len(table) else table
    if counts.empty:
        return []
    return [
        (str(track), dict(zip(rows["stage"], rows["estimate"].astype(int), strict=True)))
        for track, rows in sorted(counts.groupby("track"), key=_participants_first)
    ]


def flow_figure(track: str, counts: Mapping[str, int]) -> Figure:
    chart = boxes(counts)
    return figure(
        f"flow-{track}",
        _("Flow of people and conversations: {track}").format(track=track_name(track)),
        _(
            "The left side shows who continued. The right side shows who did not, and why. People who stopped after a "
            "rating are in the results with their data so far."
        )
        if any(box.beside for box in chart)
        else "",
        flow_chart(chart),
    )


def _participants_first(group: tuple[str, pd.DataFrame]) -> tuple[int, str]:
    tracks = list(TRACKS)
    return tracks.index(group[0]) if group[0] in TRACKS else len(tracks), group[0]


def track_name(track: str) -> str:
    return _(TRACKS[track]) if track in TRACKS else seekers_name(track)


def boxes(counts: Mapping[str, int]) -> list[Box]:
    """Return the stages that the study had, and beside them losses, where there were any."""
    return [
        Box(
            [_line(stage, counts[stage]), *_lines(more, counts)], _lines(losses, counts), stage == "conversations_begun"
        )
        for stage, (more, losses) in STAGES.items()
        if stage in counts
    ]


def _lines(stages: Sequence[str], counts: Mapping[str, int]) -> list[str]:
    return [_line(stage, counts[stage]) for stage in stages if counts.get(stage)]


def _line(stage: str, number: int) -> str:
    return f"{_(NAMES[stage])}: {count(number)}"
