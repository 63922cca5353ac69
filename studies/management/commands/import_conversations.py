from studies.data.imports.conversations import Outcome, import_conversations
from studies.management.import_lines import ImportLines
from studies.workbench.labels import one_or_more


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
        conversations = one_or_more(outcome.added, "conversation", "conversations")
        turns = one_or_more(outcome.turns, "turn", "turns")
        were = one_or_more(outcome.already_there, "was", "were")
        added = f"{outcome.added} {conversations} added with {outcome.turns} {turns}"
        return f"{added} ({outcome.empty_turns} of them empty); {outcome.already_there} {were} there already."
