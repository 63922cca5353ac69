from studies.data.imports.comparisons import IGNORED, NEEDED, OPTIONAL, Outcome, import_pairs
from studies.management.import_lines import ImportLines
from studies.workbench.labels import one_or_more


class Command(ImportLines):
    help = (
        "Adds verdicts on pairs of conversations from a CSV file. What is already there stays unchanged; with any "
        f"fault, nothing is changed. Columns: {', '.join(NEEDED)}; where wanted {', '.join(OPTIONAL)}; "
        f"{', '.join(IGNORED)} of an exported pairs.csv are not read."
    )

    metavar, header = "FILE.csv", 1
    bring = staticmethod(import_pairs)

    def describe_outcome(self, outcome: Outcome) -> str:
        verdicts = one_or_more(outcome.added, "verdict", "verdicts")
        pairs = one_or_more(outcome.pairs, "pair", "pairs")
        were = one_or_more(outcome.already_there, "was", "were")
        added = f"{outcome.added} {verdicts} added, with {outcome.pairs} new {pairs}"
        return f"{added}; {outcome.already_there} {were} there already."
