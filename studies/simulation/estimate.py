"""Estimates of the calls and the cost of simulations. Call it inside `discard_changes`."""

from collections import Counter
from dataclasses import dataclass, replace

from asgiref.sync import async_to_sync
from django.db.models import Avg, Count, Q

from dialogue.jobs.estimate import MOST_ITEMS, DryCaller, Load, Turns, sample_items, scale_loads
from dialogue.models import Call, Conversation, Job, JobItem
from dialogue.models.conversation import EndReason, SeekerKind, Status, TurnState
from dialogue.seekers.profiles import Profile
from dialogue.seekers.prompts import thinker_messages
from dialogue.seekers.reading import Thought, read_thought
from dialogue.simulation import simulated_dialogue
from dialogue.simulation.runner import Simulation, accept_any_reply
from dialogue.simulation.simulated_dialogue import SimulatedDialogue
from studies.models import Study
from studies.participation.chats import freeze_supporter
from studies.simulation.handler import Material, SimulationHandler
from studies.simulation.planning import KIND, REVIEW
from studies.simulation.setup import Setup


def usual_turns(study: Study, setup: Setup) -> Turns:
    answered = Count("turns", filter=Q(turns__state=TurnState.ANSWERED))
    held = Conversation.objects.filter(
        run__study=study,
        run__condition=setup.condition,
        run__setup=setup.name(),
        max_turns__gte=setup.max_turns,  # a trial of fewer turns says nothing of more
        seeker_kind=SeekerKind.SIMULATED,
        status=Status.CLOSED,
    )
    totals = held.annotate(number=answered).aggregate(mean=Avg("number"), known=Count("pk"))
    if not totals["known"]:
        return Turns(setup.condition, setup.max_turns, 0)
    return Turns(setup.condition, min(round(totals["mean"]), setup.max_turns), totals["known"])


@dataclass(frozen=True)
class TriedCalls:
    """The calls that a job would make in all, for so many conversations; and the conversations held to find it out."""

    loads: list[Load]
    number: int
    conversations: set[int]


def simulation_loads(job: Job, turns: Turns, caller: DryCaller) -> TriedCalls:
    """Estimate the calls of a job by holding a few of its conversations. Supporters are asked about the same, each at
    its own price. Reviewed is what was held before, and what was tried in the place of what is to come."""
    handler = SimulationHandler(job)
    by_arm = Counter(job.items.unfinished().filter(role=KIND).values_list("payload__arm", flat=True))
    samples, conversations = [], set()
    for item in sample_items(job, KIND):
        material = handler.read([item])[item.pk]
        conversations.add(hold(handler, item, material.profile, turns.number, caller))
        samples.append(caller.take_loads())
    loads = [
        load for each in scale_loads(samples, by_arm.total()) for load in split_by_supporter(each, handler, by_arm)
    ]
    return TriedCalls(loads + review_loads(handler, caller), by_arm.total(), conversations)


def review_loads(handler: SimulationHandler, caller: DryCaller) -> list[Load]:
    left = handler.job.items.unfinished().filter(role=REVIEW)
    samples = []
    for item in list(left.filter(needs__conversation__isnull=False).order_by("-pk")[:MOST_ITEMS]):
        material = handler.read([item])[item.pk]
        talk = handler.simulation(item, material, caller)
        async_to_sync(handler.ask_review)(material.run, talk, simulated_dialogue.load_dialogue(talk.conversation))
        samples.append(caller.take_loads())
    return scale_loads(samples, left.count())


def hold(handler: SimulationHandler, item: JobItem, profile: Profile, turns: int, caller: DryCaller) -> int:
    """Hold a conversation of so many turns, as `Simulation` would, and return its number."""
    run = handler.open_run(item, profile)
    talk = handler.simulation(item, Material(run, profile), caller)
    dialogue = simulated_dialogue.load_dialogue(talk.conversation)
    if dialogue.conversation.is_opening_due():
        reply = async_to_sync(caller.ask)(talk.opening_question(dialogue))
        simulated_dialogue.store_opening(dialogue, reply)
    for number in range(1, turns + 1):
        exchange(talk, dialogue, number)
    simulated_dialogue.finish(talk.conversation, EndReason.CAP)
    for instrument in handler.instruments(run, dialogue):
        async_to_sync(handler.ask_ratings)(talk, dialogue, instrument)
    return talk.conversation


def exchange(talk: Simulation, dialogue: SimulatedDialogue, number: int) -> None:
    """Hold one turn: a message, the reply to it, and what the seeker thinks of that."""
    words = async_to_sync(talk.utterance)(dialogue).text
    simulated_dialogue.store_message(dialogue, words)
    dialogue.due = dialogue.next_words(words)
    reply = async_to_sync(talk.caller.ask)(talk.supporter_question(dialogue, dialogue.due))
    dialogue.add_reply(simulated_dialogue.store_reply(talk.conversation, number, reply).text)
    if talk.seeker.thinks:
        dialogue.thoughts[-1] = thought_of(talk, dialogue, number)
        simulated_dialogue.store_thought(talk.conversation, number, dialogue.thoughts[-1])


def thought_of(talk: Simulation, dialogue: SimulatedDialogue, number: int) -> Thought:
    messages = thinker_messages(
        talk.profile,
        talk.behaviour(dialogue),
        dialogue.turns,
        dialogue.thoughts[:-1],
        talk.language,
        talk.seeker.prompts,
        opening=dialogue.opening,
    )
    ask = talk.ask("seeker_thinker", Call.Purpose.THINKER, number)
    thought = read_thought(async_to_sync(ask)(messages, accept_any_reply).text)
    assert isinstance(thought, Thought)  # noqa: S101 - DryCaller writes it in the form that is read
    return thought


def split_by_supporter(load: Load, handler: SimulationHandler, by_arm: Counter[str]) -> list[Load]:
    """Return one load for each arm, scaled from the few supporters that were tried."""
    if load.purpose != Call.Purpose.REPLY:
        return [load]
    language = handler.spec.languages[0]
    settings = {arm: freeze_supporter(handler.arms[arm], language).settings() for arm in by_arm}
    return [
        replace(load.times(number / by_arm.total()), settings=settings[arm]) for arm, number in sorted(by_arm.items())
    ]
