"""The costs of a conversation."""

import pandas as pd  # noqa: TID253

from studies.analysis.language import gettext as _
from studies.analysis.language import gettext_noop
from studies.analysis.reporting.excerpts import with_names
from studies.analysis.reporting.parts import Excerpt, Section, prose
from studies.analysis.results import Results
from studies.analysis.tables import costs as measures

PURPOSES = {
    measures.EVERYTHING: gettext_noop("total"),
    "reply": gettext_noop("replies"),
    "judge": gettext_noop("judging"),
    "thinker": gettext_noop("Thinker"),
    "seeker": gettext_noop("simulated seeker's messages"),
    "reviewer": gettext_noop("check of simulated seekers"),
    "profile": gettext_noop("making profiles"),
}


def costs(results: Results) -> Section | None:
    table = results.table("costs")
    if table.empty:
        return None
    told = prose(
        _(
            "Means per conversation: seconds, tokens and money of all attempts, including failed ones. An empty "
            "cell is unknown, for example where there is no price."
        )
    )
    excerpt = Excerpt("costs", _("Means per conversation, as Table 4 of EmoHarbor"), by_purpose(table))
    return Section("costs", _("Cost of a conversation"), [told, excerpt])


def by_purpose(table: pd.DataFrame) -> pd.DataFrame:
    """Return costs as Table 4 of arXiv:2601.01530, with a line for each purpose."""
    keys = ["arm", "seekers", "purpose"]
    wide = table.pivot(index=keys, columns="measure", values="estimate")
    conversations = table[table["measure"] == "calls"].set_index(keys)["n"]
    wide = wide[list(measures.MEASURES)].rename_axis(None, axis=1).assign(conversations=conversations).reset_index()
    return with_names(wide).assign(purpose=[_(PURPOSES[key]) if key in PURPOSES else key for key in wide["purpose"]])
