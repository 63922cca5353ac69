"""blinding.csv: how well people could tell which arm they had met, from the blinding question at the end of a study.

The question is asked of each conversation that had a reply; "I cannot tell" is an answer of its own.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd  # noqa: TID253
from numpy.typing import NDArray

from studies.analysis.bootstrap import FEW_CLUSTERS, Array, Bootstrap, Resampled, number_names
from studies.analysis.frames import Export
from studies.analysis.language import gettext_noop as _
from studies.analysis.measures import blinding as measures
from studies.analysis.measures.proportions import add_by_clusters
from studies.analysis.notes import INTERVAL, Note, Notes
from studies.analysis.reading import read_table
from studies.analysis.rows import Cells, Row, Undefined
from studies.analysis.tables.arms import add_interval
from studies.analysis.tables.judged import add_resampled
from studies.analysis.tables.table import Parts, Table

COLUMNS = ["arm", "statistic", "estimate", "low", "high", "n", "clusters", "method", "note"]
METHODS = {
    "bang": _(
        "of an arm: share of right minus share of wrong guesses over all answers (Bang et al. 2004); 1 all right, 0 as "
        "by chance, below 0 more wrong than by chance; score interval (95 %; of two arms Tango 1998), n = clusters. "
        "With more than two arms a wrong guess weighs one over the number of wrong arms"
    ),
    "one_vs_rest": _(
        "how often this arm was named where it was met, minus how often it was named where another was met; 0 by "
        "chance; no interval where one of the two never or always happened, for no resample would differ in that"
    ),
    "cannot_tell": _("share of the answers that name no arm; interval as of accuracy"),
    "certainty": _("mean of how sure people were of the arm that they named, 1 to 5"),
    "james": _(
        "over all arms (James et al. 1996): 0 all right, 1 no one can tell; by chance half of 1 + the share that "
        "cannot tell (james_by_chance); participants (else conversations) resampled"
    ),
    "accuracy": _(
        "share of right guesses among those that name an arm; Wilson's interval, n being how many independent answers "
        "would be as uncertain as these, of which several are of one cluster (Korn & Graubard 1998)"
    ),
    "accuracy_corrected": _(
        "the same, rescaled: 1 if all are right, 0 if as many are right as by chance among the arms that were met "
        "or named"
    ),
}
INSTRUMENT, GUESS, SURE, CANNOT_TELL = "blinding", "guess", "sure", "cannot_tell"
ALL = "*"
OF_ALL_ARMS = ("bang", "james", "accuracy", "accuracy_corrected")  # another arm would change them
OF_ANSWERS = ("conversation", "instrument", "item", "value", "text")


@dataclass(frozen=True)
class Guesses:
    """The guesses of people, one entry of each array per conversation.

    `answers`: the place of the arm that was named, or the number of arms for none; `sure` is nan where the person did
    not say.
    """

    arms: list[str]
    met: NDArray[np.intp]
    answers: NDArray[np.intp]
    sure: Array
    clusters: NDArray[np.intp]

    def counts(self) -> Array:
        """Return the counts of answers: clusters × arms × (arms + 1)."""
        counts = np.zeros((self.clusters.max() + 1, len(self.arms), len(self.arms) + 1))
        np.add.at(counts, (self.clusters, self.met, self.answers), 1)
        return counts

    def unmet(self) -> list[str]:
        """Return the arms that someone named but no one met, for example because of a misspelling."""
        return [arm for place, arm in enumerate(self.arms) if not (self.met == place).any()]

    def sizes(self, is_counted: NDArray[np.bool_]) -> dict[str, int]:
        """Return the numbers of conversations and clusters."""
        return {"n": int(is_counted.sum()), "clusters": len(set(self.clusters[is_counted].tolist()))}


def blinding(export: Export, bootstrap: Bootstrap) -> Parts:
    """Yield (arm, its rows), `*` being all arms. n counts the conversations that were asked about."""
    guesses = guesses_of(export)
    if guesses is None:
        return
    for place, arm in enumerate(guesses.arms):
        if (guesses.met == place).any():
            yield arm, _note_unmet(_of_arm(guesses, place, bootstrap), guesses.unmet())
    yield ALL, _note_unmet(_of_all(guesses, bootstrap), guesses.unmet())


def _note_unmet(rows: Iterator[Cells], unmet: list[str]) -> list[Cells]:
    """Return the rows; those that depend on how many arms there are say which of these no one met."""
    if not unmet:
        return list(rows)
    unknown = Note("named_not_met", arms=", ".join(unmet))
    return [row | {"note": Notes(*row["note"], unknown)} if row["statistic"] in OF_ALL_ARMS else row for row in rows]


def guesses_of(export: Export) -> Guesses | None:
    """Return the guesses; None where no one was asked, or where no conversation has a known arm."""
    path = export.folder / "answers.csv"
    if not path.is_file():
        return None
    answers = read_table(path, (), OF_ANSWERS).astype(str)
    with_arm = export.chats.index[export.chats["arm"] != ""]
    answers = answers[(answers["instrument"] == INSTRUMENT) & answers["conversation"].isin(with_arm)]
    answers = answers.drop_duplicates(["conversation", "item"], keep="last").set_index("conversation")
    texts = answers.loc[(answers["item"] == GUESS) & (answers["text"] != ""), "text"]
    return _guesses(texts, answers.loc[answers["item"] == SURE, "value"], export)


def _guesses(texts: pd.Series, sure: pd.Series, export: Export) -> Guesses | None:
    about = export.chats.loc[texts.index]
    arms = sorted({*about["arm"], *texts} - {CANNOT_TELL})
    if texts.empty or not arms:
        return None
    places = {arm: place for place, arm in enumerate(arms)}
    return Guesses(
        arms=arms,
        met=about["arm"].map(places).to_numpy(np.intp),
        answers=np.array([places.get(text, len(arms)) for text in texts], dtype=np.intp),
        sure=pd.to_numeric(sure.reindex(texts.index), errors="coerce").to_numpy(float),
        clusters=number_names(about["cluster"]),
    )


def _of_arm(guesses: Guesses, place: int, bootstrap: Bootstrap) -> Iterator[Cells]:
    met = guesses.met == place
    arm, counts = guesses.arms[place], guesses.counts()
    yield _row(arm, "bang", guesses.sizes(met), lambda row: _add_bang(row, counts.sum(axis=0), place))
    yield _row(
        arm,
        "one_vs_rest",
        guesses.sizes(np.ones_like(met)),
        lambda row: _add_one_against_rest(row, counts, place, bootstrap),
    )
    yield _cannot_tell(arm, guesses, met)
    yield _certainty(arm, guesses, met, bootstrap)


def _of_all(guesses: Guesses, bootstrap: Bootstrap) -> Iterator[Cells]:
    everywhere = np.ones(len(guesses.met), dtype=bool)
    named = guesses.answers < len(guesses.arms)
    counts = guesses.counts()
    yield _row(ALL, "james", guesses.sizes(everywhere), lambda row: _add_james(row, counts, bootstrap))
    for statistic in ("accuracy", "accuracy_corrected"):
        yield _row(ALL, statistic, guesses.sizes(named), lambda row: _add_accuracy(row, counts))
    yield _cannot_tell(ALL, guesses, everywhere)
    yield _certainty(ALL, guesses, everywhere, bootstrap)


def _row(arm: str, statistic: str, sizes: dict[str, int], add: Callable[[Row], None]) -> Cells:
    row = Row(arm=arm, statistic=statistic, **sizes)
    with row.leave_out_if_undefined("estimate", "low", "high"):
        add(row)
    return row.cells()


def _add_bang(row: Row, counts: Array, place: int) -> None:
    clusters = row.values["clusters"]
    index = measures.bang(counts, place, independent=clusters / row.values["n"])
    row.values |= {"estimate": index.estimate, "low": index.low, "high": index.high}
    row.add_methods(Note("score_interval"))
    row.values["by_chance"] = 0.0
    if len(counts) > 2:
        row.add_notes(Note("wrong_guess_weighs", count=len(counts), others=len(counts) - 1))
    if clusters < FEW_CLUSTERS:
        row.add_notes(Note("few_clusters", count=clusters).on(INTERVAL))


def _add_one_against_rest(row: Row, counts: Array, place: int, bootstrap: Bootstrap) -> None:
    def statistic(sums: Array) -> Array:
        return measures.one_against_rest(_square(sums), place)

    row.values["by_chance"] = 0.0
    if _is_fixed(counts.sum(axis=0), place):
        _add_estimate(row, statistic, counts)
        row.leave_out("low", "high", because=Note("share_fixed"))
    else:
        _add(row, statistic, counts, bootstrap)


def _is_fixed(counts: Array, place: int) -> bool:
    """Return whether an arm was never or always named where it was met, or where another was met."""
    named, answers = counts[:, place], counts.sum(axis=1)
    elsewhere = named.sum() - named[place], answers.sum() - answers[place]
    return any(count in (0, total) for count, total in ((named[place], answers[place]), elsewhere))


def _add_james(row: Row, counts: Array, bootstrap: Bootstrap) -> None:
    row.values["by_chance"] = measures.james_by_chance(counts.sum(axis=0))
    _add(row, lambda sums: measures.james(_square(sums)), counts, bootstrap)


def _add(row: Row, statistic: Callable[[Array], Array], counts: Array, bootstrap: Bootstrap) -> None:
    _add_estimate(row, statistic, counts)
    add_resampled(row, lambda: _refuse_alike(bootstrap.resample(statistic, counts.reshape(len(counts), -1))))


def _add_estimate(row: Row, statistic: Callable[[Array], Array], counts: Array) -> None:
    estimate = float(statistic(counts.sum(axis=0).ravel()))
    if np.isnan(estimate):
        raise Undefined("one_arm_met_or_named")
    row.values["estimate"] = estimate


def _refuse_alike(draws: Resampled) -> Resampled:
    if not np.ptp(draws.replicates):
        raise Undefined("resamples_alike")
    return draws


def _square(sums: Array) -> Array:
    """Return the sums as tables of counts, arms × (arms + 1) each."""
    arms = int(np.sqrt(sums.shape[-1]))
    return sums.reshape(*sums.shape[:-1], arms, arms + 1)


def _add_accuracy(row: Row, counts: Array) -> None:
    arms, named = counts.shape[1], counts[..., :-1]
    measures.accuracy(counts.sum(axis=0))  # where it does not exist, it says why
    add_by_clusters(row, np.trace(named, axis1=1, axis2=2), named.sum(axis=(1, 2)))
    if row.values["statistic"] == "accuracy":
        row.values["by_chance"] = 1 / arms
        return
    row.values |= {name: measures.beyond_chance(row.values[name], arms) for name in ("estimate", "low", "high")}
    row.add_methods(Note("arms", count=arms))
    row.values["by_chance"] = 0.0


def _cannot_tell(arm: str, guesses: Guesses, is_counted: NDArray[np.bool_]) -> Cells:
    clusters, none = guesses.clusters[is_counted], guesses.answers[is_counted] == len(guesses.arms)
    hits, totals = np.bincount(clusters, weights=none), np.bincount(clusters)
    return _row(arm, "cannot_tell", guesses.sizes(is_counted), lambda row: add_by_clusters(row, hits, totals))


def _certainty(arm: str, guesses: Guesses, is_counted: NDArray[np.bool_], bootstrap: Bootstrap) -> Cells:
    rated = is_counted & ~np.isnan(guesses.sure)

    def add(row: Row) -> None:
        if not rated.any():
            raise Undefined("nobody_sure")
        row.values["estimate"] = float(guesses.sure[rated].mean())
        add_interval(row, guesses.sure[rated], number_names(guesses.clusters[rated]), bootstrap, alike="answers_alike")

    return _row(arm, "certainty", guesses.sizes(rated), add)


TABLE = Table(
    "blinding",
    blinding,
    COLUMNS,
    METHODS,
    heading=_("Could people tell the arms?"),
    empty=_("No one was asked which arm they had met."),
    further=("by_chance",),
)
