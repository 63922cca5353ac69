from studies.data.imports.comparisons import IGNORED, NEEDED, OPTIONAL, Outcome, import_pairs
from studies.management.import_lines import ImportLines


class Command(ImportLines):
    help = (
        "Adds verdicts on pairs of conversations from a CSV file. What is already there stays unchanged; with any "
        f"fault, nothing is changed. Columns: {', '.join(NEEDED)}; where wanted {', '.join(OPTIONAL)}; "
        f"{', '.join(IGNORED)} of an exported pairs.csv are not read."
    )

    metavar, header = "FILE.csv", 1
    bring = staticmethod(import_pairs)

    def describe_outcome(self, outcome: Outcome) -> str:
        added = f"{outcome.added} verdicts added, with {outcome.pairs} new pairs"
        return f"{added}; {outcome.already_there} were there already."
