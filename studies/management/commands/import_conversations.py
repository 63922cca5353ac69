from studies.data.imports.conversations import Outcome, import_conversations
from studies.management.import_lines import ImportLines


class Command(ImportLines):
    help = (
        "Adds finished conversations from a JSONL file, one a line. What is already there stays unchanged; with any "
        "fault, nothing is changed. Messages of the role 'system' are no part of a conversation and are left out. "
        "A conversation without 'language' is Chinese where at least a quarter of its letters are Chinese characters, "
        "English otherwise, and in the study's first language where there are no letters."
    )

    metavar, header = "FILE.jsonl", 0
    bring = staticmethod(import_conversations)

    def describe_outcome(self, outcome: Outcome) -> str:
        return (
            f"{outcome.added} conversations added with {outcome.turns} turns ({outcome.empty_turns} of them empty); "
            f"{outcome.already_there} were there already."
        )
