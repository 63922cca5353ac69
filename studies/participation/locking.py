"""The order in which rows are locked: a person's conversations first, then the person.

A message that shows danger locks its conversation, and then the person whom it holds. What changes a person and their
conversations locks in the same order, or PostgreSQL would end one of the two as a deadlock.
"""

from dialogue.models import Conversation
from studies.models import Participation


def lock_person(person: Participation) -> Participation:
    """Lock a person with their conversations until the transaction ends, and return them afresh."""
    lock_conversations([person.pk])
    return Participation.objects.select_for_update(of=("self",)).select_related("study").get(pk=person.pk)


def lock_people(numbers: list[int]) -> None:
    """Lock people, by their primary keys, with their conversations."""
    lock_conversations(numbers)
    list(Participation.objects.select_for_update().filter(pk__in=numbers).order_by("pk").values_list("pk"))


def lock_conversations(people: list[int]) -> None:
    theirs = Conversation.objects.filter(run__participation__in=people)
    list(theirs.select_for_update(of=("self",)).order_by("pk").values_list("pk"))
