"""Run a conversation between a simulated seeker and a supporter (EmoHarbor, arXiv:2601.01530, Algorithm 1).

The seeker speaks first, as people do here; the supporter does, as in Algorithm 1, where its conversation has a request
for that. Each step is stored before the next, so another process can continue a conversation.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

from dialogue.chat.supporters import messages_for_opening, messages_from_pairs
from dialogue.jobs import store
from dialogue.jobs.calls import Caller, Question
from dialogue.jobs.group_commit import in_database
from dialogue.judges.judge import Ask, ask_until_readable
from dialogue.judges.prompts import JudgedTurn
from dialogue.models import Call
from dialogue.models.conversation import EndReason
from dialogue.prompts import DEFAULTS, Prompts
from dialogue.providers.base import OF_QUESTION, TOO_LONG, Message, ModelSettings, ProviderError, Reply
from dialogue.seekers import prompts
from dialogue.seekers.behaviours import VOLATILITY, Condition, instruction, mood
from dialogue.seekers.profiles import Detail, Profile, write_for_seeker
from dialogue.seekers.reading import Thought, Unread, Utterance, read_thought, read_utterance
from dialogue.simulation import simulated_dialogue
from dialogue.simulation.simulated_dialogue import SimulatedDialogue

THINKER_TEMPERATURE = 0.1  # EmoHarbor, Section 4.1
TALKER_TEMPERATURE = 0.7
FOR_GOOD = (*OF_QUESTION, "empty")  # the supporter will never answer this message
Stored = TypeVar("Stored")
ENDS = {"walked_out": EndReason.WALKED_OUT, "satisfied": EndReason.SATISFIED}


@dataclass(frozen=True)
class Seeker:
    """A simulated seeker. `thinks`: a Thinker before the Talker; else one agent, an ablation of EmoHarbor's Section
    4.1.1."""

    profile: Profile
    condition: Condition
    model: ModelSettings
    provider: str = ""
    thinks: bool = True
    detail: Detail = "full"
    prompts: Prompts = DEFAULTS

    def settings(self, name: str) -> ModelSettings:
        """Return the settings of seeker_thinker, seeker_talker or seeker_one_agent; for a scripted model, of that
        script."""
        default = THINKER_TEMPERATURE if name == "seeker_thinker" else TALKER_TEMPERATURE
        model = name if self.model.kind == "scripted" else self.model.model
        temperature = default if self.model.temperature is None else self.model.temperature
        return replace(self.model, model=model, temperature=temperature)


@dataclass
class Simulation:
    """One conversation.

    `supporter`: its name in error messages. `question`: the ledger's fields of each call. `owner` holds the item.
    """

    seeker: Seeker
    conversation: int
    max_turns: int
    seed: str
    supporter: str
    question: Question
    owner: str
    caller: Caller
    unread: set[int] = field(default_factory=set)  # turns whose thought could not be read

    @property
    def language(self) -> str:
        return self.seeker.profile.language

    async def run(self) -> SimulatedDialogue:
        """Run the conversation to its end.

        Raises ProviderError if a model cannot be reached; the conversation can continue later. Raises LeaseLost if
        another process took over the item.
        """
        dialogue = await in_database(simulated_dialogue.load_dialogue, self.conversation)
        while not dialogue.end_reason:
            try:
                await self.step(dialogue)
            except ProviderError as error:
                if error.status != TOO_LONG or not dialogue.turns:
                    raise
                await self.give_up(dialogue)
        return dialogue

    async def step(self, dialogue: SimulatedDialogue) -> None:
        """Do the next thing that is due: the opening, a reply, a thought, the end, or a message."""
        if dialogue.conversation.is_opening_due():
            await self.open(dialogue)
        elif dialogue.due:
            await self.hear(dialogue)
        elif self.has_to_think(dialogue):
            await self.think(dialogue)
        elif len(dialogue.turns) >= self.max_turns:
            dialogue.end_reason = EndReason.CAP
            await self.store_while_owned(simulated_dialogue.finish, self.conversation, EndReason.CAP)
        else:
            await self.speak(dialogue)

    async def open(self, dialogue: SimulatedDialogue) -> None:
        """Ask the supporter for its first message. One that its model will never write ends the conversation."""
        try:
            reply = await self.caller.ask(self.opening_question(dialogue))
        except ProviderError as error:
            if error.status == TOO_LONG:
                error.status = "client_error"  # the arm does not even accept its own prompt, so its settings are wrong
            if error.status not in FOR_GOOD:
                raise
            await self.give_up(dialogue)
        else:
            dialogue.end_reason = await self.store_while_owned(simulated_dialogue.store_opening, dialogue, reply)

    async def give_up(self, dialogue: SimulatedDialogue) -> None:
        """End the conversation, because it is too long for the seeker's own model, or the supporter's will not open
        it."""
        dialogue.end_reason = EndReason.TECHNICAL
        await self.store_while_owned(simulated_dialogue.finish, self.conversation, EndReason.TECHNICAL)

    def has_to_think(self, dialogue: SimulatedDialogue) -> bool:
        if not (self.seeker.thinks and dialogue.turns):
            return False
        return dialogue.thoughts[-1] is None and dialogue.turns[-1].number not in self.unread

    async def think(self, dialogue: SimulatedDialogue) -> None:
        """Ask for a thought. One that cannot be read is missing, and the Talker continues without it."""
        messages = prompts.thinker_messages(
            self.profile,
            self.behaviour(dialogue),
            dialogue.turns,
            dialogue.thoughts[:-1],
            self.language,
            self.seeker.prompts,
            opening=dialogue.opening,
        )
        number = dialogue.turns[-1].number
        ask = self.ask("seeker_thinker", Call.Purpose.THINKER, number)
        thought = await ask_until_readable(
            ask, messages, read_thought, unread_reason, self.language, self.seeker.prompts
        )
        if isinstance(thought, Unread):
            self.unread.add(number)
        else:
            dialogue.thoughts[-1] = thought
            await self.store_while_owned(simulated_dialogue.store_thought, self.conversation, number, thought)

    async def speak(self, dialogue: SimulatedDialogue) -> None:
        utterance = await self.utterance(dialogue)
        leaves = ENDS[utterance.end] if utterance.end else ""
        dialogue.end_reason = await self.store_while_owned(
            simulated_dialogue.store_message, dialogue, utterance.text, leaves=leaves
        )
        words = dialogue.next_words(utterance.text)
        dialogue.due, dialogue.last_words = (None, words) if dialogue.end_reason else (words, None)

    async def utterance(self, dialogue: SimulatedDialogue) -> Utterance:
        behaviour, can_end, number = self.behaviour(dialogue), bool(dialogue.turns), len(dialogue.turns) + 1
        if self.seeker.thinks:
            newest = dialogue.thoughts[-1] if dialogue.thoughts else None
            name = "seeker_talker"
            messages = prompts.talker_messages(
                self.profile,
                behaviour,
                dialogue.turns,
                newest,
                self.language,
                can_end,
                self.seeker.prompts,
                opening=dialogue.opening,
            )
        else:
            name = "seeker_one_agent"
            messages = prompts.one_agent_messages(
                self.profile,
                behaviour,
                dialogue.turns,
                self.language,
                can_end,
                self.seeker.prompts,
                opening=dialogue.opening,
            )
        reply = await self.ask(name, Call.Purpose.SEEKER, number)(messages, accept_any_reply)
        return read_utterance(reply.text, self.language)

    async def hear(self, dialogue: SimulatedDialogue) -> None:
        assert dialogue.due is not None  # noqa: S101 - looked at by `step`
        number = dialogue.due.number
        try:
            reply = await self.caller.ask(self.supporter_question(dialogue, dialogue.due))
        except ProviderError as error:
            if error.status == TOO_LONG and not dialogue.turns:
                error.status = "client_error"  # the arm accepts no first message at all, so its settings are wrong
            if error.status not in FOR_GOOD:
                raise
            await self.store_while_owned(simulated_dialogue.break_off, self.conversation, number, error)
            dialogue.end_reason, dialogue.last_words, dialogue.due = EndReason.TECHNICAL, dialogue.due, None
        else:
            shown_reply = await self.store_while_owned(simulated_dialogue.store_reply, self.conversation, number, reply)
            dialogue.add_reply(shown_reply.text)
            dialogue.end_reason = shown_reply.end_reason

    async def store_while_owned(self, rule: Callable[..., Stored], *args: Any, **kwargs: Any) -> Stored:
        assert self.question.item is not None  # noqa: S101 - a simulation is an item of a job
        return await in_database(store.run_while_owned, self.owner, self.question.item, rule, *args, **kwargs)

    def opening_question(self, dialogue: SimulatedDialogue) -> Question:
        return self.question_to_supporter(dialogue, messages_for_opening(dialogue.conversation), turn=0)

    def supporter_question(self, dialogue: SimulatedDialogue, due: JudgedTurn) -> Question:
        past = [(turn.seeker, turn.supporter) for turn in dialogue.turns]
        messages = messages_from_pairs(dialogue.conversation, past, due.seeker)
        return self.question_to_supporter(dialogue, messages, turn=due.number)

    def question_to_supporter(self, dialogue: SimulatedDialogue, messages: Sequence[Message], *, turn: int) -> Question:
        supporter = dialogue.conversation.supporter
        return replace(
            self.question,
            purpose=Call.Purpose.REPLY,
            messages=tuple(messages),
            settings=supporter.settings(),
            provider=supporter.provider,
            who=self.supporter,
            language=self.language,
            turn=turn,
        )

    @cached_property
    def profile(self) -> str:
        return write_for_seeker(self.seeker.profile, detail=self.seeker.detail)

    def behaviour(self, dialogue: SimulatedDialogue) -> str:
        """Return the instruction for the behaviour before the next message."""
        condition = self.seeker.condition
        now = mood(self.seed, len(dialogue.turns) + 1, condition.intensities[VOLATILITY])
        return instruction(condition, self.language, now)

    def ask(self, name: str, purpose: str, turn: int) -> Ask:
        question = replace(
            self.question,
            purpose=purpose,
            settings=self.seeker.settings(name),
            provider=self.seeker.provider,
            language=self.language,
            prompt_version=self.seeker.prompts.get(name, self.language).label,
            turn=turn,
        )
        return self.caller.bind(question)


def accept_any_reply(_: Reply) -> str:
    return "ok"


def unread_reason(thought: Thought | Unread) -> str:
    return thought.reason if isinstance(thought, Unread) else ""
