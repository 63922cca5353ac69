"""The costs of a conversation."""

from collections.abc import Iterator
from functools import partial

import pandas as pd  # noqa: TID253

from studies.analysis.language import gettext as _
from studies.analysis.language import gettext_noop
from studies.analysis.reporting.excerpts import with_names
from studies.analysis.reporting.naming import language_name, seekers_name
from studies.analysis.reporting.numbers import decimal
from studies.analysis.reporting.parts import Excerpt, Part, prose, section
from studies.analysis.reporting.study import describe_arms
from studies.analysis.results import Results
from studies.analysis.tables import costs as measures
from studies.analysis.tables.by_language import pooled_languages, single_languages

PURPOSES = {
    measures.EVERYTHING: gettext_noop("total"),
    "reply": gettext_noop("replies"),
    "judge": gettext_noop("judging"),
    "thinker": gettext_noop("Thinker"),
    "seeker": gettext_noop("simulated seeker's messages"),
    "evaluator": gettext_noop("simulated seeker's ratings"),
    "reviewer": gettext_noop("check of simulated seekers"),
    "profile": gettext_noop("making profiles"),
    "profile_check": gettext_noop("check of profiles"),
}


@section("costs", gettext_noop("Cost of a conversation"), "costs", measures.of_calls)
def costs(table: pd.DataFrame, results: Results) -> Iterator[Part]:
    yield prose(
        _(
            "Means per conversation: seconds, tokens and money of all attempts, including failed ones. An empty "
            "cell is unknown, for example where there is no price."
        )
    )
    caption = _("Cost of a conversation with each arm, as Table 4 of EmoHarbor")
    remark = _("All arms: the mean over the conversations of which the value is known.")
    several = (table["arm"] == measures.ALL_ARMS).any()
    by_model = by_arm(table, describe_arms(results.export)["model"])
    yield Excerpt("costs-by-arm", caption, by_model, remark if several else "")
    yield Excerpt("costs", _("Means per conversation, by purpose"), by_purpose(table))


def by_arm(table: pd.DataFrame, models: "pd.Series[str]") -> pd.DataFrame:
    """Return the costs of all purposes as Table 4 of arXiv:2601.01530, the mean over all arms at the end."""
    whole = single_languages(table[table["purpose"] == measures.EVERYTHING])
    wide = _pivot(whole, ["seekers", "language", "arm"])
    wide = wide.sort_values("arm", key=lambda arms: arms == measures.ALL_ARMS, kind="stable")
    wide = wide.sort_values(["seekers", "language"], kind="stable")
    texts = pd.DataFrame(
        {
            "seekers": wide["seekers"].map(seekers_name),
            "language": wide["language"].map(language_name),
            "arm": wide["arm"].replace(measures.ALL_ARMS, _("all arms")),
            "model": [models.get(arm, "") for arm in wide["arm"]],
            "seconds": wide["seconds"].map(partial(decimal, digits=1)),
            "thousand_input_tokens": (wide["input_tokens"] / 1000).map(decimal),
            "thousand_output_tokens": (wide["output_tokens"] / 1000).map(decimal),
            "cost": wide["cost"].map(partial(decimal, digits=4)),
            "conversations": wide["conversations"],
        }
    )
    same = [name for name in ("seekers", "language") if texts[name].nunique() < 2]
    return texts.drop(columns=same if texts["model"].any() else [*same, "model"])


def by_purpose(table: pd.DataFrame) -> pd.DataFrame:
    """Return costs with a line for each arm and purpose."""
    rows = pooled_languages(table[table["arm"] != measures.ALL_ARMS])
    wide = _pivot(rows, ["arm", "seekers", "purpose"])
    return with_names(wide).assign(purpose=[_(PURPOSES[key]) if key in PURPOSES else key for key in wide["purpose"]])


def _pivot(rows: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Return one row for each of the keys, with the measures and the number of conversations."""
    wide = rows.pivot(index=keys, columns="measure", values="estimate")
    conversations = rows[rows["measure"] == "calls"].set_index(keys)["n"]
    return wide[list(measures.MEASURES)].rename_axis(None, axis=1).assign(conversations=conversations).reset_index()
