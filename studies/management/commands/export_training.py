from collections.abc import Iterable
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from dialogue.judges.roles import BY_CODE
from studies.data.exports.columns import has_test_data_alone
from studies.data.exports.destinations import ExportRefused
from studies.data.training.export import export_training
from studies.data.training.options import FINAL, FORMATS, MARGIN, PREFERENCE, SFT, TEST_SHARE, TURN, Measure, Options
from studies.data.training.reading import conversations, roles_in
from studies.instruments.definitions import Item
from studies.instruments.loading import instrument_ids, load
from studies.management.command import Command as Base
from studies.models import Rater, Response, Study
from studies.models.response import RaterKind
from studies.participation.responses import is_rating

RATING_OF_A_REPLY = "reply_rating"


class Command(Base):
    help = (
        "Writes conversations as chat-format training data (JSONL) with a data card: whole conversations (sft), or two "
        "supporters' replies to the same words of one seeker of which raters prefer one (preference). People's texts "
        "only where they have consented to training. See docs/training_data.md."
    )

    def add(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY")
        parser.add_argument("--format", required=True, choices=FORMATS)
        parser.add_argument(
            "--out", type=Path, required=True, metavar="FILE.jsonl", help="a new file, or an earlier export"
        )
        parser.add_argument(
            "--min-score", type=float, metavar="X", help="only conversations (or preferred replies) with at least this"
        )
        parser.add_argument(
            "--margin", type=float, default=MARGIN, metavar="M", help=f"points between two replies (default {MARGIN})"
        )
        parser.add_argument(
            "--instrument", metavar="I", help="whose scores count (default: the study's first final rating scale)"
        )
        parser.add_argument("--items", nargs="+", metavar="ITEM", help="their mean counts (default: all of its scales)")
        parser.add_argument(
            "--rater-kind", choices=RaterKind.values, default=RaterKind.JUDGE.value, help="whose scores (default judge)"
        )
        parser.add_argument(
            "--rater",
            metavar="KEY",
            help="only this judge or person (default: all, without variants of judges)",
        )
        parser.add_argument("--strategy", metavar="S", help="only this strategy of judges (default: all)")
        parser.add_argument(
            "--role",
            choices=tuple(BY_CODE),
            help="only judges that rate as this; needed where judges of several roles have rated",
        )
        parser.add_argument(
            "--moment", choices=(FINAL, TURN), default=FINAL, help="scores of conversations, or of single replies"
        )
        parser.add_argument(
            "--test-share", type=float, default=TEST_SHARE, metavar="P", help=f"of seekers (default {TEST_SHARE})"
        )
        parser.add_argument("--seed", type=int, default=1, metavar="S", help="of the split (default 1)")
        parser.add_argument("--include-tests", action="store_true", help="include test data: of bots and of test links")
        parser.add_argument(
            "--include-imported", action="store_true", help="with imported conversations, whose licence you know"
        )

    def work(self, study: str, out: Path, **arguments: Any) -> dict[str, Any]:
        study_row = self.study(study)
        self.refuse_odd(arguments)
        self.refuse_unknown_raters(study_row, arguments)
        if not arguments["include_tests"] and has_test_data_alone(study_row):
            self.hint_at_test_data(f"The study {study} has only test data.", out=out)
        options = Options(
            measure=self.measure(study_row, arguments) if needs_scores(arguments) else None,
            **{name: arguments[name] for name in Options.__dataclass_fields__ if name != "measure"},
        )
        with self.progress(conversations(study_row).count(), "export_training") as progress:
            try:
                card = export_training(study_row, out, options, on_conversation=progress.step)
            except ExportRefused as refusal:
                self.refuse(str(refusal))
            except OSError as error:
                self.refuse(f"{error.filename or out}: {error.strerror}")
        return self.report(study, out, card)

    def refuse_odd(self, arguments: dict[str, Any]) -> None:
        if arguments["min_score"] is not None and not isfinite(arguments["min_score"]):
            self.refuse("--min-score must be a finite number.")
        if not 0 < arguments["margin"] < float("inf"):
            self.refuse("--margin must be more than 0.")
        if not 0 <= arguments["test_share"] < 1:
            self.refuse("--test-share must be at least 0 and less than 1.")
        if arguments["format"] == SFT and arguments["moment"] == TURN:
            self.refuse("--moment turn is for --format preference: a row of sft is a whole conversation.")

    def refuse_unknown_raters(self, study: Study, arguments: dict[str, Any]) -> None:
        raters, kind = Rater.objects.filter(study=study, kind=arguments["rater_kind"]), arguments["rater_kind"]
        for option, of_rater, words in (("rater", "code", ""), ("strategy", "strategy", "with the strategy ")):
            if arguments[option] is None:
                continue
            candidates, raters = raters, raters.filter(**{of_rater: arguments[option]})
            if not raters.exists():
                hint = judge_names_hint(candidates.values_list(of_rater, flat=True)) if kind == RaterKind.JUDGE else ""
                self.refuse(f"--{option}: no {kind} {words}{arguments[option]!r} has rated here.{hint}")

    def measure(self, study: Study, arguments: dict[str, Any]) -> Measure:
        instrument = arguments["instrument"]
        if instrument is None:
            instrument = self.usual_instrument(study, arguments["moment"])
        measure = Measure(
            instrument=instrument,
            items=self.items(study, instrument, arguments["items"]),
            moment=arguments["moment"],
            rater_kind=arguments["rater_kind"],
            rater=arguments["rater"] or "",
            strategy=arguments["strategy"] or "",
        )
        return replace(measure, role=self.role(study, measure, arguments))

    def role(self, study: Study, measure: Measure, arguments: dict[str, Any]) -> str:
        """Return the one role of the judges whose scores count, for no score pools two; empty of people."""
        role = str(arguments["role"] or "")
        if measure.rater_kind != RaterKind.JUDGE:
            if role:
                self.refuse("--role is about judges: leave it out, or use --rater-kind judge.")
            return ""
        roles = roles_in(study, measure, include_tests=arguments["include_tests"])
        names = " and ".join(sorted(roles))
        if role and roles and role not in roles:
            self.refuse(f"--role: no judge has rated as {role} here. There are: {names}.")
        if not role and len(roles) > 1:
            self.refuse(
                f"Judges have rated as {names}, and scores of two roles are not averaged. Name one with --role, or one "
                "judge with --rater."
            )
        return role or next(iter(roles), "")

    def usual_instrument(self, study: Study, moment: str) -> str:
        if moment == TURN:
            return RATING_OF_A_REPLY
        final = study.current().spec().chat.final_instruments
        if scales := [instrument for instrument in final if is_rating(load(instrument))]:
            return scales[0]
        self.refuse(f"The study {study.key} has no final rating scale. Name one with --instrument.")

    def items(self, study: Study, instrument: str, named: list[str] | None) -> dict[str, Item | None]:
        if instrument not in instrument_ids():  # of imported ratings
            if not Response.objects.filter(rater__study=study, instrument=instrument).exists():
                self.refuse(f"--instrument: {instrument!r} is not one of ours, and no one has rated on it.")
            if not named:
                self.refuse(f"The instrument {instrument!r} is not one of ours. Name its items with --items.")
            return dict.fromkeys(named)
        scales = {item.key: item for item in load(instrument).rated_items()}
        if unknown := sorted(set(named or ()) - scales.keys()):
            self.refuse(f"--items: {instrument} has no {', '.join(unknown)}. It has: {', '.join(scales) or 'none'}.")
        return {key: scales[key] for key in named or scales}

    def report(self, study: str, out: Path, card: dict[str, Any]) -> dict[str, Any]:
        counts, rows = card["counts"], {name: file["rows"] for name, file in card["files"].items()}
        self.say("\n".join(f"{out.parent / name}: {count} rows" for name, count in rows.items()))
        for what in ("conversations", "turns", "pairs"):
            for reason, count in counts.get(what, {}).get("left_out", {}).items():
                if count:
                    self.say(f"{count} {what} left out: {reason.replace('_', ' ')}")
        self.say("\n".join(card["notes"]))
        kinds = ("conversations", "turns", "contexts", "pairs")
        return {
            "study": study,
            "format": card["options"]["format"],
            "out": str(out),
            "demonstration": card["demonstration"],
            "rows": rows,
            **{what: counts[what] for what in kinds if what in counts},
        }


def judge_names_hint(names: Iterable[str]) -> str:
    """Return a hint with the known judges. It is never given for people, whose codes stay private."""
    there = ", ".join(sorted(set(names)))
    return f" There are: {there}." if there else ""


def needs_scores(arguments: dict[str, Any]) -> bool:
    return arguments["format"] == PREFERENCE or arguments["min_score"] is not None
