"""The seekers' feelings before and after."""

from collections.abc import Iterator

import pandas as pd  # noqa: TID253

from studies.analysis.language import gettext as _
from studies.analysis.language import gettext_noop, join_with_commas
from studies.analysis.reporting.dots import dot_panels
from studies.analysis.reporting.drawing import figure
from studies.analysis.reporting.estimates import lines_of
from studies.analysis.reporting.excerpts import excerpt
from studies.analysis.reporting.naming import condition_name, seekers_name, thinker_name
from studies.analysis.reporting.numbers import LEVEL
from studies.analysis.reporting.parts import Part, prose, section
from studies.analysis.results import Results
from studies.analysis.tables.emotion import CHANGE, OF_NOBODY, OF_PARTICIPANTS, OF_PROFILES
from studies.analysis.tables.trends import IMPORTED

MEASURES = {
    "valence": gettext_noop("valence (unpleasant to pleasant)"),
    "arousal": gettext_noop("arousal (calm to stirred up)"),
    "intensity": gettext_noop("intensity of the feeling"),
    "emotion_score": gettext_noop("supposed emotion score"),
    IMPORTED: gettext_noop("emotion as imported"),
}
SOURCES = {
    OF_PARTICIPANTS: gettext_noop("imported conversations of participants"),
    OF_PROFILES: gettext_noop("imported conversations with profiles"),
    OF_NOBODY: gettext_noop("imported conversations, seekers not named"),
}


@section("emotion", gettext_noop("Before and after"), "emotion")
def feelings(table: pd.DataFrame, _results: Results) -> Iterator[Part]:
    changes = table[table["statistic"] == CHANGE]
    yield prose(
        _(
            "Change is after minus before. Valence, arousal and intensity are people's own. The supposed emotion "
            "score is a Thinker's estimate in the first and the last state; simulated seekers estimate their own."
        ),
        _(
            "Without a comparison group, a change may be what time alone brings. Compare the arms with each other, "
            "not one arm with 0."
        ),
    )
    if (changes["measure"] == IMPORTED).any():
        yield prose(
            _(
                "Emotion as imported is the value in the file, on its own scale, at the seeker's first and last "
                "message. Conversations whose file names a participant, a profile, or neither are always in "
                "separate rows (source)."
            )
        )
    columns = ["arm", "condition", "seekers", "source", "measure", "estimate", "low", "high", "n", "clusters"]
    words = changes.assign(
        source=changes["source"].map(_source), measure=[_(MEASURES.get(key, key)) for key in changes["measure"]]
    )
    yield excerpt("emotion", _("Changes, after minus before"), words, columns)
    yield from _figures(changes)


def _source(key: str) -> str:
    return _(SOURCES[key]) if key in SOURCES else thinker_name(key)


def _figures(changes: pd.DataFrame) -> Iterator[Part]:
    estimated = changes[changes["estimate"].notna()]
    for (measure, source, seekers), rows in estimated.groupby(["measure", "source", "seekers"]):
        name = _(MEASURES[measure]) if measure in MEASURES else measure
        text = join_with_commas([seekers_name(seekers), _source(source)])
        yield figure(
            f"emotion-{measure}-{source}-{seekers}",
            _("Change in {measure} ({seekers}): means with {level} intervals").format(
                measure=name, seekers=_(SOURCES[source]) if source in SOURCES else text, level=LEVEL
            ),
            _("After minus before; lines are cluster bootstrap intervals. In brackets: conversations."),
            dot_panels(
                {condition_name(str(key)): lines_of(group, "arm") for key, group in rows.groupby("condition")},
                _("points"),
                at=0,
            ),
        )
