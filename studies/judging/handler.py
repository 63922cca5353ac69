"""Answers of a judge to one questionnaire about one conversation, stored as a person's answers would be."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dialogue.deidentification.redaction import mark_version
from dialogue.jobs.calls import Caller, Question, double_token_limit
from dialogue.jobs.group_commit import in_database
from dialogue.judges import probes
from dialogue.judges.judge import Scores, Way, add_reminder, ask_judgement, ask_state
from dialogue.judges.parsing import Score
from dialogue.judges.prompts import InnerState, thinker_messages
from dialogue.judges.schemas import Schema, build_state_format
from dialogue.models import Call, Job, JobItem
from dialogue.models import InnerState as StateRow
from dialogue.prompts import Prompts
from dialogue.providers.registry import model_for
from studies.instruments.forms import AnswerValue
from studies.instruments.loading import load
from studies.judging.asking import Result, get_askers, get_ledger_note, with_form
from studies.judging.items import judged_items
from studies.judging.material import Material, get_materials
from studies.judging.planning import THINKER, may_be_sent, runs_to_judge
from studies.judging.prompting import Prompt, build_prompts
from studies.judging.settings import Configuration, judge_settings, thinker_settings
from studies.models import Rater, Study
from studies.participation.responses import GivenResponse, store_responses

UNREADABLE = ("unparseable", "out_of_range")


class JudgeHandler:
    """The work of a job of judging: the Thinker's items and the judge's."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.configuration = Configuration.from_plan(job.plan)
        self.study = Study.objects.get(pk=job.plan["study"])
        self.raters = Rater.objects.in_bulk(job.plan["raters"].values())

    def check(self) -> None:
        model_for(judge_settings(self.configuration.judge))

    # Reading

    def read(self, items: Sequence[JobItem]) -> dict[int, Material]:
        """Return the material of each item.

        People who have withdrawn, or whose consent no longer names this provider, are left out.
        """
        runs = {run.pk: run for run in runs_to_judge(self.study).filter(pk__in={item.payload["run"] for item in items})}
        allowed = {pk: run for pk, run in runs.items() if may_be_sent(run, self.configuration.judge)}
        materials = {one.run.pk: one for one in get_materials(self.configuration, list(allowed.values()))}
        return {item.pk: materials[item.payload["run"]] for item in items if item.payload["run"] in materials}

    # Asking

    async def work(self, item: JobItem, material: Material, caller: Caller) -> Any:
        if item.role == THINKER:
            return await self.think(item, material, caller)
        part = material.up_to(item.payload["turn"])
        return part, await self.scores(item, part, caller)

    async def scores(self, item: JobItem, material: Material, caller: Caller) -> Result:
        """Return scores on the questionnaire's own scale, however they were asked for."""
        questionnaire, configuration = load(item.payload["instrument"]), self.get_configuration(item)
        scores: Scores = {}
        ways: list[Way] = []
        prompt_version = ""
        for prompt in build_prompts(configuration, questionnaire, material, moment=item.payload["moment"]):
            ask, repair = get_askers(caller, self.question_of(item, material, prompt), prompt.form)
            judged = await ask_judgement(
                ask, prompt.messages, prompt.items, language=prompt.language, repair=repair, prompts=self.prompts
            )
            scores |= judged.scores
            ways += judged.ways
            prompt_version = prompt.marked
        scores = probes.turn_scores_back(configuration.variant, scores, judged_items(questionnaire, material.language))
        return Result(scores, ways, prompt_version)

    def get_configuration(self, item: JobItem) -> Configuration:
        return self.configuration.with_variant(item.payload["variant"])

    async def think(self, item: JobItem, material: Material, caller: Caller) -> list[InnerState]:
        """Return the states after the turns that have none yet, one after the other."""
        return [await self.state(item, material, n, caller) for n in material.without_state()]

    async def state(self, item: JobItem, material: Material, n: int, caller: Caller) -> InnerState:
        """Return one state. If it could not be read, it is asked for again the next time that the item is tried."""
        material = replace(material, turns=material.turns[: n + 1], states=None).as_sent()
        question = self.thought_of(item, material)
        if item.attempts:
            question = await in_database(self.get_first_unanswered, question)
        ask, repair = get_askers(caller, question, self.state_form())
        return await ask_state(
            ask,
            material.turns,
            language=material.language,
            profile=material.profile_text(),
            repair=repair,
            prompts=self.prompts,
        )

    @property
    def prompts(self) -> Prompts:
        return self.configuration.prompts

    def get_first_unanswered(self, question: Question) -> Question:
        """Return the first of the question's replicates that has not had all its answers in vain, by the ledger."""
        while self.is_used_up(question):
            question = replace(question, replicate=question.replicate + 1)
        return question

    def is_used_up(self, question: Question) -> bool:
        """Return whether the last answer that is ever asked for has come."""
        question = with_form(question, self.state_form())
        last = replace(
            question,
            messages=tuple(add_reminder(question.messages, question.language, self.prompts)),
            settings=double_token_limit(question.settings),
        )
        return Call.objects.filter(key=last.key(), status__in=UNREADABLE).exists()

    def thought_of(self, item: JobItem, material: Material) -> Question:
        version = mark_version(self.prompts.get("thinker", material.language).label, material.redacted)
        question = self.question(
            item, material, language=material.language, version=version, turn=material.turns[-1].number
        )
        messages = thinker_messages(
            material.turns, language=material.language, profile=material.profile_text(), prompts=self.prompts
        )
        return replace(question, messages=tuple(messages), noted=get_ledger_note(material.redacted))

    def state_form(self) -> Schema | None:
        return build_state_format() if self.configuration.structured else None

    def questions(self, item: JobItem, material: Material) -> list[Question]:
        """Return the item's questions; none for a Thinker, because each of its questions needs the answer before."""
        if item.role == THINKER:
            return []
        part, instrument = material.up_to(item.payload["turn"]), load(item.payload["instrument"])
        prompts = build_prompts(self.get_configuration(item), instrument, part, moment=item.payload["moment"])
        return [with_form(self.question_of(item, part, prompt), prompt.form) for prompt in prompts]

    def question_of(self, item: JobItem, material: Material, prompt: Prompt) -> Question:
        question = self.question(item, material, language=prompt.language, version=prompt.version)
        return replace(question, messages=tuple(prompt.messages), noted=get_ledger_note(prompt.redacted))

    def question(
        self, item: JobItem, material: Material, *, language: str, version: str, turn: int | None = None
    ) -> Question:
        """Return the question without its messages."""
        thinks = item.role == THINKER
        return Question(
            purpose=Call.Purpose.THINKER if thinks else Call.Purpose.JUDGE,
            messages=(),
            settings=thinker_settings(self.configuration.judge) if thinks else self.get_configuration(item).settings(),
            provider=self.configuration.judge.provider,
            who=f"judge {self.configuration.judge.key}",
            language=language,
            prompt_version=version,
            conversation=material.run.conversation_id,
            turn=turn or item.payload.get("turn") or None,
            item=item.pk,
            job=self.job.pk,
            replicate=item.replicate,
        )

    # Keeping

    def store_outcomes(self, outcomes: Sequence[tuple[JobItem, Any]]) -> list[dict[str, Any]]:
        states = [(item, result) for item, result in outcomes if item.role == THINKER]
        StateRow.objects.bulk_create(
            [self.state_row(item, state) for item, result in states for state in result], ignore_conflicts=True
        )
        answered = [(item, result) for item, result in outcomes if item.role != THINKER]
        for variant in {item.payload["variant"] for item, _ in answered}:
            rater = self.raters[self.job.plan["raters"][variant]]
            store_responses(rater, [self.as_response(*one) for one in answered if one[0].payload["variant"] == variant])
        return [{} if item.role == THINKER else result[1].as_json() for item, result in outcomes]

    def state_row(self, item: JobItem, state: InnerState) -> StateRow:
        return StateRow(
            conversation_id=item.conversation_id,
            turn=state.turn,
            source=self.configuration.judge.key,
            cognition=state.cognition,
            emotion=state.emotion,
            goal=state.goal,
            emotion_score=state.emotion_score,
        )

    def as_response(self, item: JobItem, result: tuple[Material, Result]) -> GivenResponse:
        (material, judged), payload = result, item.payload
        turns = material.turns
        return GivenResponse(
            questionnaire=load(payload["instrument"]),
            answers=[build_answer(key, score) for key, score in judged.scores.items()],
            run=material.run,
            moment=payload["moment"],
            turn=payload["turn"],
            replicate=item.replicate,
            language=probes.prompt_language(payload["variant"], material.language),
            turns=(turns[0].number, turns[-1].number) if turns else None,
            role=self.configuration.role.code,
            prompt=judged.prompt,
        )


def build_answer(item: str, score: Any) -> AnswerValue:
    if isinstance(score, Score):
        return AnswerValue(item, value=float(score.value))
    return AnswerValue(item, missing_reason=score.reason)
