"""Conversations of simulated seekers with arms, which they rate on the same questionnaires as a person; stores both."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.db import transaction

from dialogue.jobs.calls import Caller, Question
from dialogue.jobs.runner import VALID
from dialogue.judges import judge as asking
from dialogue.judges.parsing import Score
from dialogue.judges.prompts import InnerState, judge_messages
from dialogue.judges.strategies.state_aware import StateAware
from dialogue.judges.strategies.user_aware import UserAware
from dialogue.models import Call, Conversation, Job, JobItem, SeekerFault
from dialogue.models.conversation import EndReason, SeekerKind
from dialogue.prompts import StandingText, mark_digest
from dialogue.providers.base import TOO_LONG, ProviderError
from dialogue.providers.registry import model_for
from dialogue.seekers import gates, prompts
from dialogue.seekers.behaviours import instruction
from dialogue.seekers.profiles import Profile, write_for_seeker, write_for_supporter
from dialogue.seekers.reading import Unread, read_utterance
from dialogue.simulation.runner import Simulation
from dialogue.simulation.simulated_dialogue import SimulatedDialogue
from studies.design.spec import SUPPORTER, ArmSpec
from studies.instruments.loading import load
from studies.judging.handler import build_answer
from studies.judging.items import judged_items
from studies.judging.planning import final_ratings
from studies.models import ArmRun, Protocol, Rater, SeekerProfile
from studies.models.response import RaterKind
from studies.participation.chats import freeze_supporter, opening_fields, opening_request
from studies.participation.responses import GivenResponse, store_responses
from studies.seeker_profiles.selection import from_content
from studies.simulation.counting import is_grave, is_taken, take_places
from studies.simulation.planning import KIND, REVIEW
from studies.simulation.setup import Setup

RATER = "seeker"  # the code of simulated seekers as raters


@dataclass(frozen=True)
class Material:
    run: ArmRun
    profile: Profile


@dataclass(frozen=True)
class SimulationOutcome:
    """The result of one conversation, or of its review, beside itself. `unread`: the review could not be read;
    `unread_states`: so many inner states could not."""

    run: ArmRun
    ratings: Mapping[str, asking.Scores] = field(default_factory=dict)  # by instrument
    turns: tuple[int, int] | None = None
    faults: Sequence[SeekerFault] = ()
    unread: bool = False
    unread_states: int = 0

    def result(self, set_aside: int) -> dict[str, Any]:
        """Return the result as the item keeps it; `set_aside`: how many earlier ones no longer count for it."""
        counts = {"unread": self.unread, "unread_states": self.unread_states, "set_aside": set_aside}
        told = {name: value for name, value in counts.items() if value}
        return {"faults": len(self.faults), **told, **({VALID: self.is_rated()} if self.ratings else {})}

    def is_rated(self) -> bool:
        return any(isinstance(score, Score) for scores in self.ratings.values() for score in scores.values())


class SimulationHandler:
    def __init__(self, job: Job) -> None:
        self.job = job
        self.setup = Setup.from_plan(job.plan)
        self.protocol = Protocol.objects.select_related("study").get(pk=job.plan["protocol"])
        self.spec = self.protocol.spec()
        self.arms = {arm.key: ArmSpec(**arm.as_json()) for arm in self.protocol.arms.all()}

    def check(self) -> None:
        for settings in self.setup.models().values():
            model_for(settings)
        for arm in self.arms.values():
            model_for(freeze_supporter(arm, self.spec.languages[0]).settings())

    # Reading

    def read(self, items: Sequence[JobItem]) -> dict[int, Material]:
        """Return the material of each item: its profile, and its conversation, opened if it has not begun."""
        self.find_reviewed([item for item in items if item.role == REVIEW])
        keys = {item.payload["profile"] for item in items}
        rows = self.protocol.study.seeker_profiles.filter(key__in=keys, state=SeekerProfile.State.APPROVED)
        profiles = {row.key: from_content(row.content) for row in rows}
        runs = self.runs(items)
        return {
            item.pk: Material(
                runs.get(item.conversation_id) or self.open_run(item, profiles[item.payload["profile"]]),
                profiles[item.payload["profile"]],
            )
            for item in items
            if item.payload["profile"] in profiles
        }

    def find_reviewed(self, items: Sequence[JobItem]) -> None:
        """Give each review the conversation of the item that it needed."""
        new = [item for item in items if item.conversation_id is None]
        held = JobItem.objects.in_bulk([item.needs_id for item in new])
        for item in new:
            item.conversation_id = held[item.needs_id].conversation_id
        JobItem.objects.bulk_update(new, ["conversation"])

    def runs(self, items: Sequence[JobItem]) -> dict[int | None, ArmRun]:
        begun = [item.conversation_id for item in items if item.conversation_id]
        rows = ArmRun.objects.filter(conversation__in=begun).select_related("conversation")
        return {run.conversation_id: run for run in rows}

    @transaction.atomic
    def open_run(self, item: JobItem, profile: Profile) -> ArmRun:
        arm = self.arms[item.payload["arm"]]
        conversation = Conversation.objects.create(
            supporter=freeze_supporter(arm, profile.language),
            seeker_kind=SeekerKind.SIMULATED,
            role_play=True,
            unpaced=True,
            language=profile.language,
            profile=write_for_supporter(profile) if self.spec.chat.give_profile else "",
            **self.opening_fields(profile.language),
            max_turns=self.setup.max_turns,
            names=list(self.spec.names()),
        )
        item.conversation = conversation
        item.save(update_fields=["conversation"])
        run = ArmRun(
            study=self.protocol.study,
            protocol=self.protocol,
            conversation=conversation,
            arm=arm.key,
            model=arm.model,
            condition=self.setup.condition,
            profile=profile.id,
            setup=self.setup.name(),
            replicate=item.replicate,
        )
        run.valid = not is_taken(run)
        run.save()
        return run

    def opening_fields(self, language: str) -> dict[str, str]:
        """Return the supporter's opening: the study's text, or the request for its own; empty if the seeker opens."""
        if self.spec.opens != SUPPORTER:
            return {}
        return opening_fields(self.spec, language) or {"opening_request": opening_request(self.spec, language)}

    # Talking, looking back, and looking for faults

    async def work(self, item: JobItem, material: Material, caller: Caller) -> SimulationOutcome:
        talk = self.simulation(item, material, caller)
        dialogue = await talk.run()
        if item.role == REVIEW:
            return await self.ask_review(material.run, talk, dialogue)
        ratings = await self.ratings(talk, dialogue, self.instruments(material.run, dialogue))
        numbers = [turn.number for turn in dialogue.turns]
        turns = (numbers[0], numbers[-1]) if numbers else None
        faults = list(self.find_faults(talk, dialogue))
        return SimulationOutcome(material.run, ratings, turns, faults, unread_states=len(talk.unread))

    def simulation(self, item: JobItem, material: Material, caller: Caller) -> Simulation:
        assert material.run.conversation_id is not None  # noqa: S101 - made by `open_run`
        question = Question(
            purpose=Call.Purpose.SEEKER,
            messages=(),
            settings=self.setup.model(),
            who="seeker",
            conversation=material.run.conversation_id,
            item=item.pk,
            job=self.job.pk,
            replicate=item.replicate,
        )
        return Simulation(
            seeker=self.setup.seeker_of(material.profile),
            conversation=material.run.conversation_id,
            max_turns=self.setup.max_turns,
            seed=f"{material.profile.id} {item.replicate}",  # the same for all arms and both conditions
            supporter=f"arm {material.run.arm}",
            question=question,
            owner=item.owner,
            caller=caller,
        )

    def instruments(self, run: ArmRun, dialogue: SimulatedDialogue) -> list[str]:
        return final_ratings(run, self.spec.chat) if dialogue.turns else []

    async def ratings(
        self, talk: Simulation, dialogue: SimulatedDialogue, instruments: Sequence[str]
    ) -> dict[str, asking.Scores]:
        """Return the seeker's ratings by instrument. There are none where what ended the conversation was its length:
        then it is too long to look back on, too."""
        try:
            return {name: await self.ask_ratings(talk, dialogue, name) for name in instruments}
        except ProviderError as error:
            if error.status == TOO_LONG and dialogue.end_reason == EndReason.TECHNICAL:
                return {}
            raise

    async def ask_ratings(self, talk: Simulation, dialogue: SimulatedDialogue, instrument: str) -> asking.Scores:
        """Ask the seeker to look back, with its profile and what went on in it, as EmoHarbor's Evaluator."""
        items = judged_items(load(instrument), talk.language)
        thoughts = zip(dialogue.turns, dialogue.thoughts, strict=True)
        states = [InnerState(turn.number, *vars(thought).values()) for turn, thought in thoughts if thought]
        own, standing = self.setup.prompts, self.get_evaluator_text(talk.language)
        messages = judge_messages(
            dialogue.turns, items, language=talk.language, profile=talk.profile, states=states, standing=standing
        )
        rating = self.setup.rating_model()
        question = replace(
            talk.question,
            purpose=rating.purpose,
            settings=rating.settings,
            provider=rating.provider,
            who=rating.who,
            language=talk.language,
            prompt_version=standing.label,
        )
        ask = talk.caller.bind(question)
        return (await asking.ask_judgement(ask, messages, items, language=talk.language, prompts=own)).scores

    def get_evaluator_text(self, language: str) -> StandingText:
        """Return the standing text by which a seeker is asked to look back."""
        own = self.setup.prompts
        return own.get(own.choose("seeker_evaluator", "judge"), language)

    def find_faults(self, talk: Simulation, dialogue: SimulatedDialogue) -> Iterator[SeekerFault]:
        """Yield the seeker's faults that rules find."""
        seeker = talk.seeker
        utterances = [read_utterance(turn.seeker, talk.language) for turn in dialogue.seeker_turns]
        for fault in gates.find_faults(
            dialogue.seeker_turns, utterances, seeker.profile, seeker.condition, dialogue.end_reason
        ):
            yield self.fault(talk, fault, SeekerFault.Source.RULE)

    async def ask_review(self, run: ArmRun, talk: Simulation, dialogue: SimulatedDialogue) -> SimulationOutcome:
        """Ask a model for the seeker's faults; it reads the conversation with the profile beside it."""
        condition = instruction(talk.seeker.condition, talk.language, 0.0)
        messages = prompts.review_messages(
            write_for_seeker(talk.seeker.profile, detail="full"),
            dialogue.seeker_turns,
            talk.language,
            condition,
            self.setup.prompts,
            opening=dialogue.opening,
        )
        ask = talk.ask("seeker_reviewer", Call.Purpose.REVIEWER, len(dialogue.seeker_turns))
        review = await asking.ask_until_readable(
            ask, messages, gates.read_review, why_unread, talk.language, self.setup.prompts
        )
        if isinstance(review, Unread):
            return SimulationOutcome(run, unread=True)
        return SimulationOutcome(run, faults=[self.fault(talk, fault, SeekerFault.Source.REVIEWER) for fault in review])

    def fault(self, talk: Simulation, fault: gates.Fault, source: SeekerFault.Source) -> SeekerFault:
        return SeekerFault(
            conversation_id=talk.conversation, turn=fault.turn, kind=fault.kind, evidence=fault.evidence, source=source
        )

    # Keeping

    def store_outcomes(self, outcomes: Sequence[tuple[JobItem, SimulationOutcome]]) -> list[dict[str, Any]]:
        store_responses(self.rater(), [response for _, one in outcomes for response in self.list_responses(one)])
        SeekerFault.objects.bulk_create((fault for _, one in outcomes for fault in one.faults), ignore_conflicts=True)
        held = [one.run for item, one in outcomes if item.role == KIND]
        set_aside = take_places(self.protocol.study, self.setup, held)  # first, as it locks rows in their order
        spoilt = [one.run.pk for _, one in outcomes if any(map(is_grave, one.faults))]
        ArmRun.objects.filter(pk__in=spoilt).update(valid=False)
        return [one.result(set_aside[one.run.pk]) for _, one in outcomes]

    def rater(self) -> Rater:
        strategy = UserAware.name if self.setup.one_agent else StateAware.name
        rater, _ = Rater.objects.get_or_create(
            study=self.protocol.study, kind=RaterKind.SIMULATED_SEEKER, code=RATER, strategy=strategy
        )
        return rater

    def list_responses(self, one: SimulationOutcome) -> Iterator[GivenResponse]:
        assert one.run.conversation is not None  # noqa: S101 - made by `open_run`
        language = one.run.conversation.language
        standing = self.get_evaluator_text(language)
        for instrument, scores in one.ratings.items():
            yield GivenResponse(
                questionnaire=load(instrument),
                answers=[build_answer(key, score) for key, score in scores.items()],
                run=one.run,
                moment="final",
                turn=0,
                replicate=1,
                language=language,
                turns=one.turns,
                prompt=mark_digest(standing.label, standing),
            )


def why_unread(result: Any) -> str:
    return result.reason if isinstance(result, Unread) else ""
