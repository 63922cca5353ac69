"""Codes of what an entry is about: never a participant's code, an arm, or what someone wrote.

A person stands under their record code, and so do their conversations: once they are erased, no one can tell any more
whose these entries are.
"""

from collections.abc import Mapping

from studies.models import ArmRun, Participation, SeekerProfile

PERSONAL = ("code", "person", "conversation")  # what routes call the code of a person or of a conversation
ROWS = ("number", "account", "object_id", "version")
NAMES = ("name", "command", "slug")  # of our own tables and commands


def code_for(study_key: str, route: str, arguments: Mapping[str, object]) -> str:
    """Return the code of what a request to a route is about; empty where the address names nothing in particular."""
    parts = [code_of(study_key, str(arguments[name])) for name in PERSONAL if name in arguments]
    parts += [str(arguments[name]) for name in ROWS if arguments.get(name)]
    if route == "research-profile":
        parts.append(number_of_profile(study_key, str(arguments["key"])))
    elif not parts:
        parts = [str(arguments[name]) for name in NAMES if name in arguments]
    return "/".join(part for part in parts if part)[:100]


def code_of(study_key: str, code: str) -> str:
    """Return what stands for a person, by their code, or for a conversation, by its: RECORDCODE/POSITION, or its own
    code where no person had it. Empty for an unknown one."""
    person = Participation.objects.filter(study__key=study_key, code=code).first()
    if person:
        return person.record_code or ""
    runs = ArmRun.objects.filter(study__key=study_key, conversation__code=code)
    run = runs.select_related("participation").first()
    if run is None:
        return ""
    return f"{run.participation.record_code}/{run.position}" if run.participation else code


def number_of_profile(study_key: str, key: str) -> str:
    """Return the number of the profile's row: its key can go back to a person's code."""
    number = SeekerProfile.objects.filter(study__key=study_key, key=key).values_list("pk", flat=True).first()
    return str(number or "")
