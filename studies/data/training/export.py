"""A study's conversations → training data with its card: read, filtered, without duplicates, split, counted."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from studies.data.exports.columns import Filter
from studies.data.exports.export_records import recorded_export
from studies.data.exports.files import build_manifest
from studies.data.training.card import Counts
from studies.data.training.contexts import Contexts
from studies.data.training.duplicates import Duplicate, SeenTexts
from studies.data.training.files import Places, refuse_foreign, writing
from studies.data.training.filters import BOX, LeftOut
from studies.data.training.options import PREFERENCE, SCORE_OF, Options
from studies.data.training.preferences import Candidate, Dropped, Preference, meetings, preference
from studies.data.training.reading import raters, talks
from studies.data.training.rows import Row, preference_row, sft_row
from studies.data.training.scores import mean_of
from studies.data.training.split import side_of
from studies.data.training.talk import WHOLE, Talk, as_text
from studies.models import Study


def export_training(
    study: Study, out: Path, options: Options, *, on_conversation: Callable[[], None] = lambda: None
) -> dict[str, Any]:
    """Write FILE.jsonl, FILE.train.jsonl, FILE.test.jsonl and FILE.card.json in place of an earlier export; returns the
    card. Raises ExportRefused, and then all files are as they were.
    """
    refuse_foreign(out, study.key)
    counts = Counts()
    make = preference_rows if options.format == PREFERENCE else sft_rows
    records = recorded_export(study, Places(out).all(), include_tests=options.include_tests)
    with records, writing(out) as writer:
        for row in make(study, options, counts, on_conversation):
            writer.add(row)
            counts.add_row(row, options)
        card = card_of(study, options, counts, writer.close())
        writer.put_in_place(card)
    return card


def sft_rows(study: Study, options: Options, counts: Counts, on_conversation: Callable[[], None]) -> Iterator[Row]:
    with SeenTexts() as seen:
        for talk in talks(study, options, counts, on_conversation):
            if (reason := why_not(talk, options, seen)) is not None:
                counts.left_out[reason] += 1
            else:
                yield sft_row(talk, study=study.key, split=split_of(talk.about.seeker, options), score=score_of(talk))


def why_not(talk: Talk, options: Options, seen: SeenTexts) -> LeftOut | None:
    score = score_of(talk)
    if options.min_score is not None and (score is None or score < options.min_score):
        return LeftOut.LOW_SCORE
    duplicates = {Duplicate.EXACT: LeftOut.SAME, Duplicate.NEAR: LeftOut.ALIKE}
    duplicate = seen.look(as_text(talk.turns))
    return duplicates[duplicate] if duplicate else None


def score_of(talk: Talk) -> float | None:
    """Return the conversation's score over all raters; None if no score was asked for."""
    scores = talk.scores.get(WHOLE)
    return mean_of(scores, scores) if scores else None


def split_of(seeker: str, options: Options) -> str:
    return side_of(seeker, seed=options.seed, test_share=options.test_share)


def preference_rows(
    study: Study, options: Options, counts: Counts, on_conversation: Callable[[], None]
) -> Iterator[Row]:
    with Contexts() as contexts, SeenTexts() as seen:
        for talk in talks(study, options, counts, on_conversation):
            contexts.add(talk, by_reply=options.by_reply())
        counts.contexts = contexts.count()
        for candidates in contexts.list_shared():
            counts.shared += 1
            for both in meetings(candidates):
                counts.pairs += 1
                outcome = choose_preference(*both, contexts, seen, options)
                if isinstance(outcome, Dropped):
                    counts.dropped[outcome] += 1
                else:
                    yield row_of(outcome, contexts, study, options)


def choose_preference(
    first: Candidate, second: Candidate, contexts: Contexts, seen: SeenTexts, options: Options
) -> Preference | Dropped:
    outcome = preference(first, second, margin=options.margin, min_score=options.min_score)
    if isinstance(outcome, Dropped):
        return outcome
    *before, last = contexts.exchanges(first)
    prompt = "\n".join(filter(None, [as_text(before), last.seeker]))
    duplicates = {Duplicate.EXACT: Dropped.SAME, Duplicate.NEAR: Dropped.ALIKE}
    duplicate = seen.look(prompt, outcome.chosen.reply, outcome.rejected.reply)
    return duplicates[duplicate] if duplicate else outcome


def row_of(pair: Preference, contexts: Contexts, study: Study, options: Options) -> Row:
    assert options.measure is not None  # noqa: S101 - without scores nothing is preferred
    chosen, rejected = contexts.about(pair.chosen.run), contexts.about(pair.rejected.run)
    return preference_row(
        pair,
        contexts.prompt(pair.chosen),
        chosen,
        rejected,
        study=study.key,
        split=split_of(chosen.seeker, options),
        of=SCORE_OF[options.measure.moment],
    )


def card_of(study: Study, options: Options, counts: Counts, files: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return {
        **build_manifest(study, Filter(options.include_tests)),
        "options": options.as_json(),
        "consent_box": BOX,
        "raters": raters(study, options),
        "counts": counts.as_json(options),
        "notes": list(counts.notes(options)),
        "files": files,
    }
