"""The numbers of people who came, stayed and are in the results, as CONSORT asks for."""

from collections.abc import Iterator, Mapping, Sequence

from studies.analysis.language import gettext as _
from studies.analysis.language import ngettext
from studies.analysis.reporting.flows import flow_figure, flows, track_name
from studies.analysis.reporting.naming import join_names
from studies.analysis.reporting.numbers import count
from studies.analysis.reporting.parts import Exhibit
from studies.analysis.results import Results


def flow_of_people(results: Results) -> Exhibit | None:
    """Return the way of the first track; the supplement has the others."""
    tracks = flows(results)
    if not tracks:
        return None
    track, counts = tracks[0]
    table = results.table("flow")
    rows = table[table["track"] == track]
    return Exhibit(
        "flow",
        _("People and conversations"),
        [*_describe(counts), *_describe_others(tracks[1:], results)],
        flow_figure(track, counts),
        rows[(rows["statistic"] == "count") & rows["estimate"].notna()],
    )


def _describe(counts: Mapping[str, int]) -> Iterator[str]:
    arrived = counts.get("arrived", counts.get("invited", 0))
    if arrived and "analysed" in counts:
        yield ngettext(
            "Of {arrived} person who opened the link, {analysed} is in the results.",
            "Of {arrived} people who opened the link, {analysed} are in the results.",
            arrived,
        ).format(arrived=count(arrived), analysed=count(counts["analysed"]))
    begun, analysed = counts.get("conversations_begun", 0), counts.get("conversations_analysed")
    if begun and analysed is not None:
        yield ngettext(
            "Of {begun} conversation, {analysed} was rated and is in the results.",
            "Of {begun} conversations, {analysed} were rated and are in the results.",
            begun,
        ).format(begun=count(begun), analysed=count(analysed))


def _describe_others(tracks: Sequence[tuple[str, Mapping[str, int]]], results: Results) -> Iterator[str]:
    """Say where the conversations are that this figure does not count."""
    others = [(track_name(track), counts.get("conversations_begun", 0)) for track, counts in tracks]
    texts = [f"{name} ({count(number)})" for name, number in others if number]
    if texts:
        yield _("Other conversations are in the flows of the supplement: {tracks}.").format(tracks=join_names(texts))
    changed = int((results.export.chats["setup"] != "").sum())
    if changed:
        yield ngettext(
            "{count} conversation of a changed seeker is only in sensitivity.csv.",
            "{count} conversations of changed seekers are only in sensitivity.csv.",
            changed,
        ).format(count=count(changed))
