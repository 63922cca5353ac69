"""The data card: where the rows come from, what was left out at which filter, and what is not known. Pure."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from studies.data.training.filters import Cut, LeftOut
from studies.data.training.options import FINAL, PREFERENCE, SFT, Options
from studies.data.training.preferences import Dropped
from studies.data.training.rows import Row
from studies.data.training.split import SIDES

INAPPLICABLE = {SFT: {LeftOut.NO_ARM}, PREFERENCE: {LeftOut.LOW_SCORE, LeftOut.SAME, LeftOut.ALIKE}}
COUNTED = {SFT: ("arm", "model"), PREFERENCE: ("chosen_arm", "rejected_arm", "chosen_model", "rejected_model")}
OF_ANY = ("split", "seeker_kind", "condition", "language")

NOT_REMOVED = (
    "Texts are as they were written: names and other identifying details were not removed. Read them before you pass "
    "them on."
)
TERMS = "Makers of models may forbid training on what their models say: see the terms of each model counted here."
NO_PROMPT = "The supporters' system prompts, and what they were told of the seeker, are not in the rows."
OF_CONVERSATION = (
    "A score is of the whole conversation and says little of one reply in it. Where each reply was rated, use "
    "--moment turn."
)
NONE_SHARED = (
    "No two supporters answered the same words of one seeker, so nothing can be preferred: after the first message "
    "conversations differ."
)
NO_SCORE = (
    "{count} conversations have no such score from {whom}: --rater-kind, --rater, --strategy, --instrument and "
    "--moment choose whose scores count, and of what."
)
NO_ROW = "There is no row. The counts say why conversations were left out."
HOW_TO_INCLUDE = {
    LeftOut.TEST: "Conversations of test data left out: {count}. --include-tests includes them.",
    LeftOut.IMPORTED: "Imported conversations left out: {count}. --include-imported includes them.",
    LeftOut.NO_CONSENT: (
        "Conversations left out because their person has not agreed to training: {count}. To ask new people, add "
        '"if_training" to flags and a training_statement under [consent] in the study file, and load it again. A '
        "person who signed a form without this question has not agreed."
    ),
}
NOBODY = "No one is on the side {side}, whose file is empty: another seed or test share may help."


@dataclass
class Counts:
    """The numbers of conversations and turns that were used or left out, and of what was made of them."""

    conversations: int = 0
    left_out: Counter[LeftOut] = field(default_factory=Counter)
    turns: int = 0
    cut: Counter[Cut] = field(default_factory=Counter)
    contexts: int = 0
    shared: int = 0  # contexts that two supporters met
    pairs: int = 0
    dropped: Counter[Dropped] = field(default_factory=Counter)
    rows: int = 0
    rows_by: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def add_row(self, row: Row, options: Options) -> None:
        self.rows += 1
        for column in (*OF_ANY, *COUNTED[options.format]):
            self.rows_by[column][row[column]] += 1

    def as_json(self, options: Options) -> dict[str, Any]:
        reasons = [reason for reason in LeftOut if reason not in INAPPLICABLE[options.format]]
        funnels = {
            "conversations": funnel(self.conversations, self.left_out, reasons),
            "turns": funnel(self.turns, self.cut, list(Cut)),
        }
        if options.format == PREFERENCE:
            funnels["contexts"] = {"found": self.contexts, "met_by_two_supporters": self.shared}
            funnels["pairs"] = funnel(self.pairs, self.dropped, list(Dropped))
        return {
            **funnels,
            "rows": {"total": self.rows, **{f"by_{column}": dict(of) for column, of in self.rows_by.items()}},
        }

    def notes(self, options: Options) -> Iterator[str]:
        """Yield the notes that users of the rows must read."""
        yield from (NOT_REMOVED, TERMS, NO_PROMPT)
        if options.format == PREFERENCE and options.measure is not None and options.measure.moment == FINAL:
            yield OF_CONVERSATION
        if not self.rows:
            yield NO_ROW
            for reason, hint in HOW_TO_INCLUDE.items():
                if self.left_out[reason]:
                    yield hint.format(count=self.left_out[reason])
        if options.measure is not None and (count := self.left_out[LeftOut.NO_SCORE]):
            yield NO_SCORE.format(count=count, whom=options.measure.rater or options.measure.rater_kind)
        if options.format == PREFERENCE and self.contexts and not self.shared:
            yield NONE_SHARED
        if self.rows:
            yield from (NOBODY.format(side=side) for side in SIDES if not self.rows_by["split"][side])


def funnel(total: int, left_out: Mapping[Any, int], reasons: Collection[Any]) -> dict[str, Any]:
    """Return every reason in the order in which it is asked, with 0 for those that do not apply."""
    counts = {str(reason): left_out.get(reason, 0) for reason in reasons}
    return {"found": total, "left_out": counts, "used": total - sum(counts.values())}
