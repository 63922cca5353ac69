import argparse
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import CommandParser

from studies.analysis import AnalysisError
from studies.analysis.planning import BOUNDS, OF, QUESTIONS, SIMULATED, Chance, Need, Wish, plan_precision
from studies.data.exports.columns import has_test_data_alone
from studies.management.command import TAKE_TESTS, describe_left_out_tests
from studies.management.command import Command as Base
from studies.management.commands.analyse import progress_callback

OPTION_HELP = {
    "r": "the correlation to expect, or to find",
    "half_width": "half of the interval's length, at most",
    "icc": "the intraclass correlation of single ratings to expect",
    "raters": "of each conversation",
    "d": "the standardised mean difference d_z to find",
    "power": "the chance to find it",
    "alpha": "level of the two-sided test; intervals have level 1 - ALPHA",
    "per_person": "conversations of a person; for a paired difference, pairs of them",
    "within": "intraclass correlation of a person's conversations",
    "dropout": "share of people who do not complete",
    "r2": "dependent: the other judge's correlation with people; R is the first's",
    "between": "dependent: the two judges' correlation with one another",
    "models": "discrimination: how many are compared",
    "separation": "discrimination: variance of the models' means, over that of single conversations with a model",
    "people": "dependent, discrimination: who complete",
    "studies": "dependent, discrimination: how many are simulated",
    "seed": "of the simulated studies",
}
SIZES = (
    ("people", "d"),
    ("conversations", "d"),
    ("independent", "d"),
    ("power", ".3f"),
    ("low", ".3f"),
    ("high", ".3f"),
)
APART = (("steps", "d"), ("d", ".2f"), ("power", ".3f"), ("low", ".3f"), ("high", ".3f"))
TABLE = (("reliability", ".2f"), ("more", "+.0%"), ("second", ".0%"), ("clusters", "d"), ("n", "d"))
WIDTHS = (("second_ratings", "d"), ("r", ".3f"), ("half_width", ".3f"), ("corrected_half_width", ".3f"))


class Command(Base):
    help = (
        "How many people a study needs: `plan precision STUDY` for one under way, from the interval that it has by "
        "now; `plan sample-size QUESTION` for one yet to come."
    )

    def add(self, parser: CommandParser) -> None:
        kinds = parser.add_subparsers(dest="kind", required=True, metavar="precision|sample-size")
        precision = kinds.add_parser(
            "precision", help="what more participants or second ratings would make of an interval"
        )
        add_precision(precision)
        sample_size = kinds.add_parser("sample-size", help="people and conversations for a study yet to come")
        add_sample_size(sample_size)
        for each in (precision, sample_size):  # so that it may stand at the end too
            each.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)

    def work(self, kind: str, out: Path | None, **options: Any) -> dict[str, Any]:
        result = self.sample_size(**options) if kind == "sample-size" else self.precision(**options)
        if out is not None:
            self.write(out, result)
        return result

    def write(self, out: Path, result: Mapping[str, Any]) -> None:
        try:
            out.parent.mkdir(parents=True, exist_ok=True)
            out.write_text(json.dumps(result, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        except OSError as error:
            self.refuse(f"{out}: {error.strerror}")

    def precision(self, study: str, bootstrap: int, seed: int, include_tests: bool, **options: Any) -> dict[str, Any]:
        filters = {name: options[name] for name in OF if options[name] is not None}
        if not include_tests and has_test_data_alone(self.study(study)):
            self.refuse(f"The study {study} has only test data. {TAKE_TESTS}")
        with tempfile.TemporaryDirectory() as folder, self.progress(0, "plan") as progress:
            tests = ["--include-tests"] if include_tests else []
            call_command("export", study, "--out", folder, *tests, verbosity=0)
            try:
                result = plan_precision(
                    Path(folder), filters, bootstrap=bootstrap, seed=seed, on_progress=progress_callback(progress)
                )
            except AnalysisError as error:
                hint = describe_left_out_tests(self.study(study), include_tests=include_tests)
                self.refuse(f"{error}\n{hint}".rstrip())
        self.say("\n".join(lines_of(result)))
        return result

    def sample_size(self, question: str, **options: Any) -> dict[str, Any]:
        wish = Wish(question, **{name: options[name] for name in OPTION_HELP})
        try:
            result = self.chance(wish) if question in SIMULATED else self.need(wish)
        except ValueError as error:
            self.refuse(str(error))
        return {"wish": asdict(wish), type(result).__name__.lower(): asdict(result)}

    def need(self, wish: Wish) -> Need:
        from studies.analysis.planning.sample_size import need

        result = need(wish)
        self.say("\n".join(lines_of_need(asdict(result))))
        return result

    def chance(self, wish: Wish) -> Chance:
        from studies.analysis.planning.power import chance

        with self.progress(0, "simulate") as progress:
            result = chance(wish, progress_callback(progress))
        self.say("\n".join(lines_of_chance(asdict(result))))
        return result


def add_out(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, metavar="FILE", help="where the same goes as JSON")


def add_precision(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("study", metavar="STUDY")
    for name in OF:
        parser.add_argument(f"--{name}", metavar=name.upper(), help="as in agreement.csv; the first that fits is taken")
    parser.add_argument("--include-tests", action="store_true", help="include test data: of bots and of test links")
    parser.add_argument("--bootstrap", type=int, default=2000, help="resamples of the interval now (default 2000)")
    parser.add_argument("--seed", type=int, default=1, help="of the resamples (default 1)")
    add_out(parser)


def add_sample_size(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "question",
        choices=(*QUESTIONS, *SIMULATED),
        help="correlation: to find R; width: an interval of R; icc: an interval of ICC; paired: to find a difference "
        "D; by simulated studies, dependent: how likely two judges are told apart; discrimination: how many pairs of "
        "models are",
    )
    for name, about in OPTION_HELP.items():
        usual = Wish.__dataclass_fields__[name].default
        least, most = BOUNDS[name]
        explanation = f"{about} ({least:g} to {most:g}, default {usual:g})".replace("%", "%%")
        parser.add_argument(
            f"--{name.replace('_', '-')}", type=type(usual), default=usual, metavar="N", help=explanation
        )
    add_out(parser)


def lines_of(result: Mapping[str, Any]) -> Iterator[str]:
    now = result["now"]
    yield " · ".join(filter(None, result["of"].values()))
    yield (
        f"r {now['r']:.3f}, {now['low']:.3f} to {now['high']:.3f} (half width {now['half_width']:.3f}), "
        f"{result['n']} conversations, {result['clusters']} clusters"
    )
    yield from table(result["participants"], [*TABLE[1:2], *TABLE[3:], *WIDTHS[1:3]])
    for plan in result["plans"]:
        single = plan["reliability"]
        yield f"\nReliability of a single rating: {single['estimate']:.2f} ({single['source']})"
        yield from table(plan["cells"], [*TABLE[1:], *WIDTHS])
    for reliability in result["left_out"]:
        yield f"Reliability {reliability:.2f}: not even a perfect judge would reach the r there is; left out."
    yield from result["notes"]


def lines_of_need(need: Mapping[str, Any]) -> Iterator[str]:
    for name, value in need.items():
        if name != "nearby" and value is not None:
            yield f"{name.replace('_', ' ')}: {value:g}"
    yield from table(need["nearby"], [("value", ".2f"), ("needed", "d"), ("people", "d"), ("conversations", "d")])


def lines_of_chance(chance: Mapping[str, Any]) -> Iterator[str]:
    power = chance["asked"]
    yield f"power: {power['power']:.3f} ({power['low']:.3f} to {power['high']:.3f} in {chance['studies']} studies)"
    for name, value in (power | chance).items():
        if (
            name in ("people", "invited", "conversations", "independent", "design_effect", "least")
            and value is not None
        ):
            yield f"{name.replace('_', ' ')}: {value:.4g}"
    if chance["pairs"]:
        yield from table(chance["pairs"], APART)
    yield from table(chance["sizes"], SIZES)


def table(rows: Sequence[Mapping[str, Any]], columns: Sequence[tuple[str, str]]) -> Iterator[str]:
    cells = [[name for name, _format in columns]]
    cells += [[format(row[name], how) for name, how in columns] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        yield "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
