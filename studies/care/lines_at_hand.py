"""The lines that stay in sight on the page after a message with a sign of danger, whatever that page asks for."""

from collections.abc import Sequence

from dialogue.chat import signs
from dialogue.safety.categories import page_category
from dialogue.safety.resources import Resource, lines_for
from studies.care import answers
from studies.design.plan import Step
from studies.models import Participation


def get_lines_at_hand(person: Participation, step: Step) -> Sequence[Resource]:
    """Return the lines for the head of a page; empty where nothing asks for them.

    They stand on a checkpoint and on the first step after a conversation, if its last turn had a sign; and after a sign
    in a form on each page until the person has said how safe they are, as the page that asks may have been lost. So do
    they where someone leaves who is held.
    """
    event = answers.get_event(person)
    if event is not None and (answers.awaits_answer(event) or answers.leaves_in_danger(person, event)):
        category = page_category(event.categories)
        return lines_for(person.country or person.design().country, level=event.level, category=category)
    if not step.run or not follows_words(person, step):
        return ()
    run = person.runs.select_related("conversation").filter(position=step.run).first()
    conversation = run.conversation if run else None
    if conversation is None or not signs.needs_help(conversation):
        return ()
    return lines_for(person.country or person.design().country, level=2, category="self")


def follows_words(person: Participation, step: Step) -> bool:
    """Return whether this page is the next that the person sees after what they wrote."""
    steps, at = person.steps(), person.position
    before = steps[at - 1] if 0 < at <= len(steps) else None
    return step.kind == "chat" or (before is not None and before.kind == "chat" and before.run == step.run)
