from django.core.management.base import CommandParser

from studies.data.imports.ratings import IGNORED, NEEDED, OPTIONAL, Outcome, import_ratings
from studies.management.import_lines import ImportLines
from studies.workbench.labels import one_or_more


class Command(ImportLines):
    help = (
        "Adds ratings from a CSV file. What is already there stays unchanged; with any fault, nothing is changed. "
        "Instruments and items must be those of emostudy, and each score a step of the item's scale. "
        "A row without score and missing_reason is not answered yet, and left out. "
        f"Columns: {', '.join(NEEDED)}; where wanted {', '.join(OPTIONAL)}; {', '.join(IGNORED)} of an exported "
        "ratings.csv are not read."
    )

    metavar, header = "FILE.csv", 1
    more_options = ("as_is",)
    bring = staticmethod(import_ratings)

    def add(self, parser: CommandParser) -> None:
        super().add(parser)
        parser.add_argument(
            "--as-is", action="store_true", help="take any instrument, any item and any finite number as a score"
        )

    def describe_outcome(self, outcome: Outcome) -> str:
        ratings = one_or_more(outcome.added, "rating", "ratings")
        were = one_or_more(outcome.already_there, "was", "were")
        added = (
            f"{outcome.added} {ratings} added ({outcome.missing} of them without a score); "
            f"{outcome.already_there} {were} there already."
        )
        if not outcome.not_answered_yet:
            return added
        rows = one_or_more(outcome.not_answered_yet, "row has", "rows have")
        left_out = f"{outcome.not_answered_yet} {rows} neither score nor reason: not answered yet, and left out."
        return f"{added}\n{left_out}"
